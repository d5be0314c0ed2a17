//! Kernels with a header of multiboot, in ELF files and without, and headers that lie.

use super::*;
use crate::{Module, Protocol, VecMemory};

const SIZE: usize = 4 << 20;
const AT: u32 = 0x20_0000;

pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// An ELF file of 32 bits with 16 bytes of code at 2 MiB, of which memory has 24, linked at 3 GiB
/// and 2 MiB, with its entry at the third byte.
pub(crate) fn elf() -> Vec<u8> {
    let mut file = vec![0; 0x200];
    put(&mut file, 0, b"\x7fELF\x01\x01\x01");
    put(&mut file, 18, &[3]);
    put(&mut file, 24, &words(&[0xc020_0002, 52]));
    put(&mut file, 42, &[32, 0, 1]);
    put(&mut file, 52, &words(&[1, 0x100, 0xc020_0000, AT, 16, 24]));
    put(&mut file, 0x100, b"the kernel's own");
    file
}

fn header(flags: u32) -> Vec<u8> {
    words(&[MAGIC, flags, 0u32.wrapping_sub(MAGIC).wrapping_sub(flags)])
}

fn file(flags: u32) -> Vec<u8> {
    let mut file = elf();
    put(&mut file, 0x80, &header(flags));
    file
}

/// A file that is no ELF file, with these addresses and an entry.
fn flat(addresses: [u32; 4], entry: u32) -> Vec<u8> {
    let mut file = vec![7; 0x100];
    put(&mut file, 0x20, &header(HAS_ADDRESSES));
    put(&mut file, 0x2c, &words(&addresses));
    put(&mut file, 0x3c, &words(&[entry]));
    file
}

fn try_load(file: &Vec<u8>, module: &[&dyn ByteSource], line: &str) -> Result<(Start, VecMemory), LoadError> {
    let mut memory = VecMemory::new(SIZE);
    let texts = ["disk", "two words", ""];
    let modules: Vec<Module> = module.iter().zip(texts).map(|(file, text)| Module { file: *file, text }).collect();
    load(&mut memory, &Boot { kernel: file, modules: &modules, command_line: line }).map(|start| (start, memory))
}

fn refused(file: &Vec<u8>) -> LoadError {
    try_load(file, &[], "").unwrap_err()
}

fn text(memory: &VecMemory, at: u32) -> &str {
    let bytes = &memory.0[at as usize..];
    std::str::from_utf8(&bytes[..bytes.iter().position(|byte| *byte == 0).unwrap()]).unwrap()
}

#[test]
fn a_kernel_starts_in_32_bit_mode_and_is_told_of_everything() {
    let module = vec![9u8; 5000];
    let (start, memory) = try_load(&file(3), &[&module, &module, &Vec::new()], "one two").unwrap();
    assert_eq!((start.rax, start.rip, start.rbx), (0x2bad_b002, AT as u64 + 2, 0x1_0000));
    assert_eq!((start.cr0 & 0x8000_0001, start.efer, start.cs.attributes, start.rflags), (1, 0, 0xc9b, 2));
    assert_eq!(&memory.0[AT as usize..][..24], [&b"the kernel's own"[..], &[0; 8]].concat());
    assert_eq!((word(&memory.0, 0x40e) & 0xffff, word(&memory.0, 0x413) & 0xffff, memory.0[0x9_fc00]), (0x9fc0, 639, 1));
    let field = |at: usize| word(&memory.0, 0x1_0000 + at);
    assert_eq!((field(0), field(4), field(8)), (0x24d, 639, 3 << 10));
    assert_eq!((text(&memory, field(16)), text(&memory, field(64))), ("one two", "Nacre machine"));
    let (module, map) = (field(24) as usize, field(48) as usize);
    assert_eq!((field(20), field(44), map % 4, module % 4), (2, 72, 0, 0));
    for (number, name) in ["disk", "two words"].into_iter().enumerate() {
        let [first, end, told] = [0, 4, 8].map(|at| word(&memory.0, module + 16 * number + at));
        let place = AT + 0x1000 + 0x2000 * number as u32;
        assert_eq!((first, end, text(&memory, told)), (place, place + 5000, name));
        assert!(memory.0[first as usize..end as usize].iter().all(|byte| *byte == 9));
        assert_eq!(memory.0[end as usize], 0);
    }
    let entry = |number: usize| [0, 4, 12, 20].map(|at| word(&memory.0, map + 24 * number + at));
    assert_eq!([0, 1, 2].map(entry), [[20, 0, 0x9_fc00, 1], [20, 0x9_fc00, 0x6_0400, 2], [20, 1 << 20, 3 << 20, 1]]);
}

