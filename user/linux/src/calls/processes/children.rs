//! Waiting for children, and the numbers of processes, groups and sessions: all of them the
//! manager's to say.

use crate::abi::errno::{Answer, EAGAIN, ECHILD, EINTR, EINVAL, ENOSYS, EPERM, ERESTART, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::operations::files::pidfd;
use crate::process::Process;
use crate::state::threads::thread_table::PID;
use nacre_proto::flags::{CLD_CONTINUED, CLD_DUMPED, CLD_EXITED, CLD_KILLED, CLD_STOPPED, WALL, WCLONE, WCONTINUED, WEXITED, WNOHANG};
use nacre_proto::flags::{WNOWAIT, WUNTRACED};
use nacre_proto::{process, sender};
use nacre_sys::Reference;
use nacre_sys::ipc::{Buffers, Message};

/// Children of other threads too, which is how it is here anyway.
const WNOTHREAD: u64 = 0x2000_0000;
const SIGCHLD: u64 = 17;
/// Words of a `struct rusage`.
const USAGE: usize = 18;

/// A child that has changed.
struct Changed {
    pid: u64,
    status: u64,
    user: u64,
    /// Microseconds in the program, and in the system for it.
    times: [u64; 2],
}

/// Waits for a child. Pid 0: none has changed, and the options say not to wait.
fn wait(process: &mut Process, which: i64, options: u64) -> Result<Changed, Errno> {
    loop {
        let is_wait = options & WNOHANG == 0;
        let which = if is_wait { await_change(process, which, options | WNOWAIT)? as i64 } else { which };
        // Nothing cuts this call off, so what it takes is not lost, however many layers it comes
        // through.
        let taken = match process::wait(Reference::PARENT, which as u64, options | if is_wait { WNOHANG } else { 0 }) {
            Err(ENOSYS) => Err(ECHILD),
            taken => taken,
        };
        // Another thread can have taken what this one was told of.
        if is_wait && taken.as_ref().map_or_else(|error| *error == ECHILD, |found| found.pid == 0) {
            continue;
        }
        let found = taken?;
        if found.pid != 0 && process.has_agent() {
            // The signal about it was sent before, and is met before the program goes on, however
            // long the way to the agent is.
            process.fetch_signals();
        }
        return Ok(Changed { pid: found.pid, status: found.status, user: found.user, times: [found.user_time, found.system_time] });
    }
}

/// Waits until a child has changed: which. A signal can cut that off, even when the answer has come
/// to a monitor between the manager and us; so nothing is taken yet.
fn await_change(process: &mut Process, which: i64, options: u64) -> Result<u64, Errno> {
    let message = Message::new(process::wait::LABEL, sender::words([which as u64, options]));
    let received = process.exchange(Reference::PARENT, &message, Buffers::NONE).map_err(|error| match error {
        EINTR => ERESTART,
        // Who has no manager has no children.
        ENOSYS => ECHILD,
        error => error,
    })?;
    Ok(received.words[0])
}

fn write_usage(process: &mut Process, address: u64, [user, system]: [u64; 2]) -> Result<(), Errno> {
    if address == 0 {
        return Ok(());
    }
    const SECOND: u64 = 1_000_000;
    let mut words = [0; USAGE];
    words[..4].copy_from_slice(&[user / SECOND, user % SECOND, system / SECOND, system % SECOND]);
    process.memory.write_words(address, &words)
}

/// `wait4(process, status, options, usage)`.
pub fn wait4(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, status, options, usage, ..] = frame.arguments();
    let options = options & 0xffff_ffff;
    if options & !(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WALL | WCLONE) != 0 {
        return Err(EINVAL);
    }
    let which = i64::from(which as i32);
    if which == i64::from(i32::MIN) {
        return Err(ESRCH);
    }
    let changed = wait(process, which, options & !WNOTHREAD | WEXITED)?;
    if changed.pid == 0 {
        return Ok(0);
    }
    if status != 0 {
        process.memory.write_half(status, changed.status as u32)?;
    }
    write_usage(process, usage, changed.times)?;
    Ok(changed.pid)
}

/// `si_code` and `si_status` for a status of `wait4`.
fn told(status: u64) -> (u64, u64) {
    match status {
        0xffff => (CLD_CONTINUED, 18),
        status if status & 0xff == 0x7f => (CLD_STOPPED, status >> 8 & 0xff),
        status if status & 0x7f == 0 => (CLD_EXITED, status >> 8 & 0xff),
        status if status & 0x80 != 0 => (CLD_DUMPED, status & 0x7f),
        status => (CLD_KILLED, status & 0x7f),
    }
}

