//! Guests, by AMD's SVM or Intel's VMX: with nested paging, or on the tables of their spaces; and
//! users, which need neither.

pub mod enter;
pub mod entry;
mod frame;
mod pages;
mod shadow;
pub mod user;
mod user_entry;
mod vmcb;
pub mod vmx;
mod world;

use super::direct_map::BootAllocator;
use super::features;

/// Number of frames that `initialize` takes for so many CPUs.
pub fn frames(cpus: u64) -> u64 {
    pages::frames(cpus) + vmx::pages::frames(cpus)
}

/// Makes the pages of `cpus` CPUs.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn initialize(carving: &mut BootAllocator, cpus: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        pages::initialize(carving, cpus);
        vmx::pages::initialize(carving, cpus);
    }
}

/// Lets the CPU that this runs on run guests.
pub fn enable() {
    if features::get().vmx { vmx::pages::enable() } else { pages::enable() }
}