#[test]
fn a_header_without_elf_says_where_the_file_goes() {
    // Its own place is 0x20 of the file; loaded are the bytes from 0x10 on.
    let (start, memory) = try_load(&flat([AT + 0x10, AT, AT + 0x38, AT + 0x80], AT + 0x37), &[], "").unwrap();
    assert_eq!(start.rip, AT as u64 + 0x37);
    assert_eq!((word(&memory.0, AT as usize + 0x10), memory.0[AT as usize + 0x37], memory.0[AT as usize + 0x38]), (MAGIC, 7, 0));
    assert_eq!(word(&memory.0, 0x1_0014), 0, "no module");
    let (_, memory) = try_load(&flat([AT + 0x20, AT, 0, 0], AT), &[], "").unwrap();
    assert_eq!(memory.0[AT as usize..][..0x101], [&flat([AT + 0x20, AT, 0, 0], AT)[..], &[0]].concat());
    // Low memory is a kernel's, too, and what it is told then lies elsewhere.
    let (start, memory) = try_load(&flat([0x1000, 0xfe0 + 0x20, 0, 0x5_0001], 0x1000), &[], "").unwrap();
    assert_eq!((start.rbx, word(&memory.0, 0x5_1000)), (0x5_1000, 0x24d));
}

#[test]
fn addresses_that_contradict_each_other_are_refused() {
    for (addresses, entry, error) in [
        ([AT, AT + 1, 0, 0], AT, LoadError::BadHeader),
        ([AT + 0x21, AT, 0, 0], AT, LoadError::BadHeader),
        ([AT + 0x20, AT, AT - 1, 0], AT, LoadError::BadHeader),
        ([AT + 0x20, AT, 0, AT + 0xff], AT, LoadError::BadHeader),
        ([AT + 0x20, AT, AT + 0x101, 0], AT, LoadError::Truncated),
        ([AT + 0x20, AT, 0, 0], AT + 0x100, LoadError::BadEntry),
        ([AT + 0x20, AT, 0, 0], AT - 1, LoadError::BadEntry),
        ([AT + 0x20, AT, 0, u32::MAX], AT, LoadError::KernelTooLarge),
        ([u32::MAX, u32::MAX - 0x20, 0, 0], AT, LoadError::KernelTooLarge),
        ([0x20, 0, 0, 0], 0, LoadError::BadAddress),
        ([0xe_0020, 0xe_0000, 0, 0], 0xe_0000, LoadError::BadAddress),
        ([0x1020, 0x1000, 0, 0x9_fc01], 0x1000, LoadError::BadAddress),
        ([0x1020, 0x1000, 0, 0x9_fc00], 0x1000, LoadError::NoLowMemory),
    ] {
        assert_eq!(refused(&flat(addresses, entry)), error, "{addresses:x?}");
    }
    let mut short = flat([0; 4], 0);
    short.truncate(0x3f);
    assert_eq!(refused(&short), LoadError::BadHeader);
}

