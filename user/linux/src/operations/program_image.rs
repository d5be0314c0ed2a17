//! What the parent laid out for the program: its arguments, its auxiliary vector, and the segments
//! that its headers name.

use crate::abi::errno::{EINVAL, Errno};
use crate::services::segment::Segment;
use crate::state::memory::address_map::{Area, Map, round_up};
use crate::state::memory::mapped_part::{Fill, HIGHEST, Part, effective};
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::{ObjectType, PAGE_SIZE, Rights, environment};
use nacre_sys::{Mapping, OwnedReference, Reference};

const AT_PHDR: u64 = 3;
const AT_PHENT: u64 = 4;
const AT_PHNUM: u64 = 5;
const AT_RANDOM: u64 = 25;
const AT_EXECFN: u64 = 31;
const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_PHDR: u32 = 6;
/// Bytes of a program header.
const HEADER: usize = 56;
/// Bytes of an entry of the table of windows.
pub const WINDOW: usize = 40;
/// Offset of the headers in a file without `PT_PHDR`: behind the file's own header.
const HEADERS_OFFSET: u64 = 64;

/// Entries of the auxiliary vector that the library needs; those that lack are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auxiliary {
    /// Address of the program headers.
    pub headers: u64,
    /// Size of one.
    pub header_size: u64,
    /// Number of program headers.
    pub header_count: u64,
    /// Address of sixteen bytes that differ from program to program.
    pub random: u64,
    /// Address of the path that was loaded.
    pub path: u64,
    /// Address of the path of the directory that it starts in.
    pub directory: u64,
    /// Pages of the object area.
    pub objects_pages: u64,
    /// Highest address of the stack.
    pub stack_end: u64,
    /// Bytes of the stack.
    pub stack_size: u64,
    /// Pages that the space has for tables.
    pub table_pages: u64,
    /// Address of the first instruction, of the program or of its dynamic linker.
    pub entry: u64,
    /// Address of the table of what the parent mapped.
    pub windows: u64,
    /// Number of entries of that table.
    pub window_count: u64,
    /// Address of the inheritance.
    pub inheritance: u64,
    /// Size of the fork record in bytes.
    pub inheritance_size: u64,
    /// Number of references that came with the fork record.
    pub inherited_count: u64,
    /// Bytes of the data segment.
    pub data_size: u64,
}

impl Auxiliary {
    /// Takes over one entry, if it is one of these.
    pub fn take(&mut self, key: u64, value: u64) {
        let place = match key {
            AT_PHDR => &mut self.headers,
            AT_PHENT => &mut self.header_size,
            AT_PHNUM => &mut self.header_count,
            AT_RANDOM => &mut self.random,
            AT_EXECFN => &mut self.path,
            environment::AT_DIRECTORY => &mut self.directory,
            environment::AT_OBJECTS_PAGES => &mut self.objects_pages,
            environment::AT_STACK_END => &mut self.stack_end,
            environment::AT_STACK_SIZE => &mut self.stack_size,
            environment::AT_TABLE_PAGES => &mut self.table_pages,
            environment::AT_FOREIGN_ENTRY => &mut self.entry,
            environment::AT_WINDOWS => &mut self.windows,
            environment::AT_WINDOW_COUNT => &mut self.window_count,
            environment::AT_INHERITANCE => &mut self.inheritance,
            environment::AT_INHERITANCE_SIZE => &mut self.inheritance_size,
            environment::AT_INHERITED_COUNT => &mut self.inherited_count,
            environment::AT_DATA_SIZE => &mut self.data_size,
            _ => return,
        };
        *place = value;
    }
}

/// Address of a mapping that the parent has made.
pub fn mapping_slot(number: u64) -> u64 {
    environment::FREE + number * ObjectType::Mapping.size()
}

/// The data segment, to which references stand behind those that came with an inheritance. Answers
/// land elsewhere from then on.
pub fn data_segment(auxiliary: &Auxiliary) -> Option<Rc<Segment>> {
    let first = mapping_slot(auxiliary.window_count) + auxiliary.inherited_count * ObjectType::Reference.size();
    let own = |number| OwnedReference::adopt(Reference(first + number * ObjectType::Reference.size()));
    (auxiliary.data_size != 0).then(|| Segment::born(own(0), own(1), auxiliary.data_size))
}

/// One program header, as far as it matters here.
#[derive(Clone, Copy, Debug)]
struct Header {
    kind: u32,
    offset: u64,
    address: u64,
    /// Bytes that come from the file.
    file_size: u64,
    size: u64,
}

fn header(bytes: &[u8; HEADER]) -> Header {
    let half = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
    Header { kind: half(0), offset: word(8), address: word(16), file_size: word(32), size: word(40) }
}

/// Returns the distance by which the program was moved from the addresses in its file.
fn bias(headers: &[Header], address: u64) -> Option<u64> {
    if let Some(own) = headers.iter().find(|header| header.kind == PT_PHDR) {
        return Some(address.wrapping_sub(own.address));
    }
    let first = headers.iter().find(|header| header.kind == PT_LOAD && header.offset <= HEADERS_OFFSET)?;
    Some(address.wrapping_sub(HEADERS_OFFSET - first.offset + first.address))
}

/// An image in memory.
#[derive(Debug)]
pub struct Placed {
    bias: u64,
    headers: Vec<Header>,
}

