//! `epoll`: sets of files, and what is waited for of each.
//!
//! A file that asks for edges is told of again when it has become ready since it was last told of. Pipes and sockets count what comes and goes, so that every change is an edge, as on Linux; of other files
//! a change is also told of when the program has used it in between.

use crate::abi::errno::{Answer, EEXIST, EINVAL, ELOOP, ENOENT, EPERM, Errno};
use crate::abi::registers::Frame;
use crate::calls::files::poll::{self, ALWAYS, FOR_EVER, POLLIN, POLLOUT, Watched};
use crate::process::Process;
use crate::state::files::descriptor_table::{Kind, OpenFile, S_IFMT};
use crate::state::files::in_process_file::Local;
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_proto::channel;

const ADD: u64 = 1;
const DELETE: u64 = 2;
const MODIFY: u64 = 3;
const EDGE: u64 = 1 << 31;
const ONE_SHOT: u64 = 1 << 30;
/// Flags that are not events.
const FLAGS: u64 = 0xf << 28;
/// Bytes of an `epoll_event`.
const RECORD: usize = 12;
/// Events of which something that comes is news: `POLLIN POLLPRI POLLRDNORM POLLRDHUP`; and those of which room is.
const ARRIVALS: u64 = POLLIN | 2 | 0x40 | 0x2000;
const DEPARTURES: u64 = POLLOUT | 0x100;
/// Deepest nesting of sets.
const DEEPEST: usize = 5;

/// One file of a set.
#[derive(Clone)]
struct Entry {
    descriptor: u64,
    file: Weak<OpenFile>,
    /// Events and flags; no events: it was told of once, which was all that was asked for.
    wanted: u64,
    data: u64,
    /// What was told last, and how much the file had been used then.
    told: u64,
    used: u32,
    /// How often something had come then, and gone.
    changes: [u64; 2],
}

/// A set of files.
pub struct Set {
    entries: Vec<Entry>,
}

impl Set {
    /// An empty one.
    pub const fn new() -> Set {
        Set { entries: Vec::new() }
    }

    fn position(&self, descriptor: u64, file: &Rc<OpenFile>) -> Option<usize> {
        self.entries.iter().position(|entry| entry.descriptor == descriptor && entry.file.as_ptr() == Rc::as_ptr(file))
    }
}

/// The set that an open file is.
fn set_of(file: &OpenFile) -> Result<&RefCell<Local>, Errno> {
    match &file.kind {
        Kind::Local(local) if matches!(&*local.borrow(), Local::Set(_)) => Ok(local),
        _ => Err(EINVAL),
    }
}

/// Does something with a set.
fn with_set<R>(local: &RefCell<Local>, work: impl FnOnce(&mut Set) -> R) -> Result<R, Errno> {
    match &mut *local.borrow_mut() {
        Local::Set(set) => Ok(work(set)),
        _ => Err(EINVAL),
    }
}

/// How deep sets are nested in a file, up to `DEEPEST`; more counts as that.
fn depth(file: &OpenFile, from: usize) -> usize {
    let Ok(local) = set_of(file) else { return 0 };
    if from >= DEEPEST {
        return DEEPEST;
    }
    let files = with_set(local, |set| set.entries.iter().filter_map(|entry| entry.file.upgrade()).collect::<Vec<_>>()).unwrap_or_default();
    1 + files.iter().map(|file| depth(file, from + 1)).max().unwrap_or(0)
}

/// Whether `file` is in the set `inner` leads to, at any depth.
fn leads_to(inner: &Rc<OpenFile>, file: &Rc<OpenFile>, from: usize) -> bool {
    if Rc::ptr_eq(inner, file) || from >= DEEPEST {
        return true;
    }
    let Ok(local) = set_of(inner) else { return false };
    let files = with_set(local, |set| set.entries.iter().filter_map(|entry| entry.file.upgrade()).collect::<Vec<_>>()).unwrap_or_default();
    files.iter().any(|next| set_of(next).is_ok() && leads_to(next, file, from + 1))
}

