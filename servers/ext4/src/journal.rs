//! The volume's journal, in the format of Linux's jbd2: where it is, and what its superblock says.
//! `recover.rs` replays it at mount, `commit.rs` writes transactions, `format.rs` is their blocks.

mod commit;
mod format;
mod recover;

pub use recover::recover;

use crate::bytes::{be32_at, set_be32};
use crate::checksum::crc32c;
use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::geometry::Geometry;
use crate::mount_error::MountError;
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Features of a journal.
pub mod feature {
    pub const REVOKE: u32 = 1;
    pub const BITS_64: u32 = 2;
    pub const SUM_2: u32 = 8;
    pub const SUM_3: u32 = 0x10;
    pub const KNOWN: u32 = REVOKE | BITS_64 | SUM_2 | SUM_3;
}

/// Places in a journal's superblock.
mod at {
    pub const BLOCK_SIZE: usize = 12;
    pub const LENGTH: usize = 16;
    pub const FIRST: usize = 20;
    pub const SEQUENCE: usize = 24;
    pub const START: usize = 28;
    pub const COMPATIBLE: usize = 36;
    pub const INCOMPATIBLE: usize = 40;
    pub const READ_ONLY: usize = 44;
    pub const UUID: usize = 48;
    pub const SUM_TYPE: usize = 80;
    pub const FAST_BLOCKS: usize = 84;
    pub const SUM: usize = 252;
}

const SIZE: usize = 1024;
const CRC32C: u8 = 4;
/// Feature of checksums of whole transactions, which say nothing of an ordinary commit.
const COMPATIBLE_SUM: u32 = 1;
/// Shortest journal that is used.
const MIN_LENGTH: u32 = 64;
/// Largest number of runs of blocks that a journal is made of.
const MAX_RUNS: usize = 4096;

/// Part of a journal that is in one piece.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: u32,
    count: u32,
    block: u64,
}

/// The volume's journal.
pub struct Journal {
    pieces: Vec<Piece>,
    block_size: usize,
    /// Number of blocks, and the first of them that transactions use.
    length: u32,
    first: u32,
    /// Block and number of the oldest transaction that may be needed; 0: there is none.
    start: u32,
    sequence: u32,
    /// Place of the next transaction.
    head: u32,
    /// Blocks from `start` up to `head`.
    used: u32,
    features: u32,
    /// True if the superblock has room for features.
    has_features: bool,
    /// Seed of checksums.
    seed: u32,
    superblock: Vec<u8>,
}

impl Journal {
    /// Finds the journal of a volume, and reads its superblock from the disk.
    pub fn load<D: Disk>(core: &mut Core<D>) -> Result<Journal, MountError> {
        let pieces = Self::pieces(core)?;
        let size = core.geometry.block_size;
        let mut superblock = vec![0; size];
        let first = pieces.first().ok_or(MountError::Corrupt("an empty journal"))?;
        core.cache.disk().read(first.block * size as u64, &mut superblock)?;
        let mut journal = Journal::decode(superblock, pieces, size)?;
        let last = journal.pieces.last().map_or(0, |piece| piece.first + piece.count);
        if journal.length > last || journal.length < MIN_LENGTH || journal.start >= journal.length {
            return Err(MountError::Corrupt("the size of the journal"));
        }
        journal.head = journal.first;
        Ok(journal)
    }

