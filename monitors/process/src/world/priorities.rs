//! Nice values: kept for the program to see, and handed on. Whoever gives out time may ask for
//! them.

use super::{USUAL_PRIORITY, World};
use alloc::vec::Vec;
use nacre_proto::Errno;

/// 20 less the lowest nice value.
const HIGHEST: u64 = 40;
/// 20 less the highest.
const LOWEST: u64 = 1;

const PROCESS: u64 = 0;
const GROUP: u64 = 1;
const USER: u64 = 2;

impl World {
    /// Returns the processes that a call names: at least one.
    fn meant(&self, caller: u64, which: u64, who: u64) -> Result<Vec<u64>, Errno> {
        let own = self.process(caller)?;
        let of = |own: u64| if who == 0 { own } else { who };
        let living = self.processes.iter().filter(|(_, process)| !process.has_ended());
        let mut meant: Vec<u64> = match which {
            PROCESS => living.filter(|(pid, process)| **pid == of(caller) || process.threads.contains(&who)).map(|(pid, _)| *pid).collect(),
            GROUP => self.members(of(own.group)),
            USER => living.filter(|(_, process)| process.traits.identity[0] == of(own.traits.identity[0])).map(|(pid, _)| *pid).collect(),
            _ => return Err(Errno::EINVAL),
        };
        meant.retain(|pid| self.sees(caller, *pid));
        if meant.is_empty() { Err(Errno::ESRCH) } else { Ok(meant) }
    }

    /// The highest priority among them.
    pub fn priority(&self, caller: u64, which: u64, who: u64) -> Result<u64, Errno> {
        let meant = self.meant(caller, which, who)?;
        Ok(meant.iter().filter_map(|pid| self.processes.get(pid)).map(|process| process.traits.priority).max().unwrap_or(USUAL_PRIORITY))
    }

    /// Sets the priority of all of them that the caller may set; the last refusal.
    pub fn priority_set(&mut self, caller: u64, which: u64, who: u64, value: u64) -> Result<(), Errno> {
        let [user, effective, _] = self.process(caller)?.traits.identity;
        let value = value.clamp(LOWEST, HIGHEST);
        let mut result = Ok(());
        for pid in self.meant(caller, which, who)? {
            let process = self.living(pid)?;
            let [of, effectively, _] = process.traits.identity;
            if effective != 0 && ![of, effectively].contains(&effective) && user != of {
                result = Err(Errno::EPERM);
            } else if effective != 0 && value > process.traits.priority {
                result = Err(Errno::EACCES);
            } else {
                process.traits.priority = value;
            }
        }
        result
    }
}
