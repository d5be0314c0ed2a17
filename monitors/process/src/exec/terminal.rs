//! The master's end of a terminal of a process that a person has started.

use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_control::exec;
use nacre_proto::file;
use nacre_proto::flags::OWN_POSITION;
use nacre_sys::{OwnedPort, OwnedReference};

/// Bit that tells of output.
pub const HAS_OUTPUT: u64 = 1;
/// Bit that tells of room for input.
pub const HAS_ROOM: u64 = 2;

/// A terminal of a process, as we hold it.
pub struct Terminal {
    /// The master's end.
    pub master: OwnedReference,
    /// Port that is told of events.
    pub told: OwnedPort,
    /// Bits of which we will be told.
    pub awaited: u64,
    /// Set while no process has the terminal open, of whose return nobody tells.
    pub is_hung_up: bool,
}

impl Terminal {
    /// Reads what is on the screen; `None`: nothing is.
    pub fn read(&self, limit: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; limit.min(exec::MAX_CONTENTS)];
        let count = file::read(self.master.handle(), OWN_POSITION, bytes.len() as u64, &mut bytes[..]).ok()?.count as usize;
        bytes.truncate(count);
        (count > 0).then_some(bytes)
    }

    /// Returns true if an event may be there.
    pub fn may_have(&self, bit: u64) -> bool {
        self.awaited & bit == 0 && !self.is_hung_up
    }

    /// Asks to be told of an event that was not there. If it is said to be there all the same, it
    /// has just come, or no process has the terminal open; that is tried again a little later.
    pub fn wait_for(&mut self, event: u64, bit: u64) {
        self.awaited |= bit;
        let Ok(port) = self.told.new_reference(REFERENCE_USE | REFERENCE_NOTIFY) else { return };
        if file::watch(self.master.handle(), event, bit, port.handle()).is_ok_and(|reply| reply.events & event != 0) {
            self.awaited &= !bit;
            self.is_hung_up = true;
        }
    }
}
