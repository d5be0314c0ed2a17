//! The memory in which contents of files lie: each run is an allocation of its own.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_root::frames::FRAME;
use nacre_root::store::Store;
use nacre_sys::Span;

/// Bytes that a name takes beside its own: its node, and its places in two trees.
const NAME: u64 = 640;
/// Bytes that a run takes beside its own.
const RUN: u64 = 128;
/// Payer of names that were made here. Nobody (0) pays for those that lie below.
const PAYER: u64 = 1;
/// Part of the memory that contents may take which lie below, and can be read again.
const FOR_ALL: u64 = 2;
/// Runs that are freed in one piece of work.
const AT_ONCE: usize = 64;

/// A run that was allocated.
struct Run {
    bytes: Box<[u8]>,
    /// Bytes that were not given back.
    left: u64,
    /// Set if it was made for contents that lie below.
    is_for_all: bool,
}

/// Memory by offset, of which a number of bytes may be taken.
pub struct Memory {
    runs: BTreeMap<u64, Run>,
    /// Offset of the next run. None comes twice.
    next: u64,
    limit: u64,
    taken: u64,
    /// Bytes of runs for contents that lie below.
    for_all: u64,
    /// Bytes that files take of which only the names and the facts are known.
    known: u64,
}

impl Memory {
    /// Memory of so many bytes, names of files included.
    pub fn new(limit: u64) -> Memory {
        Memory { runs: BTreeMap::new(), next: FRAME, limit, taken: 0, for_all: 0, known: 0 }
    }

    /// Returns the number of bytes that can be taken.
    pub fn available(&self) -> u64 {
        self.limit.saturating_sub(self.taken + self.known)
    }

    /// Counts files of which names and facts are known.
    pub fn set_known(&mut self, files: usize) {
        self.known = files as u64 * NAME;
    }

    /// Returns the number of names that there is memory for.
    pub fn names(&self) -> usize {
        (self.available() / NAME) as usize
    }

    /// Returns the number of bytes that are taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes bytes, if there are so many.
    fn take(&mut self, size: u64) -> Option<()> {
        if size > self.available() {
            return None;
        }
        self.taken += size;
        Some(())
    }

    /// The run around an offset, and its own.
    fn around(&self, at: u64) -> Option<(u64, &Run)> {
        self.runs.range(..=at).next_back().map(|(start, run)| (*start, run))
    }

    /// The bytes of a run from an offset on, at most so many.
    fn bytes(&self, at: u64, size: u64) -> &[u8] {
        let Some((start, run)) = self.around(at) else { return &[] };
        let rest = run.bytes.get((at - start) as usize..).unwrap_or_default();
        &rest[..rest.len().min(size as usize)]
    }

    fn bytes_mut(&mut self, at: u64, size: u64) -> &mut [u8] {
        let Some((start, run)) = self.runs.range_mut(..=at).next_back() else { return &mut [] };
        let rest = run.bytes.get_mut((at - start) as usize..).unwrap_or_default();
        let count = rest.len().min(size as usize);
        &mut rest[..count]
    }
}

/// Zeros, if there is memory for them.
fn zeros(size: u64) -> Option<Box<[u8]>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize).ok()?;
    bytes.resize(size as usize, 0);
    Some(bytes.into_boxed_slice())
}

impl Store for Memory {
    fn allocate(&mut self, size: u64) -> Option<u64> {
        let size = size.checked_next_multiple_of(FRAME)?;
        self.take(size.checked_add(RUN)?)?;
        let Some(bytes) = zeros(size) else {
            self.taken -= size + RUN;
            return None;
        };
        let start = self.next;
        // The frame between two runs is in none.
        self.next += size + FRAME;
        self.runs.insert(start, Run { bytes, left: size, is_for_all: false });
        Some(start)
    }

    /// The layer's own contents and names find room at any time, as far as they do not fill all.
    fn allocate_for_all(&mut self, size: u64) -> Option<u64> {
        let size = size.checked_next_multiple_of(FRAME).filter(|size| *size <= self.free_for_all())?;
        let start = self.allocate(size)?;
        if let Some(run) = self.runs.get_mut(&start) {
            run.is_for_all = true;
            self.for_all += size;
        }
        Some(start)
    }

