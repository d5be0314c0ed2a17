//! CPUs and interrupt controllers, out of the firmware's tables. ACPI specification 6.5, sections
//! 5.2.5 to 5.2.12.
//!
//! Only the multiple-APIC description table is read, here; all other tables are for users. Tables
//! are believed as far as they lie in memory.
#![forbid(unsafe_code)]

use crate::bytes::{u8_at, u16_at, u32_at, u64_at};
use nacre_core::machine::MAX_CPUS;

/// Access to physical memory.
pub trait PhysicalBytes {
    /// `size` bytes at `start`, if they are mapped.
    fn bytes(&self, start: u64, size: u64) -> Option<&[u8]>;
}

/// Maximum number of I/O controllers.
pub const MAX_CONTROLLERS: usize = 8;
const MAX_OVERRIDES: usize = 16;
const ISA_LINES: u32 = 16;

/// An I/O interrupt controller.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Controller {
    /// Physical address of its registers.
    pub address: u64,
    /// Line of its first pin.
    pub first_line: u32,
}

/// Trigger mode and polarity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMode {
    /// Active until served, not for a moment.
    pub level: bool,
    /// Active when low.
    pub low_active: bool,
}

/// CPUs and controllers.
pub struct Topology {
    cpus: [u32; MAX_CPUS],
    cpu_count: usize,
    controllers: [Controller; MAX_CONTROLLERS],
    controller_count: usize,
    overrides: [(u32, u16); MAX_OVERRIDES],
    override_count: usize,
    /// Physical address of the root pointer, 0 if there is none.
    pub root: u64,
}

fn push<T, const N: usize>(list: &mut [T; N], count: &mut usize, value: T) {
    if let Some(slot) = list.get_mut(*count) {
        *slot = value;
        *count += 1;
    }
}

impl Topology {
    const fn empty() -> Topology {
        Topology {
            cpus: [0; MAX_CPUS],
            cpu_count: 0,
            controllers: [Controller { address: 0, first_line: 0 }; MAX_CONTROLLERS],
            controller_count: 0,
            overrides: [(0, 0); MAX_OVERRIDES],
            override_count: 0,
            root: 0,
        }
    }

    /// Numbers of the local controllers of the CPUs, `first` (this CPU's) before all others, at
    /// most `limit`. The second result is how many.
    pub fn cpus(&self, first: u32, limit: usize) -> ([u32; MAX_CPUS], usize) {
        let (mut numbers, mut count) = ([0; MAX_CPUS], 0);
        push(&mut numbers, &mut count, first);
        for number in self.cpus[..self.cpu_count].iter().filter(|number| **number != first) {
            push(&mut numbers, &mut count, *number);
        }
        (numbers, count.min(limit.max(1)))
    }

    /// The I/O controllers.
    pub fn controllers(&self) -> &[Controller] {
        &self.controllers[..self.controller_count]
    }

    /// Returns the mode of a line: as the tables say, or as is usual for the bus.
    pub fn line_mode(&self, line: u32) -> LineMode {
        let flags = self.overrides[..self.override_count].iter().find(|(overridden, _)| *overridden == line).map_or(0, |(_, flags)| *flags);
        let usual = line >= ISA_LINES;
        let choose = |bits: u16| match bits & 3 {
            1 => false,
            3 => true,
            _ => usual,
        };
        LineMode { level: choose(flags >> 2), low_active: choose(flags) }
    }

    fn entry(&mut self, kind: u8, entry: &[u8]) -> Option<()> {
        match kind {
            0 if u32_at(entry, 4)? & 1 == 1 => push(&mut self.cpus, &mut self.cpu_count, u32::from(u8_at(entry, 3)?)),
            1 => {
                let controller = Controller { address: u64::from(u32_at(entry, 4)?), first_line: u32_at(entry, 8)? };
                push(&mut self.controllers, &mut self.controller_count, controller);
            }
            2 => push(&mut self.overrides, &mut self.override_count, (u32_at(entry, 4)?, u16_at(entry, 8)?)),
            9 if u32_at(entry, 8)? & 1 == 1 => push(&mut self.cpus, &mut self.cpu_count, u32_at(entry, 4)?),
            _ => {}
        }
        Some(())
    }

    fn description(&mut self, table: &[u8]) -> Option<()> {
        let mut at = 44;
        while let (Some(kind), Some(size)) = (u8_at(table, at), u8_at(table, at + 1)) {
            let size = usize::from(size).max(2);
            self.entry(kind, table.get(at..at + size)?);
            at += size;
        }
        Some(())
    }
}

fn table(memory: &impl PhysicalBytes, at: u64) -> Option<&[u8]> {
    let size = u32_at(memory.bytes(at, 36)?, 4)?;
    memory.bytes(at, u64::from(size.clamp(36, 1 << 20)))
}

