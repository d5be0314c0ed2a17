//! Blocks of a journal: headers, tags of descriptors, checksums.

use super::{Journal, feature};
use crate::bytes::{be32_at, halves, set, set_be32};
use crate::checksum::crc32c;
use alloc::vec::Vec;

/// Number at the beginning of each block of a journal that is not a copy of another.
pub const MAGIC: u32 = 0xc03b_3998;
/// Kinds of blocks.
pub const DESCRIPTOR: u32 = 1;
pub const COMMIT: u32 = 2;
pub const SUPERBLOCK_1: u32 = 3;
pub const SUPERBLOCK_2: u32 = 4;
pub const REVOKE: u32 = 5;
/// Size of the header: magic, kind, number of the transaction.
pub const HEADER: usize = 12;
/// Flags of a tag: the block began with the magic; it has no name of a journal; it is the last.
const ESCAPED: u32 = 1;
const SAME_JOURNAL: u32 = 2;
const LAST: u32 = 8;
const NAME: usize = 16;
/// Position of a commit block's checksum.
const COMMIT_SUM: usize = 16;
const COMMIT_SECONDS: usize = 48;
/// Position of the first entry of a revoke block, and of the field with the size up to the end.
const REVOKED: usize = 16;
const REVOKED_SIZE: usize = 12;

/// Tag of a descriptor: which block the copy in the journal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Block of the volume.
    pub block: u64,
    /// True if the block began with the magic, which the copy has not.
    pub is_escaped: bool,
    /// Checksum of the copy, or its lower half.
    pub sum: u32,
}

/// Returns kind and number of the transaction, if a block of a journal has a header.
pub fn header(bytes: &[u8]) -> Option<(u32, u32)> {
    (be32_at(bytes, 0) == MAGIC).then(|| (be32_at(bytes, 4), be32_at(bytes, 8)))
}

/// Writes a header.
pub fn set_header(bytes: &mut [u8], kind: u32, sequence: u32) {
    set_be32(bytes, 0, MAGIC);
    set_be32(bytes, 4, kind);
    set_be32(bytes, 8, sequence);
}

impl Journal {
    /// Returns the size of a tag without a name.
    fn tag_size(&self) -> usize {
        if self.has(feature::SUM_3) {
            return 16;
        }
        let sum = if self.has(feature::SUM_2) { 2 } else { 0 };
        8 + sum + if self.has(feature::BITS_64) { 4 } else { 0 }
    }

    fn tail(&self) -> usize {
        if self.has_sums() { 4 } else { 0 }
    }

    /// Returns the number of tags that fit into one block.
    pub fn tags_of_block(&self) -> usize {
        (self.block_size - HEADER - self.tail() - NAME) / self.tag_size()
    }

    /// Reads the tags of a descriptor.
    pub fn tags(&self, bytes: &[u8]) -> Vec<Tag> {
        let mut tags = Vec::new();
        let (size, end) = (self.tag_size(), bytes.len().saturating_sub(self.tail()));
        let mut at = HEADER;
        while at + size <= end {
            let (word, is_3) = (|place| be32_at(bytes, at + place), self.has(feature::SUM_3));
            let flags = if is_3 { word(4) } else { word(4) & 0xffff };
            let high = if self.has(feature::BITS_64) { word(8) } else { 0 };
            let sum = if is_3 { word(12) } else { word(4) >> 16 };
            tags.push(Tag { block: halves(word(0), high), is_escaped: flags & ESCAPED != 0, sum });
            at += size + if flags & SAME_JOURNAL == 0 { NAME } else { 0 };
            if flags & LAST != 0 {
                break;
            }
        }
        tags
    }