    fn free_for_all(&self) -> u64 {
        (self.limit / FOR_ALL).saturating_sub(self.for_all).min(self.available())
    }

    fn free(&mut self, start: u64, size: u64) {
        let size = size.next_multiple_of(FRAME);
        let Some((first, run)) = self.runs.range_mut(..=start).next_back() else { return };
        run.left = run.left.saturating_sub(size);
        if run.left == 0 {
            let first = *first;
            let (bytes, for_all) = self.runs.remove(&first).map_or((0, false), |run| (run.bytes.len() as u64, run.is_for_all));
            self.taken -= bytes + RUN;
            self.for_all -= if for_all { bytes } else { 0 };
        }
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    fn discard(&mut self, runs: Vec<(u64, u64)>) {
        runs.into_iter().for_each(|(start, size)| self.free(start, size));
    }

    /// Does nothing: nobody has any of it mapped.
    fn hide(&mut self, _: u64, _: u64) {}

    fn span(&self, start: u64, size: u64) -> Span<'_> {
        Span::from(self.bytes(start, size))
    }

    fn write(&mut self, start: u64, bytes: &[u8]) {
        let into = self.bytes_mut(start, bytes.len() as u64);
        let count = into.len();
        into.copy_from_slice(&bytes[..count]);
    }

    fn zero(&mut self, start: u64, size: u64) {
        self.bytes_mut(start, size).fill(0);
    }

    fn copy(&mut self, from: u64, to: u64, size: u64) {
        let bytes = self.bytes(from, size).to_vec();
        self.write(to, &bytes);
    }

    fn take_name(&mut self, length: usize) -> Option<u64> {
        self.take(length as u64 + NAME)?;
        Some(PAYER)
    }

    fn move_name(&mut self, length: usize) -> u64 {
        // It may be over the limit, until what it was goes.
        self.taken += length as u64 + NAME;
        PAYER
    }

    fn give_name(&mut self, payer: u64, length: usize) {
        if payer == PAYER {
            self.taken = self.taken.saturating_sub(length as u64 + NAME);
        }
    }

    fn spend(&mut self, _: u64) -> bool {
        true
    }

    fn has_room(&self) -> bool {
        self.available() >= NAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_apart_and_bounded() {
        let mut memory = Memory::new(4 * FRAME);
        let first = memory.allocate(100).unwrap();
        let second = memory.allocate(2 * FRAME).unwrap();
        assert_eq!(memory.allocate(FRAME), None);
        memory.write(first, b"one");
        memory.write(second + FRAME, b"two");
        memory.copy(second + FRAME, first + 3, 3);
        assert_eq!(memory.bytes(first, 6), b"onetwo");
        // Not a byte behind a run.
        memory.write(first + FRAME - 1, b"xyz");
        assert_eq!(memory.bytes(second, 1), [0]);
        memory.free(second + FRAME, FRAME);
        assert!(memory.available() < FRAME);
        memory.free(second, FRAME);
        memory.free(first, 100);
        assert_eq!((memory.taken(), memory.runs.len()), (0, 0));
    }

    #[test]
    fn what_lies_below_takes_half_at_most() {
        let mut memory = Memory::new(8 * FRAME);
        let first = memory.allocate_for_all(3 * FRAME).unwrap();
        assert_eq!(memory.allocate_for_all(2 * FRAME), None);
        assert!(memory.allocate(4 * FRAME).is_some() && memory.allocate_for_all(FRAME).is_none());
        memory.free(first, FRAME);
        memory.free(first + FRAME, 2 * FRAME);
        assert!(memory.allocate_for_all(3 * FRAME).is_some());
    }

    #[test]
    fn names_take_memory() {
        let mut memory = Memory::new(2 * NAME + 10);
        assert_eq!((memory.take_name(5), memory.take_name(5), memory.take_name(1)), (Some(PAYER), Some(PAYER), None));
        assert!(!memory.has_room());
        memory.give_name(0, 5);
        assert_eq!(memory.take_name(1), None);
        memory.give_name(PAYER, 5);
        assert_eq!(memory.take_name(5), Some(PAYER));
    }
}
