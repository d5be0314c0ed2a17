//! Bounds: how many processes and threads one process may have with all that it makes.
//!
//! A bound binds nobody outside of it and hides nobody. It counts as Linux's `pids.max` does: each
//! process that there is, also one that has ended and was not waited for, and each further thread.

use super::{Process, World};
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Maximum depth of bounds in bounds.
const MAX_DEPTH: usize = 16;

/// A bound that a process counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// Number that no other one has.
    number: u64,
    /// Processes and further threads at once.
    most: u64,
}

impl World {
    /// Makes a bound for the process and all that it creates from now on. `EINVAL`: nobody would
    /// fit in. `EAGAIN`: bounds are nested too deep.
    pub fn bound_create(&mut self, pid: u64, most: u64) -> Result<(), Errno> {
        let number = self.last_bound + 1;
        let process = self.living(pid)?;
        if most == 0 {
            return Err(Errno::EINVAL);
        }
        if process.bounds.len() >= MAX_DEPTH {
            return Err(Errno::EAGAIN);
        }
        process.bounds.push(Bound { number, most });
        self.last_bound = number;
        Ok(())
    }

    /// Returns true if there is room for one more in each bound that the process counts for.
    pub(super) fn bounds_have_room(&self, pid: u64) -> bool {
        let Some(bounds) = self.process(pid).ok().map(|process| &process.bounds).filter(|bounds| !bounds.is_empty()) else { return true };
        let mut taken: Vec<u64> = bounds.iter().map(|_| 0).collect();
        for process in self.processes.values() {
            let shared = bounds.iter().zip(&process.bounds).take_while(|(own, other)| own == other).count();
            taken[..shared].iter_mut().for_each(|count| *count += Process::thread_count(process) as u64);
        }
        bounds.iter().zip(taken).all(|(bound, taken)| taken < bound.most)
    }
}
