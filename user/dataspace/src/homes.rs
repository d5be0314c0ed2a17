//! Frames that belong to pages for good: each dataspace has one run of frames, in the order of its
//! pages.

use crate::extents::Extents;
use alloc::collections::BTreeMap;
use core::ops::Range;

/// Runs of pages, and the run of frames of each.
#[derive(Debug)]
pub struct Homes {
    free: Extents,
    /// Runs by first page: number of pages, and first frame.
    runs: BTreeMap<u64, (u64, u64)>,
    access: Access,
}

/// Access to the frames of a bank with homes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Memory, which is cleared when a page is touched for the first time.
    Memory,
    /// A device's: what is there stays.
    Device,
    /// A device's, which nobody writes.
    ReadOnlyDevice,
}

impl Homes {
    /// Homes in `frames` frames, none of which is taken.
    pub fn new(frames: usize, access: Access) -> Homes {
        Homes { free: Extents::new(frames as u64), runs: BTreeMap::new(), access }
    }

    /// Returns the kind of access.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The frame of a page; `None` if the page is of no run.
    pub fn frame(&self, page: u64) -> Option<usize> {
        let (start, (count, frame)) = self.runs.range(..=page).next_back()?;
        (page - start < *count).then(|| (frame + (page - start)) as usize)
    }

    /// Takes frames for pages, behind those of the page before if that has some. Returns false if
    /// there are no such frames.
    pub fn take(&mut self, pages: Range<u64>) -> bool {
        let more = pages.end - pages.start;
        if let Some((start, (count, frame))) = self.runs.range_mut(..pages.start).next_back()
            && start + *count == pages.start
            && self.free.take_at(*frame + *count, more)
        {
            *count += more;
            return true;
        }
        false
    }

    /// Takes a run of frames for a new dataspace. Returns false if there is none.
    pub fn begin(&mut self, pages: Range<u64>) -> bool {
        let count = pages.end - pages.start;
        let Some(frame) = self.free.take(count) else { return false };
        self.runs.insert(pages.start, (count, frame));
        true
    }

    /// Gives back the frames of pages that lie in one run. What lies before and behind them keeps
    /// its frames.
    pub fn give(&mut self, pages: Range<u64>) {
        let Some((start, (count, frame))) = self.runs.range(..=pages.start).next_back().map(|(start, run)| (*start, *run)) else { return };
        let (kept, end) = (pages.start - start, pages.end.min(start + count));
        if kept >= count {
            return;
        }
        self.runs.remove(&start);
        if kept > 0 {
            self.runs.insert(start, (kept, frame));
        }
        if end < start + count {
            self.runs.insert(end, (start + count - end, frame + (end - start)));
        }
        self.free.give(frame + kept, end - pages.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataspace_has_one_run_of_frames() {
        let mut homes = Homes::new(16, Access::Memory);
        assert!(homes.begin(100..104) && homes.begin(200..204) && !homes.begin(300..309));
        assert_eq!((homes.frame(100), homes.frame(103), homes.frame(203), homes.frame(104), homes.frame(99)), (Some(0), Some(3), Some(7), None, None));
        // Another one's frames are behind the first run.
        assert!(!homes.take(104..105) && homes.take(204..206));
        assert_eq!(homes.frame(205), Some(9));
        homes.give(202..206);
        assert_eq!((homes.frame(201), homes.frame(202)), (Some(5), None));
        homes.give(200..201);
        assert_eq!((homes.frame(200), homes.frame(201)), (None, Some(5)));
        assert!(homes.begin(200..201));
        homes.give(100..104);
        assert!(homes.begin(300..304) && homes.begin(400..410));
        assert_eq!((homes.frame(300), homes.frame(400)), (Some(0), Some(6)));
    }
}
