//! Cursor of a directory that is being listed.

use crate::abi::errno::{EINVAL, EIO, Errno};
use alloc::vec::Vec;
use nacre_proto::structures::{Entries, Entry};

/// Bytes of a batch.
const BATCH: usize = 8192;
/// Bytes of a `linux_dirent64` before the name.
const HEADER: usize = 19;

/// Position in the listing of a directory.
#[derive(Default)]
pub struct Listing {
    batch: Vec<u8>,
    /// Index of the next entry in `batch`.
    at: usize,
    /// Position at which the server goes on; 0 before the first batch.
    cookie: u64,
    /// Set if `batch` is the last one.
    last: bool,
    /// Number of the next entry.
    next: u64,
}

impl Listing {
    /// Starts again, and leaves `skip` entries out.
    pub fn rewind(&mut self) {
        *self = Listing::default();
    }

    /// Number of the next entry, which is the offset of a directory.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Moves entries to `into`; how many bytes. `EINVAL` if not even one fits.
    pub fn copy(&mut self, into: &mut [u8]) -> Result<usize, Errno> {
        let mut used = 0;
        while let Some((found, end)) = entry(&self.batch, self.at) {
            let Some(size) = write_entry(&mut into[used..], &found, self.next + 1) else {
                return if used == 0 { Err(EINVAL) } else { Ok(used) };
            };
            self.at = end;
            self.next += 1;
            used += size;
        }
        Ok(used)
    }

    fn is_exhausted(&self) -> bool {
        self.at >= self.batch.len()
    }

    /// Fetches batches until there is something to copy; false at the end.
    pub fn refill(&mut self, mut fetch: impl FnMut(u64, &mut [u8]) -> Result<(u64, usize), Errno>) -> Result<bool, Errno> {
        while self.is_exhausted() {
            if self.last {
                return Ok(false);
            }
            self.batch.resize(BATCH, 0);
            let (cookie, size) = fetch(self.cookie, &mut self.batch).inspect_err(|_| self.batch.clear())?;
            self.batch.truncate(size);
            (self.at, self.cookie, self.last) = (0, cookie, cookie == 0);
            if entry(&self.batch, 0).is_none() && size != 0 {
                return Err(EIO);
            }
        }
        Ok(true)
    }

    /// Leaves the next entry out; false at the end.
    pub fn skip(&mut self, fetch: impl FnMut(u64, &mut [u8]) -> Result<(u64, usize), Errno>) -> Result<bool, Errno> {
        if !self.refill(fetch)? {
            return Ok(false);
        }
        self.at = entry(&self.batch, self.at).map_or(self.batch.len(), |(_, end)| end);
        self.next += 1;
        Ok(true)
    }
}

/// The entry at `at`, and where the one after it starts.
fn entry(batch: &[u8], at: usize) -> Option<(Entry<'_>, usize)> {
    let found = Entries(batch.get(at..)?).next()?;
    Some((found, at + found.packed_size()))
}

/// Writes one `linux_dirent64`; how many bytes, or `None` if it does not fit.
fn write_entry(into: &mut [u8], entry: &Entry<'_>, next: u64) -> Option<usize> {
    let size = (HEADER + entry.name.len() + 1).next_multiple_of(8);
    let place = into.get_mut(..size)?;
    place.fill(0);
    place[..8].copy_from_slice(&entry.inode.to_le_bytes());
    place[8..16].copy_from_slice(&next.to_le_bytes());
    place[16..18].copy_from_slice(&(size as u16).to_le_bytes());
    place[18] = (entry.mode >> 12) as u8 & 15;
    place[HEADER..HEADER + entry.name.len()].copy_from_slice(entry.name);
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(names: &[&str]) -> Vec<u8> {
        let mut batch = Vec::new();
        for name in names {
            let entry = Entry { inode: 100, mode: 0o040755, name: name.as_bytes() };
            let start = batch.len();
            batch.resize(start + entry.packed_size(), 0);
            entry.pack(&mut batch[start..]).unwrap();
        }
        batch
    }

    /// Serves three names, in two batches.
    fn serve(cookie: u64, into: &mut [u8]) -> Result<(u64, usize), Errno> {
        let batch = if cookie == 0 { packed(&[".", "long name"]) } else { packed(&["c"]) };
        into[..batch.len()].copy_from_slice(&batch);
        Ok((if cookie == 0 { 7 } else { 0 }, batch.len()))
    }

    #[test]
    fn entries_have_linuxs_layout_and_stop_where_the_buffer_ends() {
        let mut listing = Listing::default();
        assert_eq!(listing.refill(serve), Ok(true));
        let mut buffer = [0xff; 40];
        assert_eq!(listing.copy(&mut buffer), Ok(24));
        assert_eq!(u64::from_le_bytes(buffer[..8].try_into().unwrap()), 100);
        assert_eq!(buffer[8..20], [1, 0, 0, 0, 0, 0, 0, 0, 24, 0, 4, b'.']);
        assert_eq!(listing.copy(&mut buffer[..31]), Err(EINVAL));
        assert_eq!(listing.copy(&mut buffer), Ok(32));
        assert_eq!(listing.refill(serve), Ok(true));
        assert_eq!(listing.copy(&mut buffer), Ok(24));
        assert_eq!(listing.refill(serve), Ok(false));
        assert_eq!(listing.position(), 3);
    }

    #[test]
    fn a_position_can_be_found_again() {
        let mut listing = Listing::default();
        assert_eq!(listing.skip(serve), Ok(true));
        assert_eq!(listing.skip(serve), Ok(true));
        let mut buffer = [0; 64];
        assert_eq!(listing.refill(serve), Ok(true));
        listing.copy(&mut buffer).unwrap();
        assert_eq!(buffer[19], b'c');
        assert_eq!(listing.skip(serve), Ok(false));
    }
}
