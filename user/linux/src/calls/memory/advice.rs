//! `madvise`: advice that is more than advice.

use crate::abi::errno::{Answer, EACCES, EINVAL, ENOMEM, Errno};
use crate::abi::registers::Frame;
use crate::calls::memory::mapping;
use crate::calls::memory::memory_locks;
use crate::process::Process;
use crate::state::memory::address_map::{is_page, round_up};
use crate::state::memory::mapped_part::{AtFork, Fill};
use nacre_abi::Rights;

const DONTNEED: u64 = 4;
const FREE: u64 = 8;
const REMOVE: u64 = 9;
const DONTFORK: u64 = 10;
const DOFORK: u64 = 11;
const WIPEONFORK: u64 = 18;
const KEEPONFORK: u64 = 19;
const POPULATE_READ: u64 = 22;
const POPULATE_WRITE: u64 = 23;
const DONTNEED_LOCKED: u64 = 24;

/// Returns true if Linux knows the advice.
fn is_known(advice: u64) -> bool {
    matches!(advice, 0..=4 | 8..=25)
}

/// A private part of the range: fresh again, whatever it was. The map stays as it is, so that other
/// threads may use what is around it, or it.
fn forget(process: &mut Process, start: u64, end: u64) -> Result<(), Errno> {
    let Some(area) = process.memory.map.area(start) else { return Ok(()) };
    let (from, rights) = (area.start, area.rights);
    if !matches!(&area.backing, Fill::Own(part) if !part.shared) {
        return Ok(());
    }
    let Some((file, offset)) = process.memory.origin(start) else { return process.memory.renew(start, end) };
    if rights.contains(Rights::WRITE) {
        process.memory.clear(start, end - start)?;
        mapping::fill(process, &file, start, end - start, offset + (start - from))?;
    }
    Ok(())
}

/// Does what the advice says to a range that is there.
fn follow(process: &mut Process, start: u64, end: u64, advice: u64) -> Result<(), Errno> {
    if matches!(advice, DONTNEED | FREE) && process.memory.locked.touches(start, end) {
        return Err(EINVAL);
    }
    let at_fork = match advice {
        DONTNEED | DONTNEED_LOCKED => return forget(process, start, end),
        DONTFORK => AtFork::Left,
        WIPEONFORK => AtFork::Wiped,
        DOFORK | KEEPONFORK => AtFork::Copied,
        POPULATE_WRITE if !process.memory.map.allows(start, end - start, Rights::WRITE) => return Err(EACCES),
        POPULATE_READ if !process.memory.map.allows(start, end - start, Rights::READ) => return Err(EACCES),
        POPULATE_READ | POPULATE_WRITE => {
            memory_locks::bring(process, start, end);
            return Ok(());
        }
        REMOVE => return Err(EINVAL),
        _ => return Ok(()),
    };
    for area in process.memory.map.within(start, end)? {
        match &mut area.backing {
            Fill::Own(part) if part.shared && at_fork == AtFork::Wiped => return Err(EINVAL),
            Fill::Own(part) => part.at_fork = at_fork,
            _ => {}
        }
    }
    Ok(())
}

/// `madvise(address, size, advice)`. Where addresses lack, the rest is done, and it says so.
pub fn madvise(process: &mut Process, frame: &mut Frame) -> Answer {
    let [start, size, advice, ..] = frame.arguments();
    let advice = advice & 0xffff_ffff;
    let end = round_up(size).and_then(|size| start.checked_add(size)).filter(|_| is_page(start) && is_known(advice)).ok_or(EINVAL)?;
    let parts: alloc::vec::Vec<(u64, u64)> =
        process.memory.map.from(start).take_while(|area| area.start < end).map(|area| (area.start.max(start), area.end.min(end))).collect();
    let mut reached = start;
    let mut is_whole = true;
    for (from, to) in parts {
        is_whole &= from == reached;
        follow(process, from, to, advice)?;
        reached = to;
    }
    if is_whole && reached == end { Ok(0) } else { Err(ENOMEM) }
}
