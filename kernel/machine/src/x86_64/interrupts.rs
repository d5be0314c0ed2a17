//! The interrupt lines, 0 to 63: global system interrupts of the I/O controllers, all led to the
//! first CPU.
//!
//! A level line is held back at its controller from its arrival until it is enabled again. An edge
//! line is never held back there, because an edge at a masked pin is lost: it is *held* here
//! instead, an edge that comes meanwhile is remembered, and comes again when the line is enabled.

use super::acpi::Topology;
use super::apic;
use crate::cell::Locked;
use super::ioapic::{self, Pin};
use super::vectors::LINE_VECTOR;
use core::cell::Cell;
use nacre_core::machine::INTERRUPT_LINES;

const LINES: usize = INTERRUPT_LINES as usize;

static PINS: Locked<[Cell<Option<Pin>>; LINES]> = Locked([const { Cell::new(None) }; LINES]);
static ENABLED: Locked<Cell<u64>> = Locked(Cell::new(0));
static MISSED: Locked<Cell<u64>> = Locked(Cell::new(0));

fn assign(bits: &Cell<u64>, line: u32, value: bool) {
    bits.set(bits.get() & !(1 << line) | u64::from(value) << line);
}

fn is_set(bits: &Cell<u64>, line: u32) -> bool {
    bits.get() >> line & 1 == 1
}

/// Finds the controllers; all lines are held back.
pub fn initialize(topology: &Topology, destination: u32) {
    ioapic::initialize(topology, destination, LINE_VECTOR as u32, &PINS.0);
}

/// Implements `Machine::interrupt_enable`.
pub fn enable(line: u32, enable: bool) {
    let Some(pin) = PINS.0.get(line as usize).and_then(Cell::get) else { return };
    assign(&ENABLED.0, line, enable);
    if pin.is_level() {
        pin.mask(!enable);
    } else if enable {
        pin.mask(false);
        if is_set(&MISSED.0, line) {
            assign(&MISSED.0, line, false);
            apic::send_self(LINE_VECTOR as u32 + line);
        }
    }
}

/// The line interrupted: holds it back and ends the interrupt. False: it should have been held back
/// already.
pub fn arrived(line: u32) -> bool {
    let pin = PINS.0[line as usize].get();
    let level = pin.is_none_or(|pin| pin.is_level());
    if let Some(pin) = pin.filter(|_| level) {
        pin.mask(true);
    }
    apic::end_of_interrupt();
    let enabled = is_set(&ENABLED.0, line);
    assign(&ENABLED.0, line, false);
    if !enabled && !level {
        assign(&MISSED.0, line, true);
    }
    enabled
}
