//! `/dev/pts`: the folder of pseudo-terminals, and their names as of files. What is in it is opened
//! by its name, as [`pair`](crate::operations::terminals::terminal_io) does.

use crate::abi::errno::{Answer, EIO, ENOENT, Errno};
use crate::abi::file_flags::{O_CLOEXEC, O_PATH, S_IFCHR};
use crate::abi::time_units::REALTIME;
use crate::process::Process;
use crate::state::files::proc_node::{Node, Shown};
use crate::state::files::terminal_name::{Name, name};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::channel::{self, terminal_as_file};
use nacre_proto::structures::Status;

/// Numbers are below this.
const MOST: u64 = 256;

/// Returns the terminal number that a path names, or `None` for the multiplexer, if it is in the
/// folder.
pub fn named(path: &[u8]) -> Option<Option<u64>> {
    match name(path)? {
        Name::Own => None,
        Name::Master => Some(None),
        Name::Slave(number) => Some(Some(number)),
    }
}

/// Returns true if pseudo-terminals exist at all.
pub fn has_terminals(process: &mut Process) -> bool {
    process.services.channels().is_ok()
}

/// Returns true if a terminal with this number exists.
pub fn has_terminal(process: &mut Process, number: u64) -> bool {
    process.services.channels().is_ok_and(|channels| channel::terminal_facts(channels, number).is_ok())
}

/// The names of all, each with its mode.
pub fn terminal_names(process: &mut Process) -> Vec<(String, u64)> {
    let numbers: Vec<u64> = (0..MOST).filter(|number| has_terminal(process, *number)).collect();
    let mode = u64::from(S_IFCHR);
    numbers.into_iter().map(|number| (format!("{number}"), mode | 0o620)).chain([(String::from("ptmx"), mode | 0o666)]).collect()
}

/// Returns the status of a terminal by its name.
pub fn terminal_status(process: &mut Process, path: &[u8]) -> Option<Result<Status, Errno>> {
    match name(path)? {
        Name::Own => None,
        Name::Master => has_terminals(process).then(|| Ok(terminal_as_file(0, false))),
        Name::Slave(number) => has_terminals(process).then(|| status_of_terminal(process, number)),
    }
}

/// Returns the status of the terminal with this number.
pub fn status_of_terminal(process: &mut Process, number: u64) -> Result<Status, Errno> {
    let mut bytes = [0; Status::SIZE];
    channel::terminal_status(process.services.channels()?, number, &mut bytes).map_err(|_| ENOENT)?;
    Status::from_bytes(&bytes).ok_or(EIO)
}

/// Opens the name of a terminal, and not the terminal. `None`: it is none of the library's.
pub fn open_name(process: &mut Process, path: &[u8], flags: u32) -> Option<Answer> {
    let number = named(path)?;
    let found = terminal_status(process, path)?;
    Some(found.and_then(|_| process.open(Shown::open(Node::Terminal(number), 0, flags & O_PATH), flags & O_CLOEXEC != 0)))
}

/// Sets the times of a terminal's name; wishes are made times first.
pub fn set_times_of_terminal(process: &mut Process, number: u64, [atime, atime_nsec, mtime, mtime_nsec]: [u64; 4]) -> Result<(), Errno> {
    const NOW: u64 = 0x3fff_ffff;
    let now = process.services.clock(REALTIME)?;
    let [read, written] = [(atime, atime_nsec), (mtime, mtime_nsec)].map(|time| if time.1 == NOW { now } else { time });
    channel::terminal_set_times(process.services.channels()?, number, read.0, read.1, written.0, written.1)?;
    Ok(())
}
