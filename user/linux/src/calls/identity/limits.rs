//! Resource limits and what is used. Descriptors, addresses and the break are limited here,
//! processes and signals by the manager.

use crate::abi::errno::{Answer, EINVAL};
use crate::abi::registers::Frame;
use crate::abi::time_units::MONOTONIC;
use crate::operations::cpu_time;
use crate::operations::limit_checks;
use crate::operations::proc;
use crate::process::Process;
use crate::state::capabilities::RESOURCES;

/// `getrlimit(resource, limit)`.
pub fn getrlimit(process: &mut Process, frame: &mut Frame) -> Answer {
    let [resource, limit, ..] = frame.arguments();
    process.memory.write_words(limit, &process.limits.get(resource)?)?;
    Ok(0)
}

/// `setrlimit(resource, limit)`.
pub fn setrlimit(process: &mut Process, frame: &mut Frame) -> Answer {
    let [resource, limit, ..] = frame.arguments();
    let limit = process.memory.read_words(limit)?;
    let may_raise = process.identity.may(RESOURCES);
    limit_checks::set_limit(process, resource, limit, may_raise)?;
    Ok(0)
}

/// `prlimit64(process, resource, new, old)`: of another process, its own library says and sets
/// them.
pub fn prlimit64(process: &mut Process, frame: &mut Frame) -> Answer {
    let [target, resource, new, old, ..] = frame.arguments();
    let (target, resource) = (u64::from(target as u32), u64::from(resource as u32));
    let new = if new != 0 { Some(process.memory.read_words(new)?) } else { None };
    let is_own = target == 0 || target == process.pid() || process.threads.find(target).is_some();
    let before = if is_own { process.limits.get(resource)? } else { proc::remote_query::ask_limit(process, target, resource, new)? };
    if let Some(new) = new.filter(|_| is_own) {
        let may_raise = process.identity.may(RESOURCES);
        limit_checks::set_limit(process, resource, new, may_raise)?;
    }
    if old != 0 {
        process.memory.write_words(old, &before)?;
    }
    Ok(0)
}

/// `getrusage(who, usage)`. All time is the program's: what servers do for it is not told.
pub fn getrusage(process: &mut Process, frame: &mut Frame) -> Answer {
    const SELF: i32 = 0;
    const CHILDREN: i32 = -1;
    const THREAD: i32 = 1;
    let [who, usage, ..] = frame.arguments();
    let used = match who as i32 {
        SELF => process.used(),
        THREAD => process.me().used(),
        CHILDREN => cpu_time::times_told()[1],
        _ => return Err(EINVAL),
    };
    let mut words = [0; 18];
    words[..2].copy_from_slice(&cpu_time::seconds(used));
    if who as i32 != CHILDREN {
        words[4] = process.memory.size() / 1024;
    }
    process.memory.write_words(usage, &words)?;
    Ok(0)
}

/// `sysinfo(info)`.
pub fn sysinfo(process: &mut Process, frame: &mut Frame) -> Answer {
    let (uptime, _) = process.services.clock(MONOTONIC)?;
    let (limit, used) = process.services.memory_status()?;
    let words = [uptime, 0, 0, 0, limit, limit.saturating_sub(used), 0, 0, 0, 0, 1, 0, 0, 1];
    process.memory.write_words(frame.arguments()[0], &words)?;
    Ok(0)
}

/// `getcpu(cpu, node, cache)`.
pub fn getcpu(process: &mut Process, frame: &mut Frame) -> Answer {
    for address in &frame.arguments()[..2] {
        if *address != 0 {
            process.memory.write_half(*address, 0)?;
        }
    }
    Ok(0)
}
