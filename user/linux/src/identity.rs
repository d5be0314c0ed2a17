//! Who the process is: user and group numbers, process and session numbers, the system's name, limits.

use crate::entry::Frame;
use crate::errno::{Answer, EFAULT, EINVAL, EPERM, Errno};
use crate::process::Process;

/// "No change" in calls that set several numbers.
const KEEP: u32 = u32::MAX;

/// Real, effective and saved number of a user or a group. They are kept for the program to see; servers do not ask for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    real: u32,
    effective: u32,
    saved: u32,
}

impl Numbers {
    fn knows(self, number: u32) -> bool {
        number == KEEP || [self.real, self.effective, self.saved].contains(&number)
    }

    /// `self` with `wanted` in place of those that are not [`KEEP`]. Who is not privileged may only shuffle the numbers that are there.
    fn replaced(self, wanted: [u32; 3], privileged: bool) -> Result<Numbers, Errno> {
        if !privileged && wanted.iter().any(|number| !self.knows(*number)) {
            return Err(EPERM);
        }
        let choose = |new: u32, old: u32| if new == KEEP { old } else { new };
        let [real, effective, saved] = wanted;
        Ok(Numbers { real: choose(real, self.real), effective: choose(effective, self.effective), saved: choose(saved, self.saved) })
    }
}

/// What the program can ask about itself.
#[derive(Default)]
pub struct Identity {
    user: Numbers,
    group: Numbers,
    /// Bits that are taken out of the mode of what is created.
    pub umask: u32,
    /// The process's number; 0: not asked for yet.
    pub pid: u64,
    persona: u64,
}

impl Identity {
    /// The superuser, with the usual mask.
    pub fn new() -> Identity {
        Identity { umask: 0o022, ..Identity::default() }
    }

    /// One that was handed on.
    pub fn of([user, effective, saved, group, effective_group, saved_group]: [u32; 6], umask: u32, persona: u64, pid: u64) -> Identity {
        let user = Numbers { real: user, effective, saved };
        let group = Numbers { real: group, effective: effective_group, saved: saved_group };
        Identity { user, group, umask, persona, pid, ..Identity::default() }
    }

    /// Real, effective and saved user, then group.
    pub fn owner(&self) -> [u32; 6] {
        let Identity { user, group, .. } = self;
        [user.real, user.effective, user.saved, group.real, group.effective, group.saved]
    }

    /// What `personality` was told.
    pub fn persona(&self) -> u64 {
        self.persona
    }

    fn is_privileged(&self) -> bool {
        self.user.effective == 0
    }
}

/// `getuid()`.
pub fn getuid(process: &mut Process, _: &mut Frame) -> Answer {
    Ok(u64::from(process.identity.user.real))
}

/// `geteuid()`.
pub fn geteuid(process: &mut Process, _: &mut Frame) -> Answer {
    Ok(u64::from(process.identity.user.effective))
}

/// `getgid()`.
pub fn getgid(process: &mut Process, _: &mut Frame) -> Answer {
    Ok(u64::from(process.identity.group.real))
}

/// `getegid()`.
pub fn getegid(process: &mut Process, _: &mut Frame) -> Answer {
    Ok(u64::from(process.identity.group.effective))
}

/// The three numbers that `setuid`-like calls set: all if privileged, else the effective one.
fn single(number: u64, privileged: bool) -> Result<[u32; 3], Errno> {
    match number as u32 {
        KEEP => Err(EINVAL),
        number if privileged => Ok([number; 3]),
        number => Ok([KEEP, number, KEEP]),
    }
}

/// The three numbers that `setreuid`-like calls set.
fn pair(real: u64, effective: u64) -> [u32; 3] {
    [real as u32, effective as u32, if real as u32 == KEEP { KEEP } else { effective as u32 }]
}

fn set_user(process: &mut Process, wanted: [u32; 3]) -> Answer {
    let identity = &mut process.identity;
    identity.user = identity.user.replaced(wanted, identity.is_privileged())?;
    let Numbers { real, effective, saved } = identity.user;
    // Without a manager nobody else asks who the process is.
    let _ = nacre_proto::process::identity(nacre_sys::Reference::PARENT, real.into(), effective.into(), saved.into());
    Ok(0)
}

fn set_group(process: &mut Process, wanted: [u32; 3]) -> Answer {
    let identity = &mut process.identity;
    identity.group = identity.group.replaced(wanted, identity.is_privileged())?;
    Ok(0)
}

/// `setuid(user)`.
pub fn setuid(process: &mut Process, frame: &mut Frame) -> Answer {
    let wanted = single(frame.arguments()[0], process.identity.is_privileged())?;
    set_user(process, wanted)
}

/// `setgid(group)`.
pub fn setgid(process: &mut Process, frame: &mut Frame) -> Answer {
    let wanted = single(frame.arguments()[0], process.identity.is_privileged())?;
    set_group(process, wanted)
}

/// `setreuid(real, effective)`.
pub fn setreuid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, ..] = frame.arguments();
    set_user(process, pair(real, effective))
}

