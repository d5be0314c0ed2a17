//! Segments: as a frame has them, and as a VMCS has them.

use super::super::frame::{read, write};
use super::field;
use super::world;
use nacre_abi::frame::word;
use nacre_core::machine::Physical;

/// Places in a frame of the segments in the VMCS's order: ES, CS, SS, DS, FS, GS, LDTR, TR.
const PLACES: [usize; 8] = [0, 1, 2, 3, 4, 5, 7, 9];
const CODE: usize = 1;
const STACK: usize = 2;
const LOCAL: usize = 6;
const TASK: usize = 7;
/// Places of GDTR and IDTR, which have no selector.
const TABLES: [usize; 2] = [6, 8];

const ACCESSED: u64 = 1;
const ORDINARY: u64 = 1 << 4;
const PRESENT: u64 = 1 << 7;
const GRANULAR: u64 = 1 << 15;
const UNUSABLE: u64 = 1 << 16;
const PRIVILEGE_SHIFT: u32 = 5;
const BUSY_TASK: u64 = 0x8b;

/// Access rights of a VMCS out of a frame's attributes. A processor by VMX wants some bits as
/// another one does not ask for them.
fn rights(number: usize, attributes: u64, limit: u64) -> u64 {
    let whole = attributes & 0xff | (attributes & 0xf00) << 4;
    let is_ordinary = whole & (PRESENT | ORDINARY) == PRESENT | ORDINARY;
    let granular = if limit >> 20 != 0 { GRANULAR } else { 0 };
    let found = match number {
        TASK => return if whole & 0xf == 3 { whole & !GRANULAR | granular } else { BUSY_TASK | granular },
        LOCAL if whole & (PRESENT | ORDINARY | 0xf) == PRESENT | 2 => whole,
        CODE => whole | ACCESSED | PRESENT,
        LOCAL => UNUSABLE,
        _ if is_ordinary => whole | ACCESSED,
        _ => UNUSABLE,
    };
    found & !GRANULAR | granular
}

/// Puts a frame's segments into the VMCS.
pub fn load(frame: Physical) {
    let privilege = read(frame, word::PRIVILEGE) & 3;
    for (number, place) in PLACES.into_iter().enumerate() {
        let field = 2 * number as u32;
        let at = word::SEGMENTS + 2 * place;
        let (first, base) = (read(frame, at), read(frame, at + 1));
        let limit = first >> 32;
        let limit = if limit >> 20 == 0 { limit } else { limit | 0xfff };
        let found = rights(number, first >> 16 & 0xffff, limit);
        let found = if number == STACK { found & !(3 << PRIVILEGE_SHIFT) | privilege << PRIVILEGE_SHIFT } else { found };
        world::write(field::SELECTORS + field, first & 0xffff);
        world::write(field::LIMITS + field, limit);
        world::write(field::RIGHTS + field, found);
        world::write(field::BASES + field, base);
    }
    for (number, place) in TABLES.into_iter().enumerate() {
        let (field, at) = (2 * (PLACES.len() + number) as u32, word::SEGMENTS + 2 * place);
        world::write(field::LIMITS + field, read(frame, at) >> 32 & 0xffff);
        world::write(field::BASES + field, read(frame, at + 1));
    }
}

/// Puts those of the VMCS into a frame.
pub fn store(frame: Physical) {
    for (number, place) in PLACES.into_iter().enumerate() {
        let field = 2 * number as u32;
        let at = word::SEGMENTS + 2 * place;
        let found = world::read(field::RIGHTS + field);
        let attributes = if found & UNUSABLE == 0 { found & 0xff | found >> 4 & 0xf00 } else { 0 };
        let selector = world::read(field::SELECTORS + field) & 0xffff;
        write(frame, at, selector | attributes << 16 | world::read(field::LIMITS + field) << 32);
        write(frame, at + 1, world::read(field::BASES + field));
        if number == STACK {
            write(frame, word::PRIVILEGE, found >> PRIVILEGE_SHIFT & 3);
        }
    }
    for (number, place) in TABLES.into_iter().enumerate() {
        let (field, at) = (2 * (PLACES.len() + number) as u32, word::SEGMENTS + 2 * place);
        write(frame, at, world::read(field::LIMITS + field) << 32);
        write(frame, at + 1, world::read(field::BASES + field));
    }
}
