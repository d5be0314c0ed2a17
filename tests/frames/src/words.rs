//! Frames: right ones of each kind and mode, and what becomes of them by chance.

use crate::scene::{FRAMES, LOWER, MEMORY, MEMORY_AT, OWN, SPACE, UPPER, WEAK};
use nacre_abi::PAGE_SIZE;
use nacre_abi::frame::{FRAME_VERSION, kind, word};
use nacre_raw::random::Random;
use nacre_raw::write;

/// Address of a guest's code in its views.
pub const CODE: u64 = 0x40_0000;
/// Address of the upper half in views.
pub const HIGH: u64 = 0x7fff_0000_0000;
const UPPER_HALF: u64 = 0xffff_8000_0000_0000;

/// Values for words that are likely to be wrong in some way.
pub const ODD: [u64; 24] = [
    0, 1, 2, 3, 0x10, 0x8000_0031, 0x8005_0033, 0xe000_0011, 1 << 31, 0x20, 0x6a0, 0x2_00a0, 0x40_0040, 0x500, 0xd01, u64::MAX, 1 << 63, MEMORY_AT, CODE,
    UPPER_HALF, UPPER_HALF + HIGH, MEMORY, 0xa9b << 16 | 0xffff_ffff << 32, 0x7fff_ffff_f000,
];

/// Instructions of guests: waits, exits, accesses by registers, changes of mode, events, loops.
const CODE_PARTS: [&[u8]; 39] = [
    &[0xf3, 0x90], &[0xf3, 0x90], &[0xf3, 0x90], &[0xf4], &[0x0f, 0xa2], &[0x0f, 0x31], &[0x0f, 0x30], &[0x0f, 0x32], &[0xe6, 0x80], &[0xec], &[0x6c],
    &[0x8b, 0x03], &[0x89, 0x0b], &[0x89, 0x07], &[0xa4], &[0xaa], &[0xf3, 0xa4], &[0x87, 0x03], &[0x50], &[0x58], &[0x0f, 0x20, 0xc0], &[0x0f, 0x22, 0xc0],
    &[0x0f, 0x22, 0xd8], &[0x0f, 0x22, 0xe0], &[0x0f, 0x06], &[0x0f, 0x01, 0xf0], &[0x0f, 0x01, 0x3b], &[0xcc], &[0xcd, 0x21], &[0xcf], &[0xfa], &[0xfb], &[0x9d],
    &[0x0f, 0x01, 0xd9], &[0x0f, 0x0b], &[0xf1], &[0xeb, 0xfc], &[0xeb, 0xf0], &[0x0f, 0xae, 0x03],
];

/// Address of the page of the frame with this number.
pub fn frame(number: u64) -> u64 {
    FRAMES + number * PAGE_SIZE
}

/// Sets a word of the frame.
pub fn set(frame: u64, number: usize, value: u64) {
    write(frame + 8 * number as u64, value);
}

/// A value for any word.
pub fn value(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.next(),
        1 => random.one_of(&ODD) ^ 1 << random.below(64),
        _ => random.one_of(&ODD),
    }
}

/// Makes the frame that of a guest in 16-bit mode, of a 32-bit one, or of a 64-bit one on the
/// tables of its spaces.
pub fn begin(frame: u64, random: &mut Random) {
    (0..word::COUNT).for_each(|number| set(frame, number, 0));
    set(frame, word::VERSION, FRAME_VERSION);
    set(frame, word::RFLAGS, 2);
    set(frame, word::PAT, 0x0007_0406_0007_0406);
    set(frame, word::DR6, 0xffff_0ff0);
    for number in 0..16 {
        set(frame, word::REGISTERS + number, random.one_of(&[CODE, HIGH, MEMORY_AT + 0x800, 0x800, MEMORY + 0x1800, UPPER_HALF + HIGH, 7]));
    }
    match random.below(3) {
        0 => real(frame, MEMORY_AT + random.below(8) * PAGE_SIZE),
        1 => shadow(frame, 0x11, 0x800, 0xc9b),
        _ => shadow(frame, 0x8000_0031, 0xd01, 0xa9b),
    }
    if random.once_in(8) {
        let own = [(word::SPACE, OWN), (word::UPPER_SPACE, OWN), (word::RIP, MEMORY + random.below(4096))];
        own.iter().for_each(|(number, value)| set(frame, *number, *value));
    }
}

