//! Time of processors: that of a thread as the kernel tells it; that of the process is of all
//! threads that it has here, and what the manager knows of the programs that it was before.

use crate::abi::errno::{EINVAL, Errno};
use crate::abi::time_units::{MICROSECOND, SECOND};
use crate::process::Process;
use crate::state::timers::Clock;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// Linux's clock of the process.
const OF_PROCESS: u32 = 2;
/// Linux's clock of the thread.
const OF_THREAD: u32 = 3;
/// Bit of a clock number: the clock is a thread's, not a process's.
const NAMES_THREAD: u32 = 4;
/// Bits of a clock number: one of three kinds of CPU time; the fourth value is invalid.
const KIND: u32 = 3;

/// The clock with Linux's number, if it is one of time that is used. `EINVAL`: it is somebody's who
/// is not there, or another process's.
pub fn clock(process: &mut Process, number: u64) -> Result<Option<Clock>, Errno> {
    let number = number as u32;
    match number {
        OF_PROCESS => return Ok(Some(Clock::Process)),
        OF_THREAD => return Ok(Some(Clock::Thread(process.me().number))),
        _ if number as i32 >= 0 => return Ok(None),
        _ => {}
    }
    let who = u64::from(!((number as i32) >> 3) as u32);
    let found = match number & NAMES_THREAD {
        _ if number & KIND == KIND => None,
        0 => (who == 0 || who == process.pid()).then_some(Clock::Process),
        _ if who == 0 => Some(Clock::Thread(process.me().number)),
        _ => process.threads.find(who).map(|_| Clock::Thread(who)),
    };
    found.map(Some).ok_or(EINVAL)
}

/// Seconds and microseconds.
pub fn seconds(nanoseconds: u64) -> [u64; 2] {
    [nanoseconds / SECOND, nanoseconds % SECOND / MICROSECOND]
}

impl Process {
    /// Nanoseconds that the process has used.
    pub fn used(&mut self) -> u64 {
        let before = match self.used_before {
            Some(before) => before,
            None => *self.used_before.insert(times_told()[0]),
        };
        before.saturating_add(self.threads.used())
    }
}

/// Nanoseconds of the programs that the process was before, of children that it has waited for, and
/// of all processes. Who has no manager has had none of them.
pub fn times_told() -> [u64; 3] {
    manager::times(Reference::PARENT).map_or([0; 3], |reply| [reply.before, reply.children, reply.all])
}

/// Reads a clock of CPU time, in nanoseconds.
pub fn cpu_now(process: &mut Process, clock: Clock) -> Result<u64, Errno> {
    match clock {
        Clock::Process => Ok(process.used()),
        Clock::Thread(number) => {
            let index = process.threads.find(number).ok_or(EINVAL)?;
            Ok(process.threads.get(index).map_or(0, |thread| thread.used()))
        }
    }
}
