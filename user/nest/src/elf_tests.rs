//! Tests of the decoder: each fault has its sentence, and whatever damage is done, what is accepted
//! can be loaded.

use super::*;

struct Bytes(Vec<u8>);

impl Source for Bytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SpawnError> {
        let start = offset as usize;
        into.copy_from_slice(&self.0[start..start + into.len()]);
        Ok(())
    }
}

const RANGE: Range<u64> = 0x1000..0x7000_0000_0000;

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn put_segment(bytes: &mut [u8], index: usize, kind: u32, flags: u32, fields: [u64; 5]) {
    let at = 64 + 56 * index;
    let [offset, address, file_size, memory_size, alignment] = fields;
    put(bytes, at, &kind.to_le_bytes());
    put(bytes, at + 4, &flags.to_le_bytes());
    for (word, value) in [(8, offset), (16, address), (24, address), (32, file_size), (40, memory_size), (48, alignment)] {
        put(bytes, at + word, &value.to_le_bytes());
    }
}

/// Text at 0x400000, data with zeros behind it at 0x402010, a note of ours.
fn program() -> Vec<u8> {
    let mut bytes = vec![0; 0x2100];
    put(&mut bytes, 0, b"\x7fELF\x02\x01\x01");
    put(&mut bytes, 16, &[2, 0, 62, 0]);
    put(&mut bytes, 24, &0x40_1000u64.to_le_bytes());
    put(&mut bytes, 32, &64u64.to_le_bytes());
    put(&mut bytes, 54, &[56, 0, 3, 0]);
    put_segment(&mut bytes, 0, PT_LOAD, 5, [0, 0x40_0000, 0x1800, 0x1800, 0x1000]);
    put_segment(&mut bytes, 1, PT_LOAD, 6, [0x2010, 0x40_2010, 0x40, 0x5000, 0x1000]);
    put_segment(&mut bytes, 2, PT_NOTE, 4, [0x100, 0x40_0100, 24, 24, 4]);
    put(&mut bytes, 0x100, &[6, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0]);
    put(&mut bytes, 0x10c, b"Nacre\0\0\0\x01\0\0\0");
    bytes
}

fn decode_bytes(bytes: Vec<u8>) -> Result<Image, SpawnError> {
    decode(&mut Bytes(bytes), RANGE, 0x1_0000_0000)
}

#[test]
fn a_program_decodes() {
    let image = decode_bytes(program()).unwrap();
    assert_eq!(image.entry, 0x40_1000);
    assert_eq!(image.native_version, Some(1));
    assert_eq!((image.headers_address, image.header_count), (0x40_0040, 3));
    assert!(image.segments[0].can_share());
    assert!(!image.segments[1].can_share());
    assert_eq!(image.segments[1].pages(), 0x40_2000..0x40_8000);
}

#[test]
fn a_movable_program_is_moved() {
    let mut bytes = program();
    bytes[16] = 3;
    let image = decode_bytes(bytes).unwrap();
    assert_eq!(image.entry, 0x1_0040_1000);
    assert_eq!(image.segments[0].address, 0x1_0040_0000);
}

#[test]
fn what_is_constant_once_relocated_can_be_sealed() {
    let mut bytes = program();
    put_segment(&mut bytes, 2, PT_GNU_RELRO, 4, [0x2010, 0x40_2010, 0x40, 0x5000, 1]);
    let mut image = decode_bytes(bytes.clone()).unwrap();
    image.seal();
    assert_eq!([image.segments[0].rights, image.segments[1].rights], [Rights(5), Rights(1)]);
    put_segment(&mut bytes, 2, PT_GNU_RELRO, 4, [0x2010, 0x40_2010, 0x40, 0x4fff, 1]);
    let mut partly = decode_bytes(bytes.clone()).unwrap();
    partly.seal();
    assert_eq!(partly.segments[1].rights, Rights(3));
    bytes[16] = 3;
    assert_eq!(decode_bytes(bytes).unwrap().constant, 0..0);
}

#[test]
fn a_dynamic_program_names_its_linker() {
    let mut bytes = program();
    put_segment(&mut bytes, 2, PT_INTERP, 4, [0x200, 0, 10, 10, 1]);
    put(&mut bytes, 0x200, b"/lib/ld.so\0");
    assert_eq!(decode_bytes(bytes.clone()), Err(SpawnError::Truncated("dynamic linker's name")));
    put_segment(&mut bytes, 2, PT_INTERP, 4, [0x200, 0, 11, 11, 1]);
    let image = decode_bytes(bytes).unwrap();
    assert_eq!(image.interpreter.as_deref(), Some(&b"/lib/ld.so"[..]));
    assert_eq!((image.native_version, image.base()), (None, 0x40_0000));
}

