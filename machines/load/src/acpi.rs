//! Tables by which a guest finds its processors, interrupt controllers and switches (ACPI 6.5).
//! They lie where firmware keeps its own, in memory that no memory map of a guest names.
//!
//! | address | table |
//! | --- | --- |
//! | 0xe0000 | root pointer |
//! | 0xe0040 | FACS |
//! | 0xe0080 and above | XSDT, FADT, MADT, HPET, DSDT, each at a multiple of 16 |

use crate::aml;
use crate::{GuestMemory, OutOfRange};
use alloc::vec::Vec;

/// Address of the root pointer.
pub const ROOT: u64 = 0xe_0000;
/// Size of the root pointer, and its name.
const ROOT_SIZE: usize = 36;
const ROOT_NAME: &[u8] = b"RSD PTR ";
const FACS: u64 = 0xe_0040;
const FIRST: u64 = 0xe_0080;
const HEADER: usize = 36;
/// Maker of the tables, and their name.
const MAKER: &[u8; 14] = b"NACRE MACHINE ";
const COMPILER: &[u8; 4] = b"NACR";

/// Interrupt line of power events.
pub const POWER_LINE: u8 = 9;
/// Ports of power events (status, enabled), of power control and of general events.
const EVENTS: u32 = 0x600;
const CONTROL: u32 = 0x604;
const GENERAL: u32 = 0x608;
/// Port of a reset, and the value.
const RESET: (u64, u8) = (0xcf9, 6);
/// Address of each processor's own APIC.
const LOCAL_APIC: u32 = 0xfee0_0000;

/// Facts of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Number of processors; their APICs are numbered from 0 on.
    pub processors: u8,
    /// Number and address of the I/O APIC.
    pub io_apic: (u8, u32),
    /// Lower half of the capabilities, and address, of the event timers, if there are any.
    pub hpet: Option<(u32, u64)>,
}

/// Writes the tables.
pub fn load(memory: &mut dyn GuestMemory, facts: &Facts) -> Result<(), OutOfRange> {
    let mut at = FIRST;
    let mut put = |table: Vec<u8>| {
        let place = at;
        at = (at + table.len() as u64).next_multiple_of(16);
        memory.write(place, &table).map(|()| place)
    };
    let dsdt = put(table(b"DSDT", 2, &aml::definitions()))?;
    let fadt = put(table(b"FACP", 3, &fixed(dsdt)))?;
    let madt = put(table(b"APIC", 3, &interrupts(facts)))?;
    let hpet = facts.hpet.map(|hpet| put(table(b"HPET", 1, &event_timers(hpet)))).transpose()?;
    let pointers: Vec<u8> = [fadt, madt].into_iter().chain(hpet).flat_map(u64::to_le_bytes).collect();
    let xsdt = put(table(b"XSDT", 1, &pointers))?;
    memory.write(FACS, &facs())?;
    memory.write(ROOT, &root(xsdt))
}

/// Returns the root pointer, if tables are there.
pub fn find(memory: &dyn GuestMemory) -> Option<[u8; ROOT_SIZE]> {
    let mut root = [0; ROOT_SIZE];
    memory.read(ROOT, &mut root).ok().filter(|()| root.starts_with(ROOT_NAME)).map(|()| root)
}

/// Value that makes the sum of all bytes 0.
fn check(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg()
}

/// A table with its header.
fn table(name: &[u8; 4], revision: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(*name);
    bytes.extend_from_slice(&((HEADER + body.len()) as u32).to_le_bytes());
    bytes.extend_from_slice(&[revision, 0]);
    bytes.extend_from_slice(MAKER);
    bytes.extend_from_slice(&1u32.to_le_bytes());
    bytes.extend_from_slice(COMPILER);
    bytes.extend_from_slice(&1u32.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes[9] = check(&bytes);
    bytes
}

/// The root pointer, of revision 2: two checksums, the first of the first 20 bytes.
fn root(xsdt: u64) -> [u8; ROOT_SIZE] {
    let mut bytes = [0; ROOT_SIZE];
    bytes[0..8].copy_from_slice(ROOT_NAME);
    bytes[9..15].copy_from_slice(&MAKER[..6]);
    bytes[15] = 2;
    bytes[20..24].copy_from_slice(&36u32.to_le_bytes());
    bytes[24..32].copy_from_slice(&xsdt.to_le_bytes());
    bytes[8] = check(&bytes[..20]);
    bytes[32] = check(&bytes);
    bytes
}

/// The table that firmware and system share: no machine here sleeps, so nothing is ever in it.
fn facs() -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[0..4].copy_from_slice(b"FACS");
    bytes[4..8].copy_from_slice(&64u32.to_le_bytes());
    bytes[32] = 1;
    bytes
}

