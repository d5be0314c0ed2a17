//! The machines under the core: the only kernel crate that touches memory, tables and devices.
//!
//! One folder an architecture: x86-64 alone so far. This file alone chooses between them.
#![cfg_attr(not(test), no_std)]

pub mod boot;
pub mod bytes;
pub mod cell;
pub mod lock;
pub mod memory_map;

/// Atomic types of `lock`. Its tests replace them by a model checker's.
mod atomic {
    pub use core::hint::spin_loop;
    pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

    /// Rounds of waiting after which a CPU wants to be the next: none, because a CPU that always
    /// finds the lock free again would take time that schedulers give to threads of other CPUs.
    pub const HUNGRY: u32 = 0;
    /// Rounds for which others leave a free lock to the CPU that is first: some 0.1 ms, which is
    /// short beside the time for which a host stops a CPU.
    pub const PATIENCE: u32 = 20_000;
}

#[cfg_attr(target_arch = "x86_64", path = "x86_64/arch.rs")]
mod arch;

pub use arch::acpi;
pub use arch::panic::panic;
pub use arch::start::{BootMemory, start};
