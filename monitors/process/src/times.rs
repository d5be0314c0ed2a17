//! Processor times of processes. The kernel counts the first thread of each environment that a
//! process had, and the manager adds the processes that it has waited for.

use crate::manager::Manager;
use crate::world::{Change, ChangedChild, Process};
use nacre_abi::waiting;
use nacre_proto::flags::WNOWAIT;
use nacre_proto::process::wait;

/// Nanoseconds.
const MICROSECOND: u64 = 1000;

impl Manager {
    /// Returns the time that a process has had until now: that of its first thread.
    pub(crate) fn time_of(&self, pid: u64) -> u64 {
        let Some(body) = self.bodies.get(&pid) else { return 0 };
        let running = body.life.thread().and_then(|thread| thread.time().ok()).unwrap_or(0);
        body.used.saturating_add(running)
    }

    /// Returns the time that all processes have had that there ever were.
    pub(crate) fn time_of_all(&self) -> u64 {
        self.bodies.keys().fold(self.used_before, |all, pid| all.saturating_add(self.time_of(*pid)))
    }

    /// Forgets a process that has ended, but for its time.
    pub(crate) fn forget(&mut self, pid: u64) {
        self.used_before = self.used_before.saturating_add(self.time_of(pid));
        self.bodies.remove(&pid);
    }

    /// Returns Linux's letter for the state of a process: `R` if its first thread runs, or could.
    pub(crate) fn letter(&self, pid: u64, process: &Process) -> u8 {
        match process.letter() {
            b'S' if self.waiting(pid) == waiting::RUNS => b'R',
            letter => letter,
        }
    }

    /// Returns what the first thread of a process waits for.
    pub(crate) fn waiting(&self, pid: u64) -> u64 {
        let thread = self.bodies.get(&pid).and_then(|body| body.life.thread());
        thread.and_then(|thread| thread.waiting().ok()).unwrap_or(waiting::STOPPED)
    }

    /// Returns the time of a process that has ended, and of those that it has waited for.
    fn used(&self, pid: u64) -> u64 {
        self.bodies.get(&pid).map_or(0, |body| body.used.saturating_add(body.children_used))
    }

    /// Returns the answer to a waiter. All of the time counts as the program's, because time in
    /// servers is not the process's.
    pub(crate) fn answer(&self, found: &ChangedChild) -> wait::Output {
        let ChangedChild { pid, user, .. } = *found;
        let user_time = self.used(pid) / MICROSECOND;
        wait::Output { pid, status: Change::status(found.change), user, user_time, system_time: 0 }
    }

    /// The parent knows of the change; of one that has ended it has the time.
    pub(crate) fn waited(&mut self, parent: u64, found: &ChangedChild, options: u64) {
        let used = self.used(found.pid);
        if let (Change::Ended(_), Some(body)) = (found.change, self.bodies.get_mut(&parent).filter(|_| options & WNOWAIT == 0)) {
            body.children_used = body.children_used.saturating_add(used);
        }
        self.world.waited(found, options);
    }
}
