//! Power events by ACPI's fixed registers: a button, whose press is an interrupt until the guest
//! has seen it. Specification: ACPI 6.5, 4.8.3.
//!
//! | port | register |
//! | --- | --- |
//! | 0x600 | events that have come, 16 bits; ones that are written clear theirs |
//! | 0x602 | events that interrupt, 16 bits |

use crate::{BadState, check_version};

/// Version of [`PowerState`].
const VERSION: u32 = 1;
/// First port.
pub const EVENT_PORT: u16 = 0x600;
/// Event of the power button.
const BUTTON: u16 = 1 << 8;

/// State of the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerState {
    /// Version of this struct.
    pub version: u32,
    /// Events that have come.
    pub events: u16,
    /// Events that interrupt.
    pub enabled: u16,
}

/// Registers of power events.
#[derive(Clone, Debug)]
pub struct Power {
    state: PowerState,
}

impl Power {
    /// Makes the registers of a machine that has just been turned on.
    pub fn new() -> Self {
        Power { state: PowerState { version: VERSION, ..PowerState::default() } }
    }

    /// Returns the whole state.
    pub fn state(&self) -> PowerState {
        self.state
    }

    /// Makes the registers from a saved state.
    pub fn restore(state: &PowerState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the power events")?;
        Ok(Power { state: *state })
    }

    /// Presses the button.
    pub fn press(&mut self) {
        self.state.events |= BUTTON;
    }

    /// Returns true if an event interrupts.
    pub fn interrupt(&self) -> bool {
        self.state.events & self.state.enabled != 0
    }

    /// Reads a port of the table above.
    pub fn read(&self, port: u16) -> u8 {
        let [low, high] = if port & 2 == 0 { self.state.events } else { self.state.enabled }.to_le_bytes();
        if port & 1 == 0 { low } else { high }
    }

    /// Writes a port of the table above.
    pub fn write(&mut self, port: u16, value: u8) {
        let shift = u32::from(port & 1) * 8;
        let value = u16::from(value) << shift;
        if port & 2 == 0 {
            self.state.events &= !value;
        } else {
            self.state.enabled = self.state.enabled & !(0xff << shift) | value;
        }
    }
}

impl Default for Power {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_interrupts_until_it_is_seen() {
        let mut power = Power::new();
        power.press();
        assert!(!power.interrupt());
        power.write(0x603, 1);
        assert!(power.interrupt());
        assert_eq!([0x600, 0x601, 0x602, 0x603].map(|port| power.read(port)), [0, 1, 0, 1]);
        power.write(0x601, 1);
        assert!(!power.interrupt());
        let copy = Power::restore(&power.state()).unwrap();
        assert_eq!(copy.state(), power.state());
        assert!(Power::restore(&PowerState::default()).is_err());
    }
}