#[test]
fn what_a_machine_lacks_is_refused_by_name() {
    assert_eq!(refused(&file(4)), LoadError::NeedsScreen);
    for bit in 3..16 {
        assert_eq!(refused(&file(1 << bit)), LoadError::UnknownRequirement);
    }
    for bit in 17..32 {
        assert!(try_load(&file(1 << bit), &[], "").is_ok(), "bits above are no requirements");
    }
    assert_eq!(refused(&elf()), LoadError::NotMultiboot);
    let mut plain = file(0);
    plain[0] = 0;
    assert_eq!(refused(&plain), LoadError::NoAddresses);
    let mut other = file(0);
    other[18] = 40;
    assert_eq!(refused(&other), LoadError::NotKernel);
    assert_eq!(try_load(&file(0), &[&vec![0u8; SIZE]], "").unwrap_err(), LoadError::InitrdTooLarge);
    assert_eq!(try_load(&file(0), &[], "a\0b").unwrap_err(), LoadError::CommandLineWithZero);
    assert_eq!(try_load(&file(0), &[], &"x".repeat(1 << 16)).unwrap_err(), LoadError::CommandLineTooLong);
    assert!(try_load(&file(0), &[], &"x".repeat((1 << 16) - 1)).is_ok());
}

#[test]
fn parts_that_overlap_are_refused() {
    let mut file = file(0);
    file[44] = 2;
    let second = |at: u32, size: u32| {
        let mut file = file.clone();
        // The second entry takes the place of the header, which moves.
        put(&mut file, 52 + 32, &words(&[1, 0x100, 0, at, 0, size, 0, 0]));
        put(&mut file, 0x1c0, &header(0));
        try_load(&file, &[], "").map(|(start, _)| start.rip)
    };
    assert_eq!(second(AT + 24, 0x1000), Ok(AT as u64 + 2));
    assert_eq!(second(AT + 23, 1), Err(LoadError::Overlap));
    assert_eq!(second(0x10_0000, 0x10_0001), Err(LoadError::Overlap));
    assert_eq!(second(0x10_0000, u32::MAX), Err(LoadError::KernelTooLarge));
}

#[test]
fn a_header_is_found_where_it_may_lie() {
    let at = |place: usize| {
        let mut file = vec![0; place + 12];
        put(&mut file, place, &header(0));
        has_header(&file)
    };
    assert_eq!([0, 4, 8180, 8184, 8192, 2].map(at), [true, true, true, false, false, false]);
    let mut wrong = file(0);
    wrong[0x88] ^= 1;
    assert!(!has_header(&wrong) && !has_header(&vec![0u8; 3]) && !has_header(&Vec::new()));
}

#[test]
fn the_first_protocol_that_a_file_has_is_taken() {
    assert_eq!(Protocol::of(&file(0)), Ok(Protocol::Multiboot1));
    assert_eq!(Protocol::of(&elf()), Ok(Protocol::Pvh), "it refuses by name");
    assert_eq!(Protocol::of(&vec![0u8; 0x1000]), Ok(Protocol::Linux));
    let mut two = file(0);
    put(&mut two, 0x40 + 0x80, &words(&[0xe852_50d6, 0, 24, 0u32.wrapping_sub(0xe852_50d6).wrapping_sub(24), 0, 8]));
    assert_eq!(Protocol::of(&two), Ok(Protocol::Multiboot2));
}

#[test]
fn no_damage_of_a_file_panics() {
    for whole in [file(3), flat([AT + 0x20, AT, 0, 0], AT)] {
        for at in 0..whole.len().min(0x100) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut file = whole.clone();
                file[at] = value;
                // The flags are changed, and the sum with them.
                if let Some(place) = (0..file.len() - 12).step_by(4).find(|place| word(&file, *place) == MAGIC) {
                    let sum = header(word(&file, place + 4));
                    put(&mut file, place, &sum);
                }
                let _ = try_load(&file, &[], "");
            }
            let _ = try_load(&whole[..at].to_vec(), &[], "");
        }
    }
}
