//! Memory that is locked. Locks are counted and held to their limit, and where a server may put
//! pages away, those that are locked stay. `msync` and `madvise` refuse what locks forbid.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, ENOMEM, EPERM, Errno};
use crate::abi::registers::Frame;
use crate::abi::signal_numbers::SIGKILL;
use crate::process::Process;
use crate::process::end::end_by_signal;
use crate::state::capabilities::MEMORY_LOCKS;
use crate::state::memory::address_map::round_up;
use crate::state::memory::locked_pages::Locked;
use crate::state::memory::residence;
use crate::state::memory::user_access;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_rt::fallible;

const CURRENT: u64 = 1;
const FUTURE: u64 = 2;
const ON_FAULT: u64 = 4;

fn check_may_lock(process: &Process) -> Result<(), Errno> {
    if process.limits.locked() != 0 || process.identity.may(MEMORY_LOCKS) { Ok(()) } else { Err(EPERM) }
}

/// Returns true if the process may lock `bytes` in all.
fn may_lock(process: &Process, bytes: u64) -> bool {
    bytes <= process.limits.locked() || process.identity.may(MEMORY_LOCKS)
}

/// Refuses to map `size` bytes more that would be locked, and may not be.
pub fn check_locked(process: &Process, size: u64, is_locked: bool) -> Result<(), Errno> {
    let locked = &process.memory.locked;
    if is_locked {
        check_may_lock(process)?;
    }
    let counts = is_locked || locked.has_future;
    if !counts || may_lock(process, locked.bytes().saturating_add(size)) { Ok(()) } else { Err(EAGAIN) }
}

/// Returns the end of the part of a range that has no gap.
pub fn reach(process: &Process, start: u64, end: u64) -> u64 {
    let mut reached = start;
    for area in process.memory.map.from(start).take_while(|area| area.start < end) {
        if area.start > reached {
            break;
        }
        reached = area.end.min(end);
    }
    reached
}

/// The pages that a range touches.
fn pages(frame: &Frame) -> Result<(u64, u64), Errno> {
    let [address, size, ..] = frame.arguments();
    let start = address & !(PAGE_SIZE - 1);
    let end = size.checked_add(address - start).and_then(round_up).and_then(|size| start.checked_add(size)).ok_or(EINVAL)?;
    Ok((start, end))
}

/// `mlock(address, size)`. What is before a gap is locked all the same.
pub fn mlock(process: &mut Process, frame: &mut Frame) -> Answer {
    lock(process, frame, false)
}

/// Brings pages of a range that nobody has touched. If there is no memory for them, the process
/// ends by `SIGKILL`, as it does when it touches them itself.
pub fn bring(process: &mut Process, start: u64, end: u64) {
    for (start, end) in residence::own_parts(&process.memory, start, end) {
        // The thread that hears of a page that does not come may need the lock before.
        let have_come = process.unlocked(|| user_access::touch_pages(start, end - start));
        if !have_come && process.memory.is_short_at(start, Rights::READ) {
            end_by_signal(process, SIGKILL);
        }
    }
}

fn lock(process: &mut Process, frame: &Frame, is_later: bool) -> Answer {
    check_may_lock(process)?;
    let (start, end) = pages(frame)?;
    let locked = &process.memory.locked;
    if !may_lock(process, locked.bytes() + (end - start) - locked.within(start, end)) {
        return Err(ENOMEM);
    }
    let reached = reach(process, start, end);
    // The memory's server knows how much it may keep: it is asked before anything comes.
    process.memory.pin(start, reached, is_later)?;
    process.memory.locked.add(start, reached);
    if !is_later {
        bring(process, start, reached);
    }
    let all_come = is_later || process.memory.map.from(start).take_while(|area| area.start < reached).all(|area| area.rights != Rights::NONE);
    if reached == end && all_come { Ok(0) } else { Err(ENOMEM) }
}

/// `mlock2(address, size, flags)`.
pub fn mlock2(process: &mut Process, frame: &mut Frame) -> Answer {
    const LATER: u64 = 1;
    let flags = frame.arguments()[2] & 0xffff_ffff;
    if flags & !LATER != 0 { Err(EINVAL) } else { lock(process, frame, flags & LATER != 0) }
}

/// `munlock(address, size)`.
pub fn munlock(process: &mut Process, frame: &mut Frame) -> Answer {
    let (start, end) = pages(frame)?;
    let reached = reach(process, start, end);
    process.memory.unpin(start, reached);
    process.memory.locked.forget(start, reached);
    if reached == end { Ok(0) } else { Err(ENOMEM) }
}

/// `mlockall(flags)`.
pub fn mlockall(process: &mut Process, frame: &mut Frame) -> Answer {
    let flags = frame.arguments()[0] & 0xffff_ffff;
    if flags == 0 || flags == ON_FAULT || flags & !(CURRENT | FUTURE | ON_FAULT) != 0 {
        return Err(EINVAL);
    }
    check_may_lock(process)?;
    let memory = &mut process.memory;
    if flags & CURRENT != 0 {
        let all = fallible::collect(memory.map.areas().map(|area| (area.start, area.end)))?;
        if !may_lock(process, all.iter().map(|(start, end)| end - start).sum()) {
            return Err(ENOMEM);
        }
        lock_all(process, &all, flags & ON_FAULT != 0)?;
    }
    let locked = &mut process.memory.locked;
    (locked.has_future, locked.is_later) = (flags & FUTURE != 0, flags & ON_FAULT != 0);
    Ok(0)
}

/// Locks areas, all or none.
fn lock_all(process: &mut Process, all: &[(u64, u64)], is_later: bool) -> Result<(), Errno> {
    for (done, (start, end)) in all.iter().enumerate() {
        if let Err(error) = process.memory.pin(*start, *end, is_later) {
            let memory = &process.memory;
            let gaps = all[..done].iter().flat_map(|(start, end)| memory.locked.gaps(*start, *end));
            gaps.for_each(|(start, end)| memory.unpin(start, end));
            return Err(error);
        }
    }
    all.iter().for_each(|(start, end)| process.memory.locked.add(*start, *end));
    Ok(())
}

/// A range was mapped, to be locked or not. As on Linux, memory that cannot be kept is there all
/// the same.
pub fn lock_mapped(process: &mut Process, start: u64, end: u64, is_locked: bool) {
    let locked = &process.memory.locked;
    if is_locked || locked.has_future {
        let is_later = !is_locked && locked.is_later;
        let _ = process.memory.pin(start, end, is_later);
        process.memory.locked.add(start, end);
        if !is_later {
            bring(process, start, end);
        }
    }
}

/// `munlockall()`.
pub fn munlockall(process: &mut Process, _: &mut Frame) -> Answer {
    for (start, end) in process.memory.locked.all() {
        process.memory.unpin(start, end);
    }
    process.memory.locked = Locked::default();
    Ok(0)
}
