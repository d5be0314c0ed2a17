//! Resource limits.

use crate::abi::errno::{EINVAL, EPERM, Errno};
use crate::abi::fork_record::LIMITS;
use nacre_proto::mailbox::USUAL_LIMIT;

pub const CPU: usize = 0;
const FILE: usize = 1;
const STACK: usize = 3;
pub const DATA: usize = 2;
const CORE: usize = 4;
pub const PROCESSES: usize = 6;
const LOCKED: usize = 8;
pub const ADDRESSES: usize = 9;
pub const SIGNALS: usize = 11;
const DESCRIPTORS: usize = 7;
const MESSAGES: usize = 12;
pub const INFINITY: u64 = u64::MAX;
/// The limit of a stack that a program starts with: threads are given as much at once.
pub const USUAL_STACK: u64 = 1 << 20;
/// Bytes that who is not privileged may lock at first.
const USUAL_LOCKED: u64 = 8 << 20;
/// Maximum number of descriptors of a process.
pub const MAX_DESCRIPTORS: u64 = 1 << 20;
/// Default limits of descriptors, soft and hard.
const USUAL_DESCRIPTORS: [u64; 2] = [1024, 4096];

/// The process's limits, soft and hard, by Linux's numbers.
pub struct Limits(pub [[u64; 2]; LIMITS]);

impl Limits {
    /// Returns the limits that a program starts with.
    pub fn new() -> Limits {
        let mut limits = [[INFINITY; 2]; LIMITS];
        limits[STACK] = [USUAL_STACK, INFINITY];
        limits[CORE] = [0, INFINITY];
        limits[LOCKED] = [USUAL_LOCKED; 2];
        limits[DESCRIPTORS] = USUAL_DESCRIPTORS;
        limits[MESSAGES] = [USUAL_LIMIT; 2];
        Limits(limits)
    }

    /// Limits that were handed on.
    pub fn of(limits: [[u64; 2]; LIMITS]) -> Limits {
        Limits(limits)
    }

    /// All of them.
    pub fn all(&self) -> [[u64; 2]; LIMITS] {
        self.0
    }

    /// Returns the maximum size of the stack in bytes.
    pub fn stack(&self) -> u64 {
        self.0[STACK][0]
    }

    /// Returns the maximum number of descriptors.
    pub fn descriptors(&self) -> usize {
        self.0[DESCRIPTORS][0] as usize
    }

    /// Returns the limits of CPU time.
    pub fn cpu(&self) -> CpuLimit {
        let [soft, hard] = self.0[CPU];
        CpuLimit { soft, hard }
    }

    /// Sets the soft limit of CPU time, at which the next signal is sent.
    pub fn set_cpu_soft(&mut self, seconds: u64) {
        self.0[CPU][0] = seconds;
    }

    /// Returns the maximum of locked memory in bytes.
    pub fn locked(&self) -> u64 {
        self.0[LOCKED][0]
    }

    /// Returns the maximum size of a file in bytes.
    pub fn file_size(&self) -> u64 {
        self.0[FILE][0]
    }

    /// Returns the maximum number of queued signals.
    pub fn signals(&self) -> usize {
        usize::try_from(self.0[SIGNALS][0]).unwrap_or(usize::MAX)
    }

    /// Returns the maximum of memory for the user's message queues, in bytes.
    pub fn messages(&self) -> u64 {
        self.0[MESSAGES][0]
    }

    pub fn allows(&self, resource: usize, size: u64, more: u64) -> bool {
        more == 0 || size.saturating_add(more) <= self.0[resource][0]
    }

    pub fn is_limited(&self, resource: usize) -> bool {
        self.0[resource][0] != INFINITY
    }

    /// One, soft and hard.
    pub fn get(&self, resource: u64) -> Result<[u64; 2], Errno> {
        self.0.get(resource as u32 as usize).copied().ok_or(EINVAL)
    }

    /// Sets a limit. Raising a hard limit needs `CAP_SYS_RESOURCE`; that of descriptors cannot
    /// exceed the maximum.
    pub fn set(&mut self, resource: u64, [soft, hard]: [u64; 2], may_raise: bool) -> Result<(), Errno> {
        let resource = resource as u32 as usize;
        let place = self.0.get_mut(resource).ok_or(EINVAL)?;
        if soft > hard {
            return Err(EINVAL);
        }
        if hard > place[1] && !may_raise || resource == DESCRIPTORS && hard > MAX_DESCRIPTORS {
            return Err(EPERM);
        }
        *place = [soft, hard];
        Ok(())
    }
}

/// Seconds of processors: after which the process is told, and after which it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuLimit {
    /// `SIGXCPU`.
    pub soft: u64,
    /// `SIGKILL`.
    pub hard: u64,
}

impl CpuLimit {
    /// Absence of limits.
    pub const NONE: CpuLimit = CpuLimit { soft: INFINITY, hard: INFINITY };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hard_limit_only_falls_but_for_who_may_raise_it() {
        let mut limits = Limits::new();
        assert_eq!(limits.set(7, [10, 20], false), Ok(()));
        assert_eq!(limits.descriptors(), 10);
        assert_eq!(limits.set(7, [10, 21], false), Err(EPERM));
        assert_eq!(limits.set(7, [10, 21], true), Ok(()));
        assert_eq!(limits.set(7, [10, MAX_DESCRIPTORS + 1], true), Err(EPERM));
        assert_eq!(limits.set(7, [11, 10], false), Err(EINVAL));
        assert_eq!(limits.get(16), Err(EINVAL));
    }
}
