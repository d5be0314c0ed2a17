//! Registers with which the first processor of a guest starts, in 64-bit mode or in 32-bit
//! protected mode, and the tables that they lead to: descriptors and identity-mapped pages in low
//! memory.

use crate::{GuestMemory, OutOfRange};
use alloc::vec::Vec;

/// Address of the descriptor table.
const DESCRIPTORS: u64 = 0x500;
/// Address of the outermost page table. The next one follows, and then four of the level of 2 MiB.
const TABLES: u64 = 0x9000;
const TABLE_SIZE: u64 = 0x1000;
/// Size of a page of the level that maps memory.
const LARGE_PAGE: u64 = 2 << 20;
/// Bits of entries: present and writable; accessed and dirty are left to the processor.
const TABLE: u64 = 3;
const LARGE: u64 = 0x83;
/// Number of tables of the innermost level: 4 GiB.
const INNER_TABLES: u64 = 4;

/// Protected mode, extension type, numeric errors, write protection, paging.
const CR0: u64 = 0x8001_0031;
const PAGING: u64 = 1 << 31;
const WRITE_PROTECTION: u64 = 1 << 16;
/// Physical address extension.
const CR4: u64 = 0x20;
/// Long mode, enabled and active.
const EFER: u64 = 0x500;
/// Bit 1 is always set; interrupts are off.
const FLAGS: u64 = 2;
/// Descriptors of code, of 64 and of 32 bits, for all addresses.
const LONG_CODE: u64 = 0x00af_9b00_0000_ffff;
const PROTECTED_CODE: u64 = 0x00cf_9b00_0000_ffff;

/// Segment register in the form of SVM: bits 0 to 7 of the attributes are bits 40 to 47 of the
/// descriptor, bits 8 to 11 are its bits 52 to 55.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Selector.
    pub selector: u16,
    /// Attributes.
    pub attributes: u16,
    /// Last byte, after granularity was applied.
    pub limit: u32,
    /// First byte.
    pub base: u64,
}

/// Registers of the first processor. All others are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Address of the first instruction.
    pub rip: u64,
    /// Stack.
    pub rsp: u64,
    /// Address of what the loader tells the kernel: Linux's zero page.
    pub rsi: u64,
    /// Address of what the loader tells the kernel: the start record of PVH, or the information of
    /// multiboot.
    pub rbx: u64,
    /// Number by which a kernel knows its loader: that of multiboot.
    pub rax: u64,
    /// Flags, with interrupts off.
    pub rflags: u64,
    /// Control register 0.
    pub cr0: u64,
    /// Address of the page tables.
    pub cr3: u64,
    /// Control register 4.
    pub cr4: u64,
    /// Extended feature register, as the guest sees it: without SVM.
    pub efer: u64,
    /// Code segment.
    pub cs: Segment,
    /// Data segments: `ds`, `es`, `ss`, `fs` and `gs`.
    pub ds: Segment,
    /// Task register.
    pub tr: Segment,
    /// Descriptor table; only base and limit count.
    pub gdtr: Segment,
    /// Interrupt table, empty.
    pub idtr: Segment,
}

/// Writes page tables and descriptors, and returns registers for a kernel that starts at `rip` with
/// `rsi`.
pub(crate) fn prepare(
    memory: &mut dyn GuestMemory, rip: u64, rsi: u64, rsp: u64,
) -> Result<Start, OutOfRange> {
    memory.write(TABLES, &page_tables())?;
    with_descriptors(memory, LONG_CODE, rip, rsi, rsp)
}