/// Body of the FADT: the fixed registers.
fn fixed(dsdt: u64) -> Vec<u8> {
    const SIZE: usize = 244 - HEADER;
    /// Legacy devices; no VGA. No keyboard controller.
    const LEGACY: u16 = 1 | 1 << 2;
    /// WBINVD and HLT work, there is no sleep button, there is a reset register.
    const FLAGS: u32 = 1 | 1 << 2 | 1 << 5 | 1 << 10;
    /// Latency of states that do not exist.
    const NEVER: u16 = 0xffff;
    let mut bytes = alloc::vec![0; SIZE];
    let mut put = |at: usize, value: &[u8]| bytes[at - HEADER..at - HEADER + value.len()].copy_from_slice(value);
    put(36, &(FACS as u32).to_le_bytes());
    put(40, &(dsdt as u32).to_le_bytes());
    put(46, &u16::from(POWER_LINE).to_le_bytes());
    put(56, &EVENTS.to_le_bytes());
    put(64, &CONTROL.to_le_bytes());
    put(80, &GENERAL.to_le_bytes());
    put(88, &[4, 2, 0, 0, 4]);
    put(96, &NEVER.to_le_bytes());
    put(98, &NEVER.to_le_bytes());
    put(108, &[0x32]);
    put(109, &LEGACY.to_le_bytes());
    put(112, &FLAGS.to_le_bytes());
    put(116, &port(8, RESET.0));
    put(128, &[RESET.1]);
    put(140, &dsdt.to_le_bytes());
    put(148, &port(32, EVENTS.into()));
    put(172, &port(16, CONTROL.into()));
    put(220, &port(32, GENERAL.into()));
    bytes
}

/// Address of a register at a port, of so many bits.
fn port(bits: u8, at: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&[1, bits, 0, if bits == 8 { 1 } else { 2 }]);
    bytes[4..].copy_from_slice(&at.to_le_bytes());
    bytes
}

/// Body of the HPET: the only event timers, with any period.
fn event_timers((identity, address): (u32, u64)) -> Vec<u8> {
    /// Memory of 64 bits.
    const MEMORY: [u8; 4] = [0, 64, 0, 0];
    [&identity.to_le_bytes()[..], &MEMORY, &address.to_le_bytes(), &[0; 4]].concat()
}

/// Body of the MADT: processors and interrupt controllers.
fn interrupts(facts: &Facts) -> Vec<u8> {
    /// There are legacy controllers, too.
    const LEGACY: u32 = 1;
    /// Level-triggered, active high.
    const LEVEL: u16 = 0xd;
    let mut bytes = Vec::from(LOCAL_APIC.to_le_bytes());
    bytes.extend_from_slice(&LEGACY.to_le_bytes());
    for number in 0..facts.processors {
        bytes.extend_from_slice(&[0, 8, number, number, 1, 0, 0, 0]);
    }
    let (number, address) = facts.io_apic;
    bytes.extend_from_slice(&[1, 12, number, 0]);
    bytes.extend_from_slice(&address.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    for (line, input, flags) in [(0, 2u32, 0u16), (POWER_LINE, POWER_LINE.into(), LEVEL)] {
        bytes.extend_from_slice(&[2, 10, 0, line]);
        bytes.extend_from_slice(&input.to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
    }
    bytes.extend_from_slice(&[4, 6, 0xff, 0, 0, 1]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VecMemory;

    fn read(memory: &VecMemory, at: u64, size: usize) -> Vec<u8> {
        let mut bytes = alloc::vec![0; size];
        memory.read(at, &mut bytes).unwrap();
        bytes
    }

    fn number(bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn found(memory: &VecMemory, at: u64) -> Vec<u8> {
        let size = number(&read(memory, at + 4, 4)) as usize;
        let table = read(memory, at, size);
        assert_eq!(check(&table), 0, "checksum at {at:#x}");
        table
    }

    #[test]
    fn a_system_finds_each_table_from_the_root() {
        let mut memory = VecMemory::new(1 << 20);
        load(&mut memory, &Facts { processors: 3, io_apic: (8, 0xfec0_0000), hpet: None }).unwrap();
        let root = read(&memory, ROOT, 36);
        assert_eq!((check(&root[..20]), check(&root)), (0, 0));
        let xsdt = found(&memory, number(&root[24..32]));
        let [fadt, madt] = [36, 44].map(|at| found(&memory, number(&xsdt[at..at + 8])));
        assert_eq!((&fadt[..4], &madt[..4], fadt.len()), (&b"FACP"[..], &b"APIC"[..], 244));
        let dsdt = found(&memory, number(&fadt[140..148]));
        assert_eq!(&dsdt[..4], b"DSDT");
        assert_eq!(&read(&memory, number(&fadt[36..40]), 4), b"FACS");
        assert_eq!(madt.len(), 44 + 3 * 8 + 12 + 2 * 10 + 6);
        assert_eq!(xsdt.len(), 52);
    }

    #[test]
    fn event_timers_have_a_table_if_there_are_any() {
        let mut memory = VecMemory::new(1 << 20);
        load(&mut memory, &Facts { processors: 1, io_apic: (8, 0xfec0_0000), hpet: Some((0x8086_a201, 0xfed0_0000)) }).unwrap();
        let xsdt = found(&memory, number(&read(&memory, ROOT, 36)[24..32]));
        let hpet = found(&memory, number(&xsdt[52..60]));
        assert_eq!((xsdt.len(), &hpet[..4], hpet.len()), (60, &b"HPET"[..], 56));
        assert_eq!((number(&hpet[36..40]), hpet[40], number(&hpet[44..52])), (0x8086_a201, 0, 0xfed0_0000));
    }

    #[test]
    fn memory_that_is_too_small_is_refused() {
        let facts = Facts { processors: 1, io_apic: (8, 0xfec0_0000), hpet: None };
        assert_eq!(load(&mut VecMemory::new(0xe_0080), &facts), Err(OutOfRange));
    }
}
