//! The pages that the processor wants for guests: of each CPU a control block, two for its own
//! state and a root of tables, and for all two maps of what guests may do.

use super::super::cpu;
use super::super::direct_map::{BootAllocator, thread_words};
use super::super::{features, io};
use crate::cell::BootCell;
use nacre_core::machine::Physical;

const HOST_SAVE: u32 = 0xc001_0117;
/// Ports: 65,536 and three more bits.
const PORT_MAP_FRAMES: u64 = 3;
const REGISTER_MAP_FRAMES: u64 = 2;
const FRAMES_A_CPU: u64 = 4;

/// Model-specific registers that a guest may use as it likes: all of them change places with the
/// kernel's at each switch of worlds.
pub const OWN_REGISTERS: [u32; 10] = [
    0x174, 0x175, 0x176, // SYSENTER
    0xc000_0081, 0xc000_0082, 0xc000_0083, 0xc000_0084, // STAR LSTAR CSTAR SFMASK
    0xc000_0100, 0xc000_0101, 0xc000_0102, // bases of fs and gs, and the kernel's of gs
];

static FIRST: BootCell<Option<Physical>> = BootCell::new();

/// Number of frames that `initialize` takes for so many CPUs.
pub fn frames(cpus: u64) -> u64 {
    if features::get().guests && !features::get().vmx { PORT_MAP_FRAMES + REGISTER_MAP_FRAMES + cpus * FRAMES_A_CPU } else { 0 }
}

/// Makes the pages of `cpus` CPUs.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn initialize(carving: &mut BootAllocator, cpus: u64) {
    let count = frames(cpus);
    let first = (count != 0).then(|| carving.take(count));
    if let Some(first) = first {
        for frame in 0..PORT_MAP_FRAMES + REGISTER_MAP_FRAMES {
            thread_words(first.add(frame << 12)).iter().for_each(|word| word.set(u64::MAX));
        }
        OWN_REGISTERS.iter().for_each(|register| allow(first.add(PORT_MAP_FRAMES << 12), *register));
    }
    // SAFETY: the caller's promise.
    unsafe { FIRST.set(first) };
}

/// Lets guests read and write a model-specific register: two bits of the map.
fn allow(map: Physical, register: u32) {
    // Each 2 KiB of the map has 8,192 registers: those from 0 on, and those from 0xc000_0000 on.
    let bit = u64::from(register & 0x1fff) * 2 + if register >= 0xc000_0000 { 0x800 * 8 } else { 0 };
    let word = &thread_words(map)[bit as usize / 64];
    word.set(word.get() & !(3 << (bit % 64)));
}

/// Tells the CPU that this runs on where to keep its own state.
pub fn enable() {
    if let Some(pages) = this() {
        // SAFETY: a frame of the kernel's own that nothing else uses.
        unsafe { io::msr_write(HOST_SAVE, pages.own.0) };
    }
}

/// Pages of the CPU that this runs on.
#[derive(Clone, Copy)]
pub struct Pages {
    /// The control block.
    pub control: Physical,
    /// Page where `vmsave` keeps its part of the kernel.
    pub rest: Physical,
    /// Page where `vmrun` keeps its part of the kernel.
    pub own: Physical,
    /// Root of the tables of a shadow guest.
    pub root: Physical,
    /// Map of ports.
    pub ports: Physical,
    /// Map of model-specific registers.
    pub registers: Physical,
}

/// The pages of this CPU; `None` where there are no guests.
pub fn this() -> Option<Pages> {
    let first = (*FIRST.get())?;
    let at = |frame: u64| first.add(frame << 12);
    let own = PORT_MAP_FRAMES + REGISTER_MAP_FRAMES + cpu::index() as u64 * FRAMES_A_CPU;
    Some(Pages { control: at(own), rest: at(own + 1), own: at(own + 2), root: at(own + 3), ports: first, registers: at(PORT_MAP_FRAMES) })
}
