//! Devices of a guest machine: the legacy PC without ACPI and without a local APIC.
//!
//! Every port, width and value comes from the guest and is not trusted. A device owns no clock:
//! callers give the time in nanoseconds from any moment on. A device's whole state is a struct of
//! plain numbers with a version, which goes out by `state` and in by `restore`.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod bytes;
mod control;
mod pic;
mod pit;
mod platform;
mod rtc;
mod uart;

pub use bytes::ByteQueue;
pub use control::{Control, ControlState, EXIT_PORT, Outcome, POWER_PORT};
pub use pic::{ChipState, Pic, PicState};
pub use pit::{ChannelState, Pit, PitState};
pub use platform::{MAX_PROCESSORS, Platform, PlatformState};
pub use rtc::{Rtc, RtcState};
pub use uart::{INPUT_SIZE, OUTPUT_SIZE, Uart, UartState};

/// Reason why a saved state is refused, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadState(
    /// Field that no device of this version could have had.
    pub &'static str,
);

/// Returns an error if the version of a saved state is not this library's.
fn check_version(found: u32, own: u32, error: &'static str) -> Result<(), BadState> {
    if found == own { Ok(()) } else { Err(BadState(error)) }
}
