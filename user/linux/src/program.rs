//! What the parent laid out for the program: its arguments, its auxiliary vector, and the segments that its headers name.

use crate::errno::{EINVAL, Errno};
use crate::map::{Area, Map, round_up};
use crate::memory::{Fill, effective};
use nacre_abi::{PAGE_SIZE, Rights, environment};

const AT_PHDR: u64 = 3;
const AT_PHENT: u64 = 4;
const AT_PHNUM: u64 = 5;
const AT_EXECFN: u64 = 31;
const PT_LOAD: u32 = 1;
const PT_PHDR: u32 = 6;
/// Bytes of a program header.
const HEADER: usize = 56;
/// Where the headers lie in a file that has no `PT_PHDR`: behind the file's own header.
const HEADERS_OFFSET: u64 = 64;

/// Entries of the auxiliary vector that the library needs; those that lack are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auxiliary {
    /// Address of the program headers.
    pub headers: u64,
    /// Size of one.
    pub header_size: u64,
    /// How many.
    pub header_count: u64,
    /// Address of the path that was loaded.
    pub path: u64,
    /// Pages of the object area.
    pub objects_pages: u64,
    /// Highest address of the stack.
    pub stack_end: u64,
    /// Bytes of the stack.
    pub stack_size: u64,
    /// Where the program starts.
    pub entry: u64,
}

impl Auxiliary {
    /// Takes over one entry, if it is one of these.
    pub fn take(&mut self, key: u64, value: u64) {
        let place = match key {
            AT_PHDR => &mut self.headers,
            AT_PHENT => &mut self.header_size,
            AT_PHNUM => &mut self.header_count,
            AT_EXECFN => &mut self.path,
            environment::AT_OBJECTS_PAGES => &mut self.objects_pages,
            environment::AT_STACK_END => &mut self.stack_end,
            environment::AT_STACK_SIZE => &mut self.stack_size,
            environment::AT_FOREIGN_ENTRY => &mut self.entry,
            _ => return,
        };
        *place = value;
    }
}

/// One program header, as far as it matters here.
#[derive(Clone, Copy)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    size: u64,
}

fn header(bytes: &[u8; HEADER]) -> Header {
    let half = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
    Header { kind: half(0), flags: half(4), offset: word(8), address: word(16), size: word(40) }
}

/// The rights that a segment's `PF_` flags ask for, in the order execute, write, read.
fn rights(flags: u32) -> Rights {
    let bit = |flag: u32, right: Rights| if flags & flag != 0 { right } else { Rights::NONE };
    effective(bit(4, Rights::READ).union(bit(2, Rights::WRITE)).union(bit(1, Rights::EXECUTE)))
}

/// How far the program was moved from the addresses in its file.
fn bias(headers: &[Header], address: u64) -> Option<u64> {
    if let Some(own) = headers.iter().find(|header| header.kind == PT_PHDR) {
        return Some(address.wrapping_sub(own.address));
    }
    let first = headers.iter().find(|header| header.kind == PT_LOAD && header.offset <= HEADERS_OFFSET)?;
    Some(address.wrapping_sub(HEADERS_OFFSET - first.offset + first.address))
}

/// Enters what the parent mapped: the program's segments from its headers (`bytes`, which lie at `auxiliary.headers`) and the stack. Where the
/// program ends comes back, which is where its break starts.
pub fn enter_areas(map: &mut Map<Fill>, auxiliary: &Auxiliary, bytes: &[u8]) -> Result<u64, Errno> {
    let mut headers = alloc::vec::Vec::new();
    headers.extend(bytes.as_chunks::<HEADER>().0.iter().map(header));
    let bias = bias(&headers, auxiliary.headers).ok_or(EINVAL)?;
    let mut end = 0;
    for header in headers.iter().filter(|header| header.kind == PT_LOAD && header.size != 0) {
        let start = header.address.wrapping_add(bias);
        let last = start.checked_add(header.size).and_then(round_up).ok_or(EINVAL)?;
        // Segments may share a page, which has the rights of the later one.
        let start = (start & !(PAGE_SIZE - 1)).max(end);
        enter(map, start, last, rights(header.flags))?;
        end = end.max(last);
    }
    let stack = auxiliary.stack_end.checked_sub(auxiliary.stack_size).ok_or(EINVAL)?;
    enter(map, stack, auxiliary.stack_end, rights(6))?;
    Ok(end)
}

fn enter(map: &mut Map<Fill>, start: u64, end: u64, rights: Rights) -> Result<(), Errno> {
    if start >= end {
        return Ok(());
    }
    map.insert(Area { start, end, rights, backing: Fill::Parent(rights) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn packed(kind: u32, flags: u32, offset: u64, address: u64, size: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        for word in [offset, address, address, size, size, 4096] {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn segments_and_stack_are_entered_with_their_rights() {
        let bytes = [packed(PT_LOAD, 5, 0, 0x40_0000, 0x1234), packed(PT_LOAD, 6, 0x2000, 0x40_2f00, 0x1200)].concat();
        let auxiliary = Auxiliary { headers: 0x40_0040, stack_end: 0x7ff0_0000, stack_size: 0x1_0000, ..Auxiliary::default() };
        let mut map = Map::new();
        assert_eq!(enter_areas(&mut map, &auxiliary, &bytes), Ok(0x40_5000));
        assert!(map.allows(0x40_0000, 0x2000, Rights::EXECUTE));
        assert!(!map.allows(0x40_0000, 1, Rights::WRITE));
        assert!(map.allows(0x40_2000, 0x3000, Rights::WRITE));
        assert!(map.allows(0x7fef_0000, 0x1_0000, Rights::WRITE));
        assert!(!map.allows(0x7ff0_0000, 1, Rights::READ));
    }

    #[test]
    fn a_program_that_was_moved_is_found() {
        let bytes = packed(PT_LOAD, 5, 0, 0, 0x1000);
        let auxiliary = Auxiliary { headers: 0x5555_0000_0040, stack_end: 0x8000, stack_size: 0x1000, ..Auxiliary::default() };
        let mut map = Map::new();
        assert_eq!(enter_areas(&mut map, &auxiliary, &bytes), Ok(0x5555_0000_1000));
    }
}
