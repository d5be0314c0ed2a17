//! Multiboot 2, which GRUB speaks, under BIOS and UEFI: a list of tags. Specification 2.0, section 3.6.

use crate::{PhysicalBytes, RAM};
use nacre_abi::boot_info::MemoryRange;
use nacre_machine::boot::BootDescription;
use nacre_machine::bytes::{u32_at, u64_at};

const END: u32 = 0;
const COMMAND_LINE: u32 = 1;
const MODULE: u32 = 3;
const MEMORY_MAP: u32 = 6;
const ACPI_OLD: u32 = 14;
const ACPI_NEW: u32 = 15;
const MOST_BYTES: u32 = 1 << 20;

/// Reads the information at `at`.
pub fn read(memory: &impl PhysicalBytes, at: u64) -> Option<BootDescription> {
    let size = u32_at(memory.bytes(at, 8)?, 0)?.min(MOST_BYTES);
    let information = memory.bytes(at, u64::from(size))?;
    let mut description = BootDescription::new();
    let mut offset = 8;
    while let (Some(kind), Some(size)) = (u32_at(information, offset), u32_at(information, offset + 4)) {
        let size = (size as usize).max(8);
        if kind == END {
            break;
        }
        tag(&mut description, kind, information.get(offset..offset + size)?, at + offset as u64);
        offset += size.next_multiple_of(8);
    }
    Some(description)
}

/// Takes over one tag; one that is too short is left out.
fn tag(description: &mut BootDescription, kind: u32, tag: &[u8], at: u64) -> Option<()> {
    match kind {
        COMMAND_LINE => description.set_command_line(tag.get(8..)?),
        MODULE if description.module.size == 0 => {
            let (start, end) = (u64::from(u32_at(tag, 8)?), u64::from(u32_at(tag, 12)?));
            description.module = MemoryRange { start, size: end.checked_sub(start)? };
        }
        MEMORY_MAP => memory_map(description, tag)?,
        ACPI_NEW => description.acpi_root = at + 8,
        ACPI_OLD if description.acpi_root == 0 => description.acpi_root = at + 8,
        _ => {}
    }
    Some(())
}

fn memory_map(description: &mut BootDescription, tag: &[u8]) -> Option<()> {
    let size = u32_at(tag, 8)? as usize;
    for range in tag.get(16..)?.chunks_exact(size.max(24)) {
        if u32_at(range, 16)? == RAM {
            let low = u64_at(range, 0)?;
            description.memory.add(low, low.saturating_add(u64_at(range, 8)?));
        }
    }
    Some(())
}
