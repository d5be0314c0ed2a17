//! Domains: parts of the world whose members know of nobody outside.
//!
//! Members of a domain list, look at, signal and ask its members alone; processes outside it are
//! not there for them. Processes outside see the members. What a member creates is a member.
//! Domains nest: a process has the numbers of all domains that it is in, and sees a process whose
//! numbers begin with its own.

use super::{Process, Signal, State, World};
use nacre_proto::Errno;

/// Maximum depth of domains in domains.
const MAX_DEPTH: usize = 16;

impl Process {
    /// Returns true if the process knows of the other one.
    fn sees(&self, other: &Process) -> bool {
        other.domain.starts_with(&self.domain)
    }
}

impl World {
    /// Makes the process, and all that it creates from now on, a domain inside the one that it is
    /// in. `EAGAIN`: domains are nested too deep.
    pub fn domain_create(&mut self, pid: u64) -> Result<(), Errno> {
        let number = self.last_domain + 1;
        let process = self.living(pid)?;
        if process.domain.len() >= MAX_DEPTH {
            return Err(Errno::EAGAIN);
        }
        process.domain.push(number);
        self.last_domain = number;
        Ok(())
    }

    /// Returns true if the process is in a domain.
    pub fn is_in_domain(&self, pid: u64) -> bool {
        self.process(pid).is_ok_and(|process| !process.domain.is_empty())
    }

    /// Returns true if `caller` knows of the process `pid`. Only its maker knows of one that has
    /// not begun.
    pub fn sees(&self, caller: u64, pid: u64) -> bool {
        let (Ok(own), Ok(other)) = (self.process(caller), self.process(pid)) else { return false };
        own.sees(other) && (other.state != State::Fresh || caller == pid || other.parent == caller)
    }

    /// A process that `caller` knows of.
    pub fn seen(&self, caller: u64, pid: u64) -> Result<&Process, Errno> {
        if self.sees(caller, pid) { self.process(pid) } else { Err(Errno::ESRCH) }
    }

    /// The first process with at least the number `pid` that has begun and that `caller` knows of.
    pub fn next(&self, caller: u64, pid: u64) -> Option<(u64, &Process)> {
        let own = self.process(caller).ok()?;
        let is_listed = |process: &Process| process.state != State::Fresh && own.sees(process);
        self.processes.range(pid..).find(|(_, process)| is_listed(process)).map(|(pid, process)| (*pid, process))
    }

    /// The parent of a process as `caller` knows it; 0 if it knows of none.
    pub fn parent_seen(&self, caller: u64, process: &Process) -> u64 {
        if self.sees(caller, process.parent) { process.parent } else { 0 }
    }

    /// The signal as the process may see it: without a sender that it does not know of.
    pub(super) fn without_stranger(&self, pid: u64, signal: Signal) -> Signal {
        let (Ok(own), Ok(sender)) = (self.process(pid), self.process(signal.sender)) else { return signal };
        if own.sees(sender) { signal } else { Signal { sender: 0, user: 0, ..signal } }
    }
}
