//! User and group numbers of the process.

use crate::abi::errno::{EPERM, Errno};
use crate::state::capabilities::Capabilities;
use alloc::vec::Vec;

/// "No change" in calls that set several numbers.
pub const KEEP: u32 = u32::MAX;

/// Real, effective and saved number of a user or a group. They are kept for the program to see;
/// servers do not ask for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    pub real: u32,
    pub effective: u32,
    pub saved: u32,
}

impl Numbers {
    pub fn knows(self, number: u32) -> bool {
        number == KEEP || [self.real, self.effective, self.saved].contains(&number)
    }

    pub fn all(self) -> [u32; 3] {
        [self.real, self.effective, self.saved]
    }

    /// `self` with `wanted` in place of those that are not [`KEEP`]. Who is not privileged may only
    /// shuffle the numbers that are there.
    pub fn replaced(self, wanted: [u32; 3], privileged: bool) -> Result<Numbers, Errno> {
        if !privileged && wanted.iter().any(|number| !self.knows(*number)) {
            return Err(EPERM);
        }
        let choose = |new: u32, old: u32| if new == KEEP { old } else { new };
        let [real, effective, saved] = wanted;
        Ok(Numbers { real: choose(real, self.real), effective: choose(effective, self.effective), saved: choose(saved, self.saved) })
    }
}

/// User, group and other credentials of the process.
#[derive(Default)]
pub struct Identity {
    pub user: Numbers,
    pub group: Numbers,
    /// Bits that are taken out of the mode of what is created.
    pub umask: u32,
    /// The process's number; 0: not asked for yet.
    pub pid: u64,
    pub persona: u64,
    /// The user and the group by which files are looked at.
    pub of_files: [u32; 2],
    /// Further groups, in ascending order.
    pub groups: Vec<u32>,
    /// Capabilities of the process.
    pub capabilities: Capabilities,
}

impl Identity {
    /// The real user and group.
    pub fn real(&self) -> [u32; 2] {
        [self.user.real, self.group.real]
    }

    /// Returns true if the program runs as another user or group than its caller.
    pub fn is_others(&self) -> bool {
        self.user.real != self.user.effective || self.group.real != self.group.effective
    }

    /// The superuser, with the usual mask.
    pub fn new() -> Identity {
        Identity { umask: 0o022, ..Identity::default() }
    }

    /// Makes the credentials from those that were handed on.
    pub fn of([user, effective, saved, group, effective_group, saved_group]: [u32; 6], umask: u32, persona: u64, pid: u64) -> Identity {
        let user = Numbers { real: user, effective, saved };
        let group = Numbers { real: group, effective: effective_group, saved: saved_group };
        Identity { user, group, umask, persona, pid, of_files: [effective, effective_group], ..Identity::default() }
    }

    /// Real, effective and saved user, then group.
    pub fn owner(&self) -> [u32; 6] {
        let Identity { user, group, .. } = self;
        [user.real, user.effective, user.saved, group.real, group.effective, group.saved]
    }

    /// Returns the value that `personality` set.
    pub fn persona(&self) -> u64 {
        self.persona
    }

    /// Returns true if the process has this capability.
    pub fn may(&self, capability: u64) -> bool {
        self.capabilities.has(capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_privileged_choose_new_numbers() {
        let numbers = Numbers { real: 1, effective: 2, saved: 3 };
        assert_eq!(numbers.replaced([9, KEEP, KEEP], false), Err(EPERM));
        assert_eq!(numbers.replaced([3, KEEP, 1], false), Ok(Numbers { real: 3, effective: 2, saved: 1 }));
        assert_eq!(numbers.replaced([9; 3], true), Ok(Numbers { real: 9, effective: 9, saved: 9 }));
        assert_eq!(crate::calls::identity::credentials::single(numbers, u64::MAX, true), Err(crate::abi::errno::EINVAL));
        assert_eq!(crate::calls::identity::credentials::single(numbers, 2, false), Err(EPERM));
        assert_eq!(crate::calls::identity::credentials::pair(numbers, 3, u64::MAX, false), Err(EPERM));
        assert_eq!(crate::calls::identity::credentials::pair(numbers, u64::MAX, 1, false), Ok([KEEP, 1, KEEP]));
    }
}
