//! `epoll`: sets of files, and what is waited for of each.
//!
//! A file that asks for edges is told of again when it has become ready since it was last told of.
//! Pipes and sockets count what comes and goes, so that every change is an edge, as on Linux; of
//! other files a change is also told of when the program has used it in between.

use crate::abi::errno::{Answer, EEXIST, EINVAL, ELOOP, ENOENT, EPERM, Errno};
use crate::abi::file_flags::S_IFMT;
use crate::abi::poll_events::{POLLERR, POLLHUP, POLLIN, POLLOUT};
use crate::abi::registers::Frame;
use crate::calls::files::poll;
use crate::operations::files::quiet_files;
use crate::operations::files::readiness::{self, FOR_EVER, ONE_SHOT, look, with_set};
use crate::process::Process;
use crate::state::files::epoll_set::{Entry, FLAGS, Set};
use crate::state::files::in_process_file::InProcessFile;
use crate::state::files::open_file::{Kind, OpenFile};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

const ADD: u64 = 1;
const DELETE: u64 = 2;
const MODIFY: u64 = 3;
/// Flags of events: one of several sets is told; told of changes alone; the machine stays awake.
const EXCLUSIVE: u64 = 1 << 28;
const EDGES: u64 = 1 << 31;
const WAKE_UP: u64 = 1 << 29;
/// Bytes of an `epoll_event`.
const RECORD: usize = 12;
/// Deepest nesting of sets.
const DEEPEST: usize = 5;

/// The set that an open file is.
fn set_of(file: &OpenFile) -> Result<&RefCell<InProcessFile>, Errno> {
    match &file.kind {
        Kind::Local(local) if matches!(&*local.borrow(), InProcessFile::Set(_)) => Ok(local),
        _ => Err(EINVAL),
    }
}

/// Returns the depth to which epoll sets are nested in a file, at most `DEEPEST`.
fn depth(file: &OpenFile, from: usize) -> usize {
    let Ok(local) = set_of(file) else { return 0 };
    if from >= DEEPEST {
        return DEEPEST;
    }
    let files = with_set(local, |set| set.entries().filter_map(|entry| entry.file.upgrade()).collect::<Vec<_>>()).unwrap_or_default();
    1 + files.iter().map(|file| depth(file, from + 1)).max().unwrap_or(0)
}

/// Returns true if `file` is in the set `inner`, at any depth.
fn leads_to(inner: &Rc<OpenFile>, file: &Rc<OpenFile>, from: usize) -> bool {
    if Rc::ptr_eq(inner, file) || from >= DEEPEST {
        return true;
    }
    let Ok(local) = set_of(inner) else { return false };
    let files = with_set(local, |set| set.entries().filter_map(|entry| entry.file.upgrade()).collect::<Vec<_>>()).unwrap_or_default();
    files.iter().any(|next| set_of(next).is_ok() && leads_to(next, file, from + 1))
}

/// Returns true if the flag that lets one of several sets be told can be asked for with these
/// events: only when a file is added that is no set itself.
fn may_be_exclusive(operation: u64, wanted: u64, file: &OpenFile) -> bool {
    const OTHERS: u64 = POLLIN | POLLOUT | POLLERR | POLLHUP | WAKE_UP | EDGES | EXCLUSIVE;
    operation == ADD && wanted & !OTHERS == 0 && set_of(file).is_err()
}

/// `epoll_ctl(set, operation, descriptor, event)`.
pub fn epoll_ctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, operation, descriptor, event, ..] = frame.arguments();
    let (operation, descriptor) = (operation & 0xffff_ffff, descriptor & 0xffff_ffff);
    let (wanted, data) = if operation == DELETE { (0, 0) } else { read_event(process, event)? };
    let outer = process.descriptors.get(set)?;
    let file = process.descriptors.get(descriptor)?;
    if file.is_regular() || file.mode.get() & S_IFMT == 0o040000 {
        return Err(EPERM);
    }
    let local = set_of(&outer)?;
    if Rc::ptr_eq(&outer, &file) {
        return Err(EINVAL);
    }
    if wanted & EXCLUSIVE != 0 && !may_be_exclusive(operation, wanted, &file) {
        return Err(EINVAL);
    }
    if operation == ADD && set_of(&file).is_ok() && (leads_to(&file, &outer, 0) || depth(&file, 0) >= DEEPEST) {
        return Err(ELOOP);
    }
    with_set(local, |set| {
        let serial = set.next_serial();
        let entry = Entry { descriptor, file: Rc::downgrade(&file), wanted, data, told: 0, used: 0, changes: [u64::MAX; 2], serial, told_in: 0, is_looked_at: false };
        match (operation, set.find(descriptor, &file)) {
            (ADD, None) => set.add(entry)?,
            (ADD, Some(_)) => return Err(EEXIST),
            (MODIFY | DELETE, None) => return Err(ENOENT),
            (MODIFY, Some(found)) if found.wanted & EXCLUSIVE != 0 => return Err(EINVAL),
            (MODIFY, Some(_)) => drop(set.replace(entry)),
            (DELETE, Some(_)) => drop(set.remove(descriptor, &file)),
            _ => return Err(EINVAL),
        }
        Ok(0)
    })
    .flatten()
    .inspect(|_| process.pipe_changed())
}

