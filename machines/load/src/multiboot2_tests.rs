//! Kernels with a header of multiboot 2, and headers that lie.

use super::*;
use crate::multiboot1::tests::{elf, put, words};
use crate::{Module, VecMemory, acpi};

const SIZE: usize = 4 << 20;
const AT: u32 = 0x20_0000;

/// A tag of a header.
fn tag(kind: u16, flags: u16, content: &[u32]) -> Vec<u8> {
    let mut bytes = [&kind.to_le_bytes()[..], &flags.to_le_bytes(), &(8 + 4 * content.len() as u32).to_le_bytes(), &words(content)].concat();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn header(tags: &[u8]) -> Vec<u8> {
    let length = 16 + tags.len() as u32;
    [words(&[MAGIC, 0, length, 0u32.wrapping_sub(MAGIC).wrapping_sub(length)]), tags.to_vec()].concat()
}

/// An ELF file with these tags and an end.
fn file(tags: &[Vec<u8>]) -> Vec<u8> {
    let mut file = elf();
    file.resize(0x400, 0);
    put(&mut file, 0x200, &header(&[tags.concat(), tag(0, 0, &[])].concat()));
    file
}

fn try_load(file: &Vec<u8>, module: &[&dyn ByteSource]) -> Result<(Start, VecMemory), LoadError> {
    let mut memory = VecMemory::new(SIZE);
    acpi::load(&mut memory, &acpi::Facts { processors: 1, io_apic: (8, 0xfec0_0000), hpet: None }).unwrap();
    let modules: Vec<Module> = module.iter().zip(["disk", "two words"]).map(|(file, text)| Module { file: *file, text }).collect();
    load(&mut memory, &Boot { kernel: file, modules: &modules, command_line: "one two" }).map(|start| (start, memory))
}

fn refused(file: &Vec<u8>) -> LoadError {
    try_load(file, &[]).unwrap_err()
}

/// The information's tags: kind and content.
fn told(memory: &VecMemory, start: &Start) -> Vec<(u32, Vec<u8>)> {
    let at = start.rbx as usize;
    let bytes = &memory.0[at..][..word(&memory.0, at) as usize];
    let (mut place, mut tags) = (8, Vec::new());
    while place < bytes.len() {
        let size = word(bytes, place + 4) as usize;
        tags.push((word(bytes, place), bytes[place + 8..place + size].to_vec()));
        place += size.next_multiple_of(8);
    }
    assert_eq!((place, tags.pop()), (bytes.len(), Some((0, Vec::new()))));
    tags
}

#[test]
fn a_kernel_is_told_of_everything_by_tags() {
    let module = vec![9u8; 5000];
    let (start, memory) = try_load(&file(&[tag(1, 0, &[4, 6]), tag(6, 0, &[]), tag(10, 1, &[0, u32::MAX, 4096, 0])]), &[&module, &b"other".as_slice()]).unwrap();
    assert_eq!((start.rax, start.rip, start.rbx, start.efer), (0x36d7_6289, AT as u64 + 2, 0x1_0000, 0));
    let tags = told(&memory, &start);
    let find = |kind| tags.iter().find(|tag| tag.0 == kind).map(|tag| &tag.1[..]).unwrap();
    assert_eq!((find(1), find(2)), (&b"one two\0"[..], &b"Nacre machine\0"[..]));
    assert_eq!(find(3), [&words(&[AT + 0x1000, AT + 0x1000 + 5000])[..], b"disk\0"].concat());
    let modules: Vec<&[u8]> = tags.iter().filter(|tag| tag.0 == 3).map(|tag| &tag.1[..]).collect();
    assert_eq!(modules[1..], [[&words(&[AT + 0x3000, AT + 0x3005])[..], b"two words\0"].concat()]);
    assert_eq!(memory.0[AT as usize + 0x3000..][..6], *b"other\0");
    assert_eq!(find(4), words(&[639, 3 << 10]));
    assert_eq!(find(21), words(&[AT]));
    assert_eq!((find(14), find(15)), (&memory.0[0xe_0000..][..20], &memory.0[0xe_0000..][..36]));
    let row = |start, size, kind| words(&[start, 0, size, 0, kind, 0]);
    assert_eq!(find(6), [words(&[24, 0]), row(0, 0x9_fc00, 1), row(0x9_fc00, 0x6_0400, 2), row(1 << 20, 3 << 20, 1)].concat());
    assert_eq!(&memory.0[AT as usize + 0x1000..][..5001], [&module[..], &[0]].concat());
    assert!(told(&memory, &start).iter().all(|tag| tag.0 != 8 && tag.0 != 12));
}

#[test]
fn addresses_and_entries_come_from_tags() {
    let flat = |addresses: [u32; 4], entry: &[Vec<u8>]| {
        let mut file = vec![7; 0x200];
        put(&mut file, 0x40, &header(&[vec![tag(2, 0, &addresses)], entry.to_vec(), vec![tag(0, 0, &[])]].concat().concat()));
        try_load(&file, &[]).map(|(start, memory)| (start.rip as u32, word(&memory.0, AT as usize + 0x40), word(&memory.0, AT as usize)))
    };
    let entry = tag(3, 0, &[AT + 4]);
    assert_eq!(flat([AT + 0x40, AT, 0, 0], &[entry.clone()]), Ok((AT + 4, MAGIC, 0x0707_0707)));
    assert_eq!(flat([AT + 0x40, u32::MAX, 0, 0], &[entry.clone()]), Ok((AT + 4, MAGIC, 0x0707_0707)), "from the first byte on");
    assert_eq!(flat([AT, AT, AT + 0x10, 0], &[entry.clone()]), Ok((AT + 4, 0, MAGIC)));
    assert_eq!(flat([0x3f, u32::MAX, 0, 0], &[entry.clone()]), Err(LoadError::BadHeader));
    assert_eq!(flat([AT, AT, 0, 0], &[]), Err(LoadError::BadHeader), "addresses without an entry");
    assert_eq!(flat([AT, AT, AT + 4, 0], &[entry]), Err(LoadError::BadEntry));
    let (start, _) = try_load(&file(&[tag(3, 0, &[AT + 23])]), &[]).unwrap();
    assert_eq!(start.rip, AT as u64 + 23, "it takes the place of ELF's");
    assert_eq!(refused(&file(&[tag(3, 0, &[AT + 24])])), LoadError::BadEntry);
}

#[test]
fn what_a_machine_lacks_is_refused_if_it_is_required() {
    for (required, error) in [
        (tag(5, 0, &[640, 480, 32]), LoadError::NeedsScreen),
        (tag(4, 0, &[1]), LoadError::NeedsScreen),
        (tag(1, 0, &[6, 22]), LoadError::UnknownRequirement),
        (tag(1, 0, &[0]), LoadError::UnknownRequirement),
        (tag(11, 0, &[]), LoadError::UnknownRequirement),
        (tag(0xffff, 0, &[]), LoadError::UnknownRequirement),
    ] {
        assert_eq!(refused(&file(&[required.clone()])), error);
        let mut optional = required;
        optional[2] = 1;
        assert!(try_load(&file(&[optional]), &[]).is_ok());
    }
    // What the specification knows and the machine has not is left out. EFI's entries do not count.
    for tag in [tag(1, 0, &[5, 7, 8, 12, 17]), tag(4, 0, &[2]), tag(7, 0, &[]), tag(8, 0, &[1]), tag(9, 0, &[1])] {
        assert!(try_load(&file(&[tag]), &[]).is_ok());
    }
}

#[test]
fn headers_that_are_cut_off_or_lie_about_sizes_are_refused() {
    let mut plain = vec![0; 0x300];
    put(&mut plain, 0x200, &header(&tag(0, 0, &[])));
    assert_eq!(refused(&plain), LoadError::NoAddresses);
    for damage in [&[0u8, 0, 0, 0][..], &[7], &[0xff, 0xff, 0xff, 0xff], &[0xf8, 0xff, 0xff, 0xff]] {
        let mut file = file(&[tag(6, 0, &[])]);
        put(&mut file, 0x214, damage);
        assert_eq!(refused(&file), LoadError::BadHeader);
    }
    assert_eq!(refused(&file(&[tag(2, 0, &[1, 2, 3])])), LoadError::BadHeader);
    assert_eq!(refused(&file(&[tag(3, 0, &[])])), LoadError::BadHeader);
    let mut endless = elf();
    put(&mut endless, 0x80, &header(&[]));
    assert_eq!(refused(&endless), LoadError::BadHeader, "no end");
    let mut long = elf();
    long.truncate(0x110);
    put(&mut long, 0x80, &header(&[0; 0x100])[..16]);
    assert_eq!(refused(&long), LoadError::BadHeader, "longer than the file");
    assert_eq!(refused(&elf()), LoadError::NotMultiboot);
}

#[test]
fn a_header_is_found_where_it_may_lie() {
    let at = |place: usize| {
        let mut file = vec![0; place + 16];
        put(&mut file, place, &header(&[]));
        has_header(&file)
    };
    assert_eq!([0, 8, 32752, 32760, 32768, 4].map(at), [true, true, true, false, false, false]);
    let mut other = file(&[]);
    put(&mut other, 0x200, &words(&[MAGIC, 4, 24, 0u32.wrapping_sub(MAGIC).wrapping_sub(28)]));
    assert!(!has_header(&other), "another architecture");
}

#[test]
fn no_damage_of_a_header_panics() {
    let whole = file(&[tag(1, 0, &[4, 6]), tag(2, 0, &[AT, AT, 0, 0]), tag(3, 0, &[AT]), tag(10, 1, &[0, 9, 8, 0])]);
    for at in 0x208..0x280 {
        for value in [0, 1, 2, 7, 8, 0x7f, 0x80, 0xff] {
            let mut file = whole.clone();
            file[at] = value;
            let sum = [MAGIC, word(&file, 0x208)].iter().fold(0u32, |sum, word| sum.wrapping_sub(*word));
            put(&mut file, 0x20c, &sum.to_le_bytes());
            let _ = try_load(&file, &[]);
        }
        let _ = try_load(&whole[..at].to_vec(), &[]);
    }
}
