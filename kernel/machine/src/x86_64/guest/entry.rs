//! Which guest a CPU enters when it leaves the kernel, and whose tables it runs on.

use super::super::cpu::{self, Cpu};
use super::super::features;
use core::sync::atomic::Ordering;
use nacre_core::machine::{GuestEntry, Physical};

/// Implements `Machine::guest_enter`.
pub fn prepare(entry: GuestEntry) {
    let cpu = cpu::this();
    cpu.guest.set(Some((Physical(cpu.live.load(Ordering::Relaxed)), entry)));
}

/// Says whose tables this CPU's guest uses from now on. Under all locks, or where it has left it.
/// A user's second ones are those of its caller, where the frame is: while it runs, nothing else
/// tells that this CPU uses them.
pub fn uses_from_now(cpu: &Cpu, entry: Option<GuestEntry>) {
    let second = |entry: GuestEntry| if entry.is_user { cpu.root.load(Ordering::Relaxed) } else { entry.upper.map_or(0, |upper| upper.0) };
    let roots = entry.map_or([0; 2], |entry| [entry.root.0, second(entry)]);
    cpu.guest_roots.iter().zip(roots).for_each(|(word, root)| word.store(root, Ordering::Release));
}

/// Makes CPUs that keep translations of these tables for guests drop them before they enter one.
pub fn forget(root: Physical) {
    if !features::get().vmx {
        return;
    }
    cpu::all().for_each(|cpu| {
        let _ = cpu.guest_tables.compare_exchange(root.0, 0, Ordering::AcqRel, Ordering::Relaxed);
    });
}

/// Returns true if the guest of a CPU uses these tables.
pub fn uses(cpu: &Cpu, root: Physical) -> bool {
    cpu.guest_roots.iter().any(|word| word.load(Ordering::Acquire) == root.0)
}
