//! The pages that the processor wants for guests: of each CPU those of VMX itself, of its VMCS, of
//! registers that are loaded and stored, of the guest's APIC, and of tables; for all a map of
//! registers.

use super::super::super::cpu;
use super::super::super::direct_map::{BootAllocator, thread_words};
use super::super::super::{features, io};
use super::super::pages::OWN_REGISTERS;
use super::{field, world};
use crate::cell::BootCell;
use nacre_core::machine::Physical;

const FEATURE_CONTROL: u32 = 0x3a;
const LOCKED: u64 = 1;
const ALLOWED: u64 = 1 << 2;
const BASIC: u32 = 0x480;
/// Frames for extended tables of a CPU, beside their root.
pub const TABLES: u64 = 128;
const FRAMES_A_CPU: u64 = 6 + TABLES;

static FIRST: BootCell<Option<Physical>> = BootCell::new();

/// Number of frames that `initialize` takes for so many CPUs.
pub fn frames(cpus: u64) -> u64 {
    if features::get().vmx { 1 + cpus * FRAMES_A_CPU } else { 0 }
}

/// Makes the pages of `cpus` CPUs.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn initialize(carving: &mut BootAllocator, cpus: u64) {
    let count = frames(cpus);
    let first = (count != 0).then(|| carving.take(count));
    if let Some(first) = first {
        thread_words(first).iter().for_each(|word| word.set(u64::MAX));
        OWN_REGISTERS.iter().for_each(|register| allow(first, *register));
    }
    // SAFETY: the caller's promise.
    unsafe { FIRST.set(first) };
}

/// Lets guests read and write a model-specific register: a bit in each half of the map.
fn allow(map: Physical, register: u32) {
    // Each quarter has 8,192 registers: reads of those from 0 on, and from 0xc000_0000 on; writes.
    let bit = (register & 0x1fff) as usize + if register >= 0xc000_0000 { 0x400 * 8 } else { 0 };
    for at in [bit, bit + 0x800 * 8] {
        let word = &thread_words(map)[at / 64];
        word.set(word.get() & !(1 << (at % 64)));
    }
}

/// Turns guests on for the CPU that this runs on.
pub fn enable() {
    let Some(pages) = this() else { return };
    if io::msr_read(FEATURE_CONTROL) & LOCKED == 0 {
        // SAFETY: allows what is turned on next.
        unsafe { io::msr_write(FEATURE_CONTROL, LOCKED | ALLOWED) };
    }
    let revision = io::msr_read(BASIC) & 0x7fff_ffff;
    [pages.own, pages.control].iter().for_each(|page| thread_words(*page)[0].set(revision));
    world::turn_on(pages.own);
    world::begin(&pages);
    let fields = [
        (field::REGISTER_MAP, pages.registers.0),
        (field::EXIT_STORES, pages.lists.0),
        (field::ENTRY_LOADS, pages.lists.0),
        (field::EXIT_LOADS, pages.lists.0 + HOST_LIST),
        (field::VIRTUAL_APIC, pages.apic.0),
        (field::LINK, u64::MAX),
    ];
    fields.iter().for_each(|(number, value)| world::write(*number, *value));
}

/// Offset of the list of the kernel's registers behind that of the guest's.
pub const HOST_LIST: u64 = 2048;

/// Pages of the CPU that this runs on.
#[derive(Clone, Copy)]
pub struct Pages {
    /// Map of model-specific registers.
    pub registers: Physical,
    /// Page that the processor keeps for VMX.
    pub own: Physical,
    /// The VMCS.
    pub control: Physical,
    /// Registers that are loaded and stored at each switch of worlds.
    pub lists: Physical,
    /// The guest's APIC, of which the processor knows the task priority.
    pub apic: Physical,
    /// Root of the tables of a shadow guest.
    pub root: Physical,
    /// Root of the extended tables, and then [`TABLES`] more.
    pub tables: Physical,
}

/// The pages of this CPU; `None` where there are no guests by VMX.
pub fn this() -> Option<Pages> {
    let registers = (*FIRST.get())?;
    let at = |frame: u64| registers.add((1 + cpu::index() as u64 * FRAMES_A_CPU + frame) << 12);
    Some(Pages { registers, own: at(0), control: at(1), lists: at(2), apic: at(3), root: at(4), tables: at(5) })
}