/// `epoll_ctl(set, operation, descriptor, event)`.
pub fn epoll_ctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, operation, descriptor, event, ..] = frame.arguments();
    let (operation, descriptor) = (operation & 0xffff_ffff, descriptor & 0xffff_ffff);
    let (wanted, data) = if operation == DELETE { (0, 0) } else { read_event(process, event)? };
    let outer = process.descriptors.get(set)?;
    let file = process.descriptors.get(descriptor)?;
    if file.is_regular() || file.mode & S_IFMT == 0o040000 {
        return Err(EPERM);
    }
    let local = set_of(&outer)?;
    if Rc::ptr_eq(&outer, &file) {
        return Err(EINVAL);
    }
    if operation == ADD && set_of(&file).is_ok() && (leads_to(&file, &outer, 0) || depth(&file, 0) >= DEEPEST) {
        return Err(ELOOP);
    }
    let position = with_set(local, |set| set.position(descriptor, &file))?;
    let entry = Entry { descriptor, file: Rc::downgrade(&file), wanted, data, told: 0, used: 0, changes: [u64::MAX; 2] };
    with_set(local, |set| match (operation, position) {
        (ADD, None) => {
            set.entries.retain(|entry| entry.file.strong_count() != 0);
            set.entries.push(entry);
            Ok(0)
        }
        (ADD, Some(_)) => Err(EEXIST),
        (MODIFY | DELETE, None) => Err(ENOENT),
        (MODIFY, Some(index)) => {
            set.entries[index] = entry;
            Ok(0)
        }
        (DELETE, Some(index)) => {
            set.entries.remove(index);
            Ok(0)
        }
        _ => Err(EINVAL),
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

impl Process {
    /// Whether anything in a set is ready.
    pub fn any_ready(&mut self, local: &RefCell<Local>) -> bool {
        let entries = with_set(local, |set| set.entries.clone()).unwrap_or_default();
        entries.iter().any(|entry| entry.file.upgrade().is_some_and(|file| poll::ready(self, &file, (entry.wanted & !FLAGS) | ALWAYS) != 0))
    }

    /// Has the agent told when a file of a set may be ready; other files inside the process tell themselves.
    pub fn watch_set(&mut self, local: &RefCell<Local>) -> Watched {
        let entries = match &*local.borrow() {
            Local::Set(set) => set.entries.clone(),
            _ => return Watched::NOTHING,
        };
        let wanted = entries.iter().filter(|entry| entry.wanted & !FLAGS != 0);
        wanted.fold(Watched::NOTHING, |all, entry| all.and(self.watch_entry(entry)))
    }

    fn watch_entry(&mut self, entry: &Entry) -> Watched {
        let Some(file) = entry.file.upgrade() else { return Watched::NOTHING };
        let events = entry.wanted & !FLAGS;
        if entry.wanted & EDGE == 0 {
            return poll::watch(self, &file, events);
        }
        if !file.counts_changes() {
            // What is ready and was told of is no news, and nobody tells of the next time.
            let watched = poll::watch(self, &file, events);
            return Watched { is_complete: watched.is_complete && !watched.is_ready, is_ready: false };
        }
        let [arrivals, departures] = entry.changes;
        self.watch_with(&file, events | EDGE, |_, target, agent, bits| {
            let now = channel::expect(target, events, arrivals, departures, bits, agent)?;
            Ok([now.arrivals, now.departures] != [arrivals, departures])
        })
    }
}

/// Which events a file of a set has, and which of them are to be told of.
fn look(process: &mut Process, file: &OpenFile, entry: &mut Entry) -> (u64, u64) {
    let wanted = entry.wanted & !FLAGS;
    if entry.wanted & EDGE != 0
        && file.counts_changes()
        && let Ok(now) = process.services.reference(file).and_then(|target| channel::look(target, wanted))
    {
        let before = core::mem::replace(&mut entry.changes, [now.arrivals, now.departures]);
        let came = if now.arrivals != before[0] && wanted & ARRIVALS != 0 { now.events } else { 0 };
        let went = if now.departures != before[1] && wanted & DEPARTURES != 0 { now.events } else { 0 };
        let told = core::mem::replace(&mut entry.told, now.events);
        return (now.events, came | went | now.events & !told);
    }
    let ready = poll::ready(process, file, wanted | ALWAYS);
    let used = file.used.get();
    let news = if entry.wanted & EDGE == 0 || used != entry.used { ready } else { ready & !entry.told };
    (entry.told, entry.used) = (ready, used);
    (ready, news)
}

/// Looks at every file of a set once, and writes up to `most` records of those that are ready.
fn collect(process: &mut Process, local: &RefCell<Local>, events: u64, most: u64) -> Answer {
    let mut count = 0;
    let mut index = 0;
    while count < most {
        let Some(mut entry) = with_set(local, |set| set.entries.get(index).cloned())? else { break };
        index += 1;
        let Some(file) = entry.file.upgrade().filter(|_| entry.wanted & !FLAGS != 0) else { continue };
        let (ready, news) = look(process, &file, &mut entry);
        if news != 0 {
            let mut record = [0; RECORD];
            record[..4].copy_from_slice(&(ready as u32).to_le_bytes());
            record[4..].copy_from_slice(&entry.data.to_le_bytes());
            process.memory.write_bytes(events + RECORD as u64 * count, &record)?;
            count += 1;
            if entry.wanted & ONE_SHOT != 0 {
                entry.wanted &= FLAGS;
            }
        }
        let changed = entry;
        with_set(local, |set| {
            if let Some(place) = set.entries.get_mut(index - 1) {
                *place = changed;
            }
        })?;
    }
    // Those that were told of go behind the others, so that all have their turn.
    with_set(local, |set| if count == most { let turn = index.min(set.entries.len()); set.entries.rotate_left(turn) })?;
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
    let members = with_set(local, |set| set.entries.len())? as u64;
    process.memory.writable(events, RECORD as u64 * most.min(members.max(1)))?;
    poll::wait(process, timeout, |process| collect(process, local, events, most), |process| process.watch_set(local))
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