/// `waitid(kind, number, info, options, usage)`.
pub fn waitid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [kind, number, info, options, usage, _] = frame.arguments();
    let options = options & 0xffff_ffff;
    let wanted = WEXITED | WUNTRACED | WCONTINUED;
    if options & !(wanted | WNOHANG | WNOWAIT | WNOTHREAD | WALL | WCLONE) != 0 || options & wanted == 0 {
        return Err(EINVAL);
    }
    let number = i64::from(number as i32);
    let (asked, mut options) = (options, options);
    let which = match kind as u32 {
        3 => {
            let (pid, nonblocking) = pidfd::of_descriptor(process, number as u64)?;
            options |= if nonblocking { WNOHANG } else { 0 };
            pid as i64
        }
        0 => -1,
        1 if number > 0 => number,
        2 if number >= 0 => -number,
        _ => return Err(EINVAL),
    };
    let changed = wait(process, which, options & !WNOTHREAD)?;
    if changed.pid == 0 && kind as u32 == 3 && asked & WNOHANG == 0 {
        return Err(EAGAIN);
    }
    if info != 0 {
        let (code, status) = told(changed.status);
        let words = match changed.pid {
            0 => [0; 16],
            pid => core::array::from_fn(|word| match word {
                0 => SIGCHLD,
                1 => code,
                2 => pid | changed.user << 32,
                3 => status,
                _ => 0,
            }),
        };
        process.memory.write_words(info, &words)?;
    }
    write_usage(process, usage, changed.times)?;
    Ok(0)
}

/// Pid, parent, group and session of a process; of itself (0), what the only process knows, if
/// there is no manager.
fn numbers(process: u64) -> Result<[u64; 4], Errno> {
    match process::numbers(Reference::PARENT, process & 0xffff_ffff) {
        Ok(reply) => Ok([reply.pid, reply.parent, reply.group, reply.session]),
        Err(ENOSYS) if matches!(process as u32 as u64, 0 | PID) => Ok([PID, 0, PID, PID]),
        Err(ENOSYS) => Err(ESRCH),
        Err(error) => Err(error),
    }
}

/// `getpid()`.
pub fn getpid(process: &mut Process, _: &mut Frame) -> Answer {
    Ok(process.pid())
}

/// `getppid()`.
pub fn getppid(process: &mut Process, _: &mut Frame) -> Answer {
    let own = process.pid();
    if process.is_managed()
        && let Some(parent) = process.parent_in_table(own)
    {
        return Ok(parent);
    }
    numbers(0).map(|[_, parent, ..]| parent)
}

/// `getpgrp()`.
pub fn getpgrp(_: &mut Process, _: &mut Frame) -> Answer {
    numbers(0).map(|[_, _, group, _]| group)
}

/// `getpgid(process)`.
pub fn getpgid(_: &mut Process, frame: &mut Frame) -> Answer {
    numbers(frame.arguments()[0]).map(|[_, _, group, _]| group)
}

/// `getsid(process)`.
pub fn getsid(_: &mut Process, frame: &mut Frame) -> Answer {
    numbers(frame.arguments()[0]).map(|[_, _, _, session]| session)
}

/// `setpgid(process, group)`.
pub fn setpgid(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, group, ..] = frame.arguments();
    if (group as i32) < 0 {
        return Err(EINVAL);
    }
    match process::group_set(Reference::PARENT, which & 0xffff_ffff, group & 0xffff_ffff) {
        Ok(_) => Ok(0),
        Err(ENOSYS) => alone(process, which, group),
        Err(error) => Err(error),
    }
}

/// The only process leads its session, whose group cannot be changed.
fn alone(_: &mut Process, which: u64, group: u64) -> Answer {
    match (which as u32 as u64, group as u32 as u64) {
        (0 | PID, 0 | PID) => Ok(0),
        (0 | PID, _) => Err(EPERM),
        _ => Err(ESRCH),
    }
}

/// `setsid()`: a group's leader cannot.
pub fn setsid(_: &mut Process, _: &mut Frame) -> Answer {
    match process::session_create(Reference::PARENT) {
        Ok(reply) => Ok(reply.session),
        Err(ENOSYS) => Err(EPERM),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_told_as_linux_does() {
        assert_eq!(told(3 << 8), (CLD_EXITED, 3));
        assert_eq!(told(9), (CLD_KILLED, 9));
        assert_eq!(told(0x8b), (CLD_DUMPED, 11));
        assert_eq!(told(0x137f), (CLD_STOPPED, 0x13));
        assert_eq!(told(0xffff), (CLD_CONTINUED, 18));
    }
}
