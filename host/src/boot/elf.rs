//! Reads ELF files: root's segments, a program's kind, and a program without its symbols.

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};

use nacre_abi::{PAGE_SIZE, Rights};

type Header = elf::FileHeader64<LittleEndian>;

const ENDIAN: LittleEndian = LittleEndian;

/// A part of root's memory at start: whole pages, and all of their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address in the guest; a multiple of the page size.
    pub address: u64,
    /// Rights on the memory.
    pub rights: u64,
    /// Whole pages.
    pub bytes: Vec<u8>,
}

/// Reason why a file is not a program that can be run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The file does not start as an ELF file does.
    NotElf,
    /// The file starts as one but ends too early or contradicts itself.
    Damaged(String),
    /// The file is for another processor, another word size, or is not a program.
    OtherMachine,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::NotElf => write!(formatter, "it is not an ELF file"),
            Refusal::Damaged(what) => write!(formatter, "it is truncated or damaged ({what})"),
            Refusal::OtherMachine => write!(formatter, "it is not a program for 64-bit x86"),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<&Header, Refusal> {
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err(Refusal::NotElf);
    }
    if bytes.len() < size_of::<Header>() {
        return Err(Refusal::Damaged("the header is not whole".to_string()));
    }
    let header = Header::parse(bytes).map_err(|_| Refusal::OtherMachine)?;
    let kind = header.e_type(ENDIAN);
    let is_program = kind == elf::ET_EXEC || kind == elf::ET_DYN;
    if header.e_machine(ENDIAN) != elf::EM_X86_64 || !is_program {
        return Err(Refusal::OtherMachine);
    }
    Ok(header)
}

fn program_headers<'a>(header: &Header, bytes: &'a [u8]) -> Result<&'a [elf::ProgramHeader64<LittleEndian>], Refusal> {
    header.program_headers(ENDIAN, bytes).map_err(|error| Refusal::Damaged(error.to_string()))
}

/// Checks that `bytes` are a whole Linux or native program, or a library, for this machine.
pub fn check_program(bytes: &[u8]) -> Result<(), Refusal> {
    let header = parse(bytes)?;
    for part in program_headers(header, bytes)? {
        part.data(ENDIAN, bytes).map_err(|()| Refusal::Damaged("a segment ends behind the file".to_string()))?;
        if part.p_type(ENDIAN) == elf::PT_LOAD && part.p_filesz(ENDIAN) > part.p_memsz(ENDIAN) {
            return Err(Refusal::Damaged("a segment is larger in the file than in memory".to_string()));
        }
    }
    Ok(())
}

/// Needs of a program or library when it is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// Path of the dynamic linker.
    pub linker: Option<String>,
    /// Names of libraries.
    pub needed: Vec<String>,
    /// Folders to look for them in first, with colons between.
    pub search: String,
}

/// Tags of a dynamic section: a library's name, where names lie, and two ways to say where to look.
const NEEDED: u64 = 1;
const NAMES: u64 = 5;
const OLD_SEARCH: u64 = 15;
const SEARCH: u64 = 29;

/// Reads what a program asks for; nothing, if it is static or makes no sense.
pub fn dynamic(bytes: &[u8]) -> Dynamic {
    let mut dynamic = Dynamic::default();
    let Ok(parts) = parse(bytes).and_then(|header| program_headers(header, bytes)) else { return dynamic };
    let linker = parts.iter().find(|part| part.p_type(ENDIAN) == elf::PT_INTERP).and_then(|part| part.data(ENDIAN, bytes).ok());
    dynamic.linker = linker.map(|name| string(name, 0));
    let table = parts.iter().find(|part| part.p_type(ENDIAN) == elf::PT_DYNAMIC).and_then(|part| part.data(ENDIAN, bytes).ok()).unwrap_or(&[]);
    let pairs = || table.as_chunks::<16>().0.iter().map(|entry| [0, 1].map(|half| u64::from_le_bytes(entry.as_chunks::<8>().0[half])));
    let names = pairs().find(|[tag, _]| *tag == NAMES).and_then(|[_, address]| at_address(parts, bytes, address));
    let Some(names) = names else { return dynamic };
    for [tag, value] in pairs().take_while(|[tag, _]| *tag != 0) {
        match tag {
            NEEDED => dynamic.needed.push(string(names, value)),
            OLD_SEARCH | SEARCH => dynamic.search = string(names, value),
            _ => {}
        }
    }
    dynamic
}

