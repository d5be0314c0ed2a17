//! The pages of an environment that is stopped: which may hold anything but zeros, and copies of
//! them, so that the environment can go on before they are written.

use crate::arena::Arena;
use crate::outside::Outside;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_rt::memory::Segment;
use nacre_snapshot::{Access, Frame, Object};
use nacre_sys::{Window, memory};

/// Address of the copies. Arenas lie above.
const COPIES: u64 = 0x1700_0000_0000;

/// Pages by their distances from the start of the environment, in order.
pub struct Pages {
    list: Vec<u64>,
    /// Copies of the pages, in the order of the list, if they were made.
    copies: Option<(Segment, Window)>,
}

impl Pages {
    /// Finds the pages without objects and tables that somebody may have written.
    pub fn find(frame: &Frame, outside: &mut Outside, objects: &[Object]) -> Pages {
        let with_objects: BTreeSet<u64> = objects.iter().map(|object| object.offset & !(PAGE_SIZE - 1)).collect();
        let mut pieces: Vec<(u64, u64)> = outside.pieces().map(|piece| (piece.offset, piece.offset + piece.size)).collect();
        pieces.sort_unstable();
        let mut list = Vec::new();
        for (start, end) in pieces {
            let (mut at, end) = (frame.start + start, frame.start + end);
            while let Some(touched) = memory::touched(at, end) {
                at = touched.end;
                let distances = touched.step_by(PAGE_SIZE as usize).map(|page| page - frame.start);
                list.extend(distances.filter(|page| !with_objects.contains(page) && frame.is_ours(&mut outside.arena, frame.start + page)));
            }
        }
        Pages { list, copies: None }
    }

    /// The pages.
    pub fn list(&self) -> &[u64] {
        &self.list
    }

    /// Returns true if the pages were copied.
    pub fn are_copied(&self) -> bool {
        self.copies.is_some()
    }

    /// Copies the pages, if there is memory for that.
    pub fn copy(&mut self, arena: &Arena) {
        let size = self.list.len() as u64 * PAGE_SIZE;
        let Some(window) = Window::new(COPIES, size).filter(|_| size > 0) else { return };
        let Ok(memory) = Segment::map(COPIES, size, Rights::NONE) else { return };
        let mut at = 0;
        for (first, size) in runs(&self.list) {
            if arena.window(first, size).and_then(|run| window.copy_pages_from(at, run)).is_none() {
                return;
            }
            at += size;
        }
        self.copies = Some((memory, window));
    }

    /// Reads the page at a place of the list.
    pub fn read(&self, place: usize, arena: &mut Arena, into: &mut [u8]) {
        match (&self.copies, self.list.get(place)) {
            (Some((_, copies)), _) => drop(copies.read(place as u64 * PAGE_SIZE, into)),
            (None, Some(page)) => arena.read_page(arena.start() + page, into),
            (None, None) => {}
        }
    }

    /// Places in the list of the pages that hold anything but zeros.
    pub fn filled(&self, arena: &mut Arena) -> Vec<usize> {
        let mut bytes = vec![0; PAGE_SIZE as usize];
        let mut is_filled = |place: &usize| {
            self.read(*place, arena, &mut bytes);
            bytes.chunks_exact(8).any(|word| word != [0; 8])
        };
        (0..self.list.len()).filter(|place| is_filled(place)).collect()
    }

    /// Copies the pages to the same places of another arena. `None`: one is not there.
    pub fn copy_to(&self, from: &Arena, to: &Arena) -> Option<()> {
        runs(&self.list).try_for_each(|(first, size)| to.window(first, size)?.copy_pages_from(0, from.window(first, size)?))
    }
}

/// Pages that lie one behind the other: the distance of the first, and the size of all.
fn runs(pages: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    pages.chunk_by(|page, next| page + PAGE_SIZE == *next).map(|run| (run[0], run.len() as u64 * PAGE_SIZE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_a_row_are_one_run() {
        let pages = [0, 1, 2, 4, 6, 7].map(|page| page * PAGE_SIZE);
        assert_eq!(runs(&pages).map(|(first, size)| (first / PAGE_SIZE, size / PAGE_SIZE)).collect::<Vec<_>>(), [(0, 3), (4, 1), (6, 2)]);
        assert_eq!(runs(&[]).count(), 0);
    }
}
