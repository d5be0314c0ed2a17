//! Capabilities of the process.

use crate::abi::errno::{EPERM, Errno};

/// The last one that there is.
pub const LAST: u64 = 40;
pub const ALL: u64 = (1 << (LAST + 1)) - 1;
/// `CAP_CHOWN`.
pub const OWNERS: u64 = 0;
/// `CAP_DAC_OVERRIDE`.
pub const FILES: u64 = 1;
/// `CAP_DAC_READ_SEARCH`.
pub const FILE_SEARCH: u64 = 2;
/// `CAP_FOWNER`.
pub const FILE_OWNER: u64 = 3;
/// `CAP_FSETID`.
pub const FILE_BITS: u64 = 4;
/// `CAP_SETGID`.
pub const GROUPS: u64 = 6;
/// `CAP_SETUID`.
pub const USERS: u64 = 7;
/// `CAP_SETPCAP`.
pub const CAPABILITIES: u64 = 8;
/// `CAP_MKNOD`.
pub const DEVICES: u64 = 27;
/// `CAP_IPC_LOCK`.
pub const MEMORY_LOCKS: u64 = 14;
/// `CAP_SYS_PTRACE`.
pub const OTHERS: u64 = 19;
/// `CAP_SYS_ADMIN`.
pub const SYSTEM: u64 = 21;
/// `CAP_SYS_RESOURCE`.
pub const RESOURCES: u64 = 24;
/// `CAP_SETFCAP`.
pub const FILE_CAPABILITIES: u64 = 31;

/// The sets, a bit for each capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    effective: u64,
    permitted: u64,
    inheritable: u64,
    pub bounding: u64,
}

impl Default for Capabilities {
    fn default() -> Capabilities {
        Capabilities { effective: ALL, permitted: ALL, inheritable: 0, bounding: ALL }
    }
}

impl Capabilities {
    /// Effective, permitted, inheritable and bounding set.
    pub fn words(&self) -> [u64; 4] {
        [self.effective, self.permitted, self.inheritable, self.bounding]
    }

    /// Makes the sets from their words.
    pub fn of(words: [u64; 4]) -> Capabilities {
        let [effective, permitted, inheritable, bounding] = words.map(|word| word & ALL);
        Capabilities { effective, permitted, inheritable, bounding }
    }

    /// Returns true if a capability is effective.
    pub fn has(&self, number: u64) -> bool {
        self.effective & 1 << number != 0
    }

    /// After real, effective and saved user were changed.
    pub fn users_changed(&mut self, before: [u32; 3], after: [u32; 3], keeps: bool) {
        if before.contains(&0) && !after.contains(&0) && !keeps {
            (self.permitted, self.effective) = (0, 0);
        }
        match (before[1], after[1]) {
            (0, now) if now != 0 => self.effective = 0,
            (was, 0) if was != 0 => self.effective = self.permitted,
            _ => {}
        }
    }

    /// After the user by whom files are looked at was changed alone: what has to do with files goes
    /// and comes back.
    pub fn user_of_files_changed(&mut self, before: u32, after: u32) {
        const OF_FILES: u64 = 1 << OWNERS | 1 << FILES | 1 << FILE_SEARCH | 1 << FILE_OWNER | 1 << FILE_BITS | 1 << 9 | 1 << DEVICES | 1 << 32;
        match (before, after) {
            (0, now) if now != 0 => self.effective &= !OF_FILES,
            (was, 0) if was != 0 => self.effective |= self.permitted & OF_FILES,
            _ => {}
        }
    }

    /// Returns the sets of a new program.
    pub fn of_program(self, [real, effective]: [u32; 2]) -> Capabilities {
        let permitted = if real == 0 || effective == 0 { self.bounding | self.inheritable } else { 0 };
        Capabilities { permitted, effective: if effective == 0 { permitted } else { 0 }, ..self }
    }

    /// Returns the sets that count when the real user is checked: all permitted ones for the
    /// superuser, none for others.
    pub fn of_real(self, user: u32) -> Capabilities {
        Capabilities { effective: if user == 0 { self.permitted } else { 0 }, ..self }
    }

    /// Returns the permitted capabilities.
    pub fn permitted(&self) -> u64 {
        self.permitted
    }

    pub fn set(&mut self, effective: u64, permitted: u64, inheritable: u64) -> Result<(), Errno> {
        let may_inherit = if self.has(CAPABILITIES) { ALL } else { self.inheritable | self.permitted };
        let within = |set: u64, of: u64| set & !of == 0;
        let allowed = within(inheritable, may_inherit)
            && within(inheritable, self.inheritable | self.bounding)
            && within(permitted, self.permitted)
            && within(effective, permitted);
        if !allowed {
            return Err(EPERM);
        }
        *self = Capabilities { effective, permitted, inheritable, ..*self };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_superusers_go_with_the_superuser() {
        let mut sets = Capabilities::default();
        sets.users_changed([0, 0, 0], [0, 5, 0], false);
        assert_eq!(sets.words()[..2], [0, ALL]);
        sets.users_changed([0, 5, 0], [0, 0, 0], false);
        assert_eq!(sets.words()[..2], [ALL, ALL]);
        sets.users_changed([0, 0, 0], [5, 5, 5], false);
        assert_eq!(sets.words()[..2], [0, 0]);
        assert_eq!(sets.set(1, 1, 0), Err(EPERM));
        assert_eq!(sets.of_program([5, 0]).words()[..2], [ALL, ALL]);
    }
}
