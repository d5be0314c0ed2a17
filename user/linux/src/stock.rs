//! Fresh memory for areas: large ones get a segment of their own, small ones share.
//!
//! Each part of a shared segment is used once, so that it is all zeros; the segment goes back when the last area over it has gone.

use crate::errno::Errno;
use crate::services::{Segment, Services};
use alloc::rc::Rc;

/// Largest area that shares a segment with others.
const SHARED_MOST: u64 = 0x2_0000;
/// Size of the first shared segment; each is twice as large as the one before.
const FIRST: u64 = 0x1_0000;
/// Size of the largest.
const LARGEST: u64 = 0x10_0000;

/// The segment that small areas are cut from at present.
#[derive(Default)]
pub struct Stock {
    segment: Option<Rc<Segment>>,
    size: u64,
    used: u64,
}

impl Stock {
    /// Memory that nobody has used: a segment, and the offset of `size` bytes (a multiple of a page) in it.
    pub fn take(&mut self, services: &mut Services, size: u64) -> Result<(Rc<Segment>, u64), Errno> {
        if size > SHARED_MOST {
            return Ok((services.segment(size)?, 0));
        }
        if let Some(segment) = self.segment.as_ref().filter(|_| self.size - self.used >= size) {
            self.used += size;
            return Ok((segment.clone(), self.used - size));
        }
        let wanted = (2 * self.size).clamp(FIRST, LARGEST).max(size);
        // A pool that is nearly empty may still have as much as is needed now.
        let Ok(segment) = services.segment(wanted) else { return Ok((services.segment(size)?, 0)) };
        *self = Stock { segment: Some(segment.clone()), size: wanted, used: size };
        Ok((segment, 0))
    }
}
