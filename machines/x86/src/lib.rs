//! An x86-64 processor as a guest sees it: CPUID, model-specific registers, the clock of KVM, walks
//! of page tables, lengths of instructions that exit, and a small interpreter of those that reach
//! devices.
//!
//! Registers, tables and code are the guest's and are not trusted.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod arithmetic;
mod breakpoints;
mod cpuid;
mod decode;
mod fetch;
mod interpret;
mod msr;
mod operation;
mod pvclock;
mod recent;
mod shadow;
mod shifts;
mod vector;
mod walk;

pub use breakpoints::Breakpoints;
pub use cpuid::{Host, Model, cpuid};
pub use decode::{Instruction, Kind, MAX_LENGTH, Move, decode};
pub use fetch::{Code, fetch};
pub use interpret::{Bus, Exception, State, interpret};
pub use msr::{GeneralProtection, MsrAction, Msrs, MsrsState, Processor};
pub use operation::{Address, Mode, decode_invalidate};
pub use pvclock::{Clock, TIME_INFO_SIZE, WALL_CLOCK_SIZE, time_info, wall_clock};
pub use recent::Recent;
pub use shadow::{Cache, Forget, IDENTITIES, MAX_PAGES, Page, Pages, Shadow};
pub use vector::{FPU_SIZE, Vector, Vectors};
pub use walk::{Access, Paging, Translation, WalkError, walk};

/// Reason why a saved state is refused, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadState(
    /// Field that no processor of this version could have had.
    pub &'static str,
);
