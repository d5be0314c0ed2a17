//! The caller's memory, as the kernel uses it: by translation through the caller's tables, never by
//! its addresses. A page that is not there makes its thread fault as if it had touched it, before
//! anything has changed.

use crate::compose::TranslationError;
use crate::fault::Fault;
use crate::kernel::{Attempt, Kernel, Stop};
use crate::machine::{Leaf, LeafKind, Machine, Physical};
use crate::object::Thread;
use nacre_abi::message::{DESCRIPTOR_ALIGNMENT, Descriptor, RECEIVE_ONLY};
use nacre_abi::{Code, PAGE_SIZE, Rights, Status, USER_END};

/// Maximum number of pages that a buffer of `MAX_BYTES` touches.
pub(crate) const SPAN_PAGES: usize = 5;

/// A buffer in some thread's memory, every page of it present and allowed: an allegation that was
/// checked under all locks, and is good until they are let go.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pages: [Physical; SPAN_PAGES],
    /// Offset of the first byte in the first page.
    offset: u64,
    /// Bytes.
    pub size: u64,
}

impl Span {
    /// A buffer of no bytes.
    pub const EMPTY: Span = Span { pages: [Physical(0); SPAN_PAGES], offset: 0, size: 0 };

    /// Returns the place of byte `at`, and the number of bytes that follow in its page.
    fn place(&self, at: u64) -> (Physical, u64) {
        let position = self.offset + at;
        let within = position % PAGE_SIZE;
        let page = self.pages[(position / PAGE_SIZE) as usize % SPAN_PAGES];
        (page.add(within), PAGE_SIZE - within)
    }
}

impl<M: Machine> Kernel<M> {
    /// The table entry for `address` of the thread's space, with at least the rights `needed`. If a
    /// keeper can bring the page, the thread now waits for it (`Stop::Wait`).
    #[inline(always)]
    pub(crate) fn leaf(&self, thread: Thread<'_>, argument: u8, address: u64, needed: Rights) -> Attempt<Leaf> {
        match self.leaf_in_tables(thread, address, needed) {
            Some(leaf) => Ok(leaf),
            None => self.leaf_missing(thread, argument, address, needed),
        }
    }

    /// Returns the leaf at `address` if it is in the thread's tables already.
    #[inline(always)]
    pub(crate) fn leaf_in_tables(&self, thread: Thread<'_>, address: u64, needed: Rights) -> Option<Leaf> {
        if address >= USER_END {
            return None;
        }
        self.machine.table_lookup(self.space(thread.space()).root(), address).filter(|leaf| leaf.rights.contains(needed))
    }

    #[cold]
    fn leaf_missing(&self, thread: Thread<'_>, argument: u8, address: u64, needed: Rights) -> Attempt<Leaf> {
        match self.leaf_present(thread, argument, address, needed) {
            Ok(leaf) => Ok(leaf),
            Err(Err(stop)) => Err(stop),
            Err(Ok(fault)) => {
                self.fault_in_call(thread, fault);
                Err(Stop::Wait)
            }
        }
    }

    /// Returns the leaf at `address` without waiting. The error is the fault that would be taken,
    /// or the end of the call.
    pub(crate) fn leaf_present(&self, thread: Thread<'_>, argument: u8, address: u64, needed: Rights) -> Result<Leaf, Result<Fault, Stop>> {
        let bad = Err(Err(Status::argument(Code::BadAddress, argument).into()));
        if address >= USER_END {
            return bad;
        }
        self.work_check(argument).map_err(Err)?;
        match self.fill(self.space(thread.space()), address, needed) {
            Ok(leaf) => Ok(leaf),
            Err(TranslationError::Region { region, offset }) if self.keeper_of(self.region(region)).is_some() => Err(Ok(Fault::Region { region, offset, needed, address })),
            Err(TranslationError::Deep) => Err(Err(Status::argument(Code::TooDeep, argument).into())),
            Err(TranslationError::Again) => Err(Err(Stop::Again)),
            Err(_) => bad,
        }
    }

    /// Plain memory at `address`.
    pub(crate) fn user_memory(&self, thread: Thread<'_>, argument: u8, address: u64, needed: Rights) -> Attempt<Physical> {
        let mut leaf = self.leaf(thread, argument, address, needed)?;
        if leaf.kind == LeafKind::Objects {
            // There may be no objects in it any more.
            leaf = self.leaf_missing(thread, argument, address, needed)?;
        }
        if leaf.kind != LeafKind::Memory {
            return Err(Status::argument(Code::BadAddress, argument).into());
        }
        Ok(leaf.physical)
    }

    /// All pages of a buffer, checked; at most `MAX_BYTES`.
    pub(crate) fn span(&self, thread: Thread<'_>, argument: u8, address: u64, size: u64, needed: Rights) -> Attempt<Span> {
        self.check_span(address, size, argument)?;
        let mut span = Span { offset: address % PAGE_SIZE, size, ..Span::EMPTY };
        let first = address - span.offset;
        for page in 0..(span.offset + size).div_ceil(PAGE_SIZE) {
            span.pages[page as usize] = self.user_memory(thread, argument, first + page * PAGE_SIZE, needed)?.frame();
        }
        Ok(span)
    }

