//! The program's heap: lists of [small](crate::small) pieces before [talc](https://docs.rs/talc),
//! over an arena that is part of the image, and over segments from the parent's pool when that is
//! full.

use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, Ordering};

use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::gate::{self, MAX_PIECES, PIECE};
use nacre_sys::FunctionCell;
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

/// Bytes of the arena that a program may keep for the time when nothing else is left: see
/// [`keep_rest`].
const REST: usize = 16 << 10;

/// Asked for a size, it answers where memory is and how much.
pub type Source = fn(usize) -> Option<(usize, usize)>;

static SOURCE: FunctionCell<Source> = FunctionCell::new();
static mut ARENA: [MaybeUninit<u8>; ARENA_SIZE] = [MaybeUninit::uninit(); ARENA_SIZE];

/// The last time that the heap had to grow it could not.
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// Returns true if the heap could not grow when it had to.
#[cfg(target_os = "none")]
pub fn is_exhausted() -> bool {
    EXHAUSTED.load(Ordering::Relaxed)
}

/// Set if the beginning of the arena is kept.
static KEEPS_REST: AtomicBool = AtomicBool::new(false);
/// Set once the beginning of the arena had to be used, or [`note_shortage`] was called.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Keeps the beginning of the arena until the heap cannot grow any more. A program that calls this
/// before it uses the heap, and asks [`lacks_room`] before it makes what stays, goes on without
/// memory: what it does for a moment finds some.
pub fn keep_rest() {
    KEEPS_REST.store(true, Ordering::Relaxed);
}

/// Remembers that the program was refused memory.
pub fn note_shortage() {
    IS_SHORT.store(true, Ordering::Relaxed);
}

/// Returns true if memory was short once: only then [`lacks_room`] looks.
#[inline]
pub fn is_short() -> bool {
    IS_SHORT.load(Ordering::Relaxed)
}

/// Returns true if memory was short once, and the heap cannot give `bytes` bytes now.
#[inline]
pub fn lacks_room(bytes: usize) -> bool {
    is_short() && !has_room(bytes)
}

/// Source of more memory, and the size of the heap.
pub struct Growth {
    total: usize,
    last: Span,
    /// The beginning of the arena, if it is kept.
    rest: Span,
    /// Pieces of the heap that are given up when nothing else is left: see [`gate`].
    reserve: [Option<NonNull<u8>>; MAX_PIECES],
    held: usize,
    /// A piece is being taken, which must not come from another.
    is_filling: bool,
}

// SAFETY: the pieces are the heap's alone, and whoever has the heap's lock uses them.
unsafe impl Send for Growth {}

/// Layout of a piece of the reserve.
const PIECE_LAYOUT: Layout = match Layout::from_size_align(PIECE, 16) {
    Ok(layout) => layout,
    Err(_) => Layout::new::<u8>(),
};

impl Growth {
    const fn new() -> Growth {
        Growth { total: 0, last: Span::empty(), rest: Span::empty(), reserve: [None; MAX_PIECES], held: 0, is_filling: false }
    }

    /// Returns the arena, without what is kept of it. That is its beginning: the heap writes to
    /// both ends of what it has, and other data of the program lies behind the arena, in pages that
    /// are touched anyway.
    fn arena(&mut self) -> Span {
        let whole = arena();
        let kept = if KEEPS_REST.load(Ordering::Relaxed) { REST } else { 0 };
        let Some((start, _)) = whole.get_base_acme() else { return whole };
        self.rest = Span::from_base_size(start, kept);
        Span::from_base_size(start.wrapping_add(kept), ARENA_SIZE - kept)
    }

    /// Takes what was kept of the arena, unless the allocation is too large for it.
    #[cold]
    fn take_rest(&mut self, layout: Layout) -> Option<Span> {
        if layout.size() > REST / 2 || self.rest.is_empty() {
            return None;
        }
        note_shortage();
        Some(core::mem::replace(&mut self.rest, Span::empty()))
    }