    fn pieces<D: Disk>(core: &mut Core<D>) -> Result<Vec<Piece>, MountError> {
        let inode = core.inode(core.geometry.journal_inode)?;
        let size = core.geometry.block_size as u64;
        let count = u32::try_from(inode.size() / size).unwrap_or(u32::MAX);
        let is_right = u64::from(count) <= core.geometry.blocks && inode.kind() == crate::inode::REGULAR;
        if !is_right {
            return Err(MountError::Corrupt("the size of the journal"));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut first = 0;
        while first < count {
            let run = core.run(&inode, first, count - first)?;
            let block = run.physical.filter(|_| run.is_written);
            let block = block.ok_or(MountError::Corrupt("a hole in the journal"))?;
            let count = run.count.min(count - first);
            match pieces.last_mut() {
                Some(last) if last.block + u64::from(last.count) == block => last.count += count,
                _ => pieces.push(Piece { first, count, block }),
            }
            if pieces.len() > MAX_RUNS {
                return Err(MountError::Corrupt("a journal in too many pieces"));
            }
            first += count;
        }
        Ok(pieces)
    }

    fn decode(superblock: Vec<u8>, pieces: Vec<Piece>, size: usize) -> Result<Journal, MountError> {
        let word = |at| be32_at(&superblock, at);
        let kind = word(4);
        if word(0) != format::MAGIC || !matches!(kind, format::SUPERBLOCK_1 | format::SUPERBLOCK_2) {
            return Err(MountError::Corrupt("the journal's superblock"));
        }
        let has_features = kind == format::SUPERBLOCK_2;
        let features = if has_features { word(at::INCOMPATIBLE) } else { 0 };
        let others = if has_features { word(at::READ_ONLY) | word(at::COMPATIBLE) & !COMPATIBLE_SUM } else { 0 };
        let unknown = features & !feature::KNOWN | others;
        if unknown != 0 || (has_features && word(at::FAST_BLOCKS) != 0) {
            return Err(MountError::JournalFeatures(unknown));
        }
        let has_sums = features & (feature::SUM_2 | feature::SUM_3) != 0;
        if has_sums && (superblock[at::SUM_TYPE] != CRC32C || word(at::SUM) != sum(&superblock)) {
            return Err(MountError::Corrupt("the checksum of the journal's superblock"));
        }
        if word(at::BLOCK_SIZE) as usize != size || word(at::FIRST) == 0 || word(at::FIRST) >= word(at::LENGTH) {
            return Err(MountError::Corrupt("the journal's superblock"));
        }
        Ok(Journal {
            pieces,
            block_size: size,
            length: word(at::LENGTH),
            first: word(at::FIRST),
            start: word(at::START),
            sequence: word(at::SEQUENCE),
            head: 0,
            used: 0,
            features,
            has_features,
            seed: crc32c(!0, &superblock[at::UUID..at::UUID + 16]),
            superblock,
        })
    }

    /// Returns the block of the volume at a place of the journal.
    fn block(&self, place: u32) -> Result<u64, Errno> {
        let index = self.pieces.partition_point(|piece| piece.first <= place);
        let piece = index.checked_sub(1).and_then(|index| self.pieces.get(index));
        let piece = piece.filter(|piece| place - piece.first < piece.count && place < self.length);
        piece.map(|piece| piece.block + u64::from(place - piece.first)).ok_or(errno::CORRUPT)
    }

    /// Returns the place behind one: the journal is a ring.
    fn after(&self, place: u32) -> u32 {
        if place + 1 >= self.length { self.first } else { place + 1 }
    }

    fn has(&self, feature: u32) -> bool {
        self.features & feature != 0
    }

    fn has_sums(&self) -> bool {
        self.has(feature::SUM_2 | feature::SUM_3)
    }

    /// Writes the superblock: where the oldest transaction begins, and its number.
    fn write_superblock<D: Disk>(&mut self, disk: &mut D, start: u32) -> Result<(), Errno> {
        self.start = start;
        set_be32(&mut self.superblock, at::START, start);
        set_be32(&mut self.superblock, at::SEQUENCE, self.sequence);
        if self.has_features {
            set_be32(&mut self.superblock, at::INCOMPATIBLE, self.features);
        }
        if self.has_sums() {
            self.superblock[at::SUM_TYPE] = CRC32C;
            let sum = sum(&self.superblock);
            set_be32(&mut self.superblock, at::SUM, sum);
        }
        let block = self.block(0)?;
        disk.write(block * self.block_size as u64, &self.superblock)
    }

    /// Chooses the features that Linux gives to the journal of such a volume. It is empty.
    pub fn choose_features(&mut self, geometry: &Geometry) {
        if !self.has_features {
            return;
        }
        self.features |= feature::REVOKE;
        if geometry.is_64_bit() {
            self.features |= feature::BITS_64;
        }
        if geometry.has_checksums() && !self.has_sums() {
            self.features |= feature::SUM_3;
        }
        let compatible = be32_at(&self.superblock, at::COMPATIBLE) & !COMPATIBLE_SUM;
        set_be32(&mut self.superblock, at::COMPATIBLE, compatible);
    }
}

/// Returns the checksum of a journal's superblock.
fn sum(superblock: &[u8]) -> u32 {
    let (before, after) = (&superblock[..at::SUM], &superblock[at::SUM + 4..SIZE]);
    [before, &[0; 4], after].iter().fold(!0, |sum, part| crc32c(sum, part))
}
