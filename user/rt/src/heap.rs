//! The program's heap: [talc](https://docs.rs/talc) over an arena that is part of the image, and over segments from the parent's pool when that is full.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use lock_api::GuardSend;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::Hook;
use nacre_sys::lock::RawLock;
use talc::{OomHandler, Span, Talc, Talck};

use crate::memory::{self, Segment};

/// Bytes with which every program starts.
const ARENA_SIZE: usize = 64 << 10;
/// Smallest piece that is asked for.
const LEAST: usize = 256 << 10;
/// A heap grows by half of what it has, but by no more than this unless it must.
const MOST: usize = 8 << 20;

/// Asked for a size, it answers where memory is and how much.
pub type Source = fn(usize) -> Option<(usize, usize)>;

static SOURCE: Hook<Source> = Hook::new();
static mut ARENA: [MaybeUninit<u8>; ARENA_SIZE] = [MaybeUninit::uninit(); ARENA_SIZE];

/// The last time that the heap had to grow it could not.
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// Whether the heap could not grow when it had to.
#[cfg(target_os = "none")]
pub fn is_exhausted() -> bool {
    EXHAUSTED.load(Ordering::Relaxed)
}

/// The lock in the form that talc wants.
pub struct HeapLock(RawLock);

// SAFETY: one thread at a time has a `RawLock`.
unsafe impl lock_api::RawMutex for HeapLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: HeapLock = HeapLock(RawLock::new());
    type GuardMarker = GuardSend;

    fn lock(&self) {
        self.0.lock();
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    unsafe fn unlock(&self) {
        self.0.unlock();
    }
}

/// Where the heap gets more memory, and how much it has.
pub struct Growth {
    total: usize,
    last: Span,
}

#[cfg_attr(target_os = "none", global_allocator)]
#[cfg_attr(not(target_os = "none"), allow(dead_code))]
static HEAP: Talck<HeapLock, Growth> = Talc::new(Growth { total: 0, last: Span::empty() }).lock();

/// For a program without a parent: who gives memory. Asked for a size, it answers where memory is and how much, mapped for reading and writing
/// for ever and used by nobody else. It must not use the heap.
pub fn set_source(source: Source) {
    SOURCE.set(source);
}

impl OomHandler for Growth {
    fn handle_oom(talc: &mut Talc<Growth>, layout: Layout) -> Result<(), ()> {
        let piece = if talc.oom_handler.total == 0 { Some(arena()) } else { obtain(talc.oom_handler.total, layout) };
        EXHAUSTED.store(piece.is_none(), Ordering::Relaxed);
        let piece = piece.ok_or(())?;
        talc.oom_handler.total += piece.size();
        let last = talc.oom_handler.last;
        let adjacent = last.get_base_acme().zip(piece.get_base_acme()).is_some_and(|((_, end), (start, _))| end == start);
        // SAFETY: the piece is memory that nobody else uses, for ever; the last one is as `claim` or `extend` left it.
        talc.oom_handler.last = unsafe { if adjacent { talc.extend(last, last.fit_over(piece)) } else { talc.claim(piece)? } };
        Ok(())
    }
}

fn arena() -> Span {
    Span::from_base_size((&raw mut ARENA).cast(), ARENA_SIZE)
}

fn obtain(total: usize, layout: Layout) -> Option<Span> {
    // The allocator's own words need some room beside the allocation.
    let needed = layout.size().checked_add(layout.align())?.checked_add(PAGE_SIZE as usize)?;
    let size = needed.max((total / 2).clamp(LEAST, MOST)).checked_next_multiple_of(PAGE_SIZE as usize)?;
    let (start, size) = match SOURCE.get() {
        Some(source) => source(size)?,
        None => from_parent(size as u64)?,
    };
    Some(Span::from_base_size(start as *mut u8, size))
}

fn from_parent(size: u64) -> Option<(usize, usize)> {
    let start = memory::addresses(size)?;
    let (start, size) = Segment::map(start, size, Rights::NONE).ok()?.leak();
    Some((start as usize, size as usize))
}
