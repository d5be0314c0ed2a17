//! All RAM in the kernel's half, and the kernel's own tables.

use crate::cell::BootCell;
use super::layout;
use super::page_table::TableMemory;
use crate::boot::ImageLayout;
use crate::memory_map::MemoryMap;
use core::cell::Cell;
use core::sync::atomic::AtomicU64;
use nacre_abi::boot_info::MemoryRange;
use nacre_core::machine::{Physical, SharedWord};

/// Returns the kernel's address of the RAM at `at`.
#[inline(always)]
pub const fn direct(at: Physical) -> u64 {
    layout::DIRECT.wrapping_add(at.0)
}

/// The words of a frame that only the kernel reaches, such as a thread page.
#[inline(always)]
pub fn thread_words(at: Physical) -> &'static [Cell<u64>; 512] {
    // SAFETY: RAM is mapped; the core names frames of the kernel's objects and tables alone, which
    // it uses as words: under all locks, or as what this CPU has or has claimed.
    unsafe { &*(direct(at) as *const [Cell<u64>; 512]) }
}

/// A word of the kernel's objects that several CPUs may write at once.
#[inline(always)]
pub fn shared_word(at: Physical) -> &'static AtomicU64 {
    // SAFETY: as in `thread_words`; the word is used otherwise only under all locks.
    unsafe { AtomicU64::from_ptr(direct(at) as *mut u64) }
}

/// The frames of tables in the direct map.
pub struct DirectTables;

impl TableMemory for DirectTables {
    #[inline(always)]
    fn table(&self, at: Physical) -> &[SharedWord; 512] {
        // SAFETY: RAM is mapped, and the frame is a table's: several CPUs use its words at once, so
        // they are atomic. Where they are used as plain ones nobody else knows the table yet.
        unsafe { &*(direct(at) as *const [SharedWord; 512]) }
    }

    fn clear_table(&self, at: Physical) {
        // SAFETY: a frame that is becoming a table: nobody else uses it.
        unsafe { core::ptr::write_bytes(direct(at) as *mut u64, 0, 512) };
    }
}

static ROOT: BootCell<Physical> = BootCell::new();
/// The root whose kernel half users get: the kernel's own, unless they are isolated.
static SHOWN: BootCell<Physical> = BootCell::new();

/// The kernel's own tables, for CPUs without a space.
#[inline(always)]
pub fn kernel_root() -> Physical {
    *ROOT.get()
}

/// Memory that the kernel takes at boot, from its start on.
pub struct BootAllocator {
    next: u64,
    end: u64,
}

impl BootAllocator {
    /// Takes from this range, which the boot tables map.
    pub fn new(range: MemoryRange) -> BootAllocator {
        BootAllocator { next: range.start, end: range.start + range.size }
    }

    /// Takes `frames` frames, with whatever is in them.
    pub fn take_raw(&mut self, frames: u64) -> Physical {
        let at = Physical(self.next);
        self.next += frames << 12;
        assert!(self.next <= self.end, "the memory set aside for the kernel is too small");
        at
    }

    /// Takes `frames` frames, filled with zeros.
    pub fn take(&mut self, frames: u64) -> Physical {
        let at = self.take_raw(frames);
        // SAFETY: carved out of free RAM that is mapped, and nobody else's from here on.
        unsafe { core::ptr::write_bytes(direct(at) as *mut u8, 0, (frames << 12) as usize) };
        at
    }
}

/// Access that a page of the kernel's half allows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Code,
    Constants,
    Data,
    Device,
}

impl Access {
    const fn bits(self) -> u64 {
        const GLOBAL_PRESENT: u64 = 0x161;
        const NO_EXECUTE: u64 = 1 << 63;
        match self {
            Access::Code => GLOBAL_PRESENT,
            Access::Constants => GLOBAL_PRESENT | NO_EXECUTE,
            Access::Data => GLOBAL_PRESENT | NO_EXECUTE | 2,
            Access::Device => GLOBAL_PRESENT | NO_EXECUTE | 2 | 0x18,
        }
    }
}

const LARGE: u64 = 0x80;
/// Present, writable, accessed.
const KERNEL_TABLE: u64 = 0x23;

/// The kernel's tables while they are made.
pub struct KernelTables<'c> {
    root: Physical,
    shown: Physical,
    carving: &'c mut BootAllocator,
    huge: bool,
}

