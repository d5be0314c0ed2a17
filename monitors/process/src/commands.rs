//! Our seat outside, and those of our processes, which each have at most one.

use alloc::collections::BTreeMap;
use nacre_abi::rights::REFERENCE_USE;
use nacre_control::attendance::Told;
use nacre_control::{Attendance, Seats};
use nacre_proto::Errno;
use nacre_sys::{OwnedPort, OwnedReference, PortSet};

/// Bit of the word of a process's port for commands.
pub const CONTROL: u64 = 1 << 62;
/// Word of the port at which we are told of commands.
pub const COMMANDED: u64 = CONTROL | (CONTROL - 1);
/// Result of what was done as asked.
pub const DONE: Errno = Errno(0);

/// Our seat, if anybody gives commands, and those of our processes.
#[derive(Default)]
pub struct Commands {
    pub(crate) outside: Option<Attendance>,
    pub(crate) seats: Seats<Told>,
    ports: BTreeMap<u64, OwnedPort>,
}

impl Commands {
    /// Attends outside.
    pub fn start(set: PortSet) -> Commands {
        Commands { outside: Attendance::start(set, COMMANDED), ..Commands::default() }
    }

    /// Our seat. `ENOENT`: nobody gives commands.
    pub fn outside(&self) -> Result<&Attendance, Errno> {
        self.outside.as_ref().ok_or(Errno::ENOENT)
    }

    /// The service for a process. `ENOENT`: nobody gives commands.
    pub fn service(&mut self, pid: u64, set: PortSet) -> Result<OwnedReference, Errno> {
        self.outside()?;
        if !self.ports.contains_key(&pid) {
            self.ports.insert(pid, OwnedPort::new(CONTROL | pid, set)?);
        }
        let port = self.ports.get(&pid).ok_or(Errno::EIO)?;
        Ok(port.new_reference(REFERENCE_USE)?)
    }

    /// The process has ended, and left its seat.
    pub fn forget(&mut self, pid: u64) {
        self.ports.remove(&pid);
    }

    /// Sends bytes as a part of an answer, all or none.
    pub fn answer_whole(&self, number: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.outside()?.answer_whole(number, bytes)
    }

    /// A command is done.
    pub fn end(&self, number: u64, result: Errno) {
        if let Some(outside) = &self.outside {
            outside.done(number, result);
        }
    }
}
