//! Small pieces of the heap. Most of what programs ask for is small, and asked for again soon: free
//! pieces of each size hang on a list, in front of the allocator that knows all sizes, and pieces
//! that nobody has had yet are cut off a larger one. What was once of a size stays of that size.

use core::alloc::Layout;
use core::ptr::{NonNull, null_mut};

/// Sizes are multiples of this, and so are addresses.
const UNIT: usize = 16;
/// The largest piece that is small.
const LARGEST: usize = 1024;
const SIZES: usize = LARGEST / UNIT;
/// Block that a list of fresh pieces is cut from.
pub const BLOCK: Layout = match Layout::from_size_align(8192, UNIT) {
    Ok(layout) => layout,
    Err(_) => panic!("a size and an alignment"),
};

/// A free piece.
struct Free {
    next: *mut Free,
}

/// Number of the list that a piece is on. Its pieces have `(number + 1) * UNIT` bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Size(usize);

impl Size {
    /// Returns the size of pieces for a layout, or `None` if the layout is not small.
    #[inline(always)]
    pub fn of(layout: Layout) -> Option<Size> {
        (layout.size() <= LARGEST && layout.align() <= UNIT).then(|| Size(layout.size().max(1).div_ceil(UNIT) - 1))
    }

    fn bytes(self) -> usize {
        (self.0 + 1) * UNIT
    }
}

/// The small pieces that are free.
pub struct Small {
    free: [*mut Free; SIZES],
    /// Rest of the block that pieces are cut from, and its size.
    rest: *mut u8,
    left: usize,
}

impl Small {
    /// Returns lists without pieces.
    pub const fn new() -> Small {
        Small { free: [null_mut(); SIZES], rest: null_mut(), left: 0 }
    }

    /// A piece; `None`: [`Small::add`] a block first.
    #[inline(always)]
    pub fn take(&mut self, size: Size) -> Option<NonNull<u8>> {
        let head = self.free.get_mut(size.0)?;
        match NonNull::new(*head) {
            Some(piece) => {
                // SAFETY: what is on the list is a free piece, which `give` has written.
                *head = unsafe { piece.as_ref() }.next;
                Some(piece.cast())
            }
            None => self.cut(size),
        }
    }

    fn cut(&mut self, size: Size) -> Option<NonNull<u8>> {
        let bytes = size.bytes();
        self.left = self.left.checked_sub(bytes)?;
        let piece = NonNull::new(self.rest);
        // SAFETY: so much is left of the block.
        self.rest = unsafe { self.rest.add(bytes) };
        piece
    }

    /// A piece is free.
    ///
    /// # Safety
    /// It is of this size, was taken or is part of a block, and nobody uses it any more.
    #[inline(always)]
    pub unsafe fn give(&mut self, size: Size, piece: NonNull<u8>) {
        let Some(head) = self.free.get_mut(size.0) else { return };
        let piece = piece.cast::<Free>();
        // SAFETY: the caller's promise; a piece has room for the word, and its alignment.
        unsafe { piece.write(Free { next: *head }) };
        *head = piece.as_ptr();
    }

    /// Fresh pieces are cut off this block; what was left of the one before becomes free.
    ///
    /// # Safety
    /// It has the size and alignment of [`BLOCK`], and belongs to nobody else from now on.
    pub unsafe fn add(&mut self, block: NonNull<u8>) {
        if let (Some(number), Some(rest)) = ((self.left / UNIT).checked_sub(1), NonNull::new(self.rest)) {
            // SAFETY: the rest of a block, a multiple of `UNIT` that is shorter than a piece which
            // was asked for.
            unsafe { self.give(Size(number), rest) };
        }
        (self.rest, self.left) = (block.as_ptr(), BLOCK.size());
    }
}

// SAFETY: what it points to is its own.
unsafe impl Send for Small {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::alloc;
    use std::collections::BTreeMap;

    #[test]
    fn pieces_never_overlap_and_are_used_again() {
        let mut small = Small::new();
        let (mut taken, mut blocks, mut state) = (BTreeMap::<usize, usize>::new(), 0, 1_u64);
        for step in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bytes = 1 + (state >> 33) as usize % LARGEST;
            let size = Size::of(Layout::from_size_align(bytes, 8).unwrap()).unwrap();
            assert!(size.bytes() >= bytes && size.bytes() < bytes + UNIT);
            if taken.len() > 100 || step % 3 == 0 && !taken.is_empty() {
                let (start, bytes) = taken.iter().nth((state >> 20) as usize % taken.len()).map(|(start, bytes)| (*start, *bytes)).unwrap();
                taken.remove(&start);
                // SAFETY: it was taken as one of this size, and nobody uses it.
                unsafe { small.give(Size(bytes / UNIT - 1), NonNull::new(start as *mut u8).unwrap()) };
                continue;
            }
            let piece = small.take(size).unwrap_or_else(|| {
                blocks += 1;
                // SAFETY: a fresh block, which is never freed.
                unsafe { small.add(NonNull::new(alloc(BLOCK)).unwrap()) };
                small.take(size).expect("a block has room for every size")
            });
            let start = piece.as_ptr() as usize;
            assert_eq!(start % UNIT, 0);
            let before = taken.range(..start + size.bytes()).next_back();
            assert!(before.is_none_or(|(other, bytes)| other + bytes <= start), "{start:x} lies in another");
            taken.insert(start, size.bytes());
        }
        assert!(blocks < 100, "{blocks} blocks for 100 pieces");
    }

    #[test]
    fn what_is_large_or_aligned_is_not_small() {
        let of = |size, align| Size::of(Layout::from_size_align(size, align).unwrap()).map(Size::bytes);
        assert_eq!([of(0, 1), of(1, 1), of(16, 16), of(17, 1), of(LARGEST, 8)], [16, 16, 16, 32, LARGEST].map(Some));
        assert_eq!([of(LARGEST + 1, 1), of(16, 32)], [None; 2]);
        assert_eq!([Size(0).bytes(), Size(SIZES - 1).bytes()], [16, LARGEST]);
    }
}
