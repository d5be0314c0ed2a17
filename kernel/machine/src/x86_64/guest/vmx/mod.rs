//! Guests by Intel's VMX, with extended page tables, or on the tables of their spaces. Source:
//! Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, chapters 24 to 31 and
//! appendices A to C.

pub mod abilities;
mod controls;
mod exit;
mod field;
pub mod pages;
mod segments;
mod state;
mod tables;
mod world;

use super::super::cpu::Cpu;
use super::frame::{self, Left};
use state::Loaded;
use nacre_abi::Rights;
use nacre_abi::frame::word;
use nacre_core::machine::GuestEntry;

/// Runs the guest until it is left. `None`: the processor would not take it.
pub fn run(cpu: &Cpu, entry: &GuestEntry) -> Option<Left> {
    let pages = pages::this()?;
    let mut registers = [0; 16];
    world::begin(&pages);
    if entry.upper.is_none() {
        tables::prepare(cpu, &pages, entry.root);
    }
    match state::load(&pages, entry, &mut registers)? {
        Loaded::Whole { waits } => world::run(&mut registers).then(|| state::store(&pages, entry, &registers, waits)),
        Loaded::Lacks(address) => {
            // Nothing was being delivered: the guest has not run.
            frame::write(entry.frame, word::INTERRUPTED, 0);
            Some(Left { exit: frame::MEMORY_EXIT, error: 0, address })
        }
    }
}

/// Shows a guest with tables of its own the page at `address`, if its space's tables do, for an
/// access that needs these rights. Returns true if it did.
pub fn fill(cpu: &Cpu, entry: &GuestEntry, address: u64, needed: Rights) -> bool {
    entry.upper.is_none() && pages::this().is_some_and(|pages| tables::fill(cpu, &pages, entry.root, address, needed))
}
