//! An x86-64 processor as a guest sees it: CPUID, model-specific registers, the clock of KVM, walks
//! of page tables, and lengths of instructions that exit.
//!
//! Registers, tables and code are the guest's and are not trusted.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod cpuid;
mod decode;
mod fetch;
mod msr;
mod pvclock;
mod walk;

pub use cpuid::{Host, Model, cpuid};
pub use decode::{Instruction, Kind, MAX_LENGTH, Move, decode};
pub use fetch::{Code, fetch};
pub use msr::{GeneralProtection, MsrAction, Msrs, MsrsState, Processor};
pub use pvclock::{Clock, TIME_INFO_SIZE, WALL_CLOCK_SIZE, time_info, wall_clock};
pub use walk::{Access, Paging, Translation, WalkError, walk};

/// Reason why a saved state is refused, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadState(
    /// Field that no processor of this version could have had.
    pub &'static str,
);