impl<'c> KernelTables<'c> {
    /// Empty tables. `isolates`: users get a kernel half of their own.
    pub fn new(carving: &'c mut BootAllocator, huge: bool, isolates: bool) -> KernelTables<'c> {
        let root = carving.take(1);
        KernelTables { root, shown: if isolates { carving.take(1) } else { root }, carving, huge }
    }

    /// Maps `1 << shift` bytes.
    pub fn map(&mut self, address: u64, physical: u64, shift: u32, access: Access) {
        self.map_in(self.root, address, physical, shift, access);
    }

    /// Maps a page wherever users run, too.
    fn map_shown(&mut self, address: u64, physical: u64, access: Access) {
        self.map_in(self.root, address, physical, 12, access);
        self.map_in(self.shown, address, physical, 12, access);
    }

    fn map_in(&mut self, root: Physical, address: u64, physical: u64, shift: u32, access: Access) {
        let (mut table, mut level) = (root, 39);
        loop {
            let slot = &thread_words(table)[(address >> level & 511) as usize];
            if level == shift {
                slot.set(physical | access.bits() | if shift > 12 { LARGE } else { 0 });
                return;
            }
            if slot.get() == 0 {
                slot.set(self.carving.take(1).0 | KERNEL_TABLE);
            }
            table = Physical(slot.get() & !0xfff);
            level -= 9;
        }
    }

    fn map_pages(&mut self, start: u64, end: u64, shown_end: u64, access: Access) {
        for at in (start..end).step_by(4096) {
            if at < shown_end { self.map_shown(layout::KERNEL + at, at, access) } else { self.map(layout::KERNEL + at, at, 12, access) }
        }
    }

    /// Maps the kernel's image where it was linked.
    pub fn map_image(&mut self, image: &ImageLayout) {
        self.map_pages(image.start, image.text_end, image.entry_end, Access::Code);
        self.map_pages(image.text_end, image.constants_end, 0, Access::Constants);
        self.map_pages(image.constants_end, image.end, image.shared_end, Access::Data);
    }

    /// Maps all RAM, with the largest pages that hold nothing but RAM; a large page that holds some
    /// RAM is mapped whole. The kernel's code and constants are not writable here either.
    pub fn map_memory(&mut self, memory: &MemoryMap, image: &ImageLayout) {
        let constant = image.start..image.constants_end;
        for giant in (0..memory.end()).step_by(1 << 30) {
            let apart = giant + (1 << 30) <= constant.start || constant.end <= giant;
            let whole = apart && memory.ranges().iter().any(|range| range.start <= giant && giant + (1 << 30) <= range.start + range.size);
            if whole && self.huge {
                self.map(layout::DIRECT + giant, giant, 30, Access::Data);
                continue;
            }
            for large in (giant..giant + (1 << 30)).step_by(2 << 20) {
                if large < constant.end && constant.start < large + (2 << 20) {
                    for at in (large..large + (2 << 20)).step_by(4096) {
                        self.map(layout::DIRECT + at, at, 12, if constant.contains(&at) { Access::Constants } else { Access::Data });
                    }
                } else if large == 0 || memory.ranges().iter().any(|range| range.start < large + (2 << 20) && large < range.start + range.size) {
                    self.map(layout::DIRECT + large, large, 21, Access::Data);
                }
            }
        }
    }

    /// Maps the block of CPU `index`.
    pub fn map_block(&mut self, index: usize) {
        for offset in layout::BLOCK_PAGES {
            let frame = self.carving.take(1);
            let at = layout::block(index) + offset;
            if offset < layout::STACK_END { self.map(at, frame.0, 12, Access::Data) } else { self.map_shown(at, frame.0, Access::Data) }
        }
    }

    /// The tables are complete.
    ///
    /// # Safety
    /// Only while one CPU runs.
    pub unsafe fn finish(self) -> Physical {
        // SAFETY: the caller's promise.
        unsafe {
            ROOT.set(self.root);
            SHOWN.set(self.shown);
        }
        self.root
    }
}

/// Implements `Machine::table_create`.
pub fn table_create(root: Physical) {
    DirectTables.clear_table(root);
    let (from, to) = (thread_words(*SHOWN.get()), thread_words(root));
    for number in super::page_table::USER_ENTRIES..512 {
        let entry = from[number].get();
        if entry != 0 {
            to[number].set(entry);
        }
    }
}