    /// Takes a piece out of the reserve.
    fn give_up(&mut self) -> Option<NonNull<u8>> {
        self.held = self.held.checked_sub(1)?;
        self.reserve[self.held].take()
    }
}

/// Parts of the heap.
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

    /// Brings the reserve to `pieces` pieces. Returns false if there is no memory for them.
    fn refill(&mut self, pieces: usize) -> bool {
        while self.all.oom_handler.held > pieces
            && let Some(piece) = self.all.oom_handler.give_up()
        {
            // SAFETY: `refill` took it, with this layout, and nobody uses it.
            unsafe { self.all.free(piece, PIECE_LAYOUT) };
        }
        self.all.oom_handler.is_filling = true;
        while self.all.oom_handler.held < pieces.min(MAX_PIECES)
            // SAFETY: the size is not 0.
            && let Ok(piece) = unsafe { self.all.malloc(PIECE_LAYOUT) }
        {
            let growth = &mut self.all.oom_handler;
            growth.reserve[growth.held] = Some(piece);
            growth.held += 1;
        }
        self.all.oom_handler.is_filling = false;
        self.all.oom_handler.held >= pieces
    }

    /// Returns true if a piece has, where it is, as many bytes as are wanted now.
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

// SAFETY: what `take` gives belongs to nobody else until it is given back, has the size and
// alignment that were asked for, and is never moved.
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

/// Returns true if the heap has `bytes` bytes in one piece, or can get them.
pub fn has_room(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes.max(1), 16) else { return false };
    let mut parts = HEAP.0.lock();
    // SAFETY: the size is not 0, and nobody uses the piece before it is free again.
    unsafe { parts.all.malloc(layout).map(|piece| parts.all.free(piece, layout)) }.is_ok()
}

#[cfg_attr(target_os = "none", global_allocator)]
#[cfg_attr(not(target_os = "none"), allow(dead_code))]
static HEAP: Heap = Heap(Lock::new(Parts { small: Small::new(), all: Talc::new(Growth::new()) }));

/// Sets the source of memory, for a program without a parent. Asked for a size, it returns the
/// address and size of memory that is mapped for reading and writing for ever and that nobody else
/// uses. It must not use the heap.
pub fn set_source(source: Source) {
    SOURCE.set(source);
}

impl OomHandler for Growth {
    fn handle_oom(talc: &mut Talc<Growth>, layout: Layout) -> Result<(), ()> {
        let piece = if talc.oom_handler.total == 0 { Some(talc.oom_handler.arena()) } else { obtain(talc.oom_handler.total, layout) };
        let Some(piece) = piece.or_else(|| talc.oom_handler.take_rest(layout)) else { return use_reserve(talc, layout) };
        EXHAUSTED.store(false, Ordering::Relaxed);
        talc.oom_handler.total += piece.size();
        let last = talc.oom_handler.last;
        let adjacent = last.get_base_acme().zip(piece.get_base_acme()).is_some_and(|((_, end), (start, _))| end == start);
        // SAFETY: the piece is memory that nobody else uses, for ever; the last one is as `claim`
        // or `extend` left it.
        talc.oom_handler.last = unsafe { if adjacent { talc.extend(last, last.fit_over(piece)) } else { talc.claim(piece)? } };
        Ok(())
    }
}

/// Gives a piece of the reserve to an allocation that finds no other memory, unless the piece is
/// too small for it.
#[cold]
fn use_reserve(talc: &mut Talc<Growth>, layout: Layout) -> Result<(), ()> {
    let is_small = layout.size() <= PIECE / 2 && !talc.oom_handler.is_filling;
    let Some(piece) = is_small.then(|| talc.oom_handler.give_up()).flatten() else {
        EXHAUSTED.store(true, Ordering::Relaxed);
        return Err(());
    };
    gate::shut();
    // SAFETY: `refill` took it, with this layout, and nobody uses it.
    unsafe { talc.free(piece, PIECE_LAYOUT) };
    Ok(())
}

