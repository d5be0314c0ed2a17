//! Extended attributes of a file: small ones behind the fields of its inode, others in one block,
//! which files with the same attributes may share.

use crate::bytes::{set, set_u16, set_u32, u16_at, u32_at};
use crate::checksum::crc32c;
use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::inode::Inode;
use crate::names::check_change;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Marks the attributes in an inode, and a block of attributes.
const MAGIC: u32 = 0xea02_0000;
/// Places in the head of a block: number of owners, number of blocks, hash, checksum.
const OWNERS: usize = 4;
const BLOCKS: usize = 8;
const HASH: usize = 12;
const SUM: usize = 16;
/// Bytes of the head of a block, and of that in an inode.
const BLOCK_HEAD: usize = 32;
const INODE_HEAD: usize = 4;
/// Bytes of an entry before its name, and of the end of all entries.
const ENTRY: usize = 16;
const END: usize = 4;
/// Flags of a change.
const CREATE: u32 = 1;
const REPLACE: u32 = 2;

/// Beginnings of names that are shown, and their numbers. Access lists have others.
const KINDS: [(&[u8], u8); 3] = [(b"user.", 1), (b"trusted.", 4), (b"security.", 6)];

/// An attribute.
#[derive(Clone, PartialEq, Eq)]
struct Attribute {
    kind: u8,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Attribute {
    /// Bytes of the entry and the value.
    fn cost(&self) -> usize {
        ENTRY + self.name.len().next_multiple_of(4) + self.value.len().next_multiple_of(4)
    }

    /// Returns the hash of name and value, as Linux has it in blocks.
    fn hash(&self) -> u32 {
        let name = self.name.iter().fold(0_u32, |hash, byte| hash.rotate_left(5) ^ u32::from(*byte));
        let words = (0..self.value.len()).step_by(4).map(|at| {
            let mut word = [0; 4];
            let part = &self.value[at..self.value.len().min(at + 4)];
            word[..part.len()].copy_from_slice(part);
            u32::from_le_bytes(word)
        });
        words.fold(name, |hash, word| hash.rotate_left(16) ^ word)
    }
}

/// Splits a name into the number of its kind and the rest.
fn split(name: &[u8]) -> Result<(u8, &[u8]), Errno> {
    let found = KINDS.iter().find_map(|(beginning, kind)| Some((*kind, name.strip_prefix(*beginning)?)));
    match found {
        Some((_, rest)) if rest.is_empty() || rest.contains(&0) => Err(errno::INVAL),
        Some((_, rest)) if rest.len() > 255 => Err(errno::RANGE),
        found => found.ok_or(errno::NOTSUP),
    }
}

/// Reads the entries behind a head. Places of values count from `base`. Values that overlap are
/// refused: all of them are not longer than the bytes.
fn decode(bytes: &[u8], head: usize, base: usize) -> Result<Vec<Attribute>, Errno> {
    let (mut found, mut at, mut total): (Vec<Attribute>, usize, usize) = (Vec::new(), head, 0);
    while at + END <= bytes.len() && u32_at(bytes, at) != 0 {
        let (name_size, kind) = (usize::from(bytes[at]), bytes[at + 1]);
        let (place, size) = (base + usize::from(u16_at(bytes, at + 2)), u32_at(bytes, at + 8) as usize);
        if at + ENTRY > bytes.len() || u32_at(bytes, at + 4) != 0 {
            // The value has an inode of its own.
            return Err(errno::CORRUPT);
        }
        let name = bytes.get(at + ENTRY..at + ENTRY + name_size).ok_or(errno::CORRUPT)?;
        let end = place.checked_add(size).ok_or(errno::CORRUPT)?;
        let value = if size == 0 { &[] } else { bytes.get(place..end).ok_or(errno::CORRUPT)? };
        let attribute = Attribute { kind, name: name.to_vec(), value: value.to_vec() };
        total += attribute.cost();
        if total > bytes.len() {
            return Err(errno::CORRUPT);
        }
        found.push(attribute);
        at += ENTRY + name_size.next_multiple_of(4);
    }
    Ok(found)
}

/// Writes entries behind a head, and their values at the end, for which there is room. Returns the
/// hashes of the entries.
fn encode(bytes: &mut [u8], head: usize, base: usize, attributes: &mut [Attribute], is_hashed: bool) -> Vec<u32> {
    bytes[head..].fill(0);
    attributes.sort_by(|one, other| (one.kind, one.name.len(), &one.name).cmp(&(other.kind, other.name.len(), &other.name)));
    let (mut at, mut end) = (head, bytes.len() & !3);
    let mut hashes = Vec::new();
    for attribute in attributes {
        let hash = if is_hashed { attribute.hash() } else { 0 };
        end -= attribute.value.len().next_multiple_of(4);
        set(bytes, at, &[attribute.name.len() as u8, attribute.kind]);
        set_u16(bytes, at + 2, if attribute.value.is_empty() { 0 } else { (end - base) as u16 });
        set_u32(bytes, at + 8, attribute.value.len() as u32);
        set_u32(bytes, at + 12, hash);
        set(bytes, at + ENTRY, &attribute.name);
        set(bytes, end, &attribute.value);
        hashes.push(hash);
        at += ENTRY + attribute.name.len().next_multiple_of(4);
    }
    hashes
}

/// Chooses those that stand in the inode, the small ones first. Those for the block come second.
fn divide(mut all: Vec<Attribute>, room: usize) -> (Vec<Attribute>, Vec<Attribute>) {
    all.sort_by_key(Attribute::cost);
    let mut left = room;
    let count = all.iter().take_while(|attribute| {
        let fits = attribute.cost() <= left;
        left = left.saturating_sub(attribute.cost());
        fits
    });
    let rest = all.split_off(count.count());
    (all, rest)
}

impl<D: Disk> Core<D> {
    fn attributes_of(&mut self, inode: &Inode) -> Result<Vec<Attribute>, Errno> {
        let area = inode.attribute_area().filter(|area| u32_at(area, 0) == MAGIC);
        let mut all = area.map_or(Ok(Vec::new()), |area| decode(area, INODE_HEAD, INODE_HEAD))?;
        if inode.attributes() != 0 {
            let content = self.attribute_block(inode.attributes())?;
            all.extend(decode(&content, BLOCK_HEAD, 0)?);
        }
        Ok(all)
    }

