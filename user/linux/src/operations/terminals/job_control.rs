//! Job control: which terminal a file is, and what becomes of those who use theirs from the
//! background.

use crate::abi::errno::{EIO, ERESTART, Errno};
use crate::abi::file_flags::{S_IFCHR, S_IFMT};
use crate::abi::signal_info::{Info, SI_KERNEL, bit};
use crate::abi::signal_numbers::SIGTTIN;
use crate::process::Process;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::terminal_state::TerminalState;
use crate::state::signals::dispositions::Fate;
use nacre_proto::channel::{self, CONSOLE, terminal_device};
use nacre_proto::{process as manager, terminal};
use nacre_proto::structures::Attributes;
use nacre_sys::Reference;

/// The device of the terminal that a file is; of a master the one of its slaves.
pub fn terminal_of(file: &OpenFile) -> Option<u64> {
    if file.terminal.get() == TerminalState::Nothing {
        let may_be = matches!(file.kind, Kind::Stream(..)) || file.mode.get() & S_IFMT == S_IFCHR && !file.is_null;
        let device = if may_be { ask_terminal(file) } else { None };
        file.terminal.set(device.map_or(TerminalState::NoTerminal, TerminalState::Device));
    }
    match file.terminal.get() {
        TerminalState::Device(device) => Some(device),
        _ => None,
    }
}

fn ask_terminal(file: &OpenFile) -> Option<u64> {
    if !is_terminal(file) {
        return None;
    }
    // A stream may be a slave that somebody else has opened.
    let facts = file.reference().ok().and_then(|target| channel::terminal_facts(target, 0).ok());
    Some(facts.map_or(CONSOLE, |facts| terminal_device(facts.number)))
}

/// Stops who uses the terminal of its session from the background, by a signal to its whole group:
/// the call is made again then. `EIO`: nobody could let it go on, or it does not want to be stopped
/// from reading.
pub fn check_background(process: &mut Process, device: u64, signal: u64) -> Result<(), Errno> {
    if !process.is_managed() {
        return Ok(());
    }
    let is_unwanted = process.me().mask & bit(signal) != 0 || process.signals.fate(signal) == Fate::Ignored;
    let asked = if is_unwanted { 0 } else { signal };
    if manager::terminal_check(Reference::PARENT, device, asked)?.stops == 0 {
        return Ok(());
    }
    if is_unwanted {
        return if signal == SIGTTIN { Err(EIO) } else { Ok(()) };
    }
    process.post(Info::from(signal, SI_KERNEL, 0, 0))?;
    Err(ERESTART)
}

pub fn get_attributes(open: &OpenFile) -> Result<[u8; Attributes::SIZE], Errno> {
    let mut attributes = [0; Attributes::SIZE];
    terminal::get_attributes(open.reference()?, &mut attributes)?;
    Ok(attributes)
}

/// Returns true if the file is a terminal.
pub fn is_terminal(open: &OpenFile) -> bool {
    get_attributes(open).is_ok()
}
