//! Ends: what happens to the children, the group and the session of a process that ends, and what
//! its parent hears.

use super::change::Change;
use super::signals::{CHILD, CONTINUE, HANG_UP, Signal};
use super::{Effect, FIRST, Process, State, World};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_proto::{Errno, parent};
use nacre_proto::flags::{CLD_CONTINUED, CLD_DUMPED, CLD_EXITED, CLD_KILLED, CLD_STOPPED, SA_NOCLDSTOP, SA_NOCLDWAIT};

/// Bit of a status as `wait4` tells it: a core was dumped.
const DUMPED: u64 = 0x80;

impl World {
    /// The process has exited, with a status as `parent.exit` has it: 0 to 255, or 256 and a
    /// signal, or'd with 128 for a core dump.
    pub fn exit(&mut self, pid: u64, status: u64) {
        let status = parent::checked_status(status);
        self.end(pid, if status >= 256 { status & 0xff } else { status << 8 });
    }

    /// Aborts a process that has not begun. `EINVAL`: it has begun.
    pub fn abandon(&mut self, pid: u64) -> Result<(), Errno> {
        if self.living(pid)?.state != State::Fresh {
            return Err(Errno::EINVAL);
        }
        self.lost(pid);
        Ok(())
    }

    /// Ends a process to which no reference leads any more, or whose maker gives it up: one that
    /// has begun was destroyed from outside, and any other is aborted.
    pub fn lost(&mut self, pid: u64) {
        let Ok(process) = self.living(pid) else { return };
        process.is_aborted = process.state == State::Fresh;
        self.end(pid, super::signals::KILL);
    }

    /// Lets the process, and all that it creates from now on, end with its parent, which serves it.
    pub(super) fn serve(&mut self, pid: u64) -> Result<(), Errno> {
        let process = self.living(pid)?;
        process.server = process.parent;
        let server = process.parent;
        self.living(server).map(|server| server.is_server = true)
    }

    /// Ends what a monitor that has ended served: nobody answers these processes any more.
    fn end_served(&mut self, server: u64) {
        let is_served = |process: &Process| process.server == server && !process.has_ended();
        let served: Vec<u64> = self.processes.iter().filter(|(_, process)| is_served(process)).map(|(pid, _)| *pid).collect();
        served.into_iter().for_each(|pid| self.lost(pid));
    }

    /// The children of a process that have not begun.
    pub(super) fn fresh_children(&self, maker: u64) -> Vec<u64> {
        let is_it = |process: &Process| process.parent == maker && process.state == State::Fresh;
        self.processes.iter().filter(|(_, process)| is_it(process)).map(|(pid, _)| *pid).collect()
    }

    /// Aborts what the maker has reserved: it has ended, or has become another program, so nobody
    /// will begin them.
    pub(super) fn abort_children(&mut self, maker: u64) {
        self.fresh_children(maker).into_iter().for_each(|child| self.lost(child));
    }

    /// The process ends with this status, as `wait4` tells it. An end that follows from another one
    /// waits for that.
    ///
    /// Parents hear of an end when all that ends with it has been destroyed, so that nothing of it
    /// runs on after `wait4`.
    pub(super) fn end(&mut self, pid: u64, status: u64) {
        self.ending.push_back((pid, status));
        if self.ending.len() > 1 {
            return;
        }
        // Those before `next` have ended. They stay in the list until all is told, so that an end
        // which a signal to a parent brings is added here, too.
        let (mut next, mut untold) = (0, VecDeque::new());
        loop {
            if let Some(&(pid, status)) = self.ending.get(next) {
                next += 1;
                if self.end_one(pid, status) {
                    untold.push_back((pid, status));
                }
            } else if let Some((pid, status)) = untold.pop_front() {
                self.tell_end(pid, status);
            } else {
                break self.ending.clear();
            }
        }
    }

    /// Ends one process. Returns true if its parent is to be told.
    fn end_one(&mut self, pid: u64, status: u64) -> bool {
        let Ok(process) = self.living(pid) else { return false };
        process.state = State::Ended(status);
        process.stopped = None;
        process.queue.clear();
        let (group, session, parent, is_aborted) = (process.group, process.session, process.parent, process.is_aborted);
        let is_server = process.is_server;
        self.effects.push(Effect::Destroy(pid));
        self.end_threads(pid);
        if pid == FIRST {
            self.effects.push(Effect::Over(status));
            return false;
        }
        self.abort_children(pid);
        if is_server {
            self.end_served(pid);
        }
        let children: Vec<u64> = self.children(pid);
        // What a group becomes matters to members that are stopped, or that a signal to a child may
        // stop.
        let may_be_stopped = !children.is_empty() || self.processes.values().any(|process| process.stopped.is_some());
        let mut groups: BTreeSet<u64> = children.iter().filter_map(|child| self.process(*child).ok().map(|child| child.group)).collect();
        if may_be_stopped {
            groups.insert(group);
        }
        // As they were while it lived: it is no member of any any more, but still a parent.
        let was_orphaned: Vec<bool> = groups.iter().map(|group| self.is_orphaned_but_for(*group, Some(pid))).collect();
        if session == pid {
            self.end_session(session);
        }
        self.give_away(pid, &children);
        for (group, was) in groups.into_iter().zip(was_orphaned) {
            if !was && self.is_orphaned(group) {
                self.wake_orphans(group);
            }
        }
        if is_aborted {
            // No signal, but a thread that waits for just this child is to hear that there is none.
            self.remove(pid);
            self.effects.push(Effect::Changed(parent));
        }
        !is_aborted
    }

