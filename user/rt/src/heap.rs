//! The program's heap: lists of [small](crate::small) pieces before [talc](https://docs.rs/talc), over an arena that is part of the image, and over segments from the
//! parent's pool when that is full.

use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, Ordering};

use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::Hook;
use nacre_sys::lock::Lock;
use talc::{OomHandler, Span, Talc};

use crate::memory::{self, Segment};
use crate::small::{BLOCK, Size, Small};

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

/// Where the heap gets more memory, and how much it has.
pub struct Growth {
    total: usize,
    last: Span,
}

/// What the heap consists of.
struct Parts {
    small: Small,
    all: Talc<Growth>,
}

impl Parts {
    fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the caller of the allocator promises that the size is not 0.
        let mut other = |layout| unsafe { self.all.malloc(layout) }.ok();
        let Some(size) = Size::of(layout) else { return other(layout) };
        if let Some(piece) = self.small.take(size) {
            return Some(piece);
        }
        // SAFETY: it was made for this.
        unsafe { self.small.add(other(BLOCK)?) };
        self.small.take(size)
    }

    /// # Safety
    /// `take` has given it for this layout, and nobody uses it any more.
    unsafe fn give(&mut self, piece: NonNull<u8>, layout: Layout) {
        match Size::of(layout) {
            // SAFETY: the caller's promise.
            Some(size) => unsafe { self.small.give(size, piece) },
            // SAFETY: the caller's promise.
            None => unsafe { self.all.free(piece, layout) },
        }
    }

    /// Whether a piece has, where it is, as many bytes as are wanted now.
    ///
    /// # Safety
    /// `take` has given it for this layout.
    unsafe fn fit(&mut self, piece: NonNull<u8>, layout: Layout, bytes: usize) -> bool {
        let Ok(new) = Layout::from_size_align(bytes, layout.align()) else { return false };
        match (Size::of(layout), Size::of(new)) {
            (None, None) if bytes >= layout.size() => {
                // SAFETY: the caller's promise.
                unsafe { self.all.grow_in_place(piece, layout, bytes) }.is_ok()
            }
            (None, None) => {
                // SAFETY: the caller's promise.
                unsafe { self.all.shrink(piece, layout, bytes) };
                true
            }
            (old, new) => old == new,
        }
    }
}

struct Heap(Lock<Parts>);

// SAFETY: what `take` gives belongs to nobody else until it is given back, has the size and alignment that were asked for, and is never moved.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.lock().take(layout).map_or(null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if let Some(piece) = NonNull::new(piece) {
            // SAFETY: the caller's promise.
            unsafe { self.0.lock().give(piece, layout) };
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promises, here and below.
        if NonNull::new(piece).is_some_and(|piece| unsafe { self.0.lock().fit(piece, layout, bytes) }) {
            return piece;
        }
        let Ok(new) = Layout::from_size_align(bytes, layout.align()) else { return null_mut() };
        // SAFETY: as above.
        let to = unsafe { self.alloc(new) };
        if !to.is_null() {
            // SAFETY: both have so many bytes, and are not the same.
            unsafe {
                to.copy_from_nonoverlapping(piece, bytes.min(layout.size()));
                self.dealloc(piece, layout);
            }
        }
        to
    }
}

#[cfg_attr(target_os = "none", global_allocator)]
#[cfg_attr(not(target_os = "none"), allow(dead_code))]
static HEAP: Heap = Heap(Lock::new(Parts { small: Small::new(), all: Talc::new(Growth { total: 0, last: Span::empty() }) }));

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
