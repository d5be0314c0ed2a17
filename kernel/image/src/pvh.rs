//! Xen's boot protocol for virtual machines with hardware paging (PVH), which QEMU speaks with `-kernel`: a start record with modules and a memory map.

use crate::{PhysicalBytes, RAM};
use nacre_abi::boot_info::MemoryRange;
use nacre_machine::boot::{BootDescription, COMMAND_LINE_SIZE};
use nacre_machine::bytes::{u32_at, u64_at};

const MAGIC: u32 = 0x336e_c578;
const START_SIZE: u64 = 56;
const MODULE_SIZE: u64 = 32;
const RANGE_SIZE: u64 = 24;
const MOST_RANGES: u64 = 512;

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
    let count = u64::from(u32_at(start, 48)?).min(MOST_RANGES);
    let ranges = memory.bytes(u64_at(start, 40)?, count * RANGE_SIZE)?;
    for range in ranges.chunks_exact(RANGE_SIZE as usize) {
        if u32_at(range, 16)? == RAM {
            let low = u64_at(range, 0)?;
            description.memory.add(low, low.saturating_add(u64_at(range, 8)?));
        }
    }
    Some(description)
}
