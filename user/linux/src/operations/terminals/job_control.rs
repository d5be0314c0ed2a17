//! Job control: which terminal a file is, and what becomes of those who use theirs from the background.

use crate::abi::errno::{EIO, ERESTART, Errno};
use crate::calls::files::ioctl;
use crate::calls::signals::Fate;
use crate::process::Process;
use crate::state::files::descriptor_table::{Kind, OpenFile, S_IFCHR, S_IFMT};
use crate::state::signals::pending::{Info, SI_KERNEL, bit};
use nacre_proto::channel::{self, CONSOLE, terminal_device};
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// For reading from the background.
pub const SIGTTIN: u64 = 21;
/// For changing a terminal from there.
pub const SIGTTOU: u64 = 22;

/// What is known of a file as a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Nobody has asked.
    #[default]
    Nothing,
    /// It is none.
    NoTerminal,
    /// It is this device.
    Device(u64),
}

impl Process {
    /// The device of the terminal that a file is; of a master the one of its slaves.
    pub fn terminal_of(&mut self, file: &OpenFile) -> Option<u64> {
        if file.terminal.get() == Known::Nothing {
            let may_be = matches!(file.kind, Kind::Stream(..)) || file.mode & S_IFMT == S_IFCHR && !file.is_null;
            let device = if may_be { self.ask_terminal(file) } else { None };
            file.terminal.set(device.map_or(Known::NoTerminal, Known::Device));
        }
        match file.terminal.get() {
            Known::Device(device) => Some(device),
            _ => None,
        }
    }

    fn ask_terminal(&mut self, file: &OpenFile) -> Option<u64> {
        if !ioctl::is_terminal(self, file) {
            return None;
        }
        // A stream may be a slave that somebody else has opened.
        let facts = self.services.reference(file).ok().and_then(|target| channel::terminal_facts(target, 0).ok());
        Some(facts.map_or(CONSOLE, |facts| terminal_device(facts.number)))
    }

    /// Stops who uses the terminal of its session from the background, by a signal to its whole group: the call is made again then. `EIO`: nobody could let it go on, or it does not want to be stopped from reading.
    pub fn check_background(&mut self, device: u64, signal: u64) -> Result<(), Errno> {
        if !self.is_managed() {
            return Ok(());
        }
        let is_unwanted = self.me().mask & bit(signal) != 0 || self.signals.fate(signal) == Fate::Ignored;
        let asked = if is_unwanted { 0 } else { signal };
        if manager::terminal_check(Reference::PARENT, device, asked)?.stops == 0 {
            return Ok(());
        }
        if is_unwanted {
            return if signal == SIGTTIN { Err(EIO) } else { Ok(()) };
        }
        self.post(Info::from(signal, SI_KERNEL, 0, 0))?;
        Err(ERESTART)
    }
}
