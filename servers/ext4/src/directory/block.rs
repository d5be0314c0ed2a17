//! Blocks of directories: entries one behind another, each with the room up to the next.

use crate::bytes::{set, set_u16, set_u32, u16_at, u32_at};
use crate::disk::errno;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Bytes of an entry before the name.
pub const HEADER: usize = 8;
/// Length of the longest name in bytes.
pub const MAX_NAME: usize = 255;
/// Size of the last entry of a block, which holds the checksum, and its kind.
pub const TAIL: usize = 12;
const TAIL_KIND: u8 = 0xde;

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Position in the block.
    pub at: usize,
    /// Bytes up to the next entry.
    pub room: usize,
    /// Number of the file; 0: the entry is not used.
    pub inode: u32,
    /// Kind of the file, as directories number them.
    pub kind: u8,
    /// Name.
    pub name: &'a [u8],
}

impl Entry<'_> {
    /// Returns true if the entry is used, and is not one of the two that each directory has.
    pub fn is_named(&self) -> bool {
        self.inode != 0 && !matches!(self.name, b"." | b"..")
    }

    /// Returns the bytes that the entry needs.
    fn needs(&self) -> usize {
        if self.inode == 0 { 0 } else { needs(self.name.len()) }
    }
}

/// Returns the bytes that an entry with a name of this length needs.
pub fn needs(length: usize) -> usize {
    (HEADER + length).next_multiple_of(4)
}

/// Reads the entries of a block, up to its end or to the checksum.
pub fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Errno> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (inode, room) = (u32_at(bytes, at), usize::from(u16_at(bytes, at + 4)));
        let length = bytes.get(at + 6).copied().unwrap_or(0).into();
        let is_right = room >= HEADER && room.is_multiple_of(4) && at + room <= bytes.len();
        if !is_right || needs(length) > room {
            return Err(errno::CORRUPT);
        }
        let name = &bytes[at + HEADER..][..length];
        let is_name = !name.is_empty() && !name.contains(&0) && !name.contains(&b'/');
        if inode != 0 && !is_name {
            return Err(errno::CORRUPT);
        }
        found.push(Entry { at, room, inode, kind: bytes[at + 7], name });
        at += room;
    }
    Ok(found)
}

/// Writes an entry.
pub fn put(bytes: &mut [u8], at: usize, room: usize, inode: u32, kind: u8, name: &[u8]) {
    set_u32(bytes, at, inode);
    set_u16(bytes, at + 4, room as u16);
    set(bytes, at + 6, &[name.len() as u8, kind]);
    set(bytes, at + HEADER, name);
}

/// Returns where an entry of this size fits: position, and bytes that the entry there keeps.
pub fn gap(entries: &[Entry<'_>], size: usize) -> Option<(usize, usize)> {
    let entry = entries.iter().find(|entry| entry.room - entry.needs() >= size)?;
    Some((entry.at, entry.needs()))
}

/// Adds an entry at a gap.
pub fn add(bytes: &mut [u8], (at, keeps): (usize, usize), inode: u32, kind: u8, name: &[u8]) {
    let room = usize::from(u16_at(bytes, at + 4));
    if keeps > 0 {
        set_u16(bytes, at + 4, keeps as u16);
    }
    put(bytes, at + keeps, room - keeps.min(room), inode, kind, name);
}

/// Removes the entry at a position. Its room goes to the one before it.
pub fn remove(bytes: &mut [u8], before: Option<(usize, usize)>, at: usize, room: usize) {
    match before {
        Some((before, its_room)) => set_u16(bytes, before + 4, (its_room + room) as u16),
        None => set_u32(bytes, at, 0),
    }
}

/// Writes a whole block of entries, packed at the beginning.
pub fn fill<'a>(bytes: &mut [u8], entries: impl Iterator<Item = (u32, u8, &'a [u8])>) {
    bytes.fill(0);
    let end = bytes.len();
    let (mut at, mut last) = (0, None);
    for (inode, kind, name) in entries {
        let size = needs(name.len());
        put(bytes, at, size, inode, kind, name);
        last = Some(at);
        at += size;
    }
    match last {
        Some(last) => set_u16(bytes, last + 4, (end - last) as u16),
        None => put(bytes, 0, end, 0, 0, b""),
    }
}

/// Writes the entry at the end of a block that holds the checksum.
pub fn put_tail(bytes: &mut [u8], sum: u32) {
    let at = bytes.len().saturating_sub(TAIL);
    put(bytes, at, TAIL, 0, TAIL_KIND, b"");
    set_u32(bytes, at + HEADER, sum);
}