/// An `epoll_event`: events and data, not aligned.
fn read_event(process: &Process, address: u64) -> Result<(u64, u64), Errno> {
    let bytes = process.memory.readable(address, RECORD as u64)?;
    let part = |from: usize, to: usize| bytes[from..to].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    Ok((part(0, 4), part(4, RECORD)))
}

/// Takes the next entry whose file is to be looked at, and marks it; `None`: another thread looks
/// at it. What is closed goes.
fn next_loud(set: &mut Set) -> Option<(usize, Entry)> {
    let (place, entry) = set.next_loud()?;
    if entry.file.strong_count() == 0 {
        set.empty(place);
        return None;
    }
    (!core::mem::replace(&mut entry.is_looked_at, true)).then(|| (place, entry.clone()))
}

/// Looks once at every file of a set that may have something, and writes up to `most` records of
/// those that are ready. While a server is asked, other threads may change the set and wait at it.
fn collect(process: &mut Process, local: &RefCell<InProcessFile>, events: u64, most: u64) -> Answer {
    let (loud, look_number) = with_set(local, |set| {
        quiet_files::shelve(process, set);
        (set.loud_count(), set.next_serial())
    })?;
    let mut count = 0;
    for _ in 0..loud {
        if count == most {
            break;
        }
        // Each goes behind the others, so that all have their turn.
        let Some((place, mut entry)) = with_set(local, next_loud)? else { continue };
        let Some(file) = entry.file.upgrade() else { continue };
        let before = entry.clone();
        let (ready, news) = look(process, &file, &mut entry);
        // Others may have moved the entries, so that this one was met before.
        if news == 0 || entry.told_in == look_number {
            with_set(local, |set| set.note(place, &entry))?;
            continue;
        }
        let into = process.memory.writable(events + RECORD as u64 * count, RECORD as u64);
        let Ok(into) = into else {
            with_set(local, |set| set.note(place, &before))?;
            return into.map(|_| 0);
        };
        entry.told_in = look_number;
        if entry.wanted & ONE_SHOT != 0 {
            entry.wanted &= FLAGS;
        }
        if with_set(local, |set| set.note(place, &entry))? {
            into[..4].copy_from_slice(&(ready as u32).to_le_bytes());
            into[4..].copy_from_slice(&entry.data.to_le_bytes());
            count += 1;
        }
    }
    Ok(count)
}

fn wait(process: &mut Process, arguments: [u64; 3], timeout: u64) -> Answer {
    let [set, events, most] = arguments;
    if (most as i32) <= 0 {
        return Err(EINVAL);
    }
    let most = most & 0x7fff_ffff;
    let file = process.descriptors.get(set)?;
    let local = set_of(&file)?;
    // As many as can be ready are asked for in the buffer; the rest of it is not looked at.
    let members = with_set(local, |set| set.len())? as u64;
    process.memory.writable(events, RECORD as u64 * most.min(members.max(1)))?;
    readiness::wait(process, timeout, |process| collect(process, local, events, most), |process| readiness::watch_set(process, local))
}

fn milliseconds(timeout: u64) -> u64 {
    if (timeout as i32) < 0 { FOR_EVER } else { (timeout & 0xffff_ffff) * 1_000_000 }
}

/// `epoll_wait(set, events, most, milliseconds)`.
pub fn epoll_wait(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, events, most, timeout, ..] = frame.arguments();
    wait(process, [set, events, most], milliseconds(timeout))
}

/// `epoll_pwait(set, events, most, milliseconds, mask, size)`.
pub fn epoll_pwait(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, events, most, timeout, mask, _] = frame.arguments();
    poll::with_mask(process, mask, |process| wait(process, [set, events, most], milliseconds(timeout)))
}

/// `epoll_pwait2(set, events, most, timeout, mask, size)`.
pub fn epoll_pwait2(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, events, most, timeout, mask, _] = frame.arguments();
    let timeout = poll::optional_duration(process, timeout)?;
    poll::with_mask(process, mask, |process| wait(process, [set, events, most], timeout))
}
