//! Reading ahead: what follows in a file that is read from its start to its end is asked of the
//! disk before somebody wants it.

use crate::core::Core;
use crate::disk::Disk;
use crate::inode::Inode;

/// Files that are read at the same time and noticed.
const STREAMS: usize = 4;
/// Bytes that are asked for ahead.
const AHEAD: u64 = 512 << 10;

/// A file, and the offset behind what was read of it last.
#[derive(Clone, Copy, Default)]
struct Stream {
    inode: u32,
    next: u64,
}

/// Files that were read last.
#[derive(Default)]
pub struct Streams {
    all: [Stream; STREAMS],
    /// Place of the next one that is not known.
    hand: usize,
}

impl Streams {
    /// Notes a read. Returns true if it goes on where the last one stopped.
    pub fn note(&mut self, inode: u32, at: u64, end: u64) -> bool {
        if let Some(stream) = self.all.iter_mut().find(|stream| stream.inode == inode) {
            let goes_on = stream.next == at;
            stream.next = end;
            return goes_on;
        }
        self.all[self.hand] = Stream { inode, next: end };
        self.hand = (self.hand + 1) % STREAMS;
        at == 0
    }
}

impl<D: Disk> Core<D> {
    /// Asks the disk for what follows in a file.
    pub fn read_ahead(&mut self, inode: &Inode, from: u64) {
        let size = self.geometry.block_size as u64;
        let mut at = from / size;
        let end = from.saturating_add(AHEAD).min(inode.size()).div_ceil(size);
        while at < end {
            let Ok(logical) = u32::try_from(at) else { return };
            // What is damaged is told to whoever reads it.
            let Ok(run) = self.run(inode, logical, (end - at) as u32) else { return };
            let count = u64::from(run.count).min(end - at);
            if let Some(block) = run.physical.filter(|_| run.is_written) {
                self.cache.prefetch(block, count);
            }
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_goes_on_where_the_last_one_of_its_file_stopped() {
        let mut streams = Streams::default();
        assert!(streams.note(12, 0, 10) && !streams.note(13, 5, 10));
        assert!(streams.note(12, 10, 20) && streams.note(13, 10, 20));
        assert!(!streams.note(12, 10, 20) && streams.note(12, 20, 30));
        (20..24).for_each(|inode| assert!(!streams.note(inode, 7, 8)));
        assert!(!streams.note(12, 30, 40));
    }
}
