//! Recovery: transactions that are whole in the journal are written in place.

use super::{Journal, format};
use crate::bytes::set_be32;
use crate::disk::{Disk, errno};
use crate::mount_error::MountError;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Bytes of memory for a revoked block.
const REVOKED: usize = 32;

/// Purpose of a walk through the journal.
enum Pass<'a> {
    /// Finds the first transaction that is not whole.
    Scan,
    /// Notes the last transaction that revokes a block.
    Revoke(&'a mut Revoked),
    /// Writes blocks in place that no later transaction revokes.
    Replay(&'a BTreeMap<u64, u32>),
}

/// Walk through the journal.
struct Walk<'a, D> {
    journal: &'a Journal,
    disk: &'a mut D,
    /// Number of blocks of the volume.
    blocks: u64,
    place: u32,
    /// Number of blocks seen: the walk goes round at most once.
    seen: u32,
}

impl<D: Disk> Walk<'_, D> {
    fn read(&mut self) -> Result<Option<Vec<u8>>, Errno> {
        if self.seen >= self.journal.length - self.journal.first {
            return Ok(None);
        }
        let size = self.journal.block_size;
        let mut bytes = vec![0; size];
        self.disk.read(self.journal.block(self.place)? * size as u64, &mut bytes)?;
        self.place = self.journal.after(self.place);
        self.seen += 1;
        Ok(Some(bytes))
    }

    /// Goes through one transaction. Returns false if it is not whole.
    fn transaction(&mut self, sequence: u32, pass: &mut Pass<'_>) -> Result<bool, Errno> {
        while let Some(bytes) = self.read()? {
            match format::header(&bytes) {
                Some((format::DESCRIPTOR, found)) if found == sequence && self.journal.is_sealed(&bytes) => {
                    if !self.copies(&bytes, sequence, pass)? {
                        return Ok(false);
                    }
                }
                Some((format::REVOKE, found)) if found == sequence && self.journal.is_sealed(&bytes) => {
                    if let Pass::Revoke(revoked) = pass {
                        revoked.note(self.journal.revoked(&bytes), sequence)?;
                    }
                }
                Some((format::COMMIT, found)) if found == sequence => {
                    return Ok(self.journal.is_commit_whole(&bytes));
                }
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    fn copies(&mut self, bytes: &[u8], sequence: u32, pass: &Pass<'_>) -> Result<bool, Errno> {
        for tag in self.journal.tags(bytes) {
            let Some(mut copy) = self.read()? else { return Ok(false) };
            let has_sums = self.journal.has_sums();
            if has_sums && self.journal.copy_sum(sequence, &copy) != tag.sum {
                return Ok(false);
            }
            let Pass::Replay(revoked) = pass else { continue };
            let is_revoked = revoked.get(&tag.block).is_some_and(|by| by.wrapping_sub(sequence).cast_signed() >= 0);
            if is_revoked {
                continue;
            }
            if tag.block >= self.blocks {
                return Err(errno::CORRUPT);
            }
            if tag.is_escaped {
                set_be32(&mut copy, 0, format::MAGIC);
            }
            self.disk.write(tag.block * copy.len() as u64, &copy)?;
        }
        Ok(true)
    }
}

/// Blocks that transactions revoke.
struct Revoked {
    /// Number of the last transaction that does, by block.
    blocks: BTreeMap<u64, u32>,
    /// Largest number of blocks.
    room: usize,
}

impl Revoked {
    fn note(&mut self, blocks: Vec<u64>, sequence: u32) -> Result<(), Errno> {
        self.blocks.extend(blocks.into_iter().map(|block| (block, sequence)));
        if self.blocks.len() > self.room.max(1024) { Err(errno::CORRUPT) } else { Ok(()) }
    }
}

impl Journal {
    /// Returns true if the journal has transactions that may not be in place.
    pub fn needs_recovery(&self) -> bool {
        self.start != 0
    }

    /// Goes through transactions, up to `end` or to the first that is not whole. Returns the number
    /// of that one.
    fn walk<D: Disk>(
        &self, disk: &mut D, blocks: u64, end: Option<u32>, mut pass: Pass<'_>,
    ) -> Result<u32, Errno> {
        let mut walk = Walk { journal: self, disk, blocks, place: self.start, seen: 0 };
        let mut sequence = self.sequence;
        while end != Some(sequence) && walk.transaction(sequence, &mut pass)? {
            sequence = sequence.wrapping_add(1);
        }
        Ok(sequence)
    }
}

/// Replays the journal of a volume of so many blocks, and empties it. `memory`: bytes that it may
/// take for that.
pub fn recover<D: Disk>(
    journal: &mut Journal, disk: &mut D, blocks: u64, memory: usize,
) -> Result<(), MountError> {
    if journal.start < journal.first {
        return Err(MountError::Corrupt("the beginning of the journal"));
    }
    let end = journal.walk(disk, blocks, None, Pass::Scan)?;
    let mut revoked = Revoked { blocks: BTreeMap::new(), room: memory / REVOKED };
    match journal.walk(disk, blocks, Some(end), Pass::Revoke(&mut revoked)) {
        Err(errno::CORRUPT) => return Err(MountError::Corrupt("too many revoked blocks in the journal")),
        walked => walked?,
    };
    journal.walk(disk, blocks, Some(end), Pass::Replay(&revoked.blocks))?;
    disk.flush()?;
    // Numbers of what is left in the journal are never used again.
    journal.sequence = end.wrapping_add(1);
    journal.write_superblock(disk, 0)?;
    disk.flush()?;
    Ok(())
}
