//! Processes that a person has started from outside. They have no parent, lead a session of their
//! own, and are forgotten by the manager, which tells the person how they ended.

use super::signals::KILL;
use super::{FIRST, Process, State, Traits, World};
use alloc::vec::Vec;
use nacre_proto::Errno;

impl World {
    /// Reserves a process without a parent. `EAGAIN`: there are too many processes.
    pub fn create_from_outside(&mut self) -> Result<u64, Errno> {
        self.check_process(FIRST)?;
        let pid = self.fresh_number()?;
        self.processes.insert(pid, Process::new(0, (pid, pid), 0, Traits::USUAL));
        Ok(pid)
    }

    /// Returns the status of a process that has ended, as `parent.exit` has it. One that is not
    /// there was killed.
    pub fn status_from_outside(&self, pid: u64) -> Option<u64> {
        match self.process(pid).map(|process| process.state) {
            Ok(State::Ended(status)) if status & 0x7f == 0 => Some(status >> 8),
            Ok(State::Ended(status)) => Some(256 + (status & 0xff)),
            Ok(_) => None,
            Err(_) => Some(256 + KILL),
        }
    }

    /// Forgets a process that has ended and has no parent.
    pub fn forget_from_outside(&mut self, pid: u64) {
        if self.process(pid).is_ok_and(|process| process.parent == 0 && pid != FIRST && process.has_ended()) {
            self.remove(pid);
        }
    }

    /// Ends all processes of a session.
    pub fn kill_session(&mut self, session: u64) {
        let is_member = |process: &Process| process.session == session && !process.has_ended();
        let members: Vec<u64> = self.processes.iter().filter(|(_, process)| is_member(process)).map(|(pid, _)| *pid).collect();
        members.into_iter().for_each(|pid| self.end(pid, KILL));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::world;
    use super::*;

    #[test]
    fn a_process_from_outside_is_nobody_s_child_and_leaves_nothing() {
        let mut world = world();
        let pid = world.create_from_outside().unwrap();
        assert_eq!(world.begin(pid, 0, 0), Ok(()));
        let child = world.create(pid, 17).unwrap();
        assert_eq!(world.begin(child, 0, 0), Ok(()));
        assert_eq!((world.process(pid).unwrap().parent, world.process(child).unwrap().session), (0, pid));
        assert_eq!(world.status_from_outside(pid), None);
        world.exit(pid, 7);
        assert_eq!(world.status_from_outside(pid), Some(7));
        assert_eq!(world.process(child).unwrap().parent, FIRST);
        world.forget_from_outside(pid);
        assert!(world.process(pid).is_err());
        world.forget_from_outside(child);
        world.kill_session(pid);
        assert!(world.process(child).unwrap().has_ended());
        assert_eq!(world.status_from_outside(child), Some(256 + KILL));
    }
}
