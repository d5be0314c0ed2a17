//! Classes of input and output, kept for the program to see.

use crate::abi::errno::{Answer, EINVAL, EPERM};
use crate::abi::registers::Frame;
use crate::calls::identity::scheduling::is_there;
use crate::process::Process;
use crate::state::capabilities::RESOURCES;

/// Kinds of what a number names: a process, and, behind its group, a user.
const PROCESS: u64 = 1;
const USER: u64 = 3;
/// First bit of the class, and the classes: none, real time, usual, idle.
const CLASS_SHIFT: u64 = 13;
const NONE: u64 = 0;
const REAL_TIME: u64 = 1;
const USUAL: u64 = 2;
const IDLE: u64 = 3;
/// Number of levels of a class.
const LEVELS: u64 = 8;

/// Checks whom a call names; whether it is the caller.
fn is_own(process: &mut Process, which: u64, who: u64) -> Result<bool, crate::abi::errno::Errno> {
    match which & 0xffff_ffff {
        PROCESS => is_there(process, who),
        2..=USER => Ok(who & 0xffff_ffff == 0),
        _ => Err(EINVAL),
    }
}

/// `ioprio_set(which, who, priority)`.
pub fn ioprio_set(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, who, priority, ..] = frame.arguments();
    let priority = priority & 0xffff_ffff;
    let (class, level) = (priority >> CLASS_SHIFT, priority & ((1 << CLASS_SHIFT) - 1));
    match class {
        REAL_TIME if !process.identity.capabilities.has(RESOURCES) => return Err(EPERM),
        REAL_TIME | USUAL if level < LEVELS => {}
        IDLE => {}
        NONE if level == 0 => {}
        _ => return Err(EINVAL),
    }
    if is_own(process, which, who)? {
        process.schedule.io = priority as u16;
    }
    Ok(0)
}

/// `ioprio_get(which, who)`.
pub fn ioprio_get(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, who, ..] = frame.arguments();
    Ok(if is_own(process, which, who)? { process.schedule.io.into() } else { 0 })
}
