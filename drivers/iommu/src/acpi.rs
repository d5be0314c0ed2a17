//! Finds the registers of the unit out of the firmware's tables (VT-d specification 3.3, chapter 8;
//! ACPI 6.5, section 5.2.5).

use alloc::vec;
use alloc::vec::Vec;

/// Access to physical memory that is not the machine's own.
pub trait Physical {
    /// Reads bytes; `None` if they cannot be read.
    fn read(&mut self, at: u64, into: &mut [u8]) -> Option<()>;
}

/// Bytes of a table's head, and its largest size.
const HEAD: usize = 36;
const MAX_TABLE: u32 = 1 << 16;
/// Kind of a structure that describes a unit, and its flag: the unit stands before all devices of
/// the segment that no other one has.
const UNIT: u16 = 0;
const IS_FOR_ALL: u8 = 1;
/// Bytes before the first structure.
const STRUCTURES: usize = 48;

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn bytes(memory: &mut impl Physical, at: u64, size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size];
    memory.read(at, &mut bytes)?;
    Some(bytes)
}

fn table(memory: &mut impl Physical, at: u64) -> Option<Vec<u8>> {
    let size = number(&bytes(memory, at, HEAD)?, 4, 4)? as u32;
    bytes(memory, at, size.clamp(HEAD as u32, MAX_TABLE) as usize)
}

/// Returns the address of the registers of the unit that stands before all devices of the first
/// segment of PCI. `root` is the address of the ACPI root pointer.
pub fn find(memory: &mut impl Physical, root: u64) -> Option<u64> {
    let pointer = bytes(memory, root, HEAD)?;
    let extended = number(&pointer, 24, 8).filter(|at| pointer[15] >= 2 && *at != 0);
    let (list, width) = extended.map_or((number(&pointer, 16, 4)?, 4), |at| (at, 8));
    let list = table(memory, list)?;
    for at in list.get(HEAD..)?.chunks_exact(width).filter_map(|entry| number(entry, 0, width)) {
        // A table that cannot be read is none of ours.
        let Some(head) = bytes(memory, at, HEAD) else { continue };
        if head.starts_with(b"DMAR") {
            return unit(&table(memory, at)?);
        }
    }
    None
}

fn unit(table: &[u8]) -> Option<u64> {
    let mut at = STRUCTURES;
    loop {
        let (kind, size) = (number(table, at, 2)? as u16, number(table, at + 2, 2)? as usize);
        let segment = number(table, at + 6, 2);
        if kind == UNIT && segment == Some(0) && number(table, at + 4, 1)? as u8 & IS_FOR_ALL != 0 {
            return number(table, at + 8, 8);
        }
        at += size.max(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Vec<u8>);

    impl Physical for Bytes {
        fn read(&mut self, at: u64, into: &mut [u8]) -> Option<()> {
            into.copy_from_slice(self.0.get(at as usize..)?.get(..into.len())?);
            Some(())
        }
    }

    fn firmware() -> Bytes {
        let mut all = vec![0; 0x500];
        let mut put = |at: usize, bytes: &[u8]| all[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x10, b"RSD PTR ");
        put(0x10 + 15, &[2]);
        put(0x10 + 24, &0x100u64.to_le_bytes());
        put(0x104, &(36u32 + 16).to_le_bytes());
        put(0x124, &0x200u64.to_le_bytes());
        put(0x12c, &0x300u64.to_le_bytes());
        put(0x200, b"APIC");
        put(0x300, b"DMAR");
        put(0x304, &(48u32 + 16 + 16).to_le_bytes());
        // One for other devices before it.
        put(0x330, &[0, 0, 16, 0, 0, 0, 0, 0]);
        put(0x340, &[0, 0, 16, 0, 1, 0, 0, 0]);
        put(0x348, &0xfed9_0000u64.to_le_bytes());
        Bytes(all)
    }

    #[test]
    fn the_unit_for_all_devices_is_found() {
        assert_eq!(find(&mut firmware(), 0x10), Some(0xfed9_0000));
    }

    #[test]
    fn tables_that_are_cut_or_altered_give_nothing_or_something_but_no_panic() {
        for end in 0..0x500 {
            let mut cut = firmware();
            cut.0.truncate(end);
            let _ = find(&mut cut, 0x10);
        }
        for at in 0..0x500 {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut altered = firmware();
                altered.0[at] = byte;
                let _ = find(&mut altered, 0x10);
            }
        }
    }
}
