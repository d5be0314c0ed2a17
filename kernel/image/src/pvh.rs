//! Xen's boot protocol for virtual machines with hardware paging (PVH), which QEMU speaks with
//! `-kernel`: a start record with modules and a memory map.

use crate::{PhysicalBytes, RAM};
use nacre_abi::boot_info::MemoryRange;
use nacre_machine::boot::{BootDescription, COMMAND_LINE_SIZE};
use nacre_machine::bytes::{u32_at, u64_at};

const MAGIC: u32 = 0x336e_c578;
const START_SIZE: u64 = 56;
const MODULE_SIZE: u64 = 32;
const RANGE_SIZE: u64 = 24;
const MAX_RANGES: u64 = 512;

/// Reads the start record at `at`; `None` if it is none, or of a version without a memory map.
pub fn read(memory: &impl PhysicalBytes, at: u64) -> Option<BootDescription> {
    let start = memory.bytes(at, START_SIZE)?;
    if u32_at(start, 0)? != MAGIC || u32_at(start, 4)? < 1 {
        return None;
    }
    let mut description = BootDescription::new();
    description.acpi_root = u64_at(start, 32)?;
    description.set_command_line(memory.text(u64_at(start, 24)?, COMMAND_LINE_SIZE as u64));
    if u32_at(start, 12)? > 0 {
        let module = memory.bytes(u64_at(start, 16)?, MODULE_SIZE)?;
        description.module = MemoryRange { start: u64_at(module, 0)?, size: u64_at(module, 8)? };
    }
    let count = u64::from(u32_at(start, 48)?).min(MAX_RANGES);
    let ranges = memory.bytes(u64_at(start, 40)?, count * RANGE_SIZE)?;
    for range in ranges.chunks_exact(RANGE_SIZE as usize) {
        if u32_at(range, 16)? == RAM {
            let low = u64_at(range, 0)?;
            description.memory.add(low, low.saturating_add(u64_at(range, 8)?));
        }
    }
    Some(description)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Memory, survives_damage};

    fn started() -> Memory {
        let mut memory = Memory::new(0x1000);
        memory.put(0x100, &[0x336e_c578u32.to_le_bytes(), 1u32.to_le_bytes(), [0; 4], 1u32.to_le_bytes()].concat());
        memory.put(0x110, &[0x200u64, 0x300, 0x5000, 0x400].map(u64::to_le_bytes).concat());
        memory.put(0x130, &3u32.to_le_bytes());
        memory.put(0x200, &[0x80_0000u64, 0x1234, 0, 0].map(u64::to_le_bytes).concat());
        memory.put(0x300, b"cpus=2 quiet\0");
        memory.put(0x400, &[0u64, 0x9_f000, 1, 0x9_f000, 0x1000, 2, 0x10_0000, 0x4000_0000, 1].map(u64::to_le_bytes).concat());
        memory
    }

    #[test]
    fn everything_is_taken_over() {
        let description = read(&started(), 0x100).unwrap();
        assert_eq!(description.command_line(), b"cpus=2 quiet");
        assert_eq!(description.module, MemoryRange { start: 0x80_0000, size: 0x1234 });
        assert_eq!(description.acpi_root, 0x5000);
        assert_eq!(description.memory.total(), 0x4009_f000);
    }

    #[test]
    fn other_records_are_refused() {
        let mut memory = started();
        memory.put(0x104, &[0]);
        assert!(read(&memory, 0x100).is_none());
        assert!(read(&memory, 0xfff).is_none());
        assert!(read(&memory, 0x200).is_none());
    }

    #[test]
    fn damage_is_survived() {
        survives_damage(started(), |memory| {
            read(memory, 0x100);
        });
    }
}