#[test]
fn each_fault_has_its_sentence() {
    type Damage = fn(&mut Vec<u8>);
    let cases: [(Damage, SpawnError); 14] = [
        (|b| b[0] = 0, SpawnError::NotElf),
        (|b| b.clear(), SpawnError::NotElf),
        (|b| b.truncate(20), SpawnError::Truncated("header")),
        (|b| b.truncate(100), SpawnError::Truncated("program headers")),
        (|b| b.truncate(0x2020), SpawnError::Truncated("last segment")),
        (|b| b[4] = 1, SpawnError::OtherClass),
        (|b| b[18] = 183, SpawnError::OtherMachine(183)),
        (|b| b[16] = 1, SpawnError::OtherType(1)),
        (|b| b[56] = 65, SpawnError::Headers),
        (|b| put_segment(b, 1, PT_INTERP, 4, [0x100, 0, 1, 1, 1]), SpawnError::Truncated("dynamic linker's name")),
        (|b| put(b, 64 + 56 + 16, &u64::MAX.to_le_bytes()), SpawnError::WildSegment(1)),
        (|b| put(b, 64 + 56 + 16, &0x40_1900u64.to_le_bytes()), SpawnError::Overlap(1)),
        (|b| put(b, 24, &0x40_2010u64.to_le_bytes()), SpawnError::WildEntry),
        (|b| put(b, 0, b"#!/bin/sh -e\n\0"), SpawnError::Script(String::from("/bin/sh -e"))),
    ];
    for (damage, refusal) in cases {
        let mut bytes = program();
        damage(&mut bytes);
        assert_eq!(decode_bytes(bytes), Err(refusal));
    }
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A value that a field is likely to be wrong with.
fn boundary(state: &mut u64) -> u64 {
    const VALUES: [u64; 12] =
        [0, 1, 0xfff, 0x1000, 0x40_0000, 0x40_2000, 0x6fff_ffff_f000, 1 << 47, i64::MAX as u64, u64::MAX - 0xfff, u64::MAX, 56];
    match random(state) % 3 {
        0 => VALUES[(random(state) % 12) as usize],
        1 => VALUES[(random(state) % 12) as usize].wrapping_add(random(state) % 3).wrapping_sub(1),
        _ => random(state),
    }
}

fn check(image: &Image, size: u64) {
    let mut end = RANGE.start;
    for segment in &image.segments {
        assert!(segment.memory_size > 0 && segment.file_size <= segment.memory_size);
        assert!(segment.offset + segment.file_size <= size);
        assert!(segment.pages().start >= end & !0xfff && segment.pages().end <= RANGE.end);
        end = segment.pages().end;
    }
    assert!(image.segments.iter().any(|part| part.pages().contains(&image.entry) && part.rights.contains(Rights::EXECUTE)));
}

#[test]
fn whatever_decodes_can_be_loaded() {
    let mut state = 0x2545_f491_4f6c_dd1d;
    let mut accepted = 0;
    for _ in 0..200_000 {
        let mut bytes = program();
        for _ in 0..1 + random(&mut state) % 3 {
            let word = boundary(&mut state).to_le_bytes();
            let at = (random(&mut state) % (64 + 3 * 56 + 64)) as usize & !1;
            let width = [1, 2, 4, 8][(random(&mut state) % 4) as usize];
            put(&mut bytes, at, &word[..width]);
        }
        let size = bytes.len() as u64;
        if let Ok(image) = decode_bytes(bytes) {
            check(&image, size);
            accepted += 1;
        }
    }
    assert!(accepted > 1000, "only {accepted} were accepted: the damage is too strong to show anything");
}

#[test]
fn notes_that_lie_about_their_size_are_passed_over() {
    let mut state = 88172645463325252;
    for _ in 0..100_000 {
        let size = random(&mut state) % 80;
        let bytes: Vec<u8> = (0..size).map(|_| if random(&mut state) & 1 == 0 { 0 } else { random(&mut state) as u8 }).collect();
        native_note(&bytes);
    }
    assert_eq!(native_note(&[0xff; 16]), None);
}
