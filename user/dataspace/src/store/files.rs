//! Files that dataspaces show: each page has its place in a file for good.

use super::{Full, Lost, Store};
use crate::generations::Failed;
use crate::{PAGE, Page};
use alloc::collections::BTreeMap;
use core::any::Any;

/// Pages that may be promised: as many as there can be, since each has its place.
const CAPACITY: u64 = 1 << 40;

/// Contents of an open file.
pub trait Contents {
    /// Size in bytes.
    fn size(&mut self) -> Result<u64, Failed>;
    /// Reads bytes from an offset on, as many as there are: how many.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, Failed>;
    /// Writes bytes to an offset, all of which lie before the end.
    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), Failed>;
}

/// Files by their first pages.
pub struct Files<C> {
    files: BTreeMap<u64, (u64, C)>,
}

impl<C> Default for Files<C> {
    fn default() -> Files<C> {
        Files { files: BTreeMap::new() }
    }
}

impl<C: Contents> Files<C> {
    /// Shows a file in `count` pages from `first` on. No other file is there.
    pub fn add(&mut self, first: u64, count: u64, contents: C) {
        self.files.insert(first, (count, contents));
    }

    /// The file has so many pages from now on.
    pub fn set_count(&mut self, first: u64, count: u64) {
        if let Some(file) = self.files.get_mut(&first) {
            file.0 = count;
        }
    }

    /// Forgets the file whose first page this is.
    pub fn remove(&mut self, first: u64) {
        self.files.remove(&first);
    }

    /// Contents of the file whose first page this is.
    pub fn contents(&mut self, first: u64) -> Option<&mut C> {
        self.files.get_mut(&first).map(|(_, contents)| contents)
    }

    fn find(&mut self, page: u64) -> Option<(u64, &mut C)> {
        let (first, (count, contents)) = self.files.range_mut(..=page).next_back()?;
        (page - first < *count).then_some(((page - first) * PAGE as u64, contents))
    }
}

/// Reads a page, and zeros behind the end. `Lost`: the file ends before it.
fn read_page<C: Contents>(contents: &mut C, offset: u64, into: &mut Page) -> Result<(), Lost> {
    let mut filled = 0;
    while filled < PAGE {
        let count = contents.read(offset + filled as u64, &mut into[filled..]).map_err(|Failed| Lost)?;
        filled += count.min(PAGE - filled);
        if count == 0 {
            break;
        }
    }
    into[filled..].fill(0);
    if filled == 0 { Err(Lost) } else { Ok(()) }
}

impl<C: Contents + 'static> Store for Files<C> {
    fn put(&mut self, _: &Page) -> Result<u64, Full> {
        Err(Full)
    }

    /// Writes a page as far as the file goes: what lies behind the end is nobody's.
    fn put_for(&mut self, page: u64, from: &Page) -> Result<u64, Full> {
        let (offset, contents) = self.find(page).ok_or(Full)?;
        let size = contents.size().map_err(|Failed| Full)?;
        let count = size.saturating_sub(offset).min(PAGE as u64) as usize;
        if count > 0 {
            contents.write(offset, &from[..count]).map_err(|Failed| Full)?;
        }
        Ok(page)
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        let (offset, contents) = self.find(number).ok_or(Lost)?;
        read_page(contents, offset, into)
    }

    fn drop(&mut self, _: u64) {}

    fn capacity(&self) -> u64 {
        CAPACITY
    }

    fn used(&self) -> u64 {
        0
    }

    fn is_origin(&self) -> bool {
        true
    }

    fn origin(&self, page: u64) -> Option<u64> {
        let (first, (count, _)) = self.files.range(..=page).next_back()?;
        (page - first < *count).then_some(page)
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}
