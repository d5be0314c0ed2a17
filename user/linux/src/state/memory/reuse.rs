//! What a program had for itself alone and only its maker could give back: when another program
//! takes its place, that one gets it, full of zeros.

use crate::abi::errno::{ENOMEM, Errno};
use crate::raw::memory_words;
use crate::services::segment::Segment;
use crate::services::segment_cache::SegmentCache;
use crate::state::memory::Memory;
use crate::state::memory::mapped_part::{AtFork, Fill, Part, Shown};
use crate::state::memory::soft_dirty;
use alloc::rc::Rc;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::memory;

/// Number of pages above which clearing them costs more than reuse gains.
const MAX_TOUCHED: u64 = 32;

impl Part {
    /// Returns true if the part shows memory that came with the environment and that no other
    /// process sees.
    fn is_left_over(&self) -> bool {
        let is_of_pool = self.segment.as_ref().is_some_and(|segment| segment.port().is_some());
        self.writable && !self.shared && !self.lent && self.registered.is_none() && !self.tracked && self.at_fork == AtFork::Copied && !is_of_pool
    }

    /// Fills what may have been written with zeros; whether there was so little that it is worth
    /// it.
    fn wipe(&mut self) -> Result<bool, Errno> {
        let (mut at, end, mut left) = (self.state.start, self.state.start + self.state.size, MAX_TOUCHED * PAGE_SIZE);
        while let Some(touched) = memory::touched(at, end) {
            let size = touched.end.min(end) - touched.start;
            if size > left {
                return Ok(false);
            }
            self.protect(Rights::READ.union(Rights::WRITE))?;
            memory_words::wipe(touched.start, size);
            (at, left) = (touched.start + size, left - size);
        }
        Ok(true)
    }

    /// The segment and where in it the part is. All that came with the environment lies in one,
    /// which is `common` once it is known.
    fn place(&mut self, common: &mut Option<Rc<Segment>>) -> Result<(Rc<Segment>, u64), Errno> {
        match (&self.shown, &*common) {
            (Shown::Given(_), Some(common)) => {
                let offset = self.shown.handle().get_state().map_err(|_| ENOMEM)?.offset;
                Ok((common.clone(), offset))
            }
            (Shown::Given(_), None) => Ok((common.insert(self.segment()?).clone(), self.state.offset)),
            (Shown::Made(_), _) => Ok((self.segment()?, self.state.offset)),
        }
    }
}

impl Memory {
    /// All of it goes; what is left of it.
    pub fn give_up(mut self) -> SegmentCache {
        // What cannot be written now is not used again.
        let _ = soft_dirty::end_tracking(&mut self);
        let (mut stock, mut common, mut end) = (self.stock.again(), None, 0);
        for area in self.map.into_areas() {
            let Fill::Own(mut part) = area.backing else { continue };
            // What cannot be used again is there until the environment goes.
            if part.is_left_over()
                && part.wipe().is_ok_and(|is_clear| is_clear)
                && let Ok((segment, offset)) = part.place(&mut common)
            {
                stock.give(segment, offset, part.state.size, area.start == end);
                end = area.end;
            }
        }
        stock
    }

    /// Areas are made of this before anything else is asked for.
    pub fn use_again(&mut self, stock: SegmentCache) {
        self.stock = stock;
    }
}
