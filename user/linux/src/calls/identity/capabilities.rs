//! What a process may do of what is the superuser's: sets of capabilities, as a container's first user has them. Servers do not ask for them.

use crate::abi::errno::{Answer, EINVAL, EPERM, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::process::Process;

/// The last one that there is.
pub const LAST: u64 = 40;
const ALL: u64 = (1 << (LAST + 1)) - 1;
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
const CAPABILITIES: u64 = 8;
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

/// The sets, a bit for each capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    effective: u64,
    permitted: u64,
    inheritable: u64,
    bounding: u64,
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

    /// From them.
    pub fn of(words: [u64; 4]) -> Capabilities {
        let [effective, permitted, inheritable, bounding] = words.map(|word| word & ALL);
        Capabilities { effective, permitted, inheritable, bounding }
    }

    /// Whether one is in force.
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

    /// After the user by whom files are looked at was changed alone: what has to do with files goes and comes back.
    pub fn user_of_files_changed(&mut self, before: u32, after: u32) {
        const OF_FILES: u64 = 1 << OWNERS | 1 << FILES | 1 << FILE_SEARCH | 1 << FILE_OWNER | 1 << FILE_BITS | 1 << 9 | 1 << DEVICES | 1 << 32;
        match (before, after) {
            (0, now) if now != 0 => self.effective &= !OF_FILES,
            (was, 0) if was != 0 => self.effective |= self.permitted & OF_FILES,
            _ => {}
        }
    }

    /// Those of a new program.
    pub fn of_program(self, [real, effective]: [u32; 2]) -> Capabilities {
        let permitted = if real == 0 || effective == 0 { self.bounding | self.inheritable } else { 0 };
        Capabilities { permitted, effective: if effective == 0 { permitted } else { 0 }, ..self }
    }

    /// Those that count when real user numbers do: all that there are for the superuser, none for others.
    pub fn of_real(self, user: u32) -> Capabilities {
        Capabilities { effective: if user == 0 { self.permitted } else { 0 }, ..self }
    }

    /// Those that may be in force.
    pub fn permitted(&self) -> u64 {
        self.permitted
    }

    fn set(&mut self, effective: u64, permitted: u64, inheritable: u64) -> Result<(), Errno> {
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

/// How many words of 32 bits a set has in the form that a header names; one that is not known is replaced.
fn words_of(process: &mut Process, header: u64) -> Result<Option<u64>, Errno> {
    const VERSION_3: u32 = 0x2008_0522;
    match process.memory.read_half(header)? {
        0x1998_0330 => Ok(Some(1)),
        0x2007_1026 | VERSION_3 => Ok(Some(2)),
        _ => process.memory.write_half(header, VERSION_3).map(|()| None),
    }
}

/// `capget(header, data)`.
pub fn capget(process: &mut Process, frame: &mut Frame) -> Answer {
    let [header, data, ..] = frame.arguments();
    let Some(words) = words_of(process, header)? else {
        return if data == 0 { Ok(0) } else { Err(EINVAL) };
    };
    if data == 0 {
        return Ok(0);
    }
    let pid = process.memory.read_half(header + 4)?;
    if (pid as i32) < 0 {
        return Err(EINVAL);
    }
    let is_own = pid == 0 || process.threads.find(pid.into()).is_some();
    if !is_own {
        // Of others it is only known whether they are there, and that they were once like this one.
        nacre_proto::process::numbers(nacre_sys::Reference::PARENT, pid.into()).map_err(|_| ESRCH)?;
    }
    let [effective, permitted, inheritable, _] = process.identity.capabilities.words();
    for word in 0..words {
        for (place, set) in (0..).zip([effective, permitted, inheritable]) {
            process.memory.write_half(data + 12 * word + 4 * place, (set >> (32 * word)) as u32)?;
        }
    }
    Ok(0)
}

/// `capset(header, data)`: of the own process alone.
pub fn capset(process: &mut Process, frame: &mut Frame) -> Answer {
    let [header, data, ..] = frame.arguments();
    let Some(words) = words_of(process, header)? else { return Err(EINVAL) };
    let pid = process.memory.read_half(header + 4)?;
    if pid != 0 && process.threads.find(pid.into()).is_none() {
        return Err(EPERM);
    }
    let mut sets = [0; 3];
    for word in 0..words {
        for (place, set) in (0..).zip(&mut sets) {
            *set |= u64::from(process.memory.read_half(data + 12 * word + 4 * place)?) << (32 * word);
        }
    }
    let [effective, permitted, inheritable] = sets.map(|set| set & ALL);
    process.identity.capabilities.set(effective, permitted, inheritable)?;
    Ok(0)
}

/// Whether a capability is in the bounding set.
pub fn read_bound(process: &Process, number: u64) -> Answer {
    if number > LAST { Err(EINVAL) } else { Ok(process.identity.capabilities.bounding >> number & 1) }
}

/// Takes one out of the bounding set.
pub fn drop_bound(process: &mut Process, number: u64) -> Answer {
    let capabilities = &mut process.identity.capabilities;
    if !capabilities.has(CAPABILITIES) {
        return Err(EPERM);
    }
    if number > LAST {
        return Err(EINVAL);
    }
    capabilities.bounding &= !(1 << number);
    Ok(0)
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
