//! Who the process is: user and group numbers, process and session numbers, the system's name,
//! limits.

use crate::abi::errno::{Answer, EINVAL, EPERM, Errno};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::state::capabilities::{GROUPS, USERS};
use crate::state::credentials::{Identity, KEEP, Numbers};
use alloc::vec::Vec;

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

/// The three numbers that `setuid`-like calls set: all if privileged, else the effective one, to
/// the real or the saved.
pub fn single(numbers: Numbers, number: u64, privileged: bool) -> Result<[u32; 3], Errno> {
    match number as u32 {
        KEEP => Err(EINVAL),
        number if privileged => Ok([number; 3]),
        number if number == numbers.real || number == numbers.saved => Ok([KEEP, number, KEEP]),
        _ => Err(EPERM),
    }
}

/// The three numbers that `setreuid`-like calls set. Without privilege the real one becomes the
/// real or the effective.
pub fn pair(numbers: Numbers, real: u64, effective: u64, privileged: bool) -> Result<[u32; 3], Errno> {
    let (real, effective) = (real as u32, effective as u32);
    if !privileged && ![KEEP, numbers.real, numbers.effective].contains(&real) {
        return Err(EPERM);
    }
    let after = if effective == KEEP { numbers.effective } else { effective };
    let saves = real != KEEP || effective != KEEP && effective != numbers.real;
    Ok([real, effective, if saves { after } else { KEEP }])
}

fn set_user(process: &mut Process, wanted: [u32; 3]) -> Answer {
    let identity = &mut process.identity;
    // The number that is saved follows from the others.
    let asked = [wanted[0], wanted[1], KEEP];
    identity.user.replaced(asked, identity.may(USERS))?;
    let before = identity.user.all();
    identity.user = identity.user.replaced(wanted, true)?;
    let Numbers { real, effective, saved } = identity.user;
    identity.capabilities.users_changed(before, [real, effective, saved], process.traits.keeps_capabilities);
    identity.of_files[0] = effective;
    if before[1] != effective {
        (process.traits.dumpable, process.traits.death_signal) = (0, 0);
    }
    tell_manager(identity);
    Ok(0)
}

fn tell_manager(identity: &Identity) {
    let Numbers { real, effective, saved } = identity.user;
    // Without a manager nobody else asks who the process is.
    let _ = nacre_proto::process::identity(nacre_sys::Reference::PARENT, real.into(), effective.into(), saved.into(), identity.group.real.into());
}

fn set_group(process: &mut Process, wanted: [u32; 3]) -> Answer {
    let identity = &mut process.identity;
    identity.group.replaced([wanted[0], wanted[1], KEEP], identity.may(GROUPS))?;
    identity.group = identity.group.replaced(wanted, true)?;
    identity.of_files[1] = identity.group.effective;
    tell_manager(identity);
    Ok(0)
}

/// `setuid(user)`.
pub fn setuid(process: &mut Process, frame: &mut Frame) -> Answer {
    let identity = &process.identity;
    let wanted = single(identity.user, frame.arguments()[0], identity.may(USERS))?;
    set_user(process, wanted)
}

/// `setgid(group)`.
pub fn setgid(process: &mut Process, frame: &mut Frame) -> Answer {
    let identity = &process.identity;
    let wanted = single(identity.group, frame.arguments()[0], identity.may(GROUPS))?;
    set_group(process, wanted)
}

/// `setreuid(real, effective)`.
pub fn setreuid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, ..] = frame.arguments();
    let wanted = pair(process.identity.user, real, effective, process.identity.may(USERS))?;
    set_user(process, wanted)
}

/// `setregid(real, effective)`.
pub fn setregid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, ..] = frame.arguments();
    let wanted = pair(process.identity.group, real, effective, process.identity.may(GROUPS))?;
    if !process.identity.may(GROUPS)
        && ![KEEP, process.identity.group.real, process.identity.group.effective, process.identity.group.saved].contains(&wanted[1])
    {
        return Err(EPERM);
    }
    set_group(process, wanted)
}

/// `setresuid(real, effective, saved)`.
pub fn setresuid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, saved, ..] = frame.arguments();
    let wanted = [real as u32, effective as u32, saved as u32];
    process.identity.user.replaced(wanted, process.identity.may(USERS))?;
    set_user(process, wanted)
}

/// `setresgid(real, effective, saved)`.
pub fn setresgid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [real, effective, saved, ..] = frame.arguments();
    let wanted = [real as u32, effective as u32, saved as u32];
    process.identity.group.replaced(wanted, process.identity.may(GROUPS))?;
    set_group(process, wanted)
}

fn write_numbers(process: &mut Process, frame: &Frame, numbers: Numbers) -> Answer {
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

/// The number before; the new one only if it is one of the process's, or that is privileged.
fn set_of_files(process: &mut Process, which: usize, number: u64, numbers: Numbers, privileged: bool) -> Answer {
    let number = number as u32;
    let place = &mut process.identity.of_files[which];
    let before = *place;
    if number != KEEP && (privileged || number == before || numbers.knows(number)) {
        *place = number;
        if which == 0 {
            process.identity.capabilities.user_of_files_changed(before, number);
        }
    }
    Ok(before.into())
}

/// `setfsuid(user)`.
pub fn setfsuid(process: &mut Process, frame: &mut Frame) -> Answer {
    let (numbers, privileged) = (process.identity.user, process.identity.may(USERS));
    set_of_files(process, 0, frame.arguments()[0], numbers, privileged)
}

/// `setfsgid(group)`.
pub fn setfsgid(process: &mut Process, frame: &mut Frame) -> Answer {
    let (numbers, privileged) = (process.identity.group, process.identity.may(GROUPS));
    set_of_files(process, 1, frame.arguments()[0], numbers, privileged)
}

/// `getgroups(size, list)`.
pub fn getgroups(process: &mut Process, frame: &mut Frame) -> Answer {
    let [size, list, ..] = frame.arguments();
    let (size, count) = (size as i32, process.identity.groups.len());
    if size < 0 || size != 0 && (size as usize) < count {
        return Err(EINVAL);
    }
    if size != 0 {
        for (offset, group) in (0..).step_by(4).zip(&process.identity.groups) {
            process.memory.write_half(list.wrapping_add(offset), *group)?;
        }
    }
    Ok(count as u64)
}

/// `setgroups(size, list)`.
pub fn setgroups(process: &mut Process, frame: &mut Frame) -> Answer {
    const MOST: u32 = 65_536;
    let [size, list, ..] = frame.arguments();
    if !process.identity.may(GROUPS) {
        return Err(EPERM);
    }
    if size as u32 > MOST {
        return Err(EINVAL);
    }
    let mut groups = Vec::new();
    for offset in (0..).step_by(4).take(size as u32 as usize) {
        groups.push(process.memory.read_half(list.wrapping_add(offset))?);
    }
    groups.sort_unstable();
    process.identity.groups = groups;
    Ok(0)
}

/// `umask(mask)`.
pub fn umask(process: &mut Process, frame: &mut Frame) -> Answer {
    let new = frame.arguments()[0] as u32 & 0o777;
    Ok(u64::from(core::mem::replace(&mut process.identity.umask, new)))
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