impl Placed {
    /// Returns the image whose first bytes are these, at an address; `None`: they are none of an
    /// image's.
    pub fn of(start: u64, bytes: &[u8]) -> Option<Placed> {
        let half = |at: usize| Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
        let at = u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?);
        let (at, size) = (usize::try_from(at).ok()?, half(56)? * HEADER);
        let table = bytes.get(at..at.checked_add(size)?).filter(|_| bytes.starts_with(b"\x7fELF") && half(54) == Some(HEADER))?;
        let headers: Vec<Header> = table.as_chunks::<HEADER>().0.iter().map(header).collect();
        let first = headers.iter().find(|header| header.kind == PT_LOAD && header.offset < PAGE_SIZE)?;
        let bias = start.wrapping_sub(first.address & !(PAGE_SIZE - 1));
        Some(Placed { bias, headers })
    }

    /// Returns the offset in the file of what lies at an address, if it comes from there.
    pub fn offset(&self, address: u64) -> Option<u64> {
        let parts = self.headers.iter().filter(|header| header.kind == PT_LOAD);
        parts.into_iter().find_map(|header| {
            let inside = header.address & (PAGE_SIZE - 1);
            let distance = address.wrapping_sub(header.address.wrapping_add(self.bias) - inside);
            (distance < header.file_size.saturating_add(inside)).then(|| (header.offset & !(PAGE_SIZE - 1)).wrapping_add(distance))
        })
    }

    /// Returns where the path of the dynamic linker stands, and its size.
    pub fn linker(&self) -> Option<(u64, u64)> {
        let part = self.headers.iter().find(|header| header.kind == PT_INTERP)?;
        Some((part.address.wrapping_add(self.bias), part.file_size))
    }
}

/// Returns the end of the program, where its break starts. `bytes` are its headers, which lie at
/// `auxiliary.headers`.
pub fn program_end(auxiliary: &Auxiliary, bytes: &[u8]) -> Result<u64, Errno> {
    let mut headers = Vec::new();
    headers.extend(bytes.as_chunks::<HEADER>().0.iter().map(header));
    let bias = bias(&headers, auxiliary.headers).ok_or(EINVAL)?;
    let mut end = 0;
    for header in headers.iter().filter(|header| header.kind == PT_LOAD && header.size != 0) {
        let last = header.address.wrapping_add(bias).checked_add(header.size).and_then(round_up).ok_or(EINVAL)?;
        end = end.max(last);
    }
    Ok(end)
}

/// Enters what the parent mapped for the program, from the table (`bytes`) that it made: the
/// program's parts, its dynamic linker's and the stack. Parts of the data segment show it.
pub fn enter_windows(map: &mut Map<Fill>, auxiliary: &Auxiliary, bytes: &[u8], data: Option<&Rc<Segment>>) -> Result<(), Errno> {
    let word = |entry: &[u8; WINDOW], at: usize| entry.as_chunks::<8>().0.get(at).map_or(0, |word| u64::from_le_bytes(*word));
    for entry in bytes.as_chunks::<WINDOW>().0 {
        let [start, size, rights, mapping, offset] = [0, 1, 2, 3, 4].map(|at| word(entry, at));
        let end = start.checked_add(size).ok_or(EINVAL)?;
        let part = Part::given(Mapping(mapping), start, size, Rights(rights), rights & Rights::WRITE.0 != 0);
        let part = part.of_data(data.filter(|_| offset != u64::MAX), offset);
        if end <= HIGHEST || end == auxiliary.stack_end {
            map.insert(Area { start, end, rights: effective(Rights(rights)), backing: Fill::Own(part) })?;
        } else {
            part.leave();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

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
    fn the_break_starts_behind_the_last_segment() {
        let bytes = [packed(PT_LOAD, 5, 0, 0x40_0000, 0x1234), packed(PT_LOAD, 6, 0x2000, 0x40_2f00, 0x1200)].concat();
        let auxiliary = Auxiliary { headers: 0x40_0040, ..Auxiliary::default() };
        assert_eq!(program_end(&auxiliary, &bytes), Ok(0x40_5000));
    }

    #[test]
    fn an_image_tells_what_comes_from_its_file() {
        let mut bytes = [b"\x7fELF".to_vec(), vec![0; 60]].concat();
        (bytes[32], bytes[54], bytes[56]) = (64, HEADER as u8, 3);
        bytes.extend([packed(PT_LOAD, 5, 0, 0, 0x1234), packed(PT_LOAD, 6, 0x2f00, 0x3f00, 0x200), packed(PT_INTERP, 4, 0x100, 0x100, 9)].concat());
        let image = Placed::of(0x7000_0000, &bytes).unwrap();
        assert_eq!((image.offset(0x7000_1000), image.offset(0x7000_3000), image.offset(0x7000_4000)), (Some(0x1000), Some(0x2000), Some(0x3000)));
        assert_eq!((image.offset(0x7000_2000), image.offset(0x7000_5000), image.offset(0x6fff_ffff)), (None, None, None));
        assert_eq!(image.linker(), Some((0x7000_0100, 9)));
        for size in 0..bytes.len() {
            assert!(Placed::of(0, &bytes[..size]).is_none());
        }
    }

    #[test]
    fn a_program_that_was_moved_is_found() {
        let bytes = packed(PT_LOAD, 5, 0, 0, 0x1000);
        let auxiliary = Auxiliary { headers: 0x5555_0000_0040, ..Auxiliary::default() };
        assert_eq!(program_end(&auxiliary, &bytes), Ok(0x5555_0000_1000));
    }
}
