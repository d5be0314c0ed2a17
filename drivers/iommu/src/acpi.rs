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
/// Kind of a structure that describes a unit.
const UNIT: u16 = 0;
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

/// Returns the address of the registers of the one unit that stands before devices of the first
/// segment of PCI; `None` if there is none, or several. `root` is the address of the ACPI root
/// pointer.
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

/// The one unit of the first segment. Which of the segment's devices it stands before is not read:
/// with one unit those are all that any unit stands before.
fn unit(table: &[u8]) -> Option<u64> {
    let (mut at, mut found) = (STRUCTURES, None);
    while let (Some(kind), Some(size)) = (number(table, at, 2), number(table, at + 2, 2)) {
        if kind as u16 == UNIT && number(table, at + 6, 2)? == 0 && found.replace(number(table, at + 8, 8)?).is_some() {
            return None;
        }
        at += (size as usize).max(4);
    }
    found
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
        // One for another segment before it.
        put(0x330, &[0, 0, 16, 0, 0, 0, 1, 0]);
        put(0x340, &[0, 0, 16, 0, 0, 0, 0, 0]);
        put(0x348, &0xfed9_0000u64.to_le_bytes());
        Bytes(all)
    }

    #[test]
    fn the_one_unit_of_the_first_segment_is_found() {
        assert_eq!(find(&mut firmware(), 0x10), Some(0xfed9_0000));
        let mut two = firmware();
        two.0[0x336] = 0;
        assert_eq!(find(&mut two, 0x10), None);
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