/// `setregid(real, effective)`.
pub fn setregid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, ..] = frame.arguments();
    set_group(process, pair(real, effective))
}

/// `setresuid(real, effective, saved)`.
pub fn setresuid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, saved, ..] = frame.arguments();
    set_user(process, [real as u32, effective as u32, saved as u32])
}

/// `setresgid(real, effective, saved)`.
pub fn setresgid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, saved, ..] = frame.arguments();
    set_group(process, [real as u32, effective as u32, saved as u32])
}

fn write_numbers(process: &Process, frame: &Frame, numbers: Numbers) -> Answer {
    let values = [numbers.real, numbers.effective, numbers.saved];
    for (address, value) in frame.arguments().into_iter().zip(values) {
        process.memory.write_half(address, value)?;
    }
    Ok(0)
}

/// `getresuid(real, effective, saved)`.
pub fn getresuid(process: &mut Process, frame: &mut Frame) -> Answer {
    write_numbers(process, frame, process.identity.user)
}

/// `getresgid(real, effective, saved)`.
pub fn getresgid(process: &mut Process, frame: &mut Frame) -> Answer {
    write_numbers(process, frame, process.identity.group)
}

/// `setfsuid(user)`: gives the number before, which is the effective one.
pub fn setfsuid(process: &mut Process, frame: &mut Frame) -> Answer {
    geteuid(process, frame)
}

/// `setfsgid(group)`.
pub fn setfsgid(process: &mut Process, frame: &mut Frame) -> Answer {
    getegid(process, frame)
}

/// `getgroups(size, list)`: there are no further groups.
pub fn getgroups(_: &mut Process, frame: &mut Frame) -> Answer {
    if (frame.arguments()[0] as i32) < 0 { Err(EINVAL) } else { Ok(0) }
}

/// `setgroups(size, list)`.
pub fn setgroups(process: &mut Process, _: &mut Frame) -> Answer {
    if process.identity.is_privileged() { Ok(0) } else { Err(EPERM) }
}

/// `umask(mask)`.
pub fn umask(process: &mut Process, frame: &mut Frame) -> Answer {
    let new = frame.arguments()[0] as u32 & 0o777;
    Ok(u64::from(core::mem::replace(&mut process.identity.umask, new)))
}

/// `uname(buffer)`.
pub fn uname(process: &mut Process, frame: &mut Frame) -> Answer {
    const FIELD: usize = 65;
    const FIELDS: [&str; 6] = ["Linux", "nacre", "6.1.0-nacre", "#1 Nacre", "x86_64", "(none)"];
    let mut names = [0; FIELD * FIELDS.len()];
    for (place, text) in names.chunks_mut(FIELD).zip(FIELDS) {
        place[..text.len()].copy_from_slice(text.as_bytes());
    }
    process.memory.write_bytes(frame.arguments()[0], &names)?;
    Ok(0)
}

/// `personality(persona)`.
pub fn personality(process: &mut Process, frame: &mut Frame) -> Answer {
    let wanted = frame.arguments()[0] & 0xffff_ffff;
    let before = process.identity.persona;
    if wanted != 0xffff_ffff {
        process.identity.persona = wanted;
    }
    Ok(before)
}

/// `prctl(option, ..)`: the thread's name, and questions that have one answer here.
pub fn prctl(process: &mut Process, frame: &mut Frame) -> Answer {
    const SET_NAME: u64 = 15;
    const GET_NAME: u64 = 16;
    const DUMPABLE: u64 = 3;
    const NO_NEW_PRIVILEGES: u64 = 38;
    let [option, argument, ..] = frame.arguments();
    match option {
        SET_NAME => {
            let name = process.memory.string(argument, 16).or_else(|_| process.memory.readable(argument, 15).map_err(|_| EFAULT))?;
            let mut text = [0; 16];
            text[..name.len()].copy_from_slice(name);
            process.me().name = text;
            Ok(0)
        }
        GET_NAME => {
            let name = process.me().name;
            process.memory.write_bytes(argument, &name).map(|()| 0)
        }
        DUMPABLE => Ok(1),
        NO_NEW_PRIVILEGES => Ok(0),
        _ => Err(EINVAL),
    }
}

/// `getpriority(which, who)`: Linux's own form, 20 less the nice value.
pub fn getpriority(_: &mut Process, _: &mut Frame) -> Answer {
    Ok(20)
}

/// `capget(header, data)`: a privileged process has all that version 3 lists.
pub fn capget(process: &mut Process, frame: &mut Frame) -> Answer {
    const VERSION_3: u32 = 0x2008_0522;
    let [header, data, ..] = frame.arguments();
    if process.memory.read_half(header)? != VERSION_3 {
        process.memory.write_half(header, VERSION_3)?;
        return if data == 0 { Ok(0) } else { Err(EINVAL) };
    }
    if data != 0 {
        let all = if process.identity.is_privileged() { u64::MAX } else { 0 };
        process.memory.write_words(data, &[all, all & 0xffff_ffff, all & 0x1ff])?;
    }
    Ok(0)
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
        assert_eq!(single(u64::MAX, true), Err(EINVAL));
    }
}