    /// Writes a descriptor.
    pub fn set_tags(&self, bytes: &mut [u8], sequence: u32, tags: &[Tag]) {
        set_header(bytes, DESCRIPTOR, sequence);
        let mut at = HEADER;
        for (index, tag) in tags.iter().enumerate() {
            let mut flags = if tag.is_escaped { ESCAPED } else { 0 };
            flags |= if index > 0 { SAME_JOURNAL } else { 0 };
            flags |= if index + 1 == tags.len() { LAST } else { 0 };
            set_be32(bytes, at, tag.block as u32);
            if self.has(feature::SUM_3) {
                set_be32(bytes, at + 4, flags);
                set_be32(bytes, at + 12, tag.sum);
            } else {
                let sum = if self.has(feature::SUM_2) { tag.sum << 16 } else { 0 };
                set_be32(bytes, at + 4, sum | flags);
            }
            if self.has(feature::BITS_64) {
                set_be32(bytes, at + 8, (tag.block >> 32) as u32);
            }
            at += self.tag_size();
            if index == 0 {
                let name = &self.superblock[super::at::UUID..super::at::UUID + NAME];
                set(bytes, at, name);
                at += NAME;
            }
        }
        self.seal(bytes);
    }

    /// Writes the checksum at the end of a descriptor or revoke block.
    fn seal(&self, bytes: &mut [u8]) {
        if self.has_sums() {
            let at = bytes.len() - 4;
            set_be32(bytes, at, 0);
            let sum = crc32c(self.seed, bytes);
            set_be32(bytes, at, sum);
        }
    }

    /// Returns true if the checksum at the end of a descriptor or revoke block is right.
    pub fn is_sealed(&self, bytes: &[u8]) -> bool {
        let end = bytes.len() - 4;
        !self.has_sums() || be32_at(bytes, end) == crc32c(crc32c(self.seed, &bytes[..end]), &[0; 4])
    }

    /// Returns the checksum of a copy, as far as a tag has it.
    pub fn copy_sum(&self, sequence: u32, bytes: &[u8]) -> u32 {
        let sum = crc32c(crc32c(self.seed, &sequence.to_be_bytes()), bytes);
        if self.has(feature::SUM_3) { sum } else { sum & 0xffff }
    }

    /// Writes a commit block.
    pub fn set_commit(&self, bytes: &mut [u8], sequence: u32, seconds: u64) {
        set_header(bytes, COMMIT, sequence);
        set(bytes, COMMIT_SECONDS, &seconds.to_be_bytes());
        if self.has_sums() {
            set_be32(bytes, COMMIT_SUM, 0);
            let sum = crc32c(self.seed, bytes);
            set_be32(bytes, COMMIT_SUM, sum);
        }
    }

    /// Returns true if the checksum of a commit block is right.
    pub fn is_commit_whole(&self, bytes: &[u8]) -> bool {
        let parts = [&bytes[..COMMIT_SUM], &[0; 4], &bytes[COMMIT_SUM + 4..]];
        let sum = parts.iter().fold(self.seed, |sum, part| crc32c(sum, part));
        !self.has_sums() || be32_at(bytes, COMMIT_SUM) == sum
    }

    fn revoked_size(&self) -> usize {
        if self.has(feature::BITS_64) { 8 } else { 4 }
    }

    /// Returns the number of revoked blocks that one block can name.
    pub fn revoked_of_block(&self) -> usize {
        (self.block_size - REVOKED - self.tail()) / self.revoked_size()
    }

    /// Reads the blocks that a revoke block names.
    pub fn revoked(&self, bytes: &[u8]) -> Vec<u64> {
        let end = (be32_at(bytes, REVOKED_SIZE) as usize).min(bytes.len() - self.tail());
        let entries = bytes.get(REVOKED..end).unwrap_or_default().chunks_exact(self.revoked_size());
        let read = |entry: &[u8]| match entry.len() {
            8 => halves(be32_at(entry, 4), be32_at(entry, 0)),
            _ => be32_at(entry, 0).into(),
        };
        entries.map(read).collect()
    }

    /// Writes a revoke block.
    pub fn set_revoked(&self, bytes: &mut [u8], sequence: u32, blocks: &[u64]) {
        set_header(bytes, REVOKE, sequence);
        let size = self.revoked_size();
        set_be32(bytes, REVOKED_SIZE, (REVOKED + blocks.len() * size) as u32);
        for (block, place) in blocks.iter().zip(bytes[REVOKED..].chunks_exact_mut(size)) {
            let block = block.to_be_bytes();
            place.copy_from_slice(&block[8 - size..]);
        }
        self.seal(bytes);
    }
}
