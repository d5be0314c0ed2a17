//! What concerns the processor, and chance.

use crate::abi::errno::{Answer, EINVAL, ENOSYS, EPERM};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::raw::debugger;
use nacre_sys::Thread;

/// `arch_prctl(what, address)`: the base of `fs`. That of `gs` is the library's own.
pub fn arch_prctl(process: &mut Process, frame: &mut Frame) -> Answer {
    const SET_GS: u64 = 0x1001;
    const SET_FS: u64 = 0x1002;
    const GET_FS: u64 = 0x1003;
    const GET_GS: u64 = 0x1004;
    let [what, address, ..] = frame.arguments();
    match what {
        SET_FS if address >= nacre_abi::USER_END => Err(EPERM),
        SET_FS => {
            Thread::set_fs_base(address).map_err(|_| EPERM)?;
            process.me().fs_base = address;
            Ok(0)
        }
        GET_FS => {
            let base = process.me().fs_base;
            process.memory.write_words(address, &[base]).map(|()| 0)
        },
        GET_GS => process.memory.write_words(address, &[0]).map(|()| 0),
        SET_GS => Err(EPERM),
        _ => Err(EINVAL),
    }
}

/// `getrandom(buffer, size, flags)`: what `/dev/urandom` gives.
pub fn getrandom(process: &mut Process, frame: &mut Frame) -> Answer {
    const KNOWN: u64 = 7;
    const RANDOM_AND_INSECURE: u64 = 6;
    let [buffer, size, flags, ..] = frame.arguments();
    if flags & 0xffff_ffff & !KNOWN != 0 || flags & RANDOM_AND_INSECURE == RANDOM_AND_INSECURE {
        return Err(EINVAL);
    }
    let into = process.memory.writable(buffer, size.min(0x7fff_ffff))?;
    let size = into.len() as u64;
    process.services.random(into)?;
    Ok(size)
}

/// `sched_yield()`.
pub fn sched_yield(process: &mut Process, _: &mut Frame) -> Answer {
    process.unlocked(Thread::yield_now);
    Ok(0)
}

/// `rseq(..)`: C libraries ask for it at the start and do without.
pub fn rseq(_: &mut Process, _: &mut Frame) -> Answer {
    Err(ENOSYS)
}

/// `membarrier(command, flags, ..)`: every other thread of the process is stopped for a moment,
/// which is a barrier wherever it runs.
pub fn membarrier(process: &mut Process, frame: &mut Frame) -> Answer {
    const QUERY: u64 = 0;
    const GLOBAL: u64 = 1;
    /// Commands that need the one of twice the number to have been made.
    const EXPEDITED: u64 = 8 | 32;
    const REGISTER: u64 = 4 | 16 | 64;
    const ALL: u64 = GLOBAL | 2 | EXPEDITED | REGISTER;
    let [command, flags, ..] = frame.arguments();
    if flags as u32 != 0 {
        return Err(EINVAL);
    }
    match command & 0xffff_ffff {
        QUERY => return Ok(ALL),
        command if !command.is_power_of_two() || command & ALL == 0 => return Err(EINVAL),
        command if command & REGISTER != 0 => {
            process.barriers |= command;
            return Ok(0);
        }
        command if command & EXPEDITED != 0 && process.barriers & command << 1 == 0 => return Err(EPERM),
        _ => {}
    }
    let caller = process.caller;
    let _own = debugger::Turn::take();
    let is_held = |thread: Thread| debugger::is_there() && thread.get_state().is_ok();
    for (_, thread) in process.threads.all().filter(|(index, thread)| *index != caller && !is_held(thread.kernel)) {
        // One that has ended needs none.
        let _ = thread.kernel.stop().and_then(|()| thread.kernel.start());
    }
    Ok(0)
}
