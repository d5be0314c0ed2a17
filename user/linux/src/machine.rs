//! What concerns the processor, and chance.

use crate::entry::Frame;
use crate::errno::{Answer, EINVAL, ENOSYS, EPERM};
use crate::process::Process;
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

/// `membarrier(command, ..)`: there is none; the query says so, and C libraries do without.
pub fn membarrier(_: &mut Process, frame: &mut Frame) -> Answer {
    if frame.arguments()[0] as i32 == 0 { Ok(0) } else { Err(EINVAL) }
}
