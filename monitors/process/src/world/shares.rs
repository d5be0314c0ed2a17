//! Shares: how many of the processes and threads that there may be one party may take.
//!
//! A process holds at most as many further threads as are still free, and so does a domain with
//! processes and threads. One greedy party takes half, a second one half of the rest, and whoever
//! comes later still finds some. The last numbers are kept for those who can put an end to it.

use super::limits::MAX_FRESH;
use super::{FIRST, Process, World};
use nacre_proto::Errno;

/// One in so many processes and threads is kept back from users.
const KEPT_FROM_USERS: usize = 20;
/// One in so many processes is kept for the first process alone.
const KEPT_FOR_FIRST: usize = 40;

impl Process {
    /// Threads of the process, the first included.
    pub(super) fn thread_count(&self) -> usize {
        1 + self.threads.len()
    }
}

impl World {
    /// `EAGAIN`: the process may not create a child.
    pub(super) fn check_process(&self, maker: u64) -> Result<(), Errno> {
        let kept = match self.process(maker)?.traits.identity[1] {
            _ if maker == FIRST => 0,
            0 => self.limits.processes / KEPT_FOR_FIRST,
            _ => self.limits.processes / KEPT_FROM_USERS,
        };
        let free = self.limits.processes.saturating_sub(self.processes.len());
        let has_room = free > kept && self.free_threads() > 0 && self.fresh_children(maker).len() < MAX_FRESH && self.bounds_have_room(maker);
        if has_room && self.domains_may_grow(maker, free, |_| 1) { self.check_user(maker) } else { Err(Errno::EAGAIN) }
    }

    /// `EAGAIN`: the process may not have a further thread. Those that are kept back let others
    /// make processes.
    pub(super) fn check_thread(&self, pid: u64) -> Result<(), Errno> {
        let free = self.free_threads();
        let has_room = free > self.limits.threads / KEPT_FROM_USERS && self.process(pid)?.threads.len() < free && self.bounds_have_room(pid);
        if has_room && self.domains_may_grow(pid, free, Process::thread_count) { self.check_user(pid) } else { Err(Errno::EAGAIN) }
    }

    /// Number of threads that may still be made.
    fn free_threads(&self) -> usize {
        self.limits.threads.saturating_sub(self.processes.len() + self.threads)
    }

    /// Applies `RLIMIT_NPROC`: it counts the threads of all processes of the user, and does not
    /// bind the superuser.
    fn check_user(&self, pid: u64) -> Result<(), Errno> {
        let own = &self.process(pid)?.traits;
        if own.identity[1] == 0 {
            return Ok(());
        }
        let of_user = self.processes.values().filter(|process| process.traits.identity[0] == own.identity[0]);
        let count: usize = of_user.map(Process::thread_count).sum();
        if count as u64 >= own.most_processes { Err(Errno::EAGAIN) } else { Ok(()) }
    }

    /// Returns true if each domain that the process is a member of holds less than what is free.
    fn domains_may_grow(&self, pid: u64, free: usize, count: impl Fn(&Process) -> usize) -> bool {
        let domain = self.process(pid).map_or(&[][..], |process| &process.domain);
        (1..=domain.len()).all(|depth| {
            let members = self.processes.values().filter(|process| process.domain.starts_with(&domain[..depth]));
            members.map(&count).sum::<usize>() < free
        })
    }
}