    /// Checks a range of a thread that must not be made to wait: a missing page is an error.
    pub(crate) fn span_present(&self, thread: Thread<'_>, argument: u8, address: u64, size: u64, needed: Rights) -> Attempt<Span> {
        self.check_span(address, size, argument)?;
        let bad = Stop::Status(Status::argument(Code::BadAddress, argument));
        let mut span = Span { offset: address % PAGE_SIZE, size, ..Span::EMPTY };
        let first = address - span.offset;
        for page in 0..(span.offset + size).div_ceil(PAGE_SIZE) {
            let at = first + page * PAGE_SIZE;
            let leaf = match self.machine.table_lookup(self.space(thread.space()).root(), at) {
                Some(leaf) if leaf.rights.contains(needed) && leaf.kind != LeafKind::Objects => leaf,
                _ => self.leaf_present(thread, argument, at, needed).map_err(|lack| if lack == Err(Stop::Again) { Stop::Again } else { bad })?,
            };
            if leaf.kind != LeafKind::Memory {
                return Err(bad);
            }
            span.pages[page as usize] = leaf.physical.frame();
        }
        Ok(span)
    }

    fn check_span(&self, address: u64, size: u64, argument: u8) -> Attempt<()> {
        let fits = size <= nacre_abi::message::MAX_BYTES && address < USER_END && size <= USER_END - address;
        if fits { Ok(()) } else { Err(Status::argument(Code::BadAddress, argument).into()) }
    }

    /// Copies `size` bytes between buffers that are at least so long.
    pub(crate) fn span_copy(&self, from: &Span, to: &Span, size: u64) {
        let mut done = 0;
        while done < size {
            let (source, source_left) = from.place(done);
            let (target, target_left) = to.place(done);
            let part = source_left.min(target_left).min(size - done);
            self.machine.copy(source, target, part);
            done += part;
        }
    }

    /// Returns the place of byte `at`, and how many of the `count` words from there on stand in its
    /// page. The buffer's address is a multiple of 8.
    fn run_of_words(span: &Span, at: usize, count: usize) -> (Physical, usize) {
        let (place, left) = span.place(at as u64);
        (place, count.min((left / 8) as usize).max(1))
    }

    /// Writes words into a buffer whose address is a multiple of 8, from byte `at` on.
    pub(crate) fn span_write(&self, span: &Span, at: u64, mut words: &[u64]) {
        let mut at = at as usize;
        while !words.is_empty() {
            let (place, count) = Self::run_of_words(span, at, words.len());
            let (run, rest) = words.split_at(count);
            for (index, word) in run.iter().enumerate() {
                self.machine.write_word(place.add(8 * index as u64), *word);
            }
            (at, words) = (at + 8 * count, rest);
        }
    }

    /// Reads words from a buffer whose address is a multiple of 8, from byte `at` on.
    pub(crate) fn span_read(&self, span: &Span, at: u64, mut words: &mut [u64]) {
        let mut at = at as usize;
        while !words.is_empty() {
            let (place, count) = Self::run_of_words(span, at, words.len());
            let (run, rest) = words.split_at_mut(count);
            for (index, word) in run.iter_mut().enumerate() {
                *word = self.machine.read_word(place.add(8 * index as u64));
            }
            (at, words) = (at + 8 * count, rest);
        }
    }

    /// The eight bytes from byte `at` on; those behind the end of the buffer are whatever stands in
    /// its last page, or zero.
    pub(crate) fn span_bytes(&self, span: &Span, at: u64) -> [u8; 8] {
        core::array::from_fn(|index| {
            let (place, _) = span.place(at + index as u64);
            if at + index as u64 >= span.size { 0 } else { (self.machine.read_word(Physical(place.0 & !7)) >> (8 * (place.0 % 8))) as u8 }
        })
    }

    /// Copies kernel words at `from` (within one frame) into a buffer at byte `at`, or back.
    pub(crate) fn span_copy_frame(&self, span: &Span, at: u64, frame: Physical, size: u64, into_span: bool) {
        let mut done = 0;
        while done < size {
            let (place, left) = span.place(at + done);
            let part = left.min(size - done);
            if into_span {
                self.machine.copy(frame.add(done), place, part);
            } else {
                self.machine.copy(place, frame.add(done), part);
            }
            done += part;
        }
    }

    /// Eight words at a multiple of 64: a descriptor, or an array of addresses.
    pub(crate) fn user_words(&self, thread: Thread<'_>, argument: u8, address: u64) -> Attempt<[u64; 8]> {
        if !address.is_multiple_of(DESCRIPTOR_ALIGNMENT) {
            return Err(Status::argument(Code::BadAddress, argument).into());
        }
        let at = self.user_memory(thread, argument, address, Rights::READ)?;
        Ok(core::array::from_fn(|index| self.machine.read_word(at.add(8 * index as u64))))
    }

    /// The descriptor at `address`; 0 is the empty one.
    pub(crate) fn descriptor(&self, thread: Thread<'_>, argument: u8, address: u64) -> Attempt<Descriptor> {
        if address == 0 {
            return Ok(Descriptor::default());
        }
        let words = self.user_words(thread, argument, address & !RECEIVE_ONLY)?;
        Ok(Descriptor {
            send_address: words[0],
            send_size: words[1],
            receive_address: words[2],
            receive_capacity: words[3],
            send_references: words[4],
            send_reference_count: words[5],
            receive_slots: words[6],
            receive_slot_count: words[7],
        })
    }
}
