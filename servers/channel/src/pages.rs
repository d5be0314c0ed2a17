//! The bytes of a pipe, counted as Linux counts them: in pages, each with what one write put there,
//! or several small ones that fit together.

use crate::bytes;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Bytes of a page. Up to so many are written whole or not at all.
pub const PAGE: usize = 4096;

/// Number of pages for which an empty pipe keeps room.
const FEW: usize = 4;

/// One page.
#[derive(Debug)]
struct Page {
    /// Bytes that are still to be read.
    left: usize,
    /// End of the filled part.
    end: usize,
    /// Set if the page holds one packet, which is read at once or lost.
    is_packet: bool,
}

/// All pages.
#[derive(Debug, Default)]
pub struct Pages {
    bytes: VecDeque<u8>,
    pages: VecDeque<Page>,
}

impl Pages {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes for which there is room without more memory.
    #[cfg(test)]
    pub fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the number of pages in use.
    pub fn used(&self) -> usize {
        self.pages.len()
    }

    /// Returns the bytes beyond whole pages of `size` bytes, if they fit behind what was written
    /// last.
    fn joined(&self, size: usize, is_packet: bool) -> usize {
        let rest = size % PAGE;
        let fits = self.pages.back().is_some_and(|last| !last.is_packet && last.end + rest <= PAGE);
        if fits && !is_packet { rest } else { 0 }
    }

    /// Returns the number of `size` bytes that can be taken if there are at most `limit` pages;
    /// `None`: none can.
    pub fn takes(&self, size: usize, limit: usize, is_packet: bool) -> Option<usize> {
        let joined = self.joined(size, is_packet);
        let count = size.min(joined + limit.saturating_sub(self.used()) * PAGE);
        (count > 0 || size == 0).then_some(count)
    }

    /// Puts bytes of which `takes` has said that they can be. `ENOMEM`: nothing was put.
    pub fn put(&mut self, data: &[u8], is_packet: bool) -> Result<(), Errno> {
        self.bytes.try_reserve(data.len()).map_err(|_| Errno::ENOMEM)?;
        self.pages.try_reserve(data.len().div_ceil(PAGE)).map_err(|_| Errno::ENOMEM)?;
        let (first, rest) = data.split_at(self.joined(data.len(), is_packet));
        if let Some(last) = self.pages.back_mut().filter(|_| !first.is_empty()) {
            last.left += first.len();
            last.end += first.len();
        }
        self.bytes.extend(data);
        let sizes = rest.chunks(PAGE).map(|chunk| Page { left: chunk.len(), end: chunk.len(), is_packet });
        self.pages.extend(sizes);
        Ok(())
    }

    /// Takes memory for `pages` pages and one that may come meanwhile.
    pub fn reserve(&mut self, pages: usize) -> Result<(), Errno> {
        self.bytes.try_reserve((pages + 1) * PAGE).map_err(|_| Errno::ENOMEM)?;
        self.pages.try_reserve(pages + 1).map_err(|_| Errno::ENOMEM)
    }

    /// Puts a page behind the others, whatever room the pipe has, if [`Pages::reserve`] has taken
    /// memory for it.
    pub fn add(&mut self, data: &[u8], is_packet: bool) {
        if self.bytes.capacity() - self.bytes.len() < data.len() || self.pages.len() == self.pages.capacity() {
            // Only a ring that makes no sense has more than it said.
            return;
        }
        self.bytes.extend(data);
        self.pages.push_back(Page { left: data.len(), end: data.len(), is_packet });
    }

    /// Shows each page: its bytes, how much of it has been read, and whether it is a packet; until
    /// `show` says no.
    pub fn each(&self, mut show: impl FnMut(&[u8], usize, bool) -> bool) -> bool {
        let mut from = 0;
        self.pages.iter().all(|page| {
            let mut data = Vec::with_capacity(page.left);
            bytes::copy(&self.bytes, from, page.left, &mut data);
            from += page.left;
            show(&data, page.end - page.left, page.is_packet)
        })
    }

    /// Takes up to `size` bytes; of packets one, whose rest is lost.
    pub fn take(&mut self, size: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        while let Some(first) = self.pages.front_mut().filter(|_| taken.len() < size) {
            let count = first.left.min(size - taken.len());
            bytes::take(&mut self.bytes, count, &mut taken);
            first.left -= count;
            let is_packet = first.is_packet;
            if is_packet {
                self.bytes.drain(..first.left);
                first.left = 0;
            }
            if first.left == 0 {
                self.pages.pop_front();
            }
            if is_packet {
                break;
            }
        }
        if self.bytes.is_empty() {
            // Room that was taken is charged to nobody.
            self.bytes.shrink_to(FEW * PAGE);
            self.pages.shrink_to(FEW);
        }
        taken
    }

    /// The first bytes, up to the end of a packet, which stay.
    pub fn look(&self, size: usize) -> Vec<u8> {
        let packet = self.pages.iter().position(|page| page.is_packet).map_or(self.pages.len(), |index| index + 1);
        let there: usize = self.pages.iter().take(packet).map(|page| page.left).sum();
        let mut data = Vec::with_capacity(size.min(there));
        bytes::copy(&self.bytes, 0, size.min(there), &mut data);
        data
    }

    /// Puts back bytes that were taken. They are first again.
    pub fn put_back(&mut self, data: &[u8], is_packet: bool) {
        for chunk in data.rchunks(PAGE) {
            self.pages.push_front(Page { left: chunk.len(), end: PAGE, is_packet });
        }
        bytes::put_front(&mut self.bytes, data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_writes_share_a_page_if_they_fit() {
        let mut pages = Pages::default();
        for (size, used) in [(4000, 1), (96, 1), (1, 2), (4096, 3), (5000, 5)] {
            assert_eq!(pages.takes(size, 16, false), Some(size));
            pages.put(&alloc::vec![7; size], false).unwrap();
            assert_eq!(pages.used(), used, "{size}");
        }
        assert_eq!(pages.takes(4096, 5, false), None);
        assert_eq!((pages.takes(100, 5, false), pages.takes(3193, 5, false)), (Some(100), None));
        assert_eq!(pages.take(4096).len(), 4096);
        assert_eq!((pages.used(), pages.bytes()), (4, 9097));
    }

    #[test]
    fn packets_stay_apart() {
        let mut pages = Pages::default();
        pages.put(b"plain", false).unwrap();
        pages.put(b"first", true).unwrap();
        pages.put(b"second", true).unwrap();
        pages.put(b"last", false).unwrap();
        assert_eq!(pages.take(8), b"plainfir");
        assert_eq!(pages.take(99), b"second");
        assert_eq!((pages.take(99), pages.used(), pages.bytes()), (b"last".to_vec(), 0, 0));
    }
}
