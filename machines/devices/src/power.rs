//! Events by ACPI's registers: the power button, by the fixed ones, and the machine's new identity,
//! by the general ones. Each is an interrupt until the guest has seen it. Specification: ACPI 6.5,
//! 4.8.3 and 4.8.4.
//!
//! | port | register |
//! | --- | --- |
//! | 0x600 | fixed events that have come, 16 bits; ones that are written clear theirs |
//! | 0x602 | fixed events that interrupt, 16 bits |
//! | 0x608, 0x60a | the same for general events |

use crate::{BadState, check_version};

/// Version of [`PowerState`].
const VERSION: u32 = 2;
/// First port of fixed events.
pub const EVENT_PORT: u16 = 0x600;
/// First port of general events.
pub const GENERAL_PORT: u16 = 0x608;
/// Event of the power button.
const BUTTON: u16 = 1 << 8;
/// Event of a new identity: the first of the general ones.
const GENERATION: u16 = 1;

/// State of the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerState {
    /// Version of this struct.
    pub version: u32,
    /// Fixed events.
    pub fixed: Events,
    /// General events.
    pub general: Events,
}

/// State of a block of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Events that have come.
    pub events: u16,
    /// Events that interrupt.
    pub enabled: u16,
}

impl Events {
    fn read(&self, port: u16) -> u8 {
        let [low, high] = if port & 2 == 0 { self.events } else { self.enabled }.to_le_bytes();
        if port & 1 == 0 { low } else { high }
    }

    fn write(&mut self, port: u16, value: u8) {
        let shift = u32::from(port & 1) * 8;
        let value = u16::from(value) << shift;
        if port & 2 == 0 {
            self.events &= !value;
        } else {
            self.enabled = self.enabled & !(0xff << shift) | value;
        }
    }
}

/// Registers of events.
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
        self.state.fixed.events |= BUTTON;
    }

    /// Tells that the machine has a new identity.
    pub fn tell_generation(&mut self) {
        self.state.general.events |= GENERATION;
    }

    /// Returns true if an event interrupts.
    pub fn interrupt(&self) -> bool {
        [self.state.fixed, self.state.general].iter().any(|block| block.events & block.enabled != 0)
    }

    /// Reads a port of the table above.
    pub fn read(&self, port: u16) -> u8 {
        if port < GENERAL_PORT { self.state.fixed.read(port) } else { self.state.general.read(port) }
    }

    /// Writes a port of the table above.
    pub fn write(&mut self, port: u16, value: u8) {
        if port < GENERAL_PORT { self.state.fixed.write(port, value) } else { self.state.general.write(port, value) }
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

    #[test]
    fn a_new_identity_is_an_event_of_its_own() {
        let mut power = Power::new();
        power.write(0x602, 0xff);
        power.write(0x60a, 1);
        power.tell_generation();
        assert!(power.interrupt());
        assert_eq!([0x600, 0x601, 0x608, 0x609, 0x60a].map(|port| power.read(port)), [0, 0, 1, 0, 1]);
        power.write(0x600, 0xff);
        assert!(power.interrupt());
        power.write(0x608, 1);
        assert!(!power.interrupt());
    }
}
