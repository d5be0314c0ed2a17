//! Memory that is locked. No page ever leaves memory here, so that locks are only counted and held to their limit; `msync` and `madvise` refuse what they forbid.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, ENOMEM, EPERM, Errno};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::state::capabilities::MEMORY_LOCKS;
use crate::state::memory::address_map::round_up;
use crate::state::memory::locked_pages::Locked;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;

const CURRENT: u64 = 1;
const FUTURE: u64 = 2;
const ON_FAULT: u64 = 4;

impl Process {
    fn check_may_lock(&self) -> Result<(), Errno> {
        if self.limits.locked() != 0 || self.identity.may(MEMORY_LOCKS) { Ok(()) } else { Err(EPERM) }
    }

    /// Whether so much may be locked in all.
    fn may_lock(&self, bytes: u64) -> bool {
        bytes <= self.limits.locked() || self.identity.may(MEMORY_LOCKS)
    }

    /// Refuses to map `size` bytes more that would be locked, and may not be.
    pub fn check_locked(&self, size: u64, is_locked: bool) -> Result<(), Errno> {
        let locked = &self.memory.locked;
        if is_locked {
            self.check_may_lock()?;
        }
        let counts = is_locked || locked.has_future;
        if !counts || self.may_lock(locked.bytes().saturating_add(size)) { Ok(()) } else { Err(EAGAIN) }
    }

    /// Up to where there is no gap.
    fn reach(&self, start: u64, end: u64) -> u64 {
        let mut reached = start;
        for area in self.memory.map.from(start).take_while(|area| area.start < end) {
            if area.start > reached {
                break;
            }
            reached = area.end.min(end);
        }
        reached
    }
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
    process.check_may_lock()?;
    let (start, end) = pages(frame)?;
    let locked = &process.memory.locked;
    if !process.may_lock(locked.bytes() + (end - start) - locked.within(start, end)) {
        return Err(ENOMEM);
    }
    let reached = process.reach(start, end);
    process.memory.locked.add(start, reached);
    if reached == end { Ok(0) } else { Err(ENOMEM) }
}

/// `mlock2(address, size, flags)`.
pub fn mlock2(process: &mut Process, frame: &mut Frame) -> Answer {
    const LATER: u64 = 1;
    if frame.arguments()[2] & 0xffff_ffff & !LATER != 0 { Err(EINVAL) } else { mlock(process, frame) }
}

/// `munlock(address, size)`.
pub fn munlock(process: &mut Process, frame: &mut Frame) -> Answer {
    let (start, end) = pages(frame)?;
    let reached = process.reach(start, end);
    process.memory.locked.forget(start, reached);
    if reached == end { Ok(0) } else { Err(ENOMEM) }
}

/// `mlockall(flags)`.
pub fn mlockall(process: &mut Process, frame: &mut Frame) -> Answer {
    let flags = frame.arguments()[0] & 0xffff_ffff;
    if flags == 0 || flags == ON_FAULT || flags & !(CURRENT | FUTURE | ON_FAULT) != 0 {
        return Err(EINVAL);
    }
    process.check_may_lock()?;
    let memory = &mut process.memory;
    if flags & CURRENT != 0 {
        let all: Vec<(u64, u64)> = memory.map.areas().map(|area| (area.start, area.end)).collect();
        if !process.may_lock(all.iter().map(|(start, end)| end - start).sum()) {
            return Err(ENOMEM);
        }
        all.into_iter().for_each(|(start, end)| process.memory.locked.add(start, end));
    }
    process.memory.locked.has_future = flags & FUTURE != 0;
    Ok(0)
}

/// `munlockall()`.
pub fn munlockall(process: &mut Process, _: &mut Frame) -> Answer {
    process.memory.locked = Locked::default();
    Ok(0)
}