    fn attribute_block(&mut self, block: u64) -> Result<Vec<u8>, Errno> {
        let content = self.cache.read(block)?;
        let is_one = u32_at(&content, 0) == MAGIC && u32_at(&content, BLOCKS) == 1;
        if is_one { Ok(content.to_vec()) } else { Err(errno::CORRUPT) }
    }

    /// Returns the value of an attribute of a file; of an empty name, all names, a zero behind
    /// each.
    pub fn attribute(&mut self, inode: &Inode, name: &[u8]) -> Result<Vec<u8>, Errno> {
        if name.is_empty() {
            let beginning = |kind| KINDS.iter().find(|(_, number)| *number == kind).map(|(beginning, _)| *beginning);
            let all = self.attributes_of(inode)?;
            let shown = all.iter().filter_map(|attribute| Some([beginning(attribute.kind)?, &attribute.name, &[0]].concat()));
            return Ok(shown.flatten().collect());
        }
        let (kind, rest) = split(name)?;
        let found = self.attributes_of(inode)?.into_iter().find(|one| one.kind == kind && one.name == rest);
        found.map(|attribute| attribute.value).ok_or(errno::NODATA)
    }

    /// Sets an attribute of a file, or removes it.
    pub fn set_attribute(&mut self, number: u32, name: &[u8], value: Option<&[u8]>, flags: u32) -> Result<(), Errno> {
        let (kind, rest) = split(name)?;
        let mut inode = self.inode(number)?;
        check_change(&inode, true)?;
        let mut all = self.attributes_of(&inode)?;
        let count = all.len();
        all.retain(|one| one.kind != kind || one.name != rest);
        match (all.len() < count, value) {
            (true, Some(_)) if flags & CREATE != 0 => return Err(errno::EXIST),
            (false, None) => return Err(errno::NODATA),
            (false, Some(_)) if flags & REPLACE != 0 => return Err(errno::NODATA),
            (_, value) => all.extend(value.map(|value| Attribute { kind, name: rest.to_vec(), value: value.to_vec() })),
        }
        self.write_attributes(&mut inode, all)?;
        self.set_changed(&mut inode, false)
    }

