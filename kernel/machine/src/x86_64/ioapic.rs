//! The I/O interrupt controllers: which pin a line is, and holding it back there. Intel's 82093AA
//! data sheet.

use super::acpi::Topology;
use super::layout;
use core::cell::Cell;

const VERSION: u32 = 1;
const FIRST_REDIRECTION: u32 = 0x10;
const MASKED: u32 = 1 << 16;
const LEVEL: u32 = 1 << 15;
const LOW_ACTIVE: u32 = 1 << 13;

/// Pin of a controller at which a line enters.
#[derive(Clone, Copy)]
pub struct Pin {
    /// Address at which the controller's registers are mapped.
    registers: u64,
    number: u32,
    /// Trigger, polarity and vector.
    mode: u32,
}

fn access(registers: u64, register: u32) -> *mut u32 {
    // SAFETY: the page is mapped as a device; selecting a register has no other effect.
    unsafe { (registers as *mut u32).write_volatile(register) };
    (registers + 0x10) as *mut u32
}

fn read(registers: u64, register: u32) -> u32 {
    // SAFETY: the window of the register that was just selected.
    unsafe { access(registers, register).read_volatile() }
}

fn write(registers: u64, register: u32, value: u32) {
    // SAFETY: as in `read`; what it writes concerns interrupts alone.
    unsafe { access(registers, register).write_volatile(value) };
}

impl Pin {
    /// Returns true if the line is level-triggered: it stays active until its device is served.
    pub fn is_level(&self) -> bool {
        self.mode & LEVEL != 0
    }

    /// Holds the line back or lets it through.
    pub fn mask(&self, masked: bool) {
        write(self.registers, FIRST_REDIRECTION + 2 * self.number, self.mode | if masked { MASKED } else { 0 });
    }
}

/// Masks every pin of every controller, directs them to `destination`, and puts the pins of the
/// lines into `pins`.
pub fn initialize(topology: &Topology, destination: u32, first_vector: u32, pins: &[Cell<Option<Pin>>]) {
    for (number, controller) in topology.controllers().iter().enumerate() {
        let registers = layout::IO_APIC + 0x1000 * number as u64;
        let last = read(registers, VERSION) >> 16 & 0xff;
        for number in 0..=last {
            let line = controller.first_line.saturating_add(number);
            let mode = topology.line_mode(line);
            let bits = if mode.level { LEVEL } else { 0 } | if mode.low_active { LOW_ACTIVE } else { 0 };
            let pin = Pin { registers, number, mode: bits | (first_vector + (line & 63)) };
            pin.mask(true);
            write(registers, FIRST_REDIRECTION + 2 * number + 1, destination << 24);
            if let Some(slot) = pins.get(line as usize) {
                slot.set(Some(pin));
            }
        }
    }
}
