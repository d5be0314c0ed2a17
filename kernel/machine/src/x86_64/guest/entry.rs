//! Which guest a CPU enters when it leaves the kernel.

use super::super::cpu;
use core::sync::atomic::Ordering;
use nacre_core::machine::{GuestEntry, Physical};

/// Implements `Machine::guest_enter`.
pub fn prepare(entry: GuestEntry) {
    let cpu = cpu::this();
    cpu.guest.set(Some((Physical(cpu.live.load(Ordering::Relaxed)), entry)));
}
