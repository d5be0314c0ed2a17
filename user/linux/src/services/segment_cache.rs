//! Fresh memory for areas: large ones get a segment of their own, small ones share.
//!
//! Each part of a shared segment is used once, so that it is all zeros; the segment goes back when
//! the last area over it has gone. What cannot go back, since it came with the environment, is used
//! again when another program takes the place of the one that had it: whoever gives it up has wiped
//! it.

use crate::abi::errno::Errno;
use crate::services::connections::Services;
use crate::services::segment::Segment;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// Largest area that shares a segment with others.
const SHARED_MOST: u64 = 0x2_0000;
/// Larger areas are not made of what was given up: a fork leaves them to be copied later, which
/// takes a segment that can be handed on.
const AGAIN_MOST: u64 = 0x3_f000;
/// Size of the first shared segment; each is twice as large as the one before.
const FIRST: u64 = 0x1_0000;
/// Size of the largest.
const LARGEST: u64 = 0x10_0000;

/// A part of a segment that nobody uses, full of zeros.
#[derive(Clone)]
struct Extent {
    segment: Rc<Segment>,
    offset: u64,
    size: u64,
}

/// The segment that small areas are cut from at present, and what was given up.
#[derive(Default)]
pub struct SegmentCache {
    segment: Option<Rc<Segment>>,
    size: u64,
    used: u64,
    free: Vec<Extent>,
}

impl SegmentCache {
    /// Memory that nobody has used: a segment, and the offset of `size` bytes (a multiple of a
    /// page) in it.
    pub fn take(&mut self, services: &mut Services, size: u64) -> Result<(Rc<Segment>, u64), Errno> {
        if let Some(found) = self.take_again(size) {
            return Ok(found);
        }
        if size > SHARED_MOST {
            return Ok((services.pageable(size)?, 0));
        }
        if let Some(segment) = self.segment.as_ref().filter(|_| self.size - self.used >= size) {
            self.used += size;
            return Ok((segment.clone(), self.used - size));
        }
        let wanted = (2 * self.size).clamp(FIRST, LARGEST).max(size);
        // A pool that is nearly empty may still have as much as is needed now.
        let Ok(segment) = services.pageable(wanted) else { return Ok((services.pageable(size)?, 0)) };
        (self.segment, self.size, self.used) = (Some(segment.clone()), wanted, size);
        Ok((segment, 0))
    }

    /// The smallest part of what was given up that is large enough.
    fn take_again(&mut self, size: u64) -> Option<(Rc<Segment>, u64)> {
        let fits = self.free.iter().enumerate().filter(|(_, extent)| extent.size >= size && size <= AGAIN_MOST);
        let (index, _) = fits.min_by_key(|(_, extent)| extent.size)?;
        let extent = &mut self.free[index];
        let found = (extent.segment.clone(), extent.offset);
        (extent.offset, extent.size) = (extent.offset + size, extent.size - size);
        if extent.size == 0 {
            self.free.swap_remove(index);
        }
        Some(found)
    }

    /// Returns a cache with the memory that was given up and not used since.
    pub fn again(self) -> SegmentCache {
        SegmentCache { free: self.free, ..SegmentCache::default() }
    }

    /// Keeps what nobody uses any more, and is full of zeros. `follows`: it lay behind what was
    /// given last, and may be one piece with it.
    pub fn give(&mut self, segment: Rc<Segment>, offset: u64, size: u64, follows: bool) {
        let is_next = |extent: &&mut Extent| follows && Rc::ptr_eq(&extent.segment, &segment) && extent.offset + extent.size == offset;
        match self.free.last_mut().filter(is_next) {
            Some(extent) => extent.size += size,
            None => self.free.push(Extent { segment, offset, size }),
        }
    }
}