/// Returns true if `pointer` starts like a root pointer and its checksum is right.
fn is_root(pointer: &[u8]) -> bool {
    let sum = pointer.iter().take(20).fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    pointer.len() >= 20 && pointer.starts_with(b"RSD PTR ") && sum == 0
}

/// Looks where a PC's firmware leaves the root pointer.
fn search(memory: &impl PhysicalBytes) -> Option<u64> {
    (0xe_0000..0x10_0000u64).step_by(16).find(|at| memory.bytes(*at, 20).is_some_and(is_root))
}

fn find_description(memory: &impl PhysicalBytes, root: u64) -> Option<&[u8]> {
    let pointer = memory.bytes(root, 36)?;
    let extended = u8_at(pointer, 15)? >= 2 && u64_at(pointer, 24)? != 0;
    let (list, width) = if extended { (u64_at(pointer, 24)?, 8) } else { (u64::from(u32_at(pointer, 16)?), 4) };
    let list = table(memory, list)?.get(36..)?;
    list.chunks_exact(width).find_map(|entry| {
        let at = if width == 8 { u64_at(entry, 0)? } else { u64::from(u32_at(entry, 0)?) };
        table(memory, at).filter(|table| table.starts_with(b"APIC"))
    })
}

/// Reads the tables under the root pointer at `root` (0: looks for it). Without tables there is one
/// controller, where a PC has it.
pub fn read(memory: &impl PhysicalBytes, root: u64) -> Topology {
    let mut topology = Topology::empty();
    let told = (root != 0).then_some(root).filter(|root| memory.bytes(*root, 20).is_some_and(is_root));
    topology.root = told.or_else(|| search(memory)).unwrap_or(0);
    if topology.root != 0
        && let Some(table) = find_description(memory, topology.root)
    {
        topology.description(table);
    }
    if topology.controller_count == 0 {
        push(&mut topology.controllers, &mut topology.controller_count, Controller { address: 0xfec0_0000, first_line: 0 });
    }
    topology
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory(Vec<u8>);

    impl PhysicalBytes for Memory {
        fn bytes(&self, start: u64, size: u64) -> Option<&[u8]> {
            self.0.get(start as usize..start.checked_add(size)? as usize)
        }
    }

    fn put(memory: &mut Memory, at: usize, bytes: &[u8]) {
        memory.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn machine() -> Memory {
        let mut memory = Memory(vec![0; 0x4000]);
        put(&mut memory, 0x1000, b"RSD PTR ");
        put(&mut memory, 0x1010, &0x2000u32.to_le_bytes());
        let sum = memory.0[0x1000..0x1014].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        memory.0[0x1008] = sum.wrapping_neg();
        put(&mut memory, 0x2004, &40u32.to_le_bytes());
        put(&mut memory, 0x2024, &0x3000u32.to_le_bytes());
        put(&mut memory, 0x3000, b"APIC");
        let entries: [&[u8]; 5] = [
            &[0, 8, 0, 7, 1, 0, 0, 0],
            &[0, 8, 1, 9, 1, 0, 0, 0],
            &[0, 8, 2, 11, 0, 0, 0, 0],
            &[1, 12, 0, 0, 0, 0, 0xc1, 0xfe, 24, 0, 0, 0],
            &[2, 10, 0, 9, 9, 0, 0, 0, 0xd, 0],
        ];
        let all = entries.concat();
        put(&mut memory, 0x3004, &(44 + all.len() as u32).to_le_bytes());
        put(&mut memory, 0x302c, &all);
        memory
    }

    #[test]
    fn cpus_controllers_and_overrides_are_found() {
        let topology = read(&machine(), 0x1000);
        let (cpus, count) = topology.cpus(9, 8);
        assert_eq!(cpus[..count], [9, 7]);
        assert_eq!(topology.cpus(9, 1).1, 1);
        assert_eq!(topology.controllers(), [Controller { address: 0xfec1_0000, first_line: 24 }]);
        assert_eq!(topology.line_mode(9), LineMode { level: true, low_active: false });
        assert_eq!(topology.line_mode(4), LineMode { level: false, low_active: false });
        assert_eq!(topology.line_mode(20), LineMode { level: true, low_active: true });
    }

    #[test]
    fn without_tables_there_is_one_of_each() {
        let topology = read(&Memory(vec![0; 0x100]), 0);
        assert_eq!(topology.cpus(0, 8).1, 1);
        assert_eq!(topology.controllers()[0].address, 0xfec0_0000);
    }

    #[test]
    fn damaged_tables_are_survived() {
        let mut seed = 3u64;
        for _ in 0..2000 {
            let mut memory = machine();
            for _ in 0..8 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let place = [0x1010, 0x2000, 0x3000][(seed >> 60) as usize % 3] + (seed >> 40) as usize % 100;
                memory.0[place] = (seed >> 32) as u8;
            }
            read(&memory, 0x1000);
        }
    }
}