/// Lets servers of this program set memory aside: the heap's half of [`gate`].
#[cfg_attr(not(target_os = "none"), allow(dead_code))]
pub(crate) fn prepare() {
    gate::set_refill(|| HEAP.0.lock().refill(gate::wanted()));
}

fn arena() -> Span {
    Span::from_base_size((&raw mut ARENA).cast(), ARENA_SIZE)
}

fn obtain(total: usize, layout: Layout) -> Option<Span> {
    // The allocator's own words need some room beside the allocation.
    let needed = layout.size().checked_add(layout.align())?.checked_add(PAGE_SIZE as usize)?;
    let rounded = |size: usize| size.checked_next_multiple_of(PAGE_SIZE as usize);
    let size = needed.max((total / 2).clamp(LEAST, MOST));
    let take = |size: usize| match SOURCE.get() {
        Some(source) => source(size),
        None => from_parent(size as u64),
    };
    // Of scattered memory there may be no more in one piece than is needed now.
    let (start, size) = take(rounded(size)?).or_else(|| take(rounded(needed)?))?;
    Some(Span::from_base_size(start as *mut u8, size))
}

fn from_parent(size: u64) -> Option<(usize, usize)> {
    let start = memory::addresses(size)?;
    let (start, size) = Segment::map(start, size, Rights::NONE).ok()?.leak();
    Some((start as usize, size as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;
    use core::sync::atomic::AtomicUsize;

    /// Bytes that the source still gives.
    static BUDGET: AtomicUsize = AtomicUsize::new(0);

    fn source(size: usize) -> Option<(usize, usize)> {
        let left = BUDGET.load(Ordering::Relaxed).checked_sub(size)?;
        BUDGET.store(left, Ordering::Relaxed);
        let piece = Box::leak(alloc::vec![0u64; size / 8].into_boxed_slice());
        Some((piece.as_mut_ptr() as usize, size))
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    #[test]
    fn the_reserve_serves_small_requests_last_and_is_filled_again() {
        set_source(source);
        let mut parts = Parts { small: Small::new(), all: Talc::new(Growth::new()) };
        assert!(!parts.refill(4), "the arena alone has no room for so much");
        BUDGET.store(1 << 20, Ordering::Relaxed);
        assert!(parts.refill(4));
        BUDGET.store(0, Ordering::Relaxed);
        let mut taken = Vec::new();
        while let Some(piece) = parts.take(layout(PIECE)) {
            taken.push((piece, PIECE));
        }
        assert_eq!(parts.all.oom_handler.held, 4, "a large allocation fails before the reserve is used");
        while let Some(piece) = parts.take(layout(4000)) {
            taken.push((piece, 4000));
        }
        assert_eq!(parts.all.oom_handler.held, 0);
        assert!(!parts.refill(4));
        for (piece, size) in taken {
            // SAFETY: `take` gave it for this layout, and nobody uses it.
            unsafe { parts.give(piece, layout(size)) };
        }
        assert!(parts.refill(4));
        assert!(parts.refill(0) && parts.all.oom_handler.held == 0);
    }

    #[test]
    fn the_rest_of_the_arena_serves_small_requests_once_there_is_nothing_else() {
        let mut growth = Growth::new();
        growth.rest = Span::from_base_size(4096 as *mut u8, REST);
        assert!(growth.take_rest(layout(REST / 2 + 8)).is_none() && !is_short());
        assert!(!lacks_room(usize::MAX), "nobody looks while memory is not short");
        assert_eq!(growth.take_rest(layout(4000)).map(|rest| rest.size()), Some(REST));
        assert!(is_short() && lacks_room(usize::MAX / 2));
        assert!(growth.take_rest(layout(8)).is_none());
    }
}