/// Makes a frame of zeros that of a guest in 16-bit mode with all segments at `base`.
pub fn real_at(frame: u64, base: u64) {
    set(frame, word::VERSION, FRAME_VERSION);
    set(frame, word::RFLAGS, 2);
    set(frame, word::PAT, 0x0007_0406_0007_0406);
    set(frame, word::DR6, 0xffff_0ff0);
    real(frame, base);
}

/// Makes a frame that of a guest in 64-bit mode on the tables of its spaces, at `rip`.
pub fn shadow_at(frame: u64, rip: u64) {
    (0..512).for_each(|number| set(frame, number, 0));
    real_at(frame, 0);
    shadow(frame, 0x8000_0031, 0xd01, 0xa9b);
    set(frame, word::RIP, rip);
}

fn real(frame: u64, base: u64) {
    for number in 0..6 {
        set(frame, word::SEGMENTS + 2 * number, 0x93 << 16 | 0xffff << 32);
        set(frame, word::SEGMENTS + 2 * number + 1, base);
    }
    set(frame, word::SEGMENTS + 2, 0x9b << 16 | 0xffff << 32);
    set(frame, word::SEGMENTS + 14, 0x82 << 16 | 0xffff << 32);
    set(frame, word::SEGMENTS + 18, 0x8b << 16 | 0xffff << 32);
    set(frame, word::CR0, 0x10);
    set(frame, word::SPACE, SPACE);
    set(frame, word::UPPER_SPACE, UPPER);
}

fn shadow(frame: u64, mode: u64, features: u64, code: u64) {
    for (number, attributes) in [0xc93, code, 0xc93, 0xc93, 0xc93, 0xc93, 0, 0x82, 0, 0x8b].into_iter().enumerate() {
        set(frame, word::SEGMENTS + 2 * number, attributes << 16 | 0xffff_ffff << 32);
    }
    let words = [
        (word::KIND, kind::SHADOW),
        (word::SPACE, LOWER),
        (word::UPPER_SPACE, UPPER),
        (word::CR0, mode),
        (word::CR4, 0xa0),
        (word::EFER, features),
        (word::RIP, CODE),
    ];
    words.iter().for_each(|(number, value)| set(frame, *number, *value));
}

/// Changes a few words, or none.
pub fn spoil(frame: u64, random: &mut Random) {
    if random.once_in(3) {
        return;
    }
    for _ in 0..random.below(9) {
        match random.below(12) {
            0 => set(frame, word::KIND, random.below(4)),
            1 => set(frame, word::SPACE, random.one_of(&[SPACE, LOWER, UPPER, OWN, WEAK, 0, frame, ODD[22]])),
            2 => set(frame, word::UPPER_SPACE, random.one_of(&[SPACE, LOWER, UPPER, OWN, WEAK, 0, frame, ODD[22]])),
            3 => set(frame, word::INJECT, 1 << 31 | random.below(8) << 8 | random.below(256) | random.below(2) << 11),
            _ => set(frame, random.below(word::COUNT as u64 - 4) as usize + 4, value(random)),
        }
    }
}

/// Writes random code where guests begin: the first half of their memory.
pub fn write_code(random: &mut Random) {
    let at = MEMORY + random.below(8) * PAGE_SIZE;
    let mut bytes = alloc::vec::Vec::new();
    while bytes.len() < 256 {
        let part = CODE_PARTS[random.below(CODE_PARTS.len() as u64) as usize];
        if part.contains(&0xeb) && !random.once_in(32) { bytes.push(0x90) } else { bytes.extend(part) }
    }
    bytes.resize(4096, 0xf4);
    for (number, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        write(at + 8 * number as u64, u64::from_le_bytes(*word));
    }
}
