//! `madvise`: advice that is more than advice.

use crate::abi::errno::{Answer, EACCES, EFAULT, EINVAL, ENOMEM, Errno};
use crate::abi::registers::Frame;
use crate::abi::user_fault_layouts::{EVENT_EMPTIED, FEATURE_EMPTIED};
use crate::calls::memory::mapping;
use crate::calls::memory::memory_locks;
use crate::operations::user_faults;
use crate::process::Process;
use crate::state::memory::address_map::{is_page, round_up};
use crate::state::memory::mapped_part::{AtFork, Fill};
use nacre_abi::Rights;
use nacre_proto::flags::{ADVICE_BRING, ADVICE_COOL, ADVICE_PUT_AWAY};
use nacre_rt::fallible;

const WILLNEED: u64 = 3;
const DONTNEED: u64 = 4;
const FREE: u64 = 8;
const REMOVE: u64 = 9;
const DONTFORK: u64 = 10;
const DOFORK: u64 = 11;
const WIPEONFORK: u64 = 18;
const KEEPONFORK: u64 = 19;
const COLD: u64 = 20;
const PAGEOUT: u64 = 21;
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
        process.memory.hide(start, end);
        return Ok(());
    }
    let Some((file, offset)) = process.memory.origin(start) else { return process.memory.renew(start, end) };
    if rights.contains(Rights::WRITE) {
        process.memory.clear(start, end - start)?;
        mapping::fill(process, &file, start, end - start, offset + (start - from))?;
    }
    Ok(())
}

/// Returns true if the area at an address is private memory that is no copy of a file.
fn is_anonymous(process: &Process, start: u64) -> bool {
    let backing = process.memory.map.area(start).map(|area| &area.backing);
    match backing {
        Some(Fill::Own(part)) => part.is_anonymous(),
        Some(Fill::Reserved) => true,
        _ => false,
    }
}

/// Makes a part of shared memory zeros, for all who have it.
fn remove(process: &mut Process, start: u64, end: u64) -> Result<(), Errno> {
    let area = process.memory.map.area(start).ok_or(ENOMEM)?;
    let rights = area.rights;
    match &area.backing {
        _ if is_anonymous(process, start) => return Err(EINVAL),
        Fill::Own(part) if part.shared && part.is_writable() && part.is_telling() => return process.memory.renew(start, end),
        Fill::Own(part) if part.shared && part.is_writable() => {}
        _ => return Err(EACCES),
    }
    let (segment, offset) = process.memory.meeting_place(start).ok_or(ENOMEM)?;
    if segment.port().is_some_and(|port| nacre_proto::segment::clear(port, offset, end - start).is_ok()) {
        return Ok(());
    }
    // A file's memory: what lies behind its end is zeros for who makes it longer.
    let size = (end - start).min(segment.size().saturating_sub(offset));
    if size == 0 {
        return Ok(());
    }
    process.memory.protect(&mut process.services, start, end, Rights::READ.union(Rights::WRITE))?;
    let cleared = process.memory.clear(start, size);
    process.memory.protect(&mut process.services, start, end, rights)?;
    cleared
}

/// Brings the pages of a range, as if they were used so.
fn populate(process: &mut Process, start: u64, end: u64, access: Rights) -> Result<(), Errno> {
    match process.memory.map.area(start).map(|area| &area.backing) {
        Some(Fill::Beyond(rights)) if rights.contains(access) => return Err(EFAULT),
        _ if !process.memory.map.allows(start, end - start, access) => return Err(EINVAL),
        _ => {}
    }
    if access == Rights::WRITE {
        process.memory.own(start, end - start)?;
    }
    memory_locks::bring(process, start, end);
    Ok(())
}

/// Does what the advice says to a range that is there.
fn follow(process: &mut Process, start: u64, end: u64, advice: u64) -> Result<(), Errno> {
    if matches!(advice, DONTNEED | FREE | COLD | PAGEOUT | REMOVE) && process.memory.locked.touches(start, end) {
        return Err(EINVAL);
    }
    let at_fork = match advice {
        FREE if !is_anonymous(process, start) => return Err(EINVAL),
        DONTNEED | FREE | DONTNEED_LOCKED => return forget(process, start, end),
        REMOVE => return remove(process, start, end),
        POPULATE_READ => return populate(process, start, end, Rights::READ),
        POPULATE_WRITE => return populate(process, start, end, Rights::WRITE),
        WILLNEED | COLD | PAGEOUT => {
            let known = [(WILLNEED, ADVICE_BRING), (COLD, ADVICE_COOL), (PAGEOUT, ADVICE_PUT_AWAY)];
            known.into_iter().filter(|(one, _)| *one == advice).for_each(|(_, told)| process.memory.advise(start, end, told));
            return Ok(());
        }
        WIPEONFORK if !is_anonymous(process, start) => return Err(EINVAL),
        DONTFORK => AtFork::Left,
        WIPEONFORK => AtFork::Wiped,
        DOFORK | KEEPONFORK => AtFork::Copied,
        _ => return Ok(()),
    };
    for area in process.memory.map.within(start, end)? {
        match &mut area.backing {
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
    if matches!(advice, DONTNEED | FREE | DONTNEED_LOCKED | REMOVE) {
        // Files hear of it first. Meanwhile others may change the map.
        let told = user_faults::told_of(process, start, end, FEATURE_EMPTIED);
        user_faults::tell_parts(process, EVENT_EMPTIED, &told);
    }
    let areas = process.memory.map.from(start).take_while(|area| area.start < end);
    let parts = fallible::collect(areas.map(|area| (area.start.max(start), area.end.min(end))))?;
    let mut reached = start;
    let mut is_whole = true;
    for (from, to) in parts {
        is_whole &= from == reached;
        follow(process, from, to, advice)?;
        reached = to;
    }
    if is_whole && reached == end { Ok(0) } else { Err(ENOMEM) }
}