/// The bytes from an address on to the end of its segment.
fn at_address<'a>(parts: &[elf::ProgramHeader64<LittleEndian>], bytes: &'a [u8], address: u64) -> Option<&'a [u8]> {
    let loads = parts.iter().filter(|part| part.p_type(ENDIAN) == elf::PT_LOAD);
    loads.into_iter().find_map(|part| part.data(ENDIAN, bytes).ok()?.get(address.checked_sub(part.p_vaddr(ENDIAN))? as usize..))
}

/// The text from `at` to the next zero.
fn string(bytes: &[u8], at: u64) -> String {
    let rest = bytes.get(at as usize..).unwrap_or(&[]);
    String::from_utf8_lossy(rest.split(|byte| *byte == 0).next().unwrap_or(&[])).into_owned()
}

/// Root's first instruction and its segments, ordered, zero-filled, none sharing a page with
/// another.
pub fn segments(bytes: &[u8]) -> Result<(u64, Vec<Segment>), Refusal> {
    check_program(bytes)?;
    let header = parse(bytes)?;
    let mut segments: Vec<Segment> = Vec::new();
    for part in program_headers(header, bytes)? {
        if part.p_type(ENDIAN) == elf::PT_LOAD && part.p_memsz(ENDIAN) > 0 {
            segments.push(segment(part, bytes)?);
        }
    }
    segments.sort_by_key(|segment| segment.address);
    Ok((header.e_entry(ENDIAN), merge(segments)))
}

fn segment(part: &elf::ProgramHeader64<LittleEndian>, bytes: &[u8]) -> Result<Segment, Refusal> {
    let damaged = || Refusal::Damaged("a segment lies outside of user memory".to_string());
    let start = part.p_vaddr(ENDIAN);
    let end = start.checked_add(part.p_memsz(ENDIAN)).filter(|end| *end <= nacre_abi::USER_END).ok_or_else(damaged)?;
    let address = start & !(PAGE_SIZE - 1);
    let size = end.next_multiple_of(PAGE_SIZE) - address;
    if size > 64 << 20 {
        return Err(Refusal::Damaged("a segment is larger than 64 MiB".to_string()));
    }
    let data = part.data(ENDIAN, bytes).map_err(|()| damaged())?;
    let mut content = vec![0; size as usize];
    let at = (start - address) as usize;
    content[at..at + data.len()].copy_from_slice(data);
    Ok(Segment { address, rights: rights(part.p_flags(ENDIAN)), bytes: content })
}

fn rights(flags: elf::ProgramFlags) -> u64 {
    let pairs = [(elf::PF_R, Rights::READ), (elf::PF_W, Rights::WRITE), (elf::PF_X, Rights::EXECUTE)];
    pairs.into_iter().filter(|(flag, _)| flags.0 & flag.0 != 0).fold(Rights::NONE, |all, (_, right)| all.union(right)).0
}

/// Joins segments that share a page; the page gets the rights of both.
fn merge(segments: Vec<Segment>) -> Vec<Segment> {
    let mut merged: Vec<Segment> = Vec::new();
    for segment in segments {
        match merged.last_mut() {
            Some(last) if segment.address < last.address + last.bytes.len() as u64 => {
                let at = (segment.address - last.address) as usize;
                last.bytes.resize(last.bytes.len().max(at + segment.bytes.len()), 0);
                last.bytes[at..].iter_mut().zip(&segment.bytes).for_each(|(byte, more)| *byte |= more);
                last.rights |= segment.rights;
            }
            _ => merged.push(segment),
        }
    }
    merged
}

