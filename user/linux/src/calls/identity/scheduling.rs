//! Scheduling: policies, priorities and masks of processors, kept for the program to see. Time is
//! given out by the schedulers below the process.

use crate::abi::errno::{Answer, E2BIG, EACCES, EINVAL, ENOSYS, EPERM, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::state::capabilities::RESOURCES;
use crate::state::scheduling::{OTHER, Schedule};
use nacre_proto::process as manager;
use nacre_sys::Reference;

const FIRST_IN: u64 = 1;
const ROUND: u64 = 2;
const BATCH: u64 = 3;
const IDLE: u64 = 5;
const DEADLINE: u64 = 6;
/// Flag of a policy: children do not have it.
const RESET_ON_FORK: u64 = 0x4000_0000;
const MOST: u64 = 99;
/// Nanoseconds of a slice.
const SLICE: u64 = 4_000_000;

/// `ESRCH` unless it is the own process, one of its threads, or another process; whether it is the
/// own.
fn is_own(process: &mut Process, which: u64) -> Result<bool, Errno> {
    let which = which & 0xffff_ffff;
    if (which as i32) < 0 {
        return Err(EINVAL);
    }
    if which == 0 || which == process.pid() || process.threads.find(which).is_some() {
        return Ok(true);
    }
    let found = manager::numbers(Reference::PARENT, which).map_err(|_| ESRCH)?;
    if found.pid == which { Ok(false) } else { Err(ESRCH) }
}

/// Checks that a process or thread exists. A number below 0 gives the error that Linux gives here.
pub fn is_there(process: &mut Process, which: u64) -> Result<bool, Errno> {
    is_own(process, which).map_err(|error| if error == EINVAL { ESRCH } else { error })
}

fn check(policy: u64, priority: u64) -> Result<(), Errno> {
    match policy {
        FIRST_IN | ROUND if (1..=MOST).contains(&priority) => Ok(()),
        OTHER | BATCH | IDLE if priority == 0 => Ok(()),
        _ => Err(EINVAL),
    }
}

fn set(process: &mut Process, which: u64, policy: u64, priority: u64) -> Answer {
    let known = policy & !RESET_ON_FORK;
    check(known, priority)?;
    if !is_own(process, which)? {
        return if process.identity.capabilities.has(RESOURCES) { Ok(0) } else { Err(EPERM) };
    }
    if matches!(known, FIRST_IN | ROUND) && !process.identity.capabilities.has(RESOURCES) {
        return Err(EPERM);
    }
    (process.schedule.policy, process.schedule.priority) = (policy, priority);
    Ok(0)
}

/// `sched_setparam(process, parameters)`.
pub fn sched_setparam(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, address, ..] = frame.arguments();
    if address == 0 || (which as i32) < 0 {
        return Err(EINVAL);
    }
    let priority = process.memory.read_half(address)?;
    is_own(process, which)?;
    let policy = process.schedule.policy;
    set(process, which, policy, priority.into())
}

/// `sched_getparam(process, parameters)`.
pub fn sched_getparam(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, address, ..] = frame.arguments();
    if address == 0 {
        return Err(EINVAL);
    }
    let priority = if is_own(process, which)? { process.schedule.priority } else { 0 };
    process.memory.write_half(address, priority as u32)?;
    Ok(0)
}

/// `sched_setscheduler(process, policy, parameters)`.
pub fn sched_setscheduler(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, policy, address, ..] = frame.arguments();
    if address == 0 || (which as i32) < 0 || (policy as i32) < 0 {
        return Err(EINVAL);
    }
    let priority = process.memory.read_half(address)?;
    is_own(process, which)?;
    set(process, which, policy & 0xffff_ffff, priority.into())
}

/// `sched_getscheduler(process)`.
pub fn sched_getscheduler(process: &mut Process, frame: &mut Frame) -> Answer {
    let own = is_own(process, frame.arguments()[0])?;
    Ok(if own { process.schedule.policy } else { OTHER })
}

/// `sched_get_priority_max(policy)`.
pub fn sched_get_priority_max(_: &mut Process, frame: &mut Frame) -> Answer {
    match frame.arguments()[0] & 0xffff_ffff {
        FIRST_IN | ROUND => Ok(MOST),
        OTHER | BATCH | IDLE | DEADLINE => Ok(0),
        _ => Err(EINVAL),
    }
}