    fn write_attributes(&mut self, inode: &mut Inode, all: Vec<Attribute>) -> Result<(), Errno> {
        let room = inode.attribute_area().map_or(0, |area| (area.len() & !3).saturating_sub(INODE_HEAD + END));
        let (mut inside, mut outside) = divide(all, room);
        if outside.iter().map(Attribute::cost).sum::<usize>() > self.geometry.block_size - BLOCK_HEAD - END {
            return Err(errno::NOSPC);
        }
        if let Some(area) = inode.attribute_area_mut() {
            encode(area, INODE_HEAD, INODE_HEAD, &mut inside, false);
            set_u32(area, 0, if inside.is_empty() { 0 } else { MAGIC });
        }
        if outside.is_empty() {
            return self.drop_attributes(inode);
        }
        let block = self.own_attribute_block(inode)?;
        let mut bytes = alloc::vec![0; self.geometry.block_size];
        let hashes = encode(&mut bytes, BLOCK_HEAD, 0, &mut outside, true);
        let hash = if hashes.contains(&0) { 0 } else { hashes.iter().fold(0_u32, |sum, hash| sum.rotate_left(16) ^ hash) };
        for (at, value) in [(0, MAGIC), (OWNERS, 1), (BLOCKS, 1), (HASH, hash)] {
            set_u32(&mut bytes, at, value);
        }
        self.seal_attributes(block, &mut bytes);
        self.cache.edit(block)?.copy_from_slice(&bytes);
        Ok(())
    }

    /// Returns a block that is this file's alone.
    fn own_attribute_block(&mut self, inode: &mut Inode) -> Result<u64, Errno> {
        let old = inode.attributes();
        if old != 0 && u32_at(&self.attribute_block(old)?, OWNERS) == 1 {
            return Ok(old);
        }
        self.drop_attributes(inode)?;
        let group = (inode.number - 1) / self.geometry.inodes_per_group;
        let (block, _) = self.take_blocks(self.geometry.group_start(group), 1)?;
        self.cache.fresh(block)?;
        inode.set_attributes(block);
        inode.count_blocks(1, self.geometry.block_size);
        Ok(block)
    }

    /// Writes the checksum of a block of attributes.
    fn seal_attributes(&self, block: u64, bytes: &mut [u8]) {
        set_u32(bytes, SUM, 0);
        if self.geometry.has_checksums() {
            let sum = crc32c(crc32c(self.geometry.seed, &block.to_le_bytes()), bytes);
            set_u32(bytes, SUM, sum);
        }
    }

    /// Gives the block of attributes back, which other files may have, too.
    pub fn drop_attributes(&mut self, inode: &mut Inode) -> Result<(), Errno> {
        let block = inode.attributes();
        if block == 0 {
            return Ok(());
        }
        let content = self.cache.read(block)?;
        if u32_at(&content, 0) != MAGIC {
            return Err(errno::CORRUPT);
        }
        inode.set_attributes(0);
        match u32_at(&content, OWNERS) {
            0 | 1 => self.give_blocks(block, 1, true)?,
            owners => {
                let mut bytes = content.to_vec();
                set_u32(&mut bytes, OWNERS, owners - 1);
                self.seal_attributes(block, &mut bytes);
                self.cache.edit(block)?.copy_from_slice(&bytes);
            }
        }
        inode.count_blocks(-1, self.geometry.block_size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: &str, value: &[u8]) -> Attribute {
        Attribute { kind: 1, name: name.into(), value: value.into() }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut all = [attribute("long", &[7; 40]), attribute("a", b"12345"), attribute("b", b"")];
        let mut bytes = [9; 200];
        encode(&mut bytes, BLOCK_HEAD, 0, &mut all, true);
        assert!(decode(&bytes, BLOCK_HEAD, 0).unwrap() == all);
        for at in BLOCK_HEAD..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes;
                damaged[at] = value;
                let found = decode(&damaged, BLOCK_HEAD, 0);
                assert!(found.is_err() || found.is_ok_and(|found| found.iter().map(Attribute::cost).sum::<usize>() <= 200));
            }
        }
    }

    #[test]
    fn small_ones_stand_in_the_inode() {
        let all = [attribute("long", &[7; 40]), attribute("a", b"12345"), attribute("b", b"")];
        let (inside, outside) = divide(all.to_vec(), 60);
        assert_eq!((inside.len(), outside.len()), (2, 1));
        assert!(outside[0].name == b"long" && divide(all.to_vec(), 0).1.len() == 3);
    }
}