/// The program without what lies behind its segments: symbols and debugging information.
pub fn stripped(bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
    let header = parse(bytes)?;
    let parts = program_headers(header, bytes)?;
    let table_end = header.e_phoff(ENDIAN) + size_of_val(parts) as u64;
    let parts_end = parts.iter().map(|part| part.p_offset(ENDIAN).saturating_add(part.p_filesz(ENDIAN))).max().unwrap_or(0);
    // A file without program headers keeps its own header.
    let end = parts_end.max(table_end).max(size_of::<Header>() as u64);
    let mut kept = bytes.get(..end as usize).ok_or_else(|| Refusal::Damaged("a segment ends behind the file".to_string()))?.to_vec();
    const SECTION_OFFSET: std::ops::Range<usize> = 40..48;
    const SECTION_COUNT_AND_NAMES: std::ops::Range<usize> = 60..64;
    kept[SECTION_OFFSET].fill(0);
    kept[SECTION_COUNT_AND_NAMES].fill(0);
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Vec<u8> {
        std::fs::read("/proc/self/exe").unwrap()
    }

    #[test]
    fn refuses_what_is_no_program() {
        assert_eq!(check_program(b""), Err(Refusal::NotElf));
        assert_eq!(check_program(b"#!/bin/sh\n"), Err(Refusal::NotElf));
        assert!(matches!(check_program(b"\x7fELF"), Err(Refusal::Damaged(_))));
    }

    #[test]
    fn refuses_other_machines() {
        let mut bytes = me();
        bytes[18] = 183;
        assert_eq!(check_program(&bytes), Err(Refusal::OtherMachine));
        bytes[4] = 1;
        assert_eq!(check_program(&bytes), Err(Refusal::OtherMachine));
    }

    #[test]
    fn a_dynamic_program_names_its_linker_and_libraries() {
        let dynamic = dynamic(&me());
        assert!(dynamic.linker.is_some_and(|linker| linker.starts_with("/lib")));
        assert!(dynamic.needed.iter().any(|name| name.starts_with("libc.")));
        assert_eq!(super::dynamic(&std::fs::read("/bin/busybox").unwrap()), Dynamic::default());
    }

    #[test]
    fn damage_to_what_is_asked_for_never_panics() {
        let bytes = me();
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..200 {
            let mut bytes = bytes[..bytes.len().min(1 << 16)].to_vec();
            for _ in 0..20 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (state >> 33) as usize % 1024;
                bytes[at] = state as u8;
            }
            dynamic(&bytes);
        }
    }

    #[test]
    fn every_truncation_is_refused_and_none_panics() {
        let busybox = std::fs::read("/bin/busybox").unwrap();
        assert_eq!(check_program(&busybox), Ok(()));
        for size in (0..4096).chain([busybox.len() / 2]) {
            assert!(check_program(&busybox[..size]).is_err(), "{size}");
        }
    }

    #[test]
    fn segments_of_a_static_program_are_whole_pages() {
        let busybox = std::fs::read("/bin/busybox").unwrap();
        let (entry, segments) = segments(&busybox).unwrap();
        assert!(segments.iter().any(|segment| {
            segment.rights & Rights::EXECUTE.0 != 0
                && (segment.address..segment.address + segment.bytes.len() as u64).contains(&entry)
        }));
        for pair in segments.windows(2) {
            assert!(pair[0].address + pair[0].bytes.len() as u64 <= pair[1].address);
        }
        assert!(segments.iter().all(|segment| segment.address % PAGE_SIZE == 0 && segment.bytes.len() % 4096 == 0));
    }

    #[test]
    fn segments_that_share_a_page_become_one() {
        let first = Segment { address: 0x1000, rights: 1, bytes: vec![1; 0x1000] };
        let second = Segment { address: 0x1000, rights: 2, bytes: [vec![0; 0x1000], vec![2; 0x1000]].concat() };
        let merged = merge(vec![first, second]);
        assert_eq!(merged.len(), 1);
        assert_eq!((merged[0].rights, merged[0].bytes.len(), merged[0].bytes[0x1000]), (3, 0x2000, 2));
    }

    #[test]
    fn a_file_without_program_headers_is_stripped_to_its_header() {
        let mut bytes = me();
        bytes[32..40].fill(0);
        bytes[56..58].fill(0);
        assert_eq!(stripped(&bytes).map(|kept| kept.len()), Ok(64));
    }

    #[test]
    fn stripping_keeps_the_segments() {
        let bytes = me();
        let kept = stripped(&bytes).unwrap();
        assert!(kept.len() < bytes.len());
        let header = parse(&kept).unwrap();
        assert_eq!(program_headers(header, &kept).unwrap().len(), program_headers(header, &bytes).unwrap().len());
    }
}