/// `sched_get_priority_min(policy)`.
pub fn sched_get_priority_min(_: &mut Process, frame: &mut Frame) -> Answer {
    match frame.arguments()[0] & 0xffff_ffff {
        FIRST_IN | ROUND => Ok(1),
        OTHER | BATCH | IDLE | DEADLINE => Ok(0),
        _ => Err(EINVAL),
    }
}

/// `sched_rr_get_interval(process, interval)`.
pub fn sched_rr_get_interval(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, address, ..] = frame.arguments();
    let own = is_own(process, which)?;
    let slice = match process.schedule.policy & !RESET_ON_FORK {
        FIRST_IN if own => 0,
        ROUND if own => 100_000_000,
        _ => SLICE,
    };
    process.memory.write_words(address, &[0, slice])?;
    Ok(0)
}

/// Words of a `struct sched_attr`: size and policy; flags; nice value and priority; three of
/// deadlines.
const ATTRIBUTES: usize = 6;

/// `sched_setattr(process, attributes, flags)`.
pub fn sched_setattr(process: &mut Process, frame: &mut Frame) -> Answer {
    const KEEP: u64 = 0x18;
    let [which, address, flags, ..] = frame.arguments();
    if address == 0 || flags != 0 || (which as i32) < 0 {
        return Err(EINVAL);
    }
    let size = process.memory.read_half(address)?;
    if size != 0 && (size as usize) < 8 * ATTRIBUTES {
        process.memory.write_half(address, 8 * ATTRIBUTES as u32)?;
        return Err(E2BIG);
    }
    let [head, flags, values, ..]: [u64; ATTRIBUTES] = process.memory.read_words(address)?;
    let (policy, nice, priority) = (head >> 32, i64::from(values as i32), values >> 32);
    if flags & !(KEEP | 1) != 0 {
        return Err(EINVAL);
    }
    if policy == DEADLINE {
        return Err(EPERM);
    }
    let answer = set(process, which, policy | if flags & 1 != 0 { RESET_ON_FORK } else { 0 }, priority)?;
    if matches!(policy, OTHER | BATCH) {
        set_nice(process, 0, which & 0xffff_ffff, nice)?;
    }
    Ok(answer)
}

/// `sched_getattr(process, attributes, size, flags)`.
pub fn sched_getattr(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, address, size, flags, ..] = frame.arguments();
    if address == 0 || flags != 0 || !(8 * ATTRIBUTES as u64..=4096).contains(&size) || (which as i32) < 0 {
        return Err(EINVAL);
    }
    let own = is_own(process, which)?;
    let Schedule { policy, priority, .. } = if own { process.schedule } else { Schedule::default() };
    let nice = 20 - nice_of(process, 0, which & 0xffff_ffff)? as i32;
    let head = 8 * ATTRIBUTES as u64 | (policy & !RESET_ON_FORK) << 32;
    let words = [head, u64::from(policy & RESET_ON_FORK != 0), u64::from(nice as u32) | priority << 32, 0, 0, 0];
    process.memory.write_words(address, &words)?;
    Ok(0)
}

fn nice_of(process: &mut Process, which: u64, who: u64) -> Result<u64, Errno> {
    match manager::priority(Reference::PARENT, which, who) {
        Ok(reply) => Ok(reply.value),
        Err(ENOSYS) if which > 2 => Err(EINVAL),
        Err(ENOSYS) if who == 0 || which == 0 && is_own(process, who).is_ok() => Ok(if process.schedule.own == 0 { 20 } else { process.schedule.own }),
        Err(ENOSYS) => Err(ESRCH),
        Err(error) => Err(error),
    }
}

fn set_nice(process: &mut Process, which: u64, who: u64, nice: i64) -> Answer {
    let value = (20 - nice.clamp(-20, 19)) as u64;
    match manager::priority_set(Reference::PARENT, which, who, value) {
        Ok(_) => Ok(0),
        Err(ENOSYS) => {
            let before = nice_of(process, which, who)?;
            if value > before && !process.identity.capabilities.has(RESOURCES) {
                return Err(EACCES);
            }
            process.schedule.own = value;
            Ok(0)
        }
        Err(error) => Err(error),
    }
}

/// `getpriority(which, who)`: Linux's own form, 20 less the nice value.
pub fn getpriority(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, who, ..] = frame.arguments();
    nice_of(process, which & 0xffff_ffff, who & 0xffff_ffff)
}

/// `setpriority(which, who, nice)`.
pub fn setpriority(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, who, nice, ..] = frame.arguments();
    set_nice(process, which & 0xffff_ffff, who & 0xffff_ffff, i64::from(nice as i32))
}
