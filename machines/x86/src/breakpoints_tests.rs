//! Breakpoints in memory with and without tables.

use super::*;
use nacre_machine_memory::VecMemory;

const OFF: Paging = Paging { cr0: 0, cr3: 0, cr4: 0, efer: 0 };
/// Four levels from 0x1000 on.
const LONG: Paging = Paging { cr0: 0x8000_0001, cr3: 0x1000, cr4: 0x20, efer: 0x500 };
const HIGH: u64 = 0xffff_8000_0000_0000;

/// Memory in which the first page of the upper half leads to 0x5000 with `LONG`, once `is_there`.
fn memory(is_there: bool) -> VecMemory {
    let mut memory = VecMemory::new(0x8000);
    let entries = [(0x1800, 0x2003u64), (0x2000, 0x3003), (0x3000, 0x4003), (0x4000, if is_there { 0x5001 } else { 0 })];
    entries.iter().for_each(|(at, entry)| memory.write(*at, &entry.to_le_bytes()).unwrap());
    memory.write(0x5000, b"code").unwrap();
    memory
}

#[test]
fn a_breakpoint_waits_for_the_tables() {
    let (mut memory, mut breakpoints) = (memory(false), Breakpoints::default());
    assert!(breakpoints.insert(&memory, &LONG, HIGH + 1) && breakpoints.insert(&memory, &LONG, HIGH + 1));
    breakpoints.arm(&mut memory, &LONG);
    assert_eq!(&memory.0[0x5000..0x5004], b"code");
    memory.write(0x4000, &0x5001u64.to_le_bytes()).unwrap();
    breakpoints.arm(&mut memory, &LONG);
    assert_eq!(&memory.0[0x5000..0x5004], b"c\xf4de");
    assert!(breakpoints.has(&memory, &LONG, HIGH + 1) && !breakpoints.has(&memory, &LONG, HIGH) && breakpoints.has(&memory, &OFF, 0x5001));
    assert!(breakpoints.remove(&mut memory, HIGH + 1) && !breakpoints.remove(&mut memory, HIGH + 1));
    assert_eq!((&memory.0[0x5000..0x5004], breakpoints.is_empty()), (&b"code"[..], true));
}

#[test]
fn a_breakpoint_comes_back_when_the_guest_writes_over_it() {
    let (mut memory, mut breakpoints) = (memory(true), Breakpoints::default());
    breakpoints.insert(&memory, &OFF, 0x5002);
    breakpoints.arm(&mut memory, &OFF);
    memory.write(0x5000, b"more").unwrap();
    breakpoints.arm(&mut memory, &OFF);
    assert_eq!(&memory.0[0x5000..0x5004], b"mo\xf4e");
    memory.write(0x5000, b"last").unwrap();
    breakpoints.clear(&mut memory);
    assert_eq!(&memory.0[0x5000..0x5004], b"last");
}

#[test]
fn two_addresses_can_lead_to_one_place() {
    let (mut memory, mut breakpoints) = (memory(true), Breakpoints::default());
    breakpoints.insert(&memory, &OFF, 0x5000);
    breakpoints.arm(&mut memory, &OFF);
    breakpoints.insert(&memory, &LONG, HIGH);
    breakpoints.arm(&mut memory, &LONG);
    breakpoints.remove(&mut memory, 0x5000);
    breakpoints.remove(&mut memory, HIGH);
    assert_eq!(&memory.0[0x5000..0x5004], b"code");
}

#[test]
fn readers_and_writers_do_not_see_breakpoints() {
    let (mut memory, mut breakpoints) = (memory(true), Breakpoints::default());
    breakpoints.insert(&memory, &LONG, HIGH + 1);
    breakpoints.arm(&mut memory, &LONG);
    let mut bytes = [0; 4];
    assert_eq!((breakpoints.read(&memory, &LONG, HIGH, &mut bytes), &bytes), (4, b"code"));
    assert!(breakpoints.write(&mut memory, &LONG, HIGH, b"text"));
    assert_eq!(&memory.0[0x5000..0x5004], b"t\xf4xt");
    assert_eq!((breakpoints.read(&memory, &LONG, HIGH, &mut bytes), &bytes), (4, b"text"));
    breakpoints.clear(&mut memory);
    assert_eq!(&memory.0[0x5000..0x5004], b"text");
}

#[test]
fn addresses_that_lead_nowhere_are_refused_and_cost_nothing() {
    let (mut memory, mut breakpoints) = (memory(true), Breakpoints::default());
    let mut bytes = [0; 64];
    // The page behind is not there, nor is one that is no address or behind memory.
    assert_eq!(breakpoints.read(&memory, &LONG, HIGH + 0xff0, &mut bytes), 16);
    assert_eq!(breakpoints.read(&memory, &LONG, 1 << 63, &mut bytes), 0);
    assert_eq!(breakpoints.read(&memory, &OFF, 0x7ff0, &mut bytes), 16);
    assert_eq!(breakpoints.read(&memory, &OFF, u64::MAX, &mut bytes), 0);
    assert!(!breakpoints.write(&mut memory, &LONG, HIGH + 0xfff, b"ab") && !breakpoints.write(&mut memory, &OFF, u64::MAX, b"ab"));
    assert!((0..2000).filter(|address| breakpoints.insert(&memory, &OFF, *address)).count() == MAX_BREAKPOINTS);
    breakpoints.arm(&mut memory, &LONG);
}

#[test]
fn pages_of_programs_have_none() {
    let (mut memory, mut breakpoints) = (memory(true), Breakpoints::default());
    [(0x1800, 0x2007u64), (0x2000, 0x3007), (0x3000, 0x4007), (0x4000, 0x5005)].iter().for_each(|(at, entry)| memory.write(*at, &entry.to_le_bytes()).unwrap());
    assert!(!breakpoints.insert(&memory, &LONG, HIGH) && breakpoints.insert(&memory, &OFF, HIGH));
    breakpoints.arm(&mut memory, &LONG);
    assert_eq!(&memory.0[0x5000..0x5004], b"code");
}
