//! Which files the program has mapped where, for those who ask: by the paths that they were opened
//! by.

use crate::state::files::open_file::OpenFile;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// The path that a file was opened by, and the directory where that starts (none: the root).
pub type Opened = (Option<Rc<OpenFile>>, Vec<u8>);

/// A range that shows a file.
struct Range {
    end: u64,
    /// Offset in the file of the range's start.
    offset: u64,
    opened: Rc<Opened>,
}

/// Ranges that show files. They do not overlap.
#[derive(Default)]
pub struct MappedFiles(BTreeMap<u64, Range>);

impl MappedFiles {
    /// Notes that a range shows a file from an offset on.
    pub fn add(&mut self, start: u64, end: u64, offset: u64, opened: Opened) {
        self.forget(start, end);
        self.0.insert(start, Range { end, offset, opened: Rc::new(opened) });
    }

    /// Forgets what a range shows.
    pub fn forget(&mut self, start: u64, end: u64) {
        while let Some((from, range)) = self.last_before(end).filter(|(_, range)| range.end > start) {
            let (last, offset, opened) = (range.end, range.offset, range.opened.clone());
            self.0.remove(&from);
            if from < start {
                self.0.insert(from, Range { end: start, offset, opened: opened.clone() });
            }
            if last > end {
                self.0.insert(end, Range { end: last, offset: offset + (end - from), opened });
            }
        }
    }

    /// Moves what a range shows to another place.
    pub fn follow(&mut self, start: u64, end: u64, to: u64) {
        let mut moved = Vec::new();
        for (from, range) in self.0.range(..end).rev().take_while(|(_, range)| range.end > start) {
            let first = start.max(*from);
            moved.push((to + (first - start), to + (range.end.min(end) - start), range.offset + (first - from), range.opened.clone()));
        }
        self.forget(start, end);
        for (start, end, offset, opened) in moved {
            self.forget(start, end);
            self.0.insert(start, Range { end, offset, opened });
        }
    }

    fn last_before(&self, end: u64) -> Option<(u64, &Range)> {
        self.0.range(..end).next_back().map(|(from, range)| (*from, range))
    }

    /// Returns the file that is shown at an address, and the offset there.
    pub fn at(&self, address: u64) -> Option<(&Rc<Opened>, u64)> {
        let (start, range) = self.last_before(address.checked_add(1)?).filter(|(_, range)| range.end > address)?;
        Some((&range.opened, range.offset + (address - start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_out_is_forgotten_and_the_rest_keeps_its_offsets() {
        let mut files = MappedFiles::default();
        files.add(0x1000, 0x9000, 0x100_0000, (None, b"/a".to_vec()));
        files.add(0x3000, 0x4000, 0, (None, b"/b".to_vec()));
        files.forget(0x6000, 0x7000);
        files.forget(0x20_0000, 0x30_0000);
        let at = |address| files.at(address).map(|(opened, offset)| (&opened.1[..], offset));
        assert_eq!([0xfff, 0x6000, 0x6fff, 0x9000].map(at), [None; 4]);
        assert_eq!((at(0x1000), at(0x2fff)), (Some((&b"/a"[..], 0x100_0000)), Some((&b"/a"[..], 0x100_1fff))));
        assert_eq!((at(0x3010), at(0x4000)), (Some((&b"/b"[..], 0x10)), Some((&b"/a"[..], 0x100_3000))));
        assert_eq!((at(0x5fff), at(0x7000)), (Some((&b"/a"[..], 0x100_4fff)), Some((&b"/a"[..], 0x100_6000))));
        let at = |files: &MappedFiles, address| files.at(address).map(|(opened, offset)| (opened.1.clone(), offset));
        files.follow(0x2000, 0x5000, 0x10_0000);
        assert_eq!([0x2000, 0x3000, 0x4fff].map(|address| at(&files, address)), [const { None }; 3]);
        assert_eq!((at(&files, 0x1fff), at(&files, 0x5000)), (Some((b"/a".to_vec(), 0x100_0fff)), Some((b"/a".to_vec(), 0x100_4000))));
        assert_eq!((at(&files, 0x10_0000), at(&files, 0x10_1000)), (Some((b"/a".to_vec(), 0x100_1000)), Some((b"/b".to_vec(), 0))));
        assert_eq!((at(&files, 0x10_2fff), at(&files, 0x10_3000)), (Some((b"/a".to_vec(), 0x100_3fff)), None));
        files.forget(0, u64::MAX);
        assert!(files.0.is_empty());
    }
}
