//! Groups, sessions and their terminals.

use super::{Terminal, World};
use alloc::vec::Vec;
use nacre_proto::Errno;

impl World {
    /// Those of a group that have not ended.
    pub(super) fn members(&self, group: u64) -> Vec<u64> {
        let is_member = |process: &super::Process| process.group == group && !process.has_ended();
        self.processes.iter().filter(|(_, process)| is_member(process)).map(|(pid, _)| *pid).collect()
    }

    /// Whether no member has a parent in the same session and another group, who could let it go on.
    pub(super) fn is_orphaned(&self, group: u64) -> bool {
        self.is_orphaned_but_for(group, None)
    }

    /// The same as if `living` had not ended.
    pub(super) fn is_orphaned_but_for(&self, group: u64, living: Option<u64>) -> bool {
        let lives = |pid: u64, process: &super::Process| !process.has_ended() || Some(pid) == living;
        !self.processes.iter().any(|(pid, process)| {
            let cares = |parent: &super::Process| lives(process.parent, parent) && parent.session == process.session && parent.group != group;
            process.group == group && lives(*pid, process) && self.processes.get(&process.parent).is_some_and(cares)
        })
    }

    /// `setpgid`; 0 is the caller, and its own number.
    pub fn group_set(&mut self, caller: u64, pid: u64, group: u64) -> Result<(), Errno> {
        let pid = if pid == 0 { caller } else { pid };
        let group = if group == 0 { pid } else { group };
        let session = self.process(caller)?.session;
        let target = self.process(pid)?;
        if pid != caller {
            if target.parent != caller {
                return Err(Errno::ESRCH);
            }
            if target.session != session {
                return Err(Errno::EPERM);
            }
            if target.has_executed {
                return Err(Errno::EACCES);
            }
        }
        let is_there = |process: &super::Process| process.group == group && process.session == session;
        if target.session == pid || group != pid && !self.processes.values().any(is_there) {
            return Err(Errno::EPERM);
        }
        self.process_mut(pid)?.group = group;
        Ok(())
    }

    /// `setsid`.
    pub fn session_create(&mut self, caller: u64) -> Result<u64, Errno> {
        if self.processes.values().any(|process| process.group == caller) {
            return Err(Errno::EPERM);
        }
        let process = self.living(caller)?;
        (process.group, process.session) = (caller, caller);
        Ok(caller)
    }

    /// The group in the foreground of the caller's terminal.
    pub fn foreground(&self, caller: u64) -> Result<u64, Errno> {
        let session = self.process(caller)?.session;
        self.terminals.get(&session).map(|terminal| terminal.foreground).ok_or(Errno::ENOTTY)
    }

    /// Brings a group to the foreground.
    pub fn foreground_set(&mut self, caller: u64, group: u64) -> Result<(), Errno> {
        let session = self.process(caller)?.session;
        let of = self.processes.values().find(|process| process.group == group).map(|process| process.session);
        let terminal = self.terminals.get_mut(&session).ok_or(Errno::ENOTTY)?;
        match of {
            None => Err(Errno::ESRCH),
            Some(of) if of != session => Err(Errno::EPERM),
            Some(_) => {
                terminal.foreground = group;
                Ok(())
            }
        }
    }

    /// The caller's session, if it may get a terminal now.
    pub fn terminal_acquire(&mut self, caller: u64) -> Result<u64, Errno> {
        let process = self.living(caller)?;
        let (session, foreground) = (process.session, process.group);
        if session != caller || self.terminals.contains_key(&session) {
            return Err(Errno::EPERM);
        }
        self.terminals.insert(session, Terminal { foreground });
        Ok(session)
    }

    /// A key or a change of a session's terminal.
    pub fn terminal_signal(&mut self, session: u64, number: u64) {
        if let Some(terminal) = self.terminals.get(&session).copied() {
            self.signal_group(terminal.foreground, number);
        }
    }
}
