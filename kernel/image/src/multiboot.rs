//! Multiboot 2, which GRUB speaks, under BIOS and UEFI: a list of tags. Specification 2.0, section
//! 3.6.

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
const MAX_BYTES: u32 = 1 << 20;

/// Reads the information at `at`.
pub fn read(memory: &impl PhysicalBytes, at: u64) -> Option<BootDescription> {
    let size = u32_at(memory.bytes(at, 8)?, 0)?.min(MAX_BYTES);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Memory, survives_damage};

    fn tag(kind: u32, content: &[u8]) -> Vec<u8> {
        let mut bytes = [kind.to_le_bytes(), (8 + content.len() as u32).to_le_bytes()].concat();
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn started() -> Memory {
        let mut map = [24u32, 0].map(u32::to_le_bytes).concat();
        for range in [[0, 0x9_f000, 1], [0x10_0000, 0x4000_0000, 1], [0xfec0_0000, 0x1000, 2u64]] {
            map.extend(range.map(u64::to_le_bytes).concat());
        }
        let module = [0x80_0000u32, 0x80_1234, 0].map(u32::to_le_bytes).concat();
        let tags = [tag(COMMAND_LINE, b"cpus=2\0"), tag(MODULE, &module), tag(MEMORY_MAP, &map), tag(ACPI_OLD, &[0; 20]), tag(ACPI_NEW, &[0; 36]), tag(END, &[])].concat();
        let mut memory = Memory::new(0x1000);
        memory.put(0x100, &(tags.len() as u32 + 8).to_le_bytes());
        memory.put(0x108, &tags);
        memory
    }

    #[test]
    fn everything_is_taken_over() {
        let description = read(&started(), 0x100).unwrap();
        assert_eq!(description.command_line(), b"cpus=2");
        assert_eq!(description.module, MemoryRange { start: 0x80_0000, size: 0x1234 });
        assert_eq!(description.memory.total(), 0x4009_f000);
        assert_ne!(description.acpi_root, 0);
    }

    #[test]
    fn damage_is_survived() {
        survives_damage(started(), |memory| {
            read(memory, 0x100);
        });
    }
}
