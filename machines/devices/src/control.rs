//! Ports by which a guest resets its machine, turns it off or ends it, and what is left of the
//! keyboard controller: a probe finds none, but its reset works.
//!
//! | port | write |
//! | --- | --- |
//! | 0x64 | 0xfe or another even value from 0xf0: reset. 0xaa: self-test |
//! | 0x92 | bit 0: reset; bit 1: address line 20, which is always on |
//! | 0xcf9 | bit 2: reset |
//! | 0xf4 | ends the machine; the byte is the guest's exit status |
//! | 0x604 | bit 13 of the word (bit 5 of the byte at 0x605): power off |

use crate::{BadState, check_version};

/// Version of [`ControlState`].
const VERSION: u32 = 1;
/// Port whose byte ends the machine with an exit status, from 0 to 255.
pub const EXIT_PORT: u16 = 0xf4;
/// Port whose word turns the machine off, with bit 13 set. QEMU's machines have one like it.
pub const POWER_PORT: u16 = 0x604;
/// Bit of the high byte of a word for `POWER_PORT` that turns the machine off.
const SLEEP: u8 = 0x20;
/// Keyboard controller's status where there is none: output that never ends, so that a probe gives
/// up, and no input in the way, so that a guest that wants a reset does not wait.
const NO_KEYBOARD: u8 = 0xfd;
const SELF_TEST: u8 = 0xaa;
const SELF_TEST_PASSED: u8 = 0x55;
/// Status with an answer to read: system flag, keyboard not locked, output full.
const HAS_ANSWER: u8 = 0x15;
const ADDRESS_LINE_20: u8 = 2;

/// Way in which a guest has ended its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Guest's exit status, from the exit port.
    Exit(u8),
    /// Guest wants to start again.
    Reset,
    /// Guest has turned the machine off.
    PowerOff,
}

/// State of the ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlState {
    /// Version of this struct.
    pub version: u32,
    /// Outcome: 0 none, 1 exit, 2 reset, 3 power off.
    pub outcome: u8,
    /// Exit status.
    pub status: u8,
    /// Byte that was last written to port 0xcf9, without its reset bit.
    pub reset_control: u8,
    /// Byte that was last written to port 0x80.
    pub progress: u8,
    /// True if the answer of a self-test waits in port 0x60.
    pub has_answer: bool,
}

/// Ports of reset, power and exit.
#[derive(Clone, Debug)]
pub struct Control {
    state: ControlState,
}

impl Control {
    /// Makes the ports of a machine that has just been turned on.
    pub fn new() -> Self {
        Control { state: ControlState { version: VERSION, ..ControlState::default() } }
    }

    /// Returns the whole state.
    pub fn state(&self) -> ControlState {
        self.state
    }

    /// Makes the ports from a saved state.
    pub fn restore(state: &ControlState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the control ports")?;
        if state.outcome > 3 {
            return Err(BadState("outcome of the machine"));
        }
        Ok(Control { state: *state })
    }

    /// Returns how the guest has ended the machine. The first way counts.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state.outcome {
            1 => Some(Outcome::Exit(self.state.status)),
            2 => Some(Outcome::Reset),
            3 => Some(Outcome::PowerOff),
            _ => None,
        }
    }

    /// Returns the byte that the guest's firmware or loader last wrote to port 0x80.
    pub fn progress(&self) -> u8 {
        self.state.progress
    }

    /// Ends the machine, if it has not ended yet.
    pub fn end(&mut self, outcome: Outcome) {
        if self.state.outcome != 0 {
            return;
        }
        (self.state.outcome, self.state.status) = match outcome {
            Outcome::Exit(status) => (1, status),
            Outcome::Reset => (2, 0),
            Outcome::PowerOff => (3, 0),
        };
    }

    /// Reads a port of the table above. Others read all ones.
    pub fn read(&mut self, port: u16) -> u8 {
        match port {
            0x60 if core::mem::take(&mut self.state.has_answer) => SELF_TEST_PASSED,
            0x64 if self.state.has_answer => HAS_ANSWER,
            0x64 => NO_KEYBOARD,
            0x80 => self.state.progress,
            0x92 => ADDRESS_LINE_20,
            0xcf9 => self.state.reset_control,
            // The system, not firmware, has power management.
            0x604 => 1,
            0x605 => 0,
            _ => 0xff,
        }
    }

    /// Writes a port of the table above.
    pub fn write(&mut self, port: u16, value: u8) {
        match port {
            0x64 if value == SELF_TEST => self.state.has_answer = true,
            0x64 if value >= 0xf0 && value & 1 == 0 => self.end(Outcome::Reset),
            0x92 if value & 1 != 0 => self.end(Outcome::Reset),
            0xcf9 if value & 4 != 0 => self.end(Outcome::Reset),
            0xcf9 => self.state.reset_control = value,
            0x80 => self.state.progress = value,
            EXIT_PORT => self.end(Outcome::Exit(value)),
            0x605 if value & SLEEP != 0 => self.end(Outcome::PowerOff),
            _ => {}
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(port: u16, value: u8) -> Option<Outcome> {
        let mut control = Control::new();
        control.write(port, value);
        control.outcome()
    }

    #[test]
    fn each_way_ends_the_machine() {
        assert_eq!(outcome(EXIT_PORT, 7), Some(Outcome::Exit(7)));
        for (port, value) in [(0x64, 0xfe), (0x92, 3), (0xcf9, 0x0e), (0xcf9, 6)] {
            assert_eq!(outcome(port, value), Some(Outcome::Reset), "{port:#x}");
        }
        assert_eq!(outcome(POWER_PORT + 1, 0x20), Some(Outcome::PowerOff));
        let harmless = [(0x64, 0xff), (0x64, 0xd1), (0x92, 2), (0xcf9, 2), (0x605, 1), (0x80, 1)];
        for (port, value) in harmless {
            assert_eq!(outcome(port, value), None, "{port:#x}");
        }
    }

    #[test]
    fn the_first_way_counts() {
        let mut control = Control::new();
        control.write(EXIT_PORT, 1);
        control.write(EXIT_PORT, 2);
        control.write(0x64, 0xfe);
        assert_eq!(control.outcome(), Some(Outcome::Exit(1)));
    }

    #[test]
    fn a_probe_finds_no_keyboard_and_a_self_test_passes() {
        let mut control = Control::new();
        assert_eq!((control.read(0x64) & 3, control.read(0x60)), (1, 0xff));
        control.write(0x64, SELF_TEST);
        assert_eq!([0x64, 0x60, 0x64].map(|port| control.read(port)), [0x15, 0x55, 0xfd]);
    }

    #[test]
    fn address_line_20_is_on_and_registers_keep_their_bytes() {
        let mut control = Control::new();
        control.write(0xcf9, 2);
        control.write(0x80, 0x42);
        assert_eq!((control.read(0x92), control.read(0xcf9), control.progress()), (2, 2, 0x42));
    }

    #[test]
    fn a_wrong_state_is_refused() {
        let state = Control::new().state();
        assert!(Control::restore(&ControlState { outcome: 4, ..state }).is_err());
        assert!(Control::restore(&ControlState { version: 0, ..state }).is_err());
        let reset = Control::restore(&ControlState { outcome: 2, ..state }).unwrap();
        assert_eq!(reset.outcome(), Some(Outcome::Reset));
    }
}
