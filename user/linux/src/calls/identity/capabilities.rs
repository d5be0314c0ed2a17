//! What a process may do of what is the superuser's: sets of capabilities, as a container's first
//! user has them. Servers do not ask for them.

use crate::abi::errno::{Answer, EINVAL, EPERM, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::state::capabilities::{ALL, CAPABILITIES, LAST};

/// Returns the number of 32-bit words of a set in the version that the header names. An unknown
/// version in the header is replaced by the newest.
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

/// Returns 1 if a capability is in the bounding set.
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
