//! The library for Linux programs: any call with any arguments, over memory that holds any bytes.

use crate::bytes::Bytes;
use nacre_linux::fork_record::Inheritance;
use nacre_linux::host_double::Rehearsal;

const PAGE: usize = 4096;
const CALLS: usize = 470;
/// Paths, good and bad, that stand in the memory.
const PATHS: [&[u8]; 5] = [b"/bin/a\0", b"\0", b"a/../..//b\0", b"/dev/null\0", b"no end"];

/// An argument: an address in or around the memory, a descriptor, flags, any word.
fn argument(bytes: &mut Bytes<'_>, start: u64) -> u64 {
    match bytes.below(6) {
        0 | 1 => start + 64 * u64::from(bytes.byte()),
        2 => start + (bytes.below(5) * PAGE) as u64 - u64::from(bytes.byte() & 15),
        3 => bytes.of(&[0, 1, 2, 3, 4, 5, 99, 0xffff_ff9c, u64::MAX]),
        _ => bytes.word(),
    }
}

/// Paths, then words that may be vectors, structures, or anything.
fn fill(bytes: &mut Bytes<'_>, start: u64, memory: &mut [u8]) {
    for (number, path) in PATHS.into_iter().enumerate() {
        memory[256 * number..256 * number + path.len()].copy_from_slice(path);
    }
    for piece in memory[2048..2048 + 512].chunks_mut(16) {
        let (address, size) = (argument(bytes, start), bytes.word());
        piece.copy_from_slice(&[address.to_le_bytes(), size.to_le_bytes()].concat());
        if bytes.is_over() {
            break;
        }
    }
}

pub fn calls(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut start = 0;
    let program = Rehearsal::new(2, |address, memory| {
        start = address;
        fill(&mut bytes, start, memory);
    });
    let mut program = program.expect("a process");
    while !bytes.is_over() {
        let number = usize::from(bytes.byte()) + if bytes.below(4) == 0 { 256 } else { 0 };
        let arguments = std::array::from_fn(|_| argument(&mut bytes, start));
        program.call(number.min(CALLS), arguments);
    }
}

pub fn inheritance(bytes: &[u8]) {
    let references = bytes.first().map_or(0, |byte| u64::from(*byte));
    let Some(read) = Inheritance::from_bytes(bytes.get(1..).unwrap_or(&[]), references) else { return };
    let files = read.files.count();
    assert!(read.descriptors.iter().all(|one| one.file < files) && read.current.is_none_or(|file| file < files));
    let file = |number| read.files.get(number).expect("a file");
    assert!((0..files).all(|number| file(number).reference.is_none_or(|number| number < references)));
    assert_eq!(read.to_bytes().ok().and_then(|bytes| Inheritance::from_bytes(&bytes, references)), Some(read));
}
