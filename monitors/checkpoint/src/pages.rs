//! The pages of an environment that is stopped: which may hold anything but zeros, and what they
//! held, so that the environment can go on before they are written. Pages of data are kept as they
//! are until somebody writes to them; all others are copied.

use crate::arena::Arena;
use crate::outside::Outside;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_rt::memory::Segment;
use nacre_snapshot::image::DATA;
use nacre_snapshot::rounds::{Sent, common};
use nacre_snapshot::{Access, Frame};
use nacre_sys::{Window, memory};

/// Address of the copies. Arenas lie above.
const COPIES: u64 = 0x1700_0000_0000;

/// Pages by their distances from the start of the environment, in order.
pub struct Pages {
    /// Pages that are no data.
    list: Vec<u64>,
    /// Pieces of data: the offset of the first byte, and of the first one behind it.
    data: Vec<(u64, u64)>,
    /// Pages that hold nothing any more, and that a receiver has.
    gone: BTreeSet<u64>,
    /// Copies of the pages, in the order of the list, if they were made.
    copies: Option<(Segment, Window)>,
    /// Set if the environment can go on before the pages are written.
    is_kept: bool,
}

impl Pages {
    /// Finds the pages without objects and tables that somebody may have written.
    pub fn find(frame: &Frame, outside: &Outside) -> Pages {
        let mut data: Vec<(u64, u64)> = outside.pieces().filter_map(|piece| piece.data()).collect();
        data.sort_unstable();
        let mut pieces: Vec<(u64, u64)> = outside.pieces().filter(|piece| piece.data().is_none()).map(|piece| (piece.offset, piece.offset + piece.size)).collect();
        pieces.sort_unstable();
        let mut list = Vec::new();
        for (start, end) in pieces {
            let (mut at, end) = (frame.start + start, frame.start + end);
            while at < end
                && let Some(touched) = memory::touched(at, end)
            {
                at = touched.end;
                list.extend(touched.step_by(PAGE_SIZE as usize).map(|page| page - frame.start));
            }
        }
        Pages { list, data, gone: BTreeSet::new(), copies: None, is_kept: false }
    }

    /// Leaves out data that lies in none of these parts, which are in order and apart.
    pub fn limit_data(&mut self, parts: &[(u64, u64)]) {
        self.data = common(&self.data, parts);
    }

    /// The number of pages that a fork copies at once.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns true if the environment can go on before the pages are written.
    pub fn are_kept(&self) -> bool {
        self.is_kept
    }

    /// Copies the pages that are no data, and keeps the contents of data, if there is memory for
    /// that.
    pub fn keep(&mut self, arena: &mut Arena) {
        if self.copy(arena).is_some() {
            self.is_kept = arena.data.begin_saving(self.data.clone()).is_ok();
        }
    }

    fn copy(&mut self, arena: &Arena) -> Option<()> {
        let size = self.list.len() as u64 * PAGE_SIZE;
        if size > 0 {
            let window = Window::new(COPIES, size)?;
            let memory = Segment::map(COPIES, size, Rights::NONE).ok()?;
            let mut at = 0;
            for (first, size) in runs(&self.list) {
                window.copy_pages_from(at, arena.window(first, size)?)?;
                at += size;
            }
            self.copies = Some((memory, window));
        }
        Some(())
    }

    /// Reads a page of [`filled`](Pages::filled).
    pub fn read(&self, page: u64, arena: &mut Arena, into: &mut [u8]) -> Result<(), Errno> {
        if self.gone.contains(&page) {
            into.fill(0);
            return Ok(());
        }
        if let Some(offset) = page.checked_sub(DATA) {
            return arena.data.read_frozen(offset, into);
        }
        match (&self.copies, self.list.binary_search(&page)) {
            (Some((_, copies)), Ok(place)) => copies.read(place as u64 * PAGE_SIZE, into).ok_or(Errno::EFAULT),
            _ => {
                arena.read_page(arena.start() + page, into);
                Ok(())
            }
        }
    }

    /// Distances of the pages that hold anything but zeros.
    pub fn filled(&self, arena: &mut Arena) -> Result<Vec<u64>, Errno> {
        let mut bytes = vec![0; PAGE_SIZE as usize];
        let data = arena.data.frozen_pages(&self.data).into_iter().map(|page| DATA + page);
        let mut filled = Vec::new();
        for page in self.list.iter().copied().chain(data) {
            self.read(page, arena, &mut bytes)?;
            if bytes.chunks_exact(8).any(|word| word != [0; 8]) {
                filled.push(page);
            }
        }
        Ok(filled)
    }

    /// Distances of the pages that hold something else than what was sent, which is noted.
    pub fn changed(&mut self, arena: &mut Arena, sent: &mut Sent) -> Result<Vec<u64>, Errno> {
        let mut bytes = vec![0; PAGE_SIZE as usize];
        let data = arena.data.frozen_pages(&self.data).into_iter().map(|page| DATA + page);
        let here: Vec<u64> = self.list.iter().copied().chain(data).collect();
        let parts = self.data.iter().map(|(start, end)| (DATA + start, DATA + end));
        let known = core::iter::once((0, DATA)).chain(parts).flat_map(|(start, end)| sent.pages(start, end));
        // Nothing that is there now is read in their place.
        self.gone = known.filter(|page| here.binary_search(page).is_err()).collect();
        let mut changed = Vec::new();
        for page in here {
            self.read(page, arena, &mut bytes)?;
            if sent.note(page, &bytes) {
                changed.push(page);
            }
        }
        changed.extend(self.gone.iter().copied().filter(|page| sent.note_zeros(*page)));
        Ok(changed)
    }

    /// Copies the pages that are no data to the same places of another arena. `None`: one is not
    /// there.
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
