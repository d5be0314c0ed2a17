//! Devices of a guest machine: the legacy PC's, and APICs for several processors.
//!
//! Every port, width and value comes from the guest and is not trusted. A device owns no clock:
//! callers give the time in nanoseconds from any moment on. A device's whole state is a struct of
//! plain numbers with a version, which goes out by `state` and in by `restore`.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod apics;
mod bytes;
mod calendar;
mod control;
mod hpet;
mod ioapic;
mod lapic;
mod lapic_state;
mod lapic_timer;
mod pic;
mod pit;
mod platform;
mod power;
mod rtc;
mod uart;

pub use apics::{Apics, ApicsState, MAX_PROCESSORS};
pub use bytes::ByteQueue;
pub use control::{Control, ControlState, EXIT_PORT, Outcome, POWER_PORT};
pub use hpet::{HPET_ADDRESS, Hpet, HpetState, HpetTimerState, IDENTITY as HPET_IDENTITY};
pub use ioapic::{IO_APIC_ADDRESS, IO_APIC_ID, IoApic, IoApicState};
pub use lapic::LocalApic;
pub use lapic_state::{Action, LocalApicState, Message, Refused, Signal};
pub use pic::{ChipState, Pic, PicState};
pub use pit::{ChannelState, Pit, PitState};
pub use platform::{Platform, PlatformState, SERIAL_LINES};
pub use power::{EVENT_PORT, Events, GENERAL_PORT, Power, PowerState};
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