    /// The children that an end leaves to a reaper: all but those that are aborted.
    fn children(&self, parent: u64) -> Vec<u64> {
        self.processes.iter().filter(|(_, process)| process.parent == parent && !process.is_aborted).map(|(pid, _)| *pid).collect()
    }

    /// The nearest ancestor that takes orphans, else the first process.
    fn reaper_of(&self, pid: u64) -> u64 {
        let mut at = pid;
        while let Some(process) = self.processes.get(&at) {
            if at != pid && !process.has_ended() && process.is_reaper {
                return at;
            }
            at = process.parent;
        }
        FIRST
    }

    fn give_away(&mut self, pid: u64, children: &[u64]) {
        let reaper = self.reaper_of(pid);
        for &child in children {
            let Ok(process) = self.process_mut(child) else { continue };
            process.parent = reaper;
            process.is_adopted = reaper == FIRST;
            process.exit_signal = CHILD;
            self.effects.push(Effect::Adopted(child));
            let Ok(process) = self.process_mut(child) else { continue };
            let (death_signal, state) = (process.death_signal, process.state);
            if death_signal != 0 {
                // The signal may find no room, like any other.
                let _ = self.deliver(child, Signal { number: death_signal, sender: pid, ..Signal::default() });
            }
            if let State::Ended(status) = state {
                self.tell_end(child, status);
            }
        }
    }

    /// A stopped member of a group that nobody outside cares for would wait for ever.
    fn wake_orphans(&mut self, group: u64) {
        let is_stopped = |pid: &u64| self.process(*pid).is_ok_and(|process| process.stopped.is_some());
        if self.members(group).iter().any(is_stopped) {
            self.signal_group(group, HANG_UP);
            self.signal_group(group, CONTINUE);
        }
    }

    pub(super) fn end_session(&mut self, session: u64) {
        if let Some(terminal) = self.terminals.remove(&session) {
            self.effects.push(Effect::Detached(session));
            self.signal_group(terminal.foreground, HANG_UP);
            self.signal_group(terminal.foreground, CONTINUE);
        }
    }

    /// The parent hears that its child has ended; one that does not care loses it.
    fn tell_end(&mut self, pid: u64, status: u64) {
        let Ok(process) = self.process(pid) else { return };
        let (parent, exit_signal, user) = (process.parent, process.exit_signal, process.traits.identity[0]);
        let (code, value) = match status & 0x7f {
            0 => (CLD_EXITED, status >> 8),
            signal if status & DUMPED != 0 => (CLD_DUMPED, signal),
            signal => (CLD_KILLED, signal),
        };
        let is_uncared = self.living(parent).is_ok_and(|parent| {
            exit_signal == CHILD && (parent.traits.ignored & super::signals::bit(CHILD) != 0 || parent.traits.child_flags & SA_NOCLDWAIT != 0)
        });
        if is_uncared {
            self.remove(pid);
        }
        let _ = self.deliver(parent, Signal { number: exit_signal, code, sender: pid, user, value, thread: 0 });
        self.effects.push(Effect::Changed(parent));
    }

    /// The parent hears that its child has stopped by a signal, or (0) goes on.
    pub(super) fn tell_stop(&mut self, pid: u64, signal: u64) {
        let Ok(process) = self.process_mut(pid) else { return };
        let (change, code, value) = match signal {
            0 => (Change::Continued, CLD_CONTINUED, CONTINUE),
            signal => (Change::Stopped(signal), CLD_STOPPED, signal),
        };
        process.news = Some(change);
        let (parent, user) = (process.parent, process.traits.identity[0]);
        if self.living(parent).is_ok_and(|parent| parent.traits.child_flags & SA_NOCLDSTOP == 0) {
            let _ = self.deliver(parent, Signal { number: CHILD, code, sender: pid, user, value, thread: 0 });
        }
        self.effects.push(Effect::Changed(parent));
    }
}
