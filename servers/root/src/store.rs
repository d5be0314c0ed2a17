//! What the file tree needs of memory. In the system it is physical memory; in tests it is a
//! vector.

use alloc::vec::Vec;
use nacre_sys::Span;

/// Memory by offset. Runs are whole frames, and hold zeros when they are handed out.
pub trait Store {
    /// `size` bytes (rounded up to frames) of zeros, or `None` if there is no memory left for
    /// clients.
    fn allocate(&mut self, size: u64) -> Option<u64>;
    /// Allocates for contents that nobody pays for: they can be given back at any time.
    fn allocate_for_all(&mut self, size: u64) -> Option<u64> {
        self.allocate(size)
    }
    /// Returns the number of bytes that can be allocated for all.
    fn free_for_all(&self) -> u64;
    /// Gives a run back; whatever was mapped from it is unmapped.
    fn free(&mut self, start: u64, size: u64);
    /// Returns the number of runs that may be freed in one piece of work.
    fn at_once(&self) -> usize;
    /// Gives runs back, in pieces between requests. Nobody reaches them any more but by what was
    /// mapped from them.
    fn discard(&mut self, runs: Vec<(u64, u64)>);
    /// Unmaps a run from every client that has it mapped. The bytes stay.
    fn hide(&mut self, start: u64, size: u64);
    /// The bytes at `start`, to be sent.
    fn span(&self, start: u64, size: u64) -> Span<'_>;
    /// Writes at `start`.
    fn write(&mut self, start: u64, bytes: &[u8]);
    /// Fills `size` bytes at `start` with zeros.
    fn zero(&mut self, start: u64, size: u64);
    /// Copies `size` bytes between runs.
    fn copy(&mut self, from: u64, to: u64, size: u64);
    /// Takes room for a name of so many bytes, for whoever pays now: who that is. `None`: there is
    /// none, or that one has its share.
    fn take_name(&mut self, length: usize) -> Option<u64>;
    /// Takes room for a name that was another one, which nobody refuses.
    fn move_name(&mut self, length: usize) -> u64;
    /// A name has gone, for which `payer` paid.
    fn give_name(&mut self, payer: u64, length: usize);
    /// Counts bytes that leave for another server's files, for good, for whoever pays now. False:
    /// that one may not write so many.
    fn spend(&mut self, bytes: u64) -> bool;
    /// Returns true if the server itself has memory for a client's records: names and open files.
    fn has_room(&self) -> bool;
}

#[cfg(any(test, feature = "fake"))]
pub mod fake {
    //! A store on the host.

    use super::Store;
    use crate::frames::{FRAME, Frames};
    use alloc::{boxed::Box, vec, vec::Vec};
    use nacre_sys::Span;

    /// A store made of a vector.
    pub struct Fake {
        memory: Vec<u8>,
        frames: Frames,
        /// Run that was hidden last.
        pub hidden: Option<(u64, u64)>,
        /// Payers of names, and bytes that names may take.
        pub payers: (crate::payers::Payers, u64),
    }

    impl Fake {
        /// `size` bytes of memory.
        pub fn new(size: u64) -> Fake {
            let words = Box::leak(vec![0; Frames::words_for(size)].into_boxed_slice());
            let mut frames = Frames::new(words, vec![0; Frames::words_for(size)].leak(), 0, size);
            frames.release(0, size, false);
            Fake { memory: vec![0xaa; size as usize], frames, hidden: None, payers: (crate::payers::Payers::default(), 1 << 30) }
        }

        /// Bytes that are free.
        pub fn free_bytes(&self) -> u64 {
            self.frames.free_bytes()
        }

        fn bytes_mut(&mut self, start: u64, size: u64) -> &mut [u8] {
            &mut self.memory[start as usize..(start + size) as usize]
        }
    }

    impl Store for Fake {
        fn allocate(&mut self, size: u64) -> Option<u64> {
            let start = self.frames.allocate(size, FRAME)?;
            self.zero(start, size.next_multiple_of(FRAME));
            Some(start)
        }

        fn free_for_all(&self) -> u64 {
            self.frames.free_bytes()
        }

        fn free(&mut self, start: u64, size: u64) {
            self.frames.release(start, size.next_multiple_of(FRAME), false);
        }

        fn at_once(&self) -> usize {
            3
        }

        fn discard(&mut self, runs: Vec<(u64, u64)>) {
            runs.into_iter().for_each(|(start, size)| self.free(start, size));
        }

        fn hide(&mut self, start: u64, size: u64) {
            self.hidden = Some((start, size));
        }

        fn span(&self, start: u64, size: u64) -> Span<'_> {
            Span::from(&self.memory[start as usize..(start + size) as usize])
        }

        fn write(&mut self, start: u64, bytes: &[u8]) {
            self.bytes_mut(start, bytes.len() as u64).copy_from_slice(bytes);
        }

        fn zero(&mut self, start: u64, size: u64) {
            self.bytes_mut(start, size).fill(0);
        }

        fn copy(&mut self, from: u64, to: u64, size: u64) {
            self.memory.copy_within(from as usize..(from + size) as usize, to as usize);
        }

        fn take_name(&mut self, length: usize) -> Option<u64> {
            let free = self.payers.1 - self.payers.0.names();
            self.payers.0.take_name(length, free)
        }

        fn move_name(&mut self, length: usize) -> u64 {
            self.payers.0.move_name(length)
        }

        fn give_name(&mut self, payer: u64, length: usize) {
            self.payers.0.give_name(payer, length);
        }

        fn spend(&mut self, bytes: u64) -> bool {
            self.payers.0.spend(bytes)
        }

        fn has_room(&self) -> bool {
            true
        }
    }
}
