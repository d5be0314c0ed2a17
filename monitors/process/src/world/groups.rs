//! Groups, sessions and their terminals.

use super::signals::{self, CONTINUE, HANG_UP, Signal};
use super::{Effect, Terminal, World};
use alloc::vec::Vec;
use nacre_proto::Errno;

impl World {
    /// Returns the members of a group that have not ended.
    pub(super) fn members(&self, group: u64) -> Vec<u64> {
        let is_member = |process: &super::Process| process.group == group && !process.has_ended();
        self.processes.iter().filter(|(_, process)| is_member(process)).map(|(pid, _)| *pid).collect()
    }

    /// Returns true if the group is orphaned: no member has a parent in the same session and
    /// another group, who could continue it.
    pub(super) fn is_orphaned(&self, group: u64) -> bool {
        self.is_orphaned_but_for(group, None)
    }

    /// Returns true if the group were orphaned with `living` still alive.
    pub(super) fn is_orphaned_but_for(&self, group: u64, living: Option<u64>) -> bool {
        let lives = |pid: u64, process: &super::Process| !process.has_ended() || Some(pid) == living;
        !self.processes.iter().any(|(pid, process)| {
            let cares = |parent: &super::Process| lives(process.parent, parent) && parent.session == process.session && parent.group != group;
            process.group == group && lives(*pid, process) && !process.is_adopted && self.processes.get(&process.parent).is_some_and(cares)
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
        let is_there = |(member, process): (&u64, &super::Process)| process.group == group && process.session == session && self.sees(caller, *member);
        if target.session == pid || group != pid && !self.processes.iter().any(is_there) {
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
        let mut members = self.processes.iter().filter(|(member, process)| process.group == group && self.sees(caller, **member));
        let of = members.next().map(|(_, process)| process.session);
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

    /// The caller's session, which has this terminal now. `steals`: also if another session has it,
    /// which the superuser may.
    pub fn terminal_acquire(&mut self, caller: u64, device: u64, steals: bool) -> Result<u64, Errno> {
        let process = self.living(caller)?;
        let (session, foreground, is_superuser) = (process.session, process.group, process.traits.identity[1] == 0);
        if session != caller || device == 0 || self.terminals.get(&session).is_some_and(|terminal| terminal.device != device) {
            return Err(Errno::EPERM);
        }
        match self.terminal_session(device) {
            Some(owner) if owner == session => return Ok(session),
            Some(owner) if !steals || !is_superuser || !self.sees(caller, owner) => return Err(Errno::EPERM),
            Some(owner) => {
                self.terminals.remove(&owner);
                self.effects.push(Effect::Detached(owner));
            }
            None => {}
        }
        self.terminals.insert(session, Terminal { device, foreground });
        Ok(session)
    }

    fn terminal_session(&self, device: u64) -> Option<u64> {
        self.terminals.iter().find(|(_, terminal)| device != 0 && terminal.device == device).map(|(session, _)| *session)
    }

    /// The device that the terminal of the caller's session is.
    pub fn terminal(&self, caller: u64) -> Result<u64, Errno> {
        let session = self.process(caller)?.session;
        self.terminals.get(&session).map(|terminal| terminal.device).filter(|device| *device != 0).ok_or(Errno::ENXIO)
    }

    /// The session that has a terminal, and the group in its foreground; whether it is the
    /// caller's.
    pub fn terminal_owner(&self, caller: u64, device: u64) -> Result<(u64, u64, bool), Errno> {
        let own = self.process(caller)?.session;
        let Some(session) = self.terminal_session(device).filter(|session| *session == own || self.sees(caller, *session)) else { return Ok((0, 0, false)) };
        Ok((session, self.terminals.get(&session).map_or(0, |terminal| terminal.foreground), session == own))
    }

    /// Returns true if the signal, which the rest of the group gets, is to stop the caller from
    /// using a terminal.
    pub fn terminal_check(&mut self, caller: u64, device: u64, signal: u64) -> Result<bool, Errno> {
        let process = self.process(caller)?;
        let (session, group) = (process.session, process.group);
        if signal != 0 && !signals::is_of_background(signal) {
            return Err(Errno::EINVAL);
        }
        let Some(terminal) = self.terminals.get(&session).filter(|terminal| terminal.device == device) else {
            return Ok(false);
        };
        if terminal.foreground == group {
            return Ok(false);
        }
        if signal == 0 {
            return Ok(true);
        }
        if self.is_orphaned(group) {
            return Err(Errno::EIO);
        }
        let others: Vec<u64> = self.members(group).into_iter().filter(|pid| *pid != caller && self.sees(caller, *pid)).collect();
        for pid in others {
            // Signals of the first numbers always find room.
            let _ = self.deliver(pid, Signal::from_system(signal));
        }
        Ok(true)
    }

    /// `TIOCNOTTY` of who leads its session.
    pub fn terminal_leave(&mut self, caller: u64) -> Result<(), Errno> {
        let session = self.process(caller)?.session;
        if !self.terminals.contains_key(&session) {
            return Err(Errno::ENOTTY);
        }
        if session != caller {
            return Err(Errno::EPERM);
        }
        self.end_session(session);
        Ok(())
    }

    /// A key or a change of a session's terminal. One that has gone is told to who leads the
    /// session, and has no name any more.
    pub fn terminal_signal(&mut self, session: u64, number: u64) {
        let Some(terminal) = self.terminals.get_mut(&session) else { return };
        if number == HANG_UP {
            terminal.device = 0;
            for signal in [HANG_UP, CONTINUE] {
                let _ = self.deliver(session, Signal::from_system(signal));
            }
        } else {
            let group = terminal.foreground;
            self.signal_group(group, number);
        }
    }
}