/// Writes descriptors, and returns registers that lead to page tables, too.
fn with_descriptors(memory: &mut dyn GuestMemory, code: u64, rip: u64, rsi: u64, rsp: u64) -> Result<Start, OutOfRange> {
    let table = descriptors(code);
    memory.write(DESCRIPTORS, &table)?;
    let flat = |selector, attributes| Segment { selector, attributes, limit: u32::MAX, base: 0 };
    Ok(Start {
        rip,
        rsp,
        rsi,
        rbx: 0,
        rax: 0,
        rflags: FLAGS,
        cr0: CR0,
        cr3: TABLES,
        cr4: CR4,
        efer: EFER,
        cs: flat(0x10, 0xa9b),
        ds: flat(0x18, 0xc93),
        tr: Segment { selector: 0x20, attributes: 0x8b, limit: 0x67, base: 0 },
        gdtr: Segment { limit: table.len() as u32 - 1, base: DESCRIPTORS, ..Segment::default() },
        idtr: Segment::default(),
    })
}

/// Writes descriptors, and returns registers for a kernel that starts at `rip` in 32-bit protected
/// mode without paging, with `rax` and `rbx`.
pub(crate) fn prepare_protected(memory: &mut dyn GuestMemory, rip: u64, rax: u32, rbx: u64) -> Result<Start, OutOfRange> {
    let start = with_descriptors(memory, PROTECTED_CODE, rip, 0, 0)?;
    Ok(Start { rax: rax.into(), rbx, cr0: CR0 & !(PAGING | WRITE_PROTECTION), cr3: 0, cr4: 0, efer: 0, cs: Segment { attributes: 0xc9b, ..start.cs }, ..start })
}

/// Returns tables that map the first 4 GiB to themselves.
fn page_tables() -> Vec<u8> {
    let entries = TABLE_SIZE / 8;
    let fill = |used: u64, first: u64, step: u64| {
        (0..entries).map(move |index| if index < used { first + index * step } else { 0 })
    };
    let outer = fill(1, (TABLES + TABLE_SIZE) | TABLE, 0);
    let middle = fill(INNER_TABLES, (TABLES + 2 * TABLE_SIZE) | TABLE, TABLE_SIZE);
    let inner = (0..INNER_TABLES * entries).map(|index| (index * LARGE_PAGE) | LARGE);
    outer.chain(middle).chain(inner).flat_map(u64::to_le_bytes).collect()
}

/// Returns the descriptors that Linux's boot protocol asks for: 0x10 code, 0x18 data, 0x20 task.
fn descriptors(code: u64) -> Vec<u8> {
    let (data, task) = (0x00cf_9300_0000_ffff, 0x0000_8b00_0000_0067);
    [0u64, 0, code, data, task, 0].into_iter().flat_map(u64::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VecMemory;

    fn word(memory: &VecMemory, at: u64) -> u64 {
        let mut bytes = [0; 8];
        memory.read(at, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn four_gibibytes_are_mapped_to_themselves() {
        let mut memory = VecMemory::new(1 << 20);
        let start = prepare(&mut memory, 1, 2, 3).unwrap();
        let entry = |table: u64, index: u64| word(&memory, (table & !0xfff) + index * 8);
        for address in [0, 0x20_0000, 0x4000_0000, 0xffe0_0000u64] {
            let middle = entry(entry(start.cr3, 0), address >> 30);
            assert_eq!(entry(middle, address >> 21 & 511), address | LARGE);
        }
        assert_eq!((entry(start.cr3, 1), entry(entry(start.cr3, 0), 4)), (0, 0));
    }

    #[test]
    fn segments_agree_with_the_descriptors() {
        for is_long in [true, false] {
            let mut memory = VecMemory::new(1 << 20);
            let start = if is_long { prepare(&mut memory, 1, 2, 3) } else { prepare_protected(&mut memory, 1, 2, 3) }.unwrap();
            for segment in [start.cs, start.ds, start.tr] {
                let descriptor = word(&memory, start.gdtr.base + u64::from(segment.selector));
                let attributes = (descriptor >> 40 & 0xff) | (descriptor >> 52 & 0xf) << 8;
                assert_eq!(u64::from(segment.attributes), attributes);
            }
            assert_eq!(start.gdtr.limit, 47);
        }
        assert!(prepare(&mut VecMemory::new(0x9000), 1, 2, 3).is_err());
    }
}
