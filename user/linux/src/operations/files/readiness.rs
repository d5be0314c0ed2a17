//! Readiness of files, and waits for it.

use crate::abi::errno::{Answer, EINVAL, ERESTART_UNHANDLED, Errno};
use crate::abi::poll_events::{ALWAYS, POLLERR, POLLHUP, POLLIN, POLLOUT};
use crate::abi::time_units::MONOTONIC;
use crate::operations::clock_reading::{self, now};
use crate::operations::files::in_process_io;
use crate::operations::files::pidfd;
use crate::operations::files::quiet_files;
use crate::operations::user_faults;
use crate::process::Process;
use crate::state::files::epoll_set::{Entry, FLAGS, Set};
use crate::state::files::in_process_file::InProcessFile;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::pipe::Side;
use crate::state::files::watch::Watch;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_proto::{channel, file};
use nacre_sys::Reference;

const FIRST_PAUSE: u64 = 500_000;
const LONGEST_PAUSE: u64 = 16_000_000;
pub const MILLISECOND: u64 = 1_000_000;
/// A wait without a limit.
pub const FOR_EVER: u64 = u64::MAX;

/// Returns which of `events` an open file has, and of those that are always reported.
pub fn ready(process: &mut Process, open: &OpenFile, events: u64) -> u64 {
    if let Some(faults) = open.faults()
        && (faults.features.is_none() || !open.is_nonblocking())
    {
        // As on Linux: who would wait in `read` after all is told so.
        return POLLERR;
    }
    if let Kind::Local(local) = &open.kind
        && !open.is_remote()
    {
        return local_events(process, local) & events;
    }
    let Some(end) = open.pipe() else {
        if open.options.get().has_failed() {
            return events & (POLLIN | POLLOUT) | ALWAYS;
        }
        if quiet_files::is_quiet(process, open, events, None) {
            return 0;
        }
        let Ok(target) = open.reference() else { return POLLERR };
        if let Some(now) = quiet_files::enroll(process, open, events, None) {
            return now.events & (events | ALWAYS);
        }
        if open.counts_changes() {
            // One of many that are asked each for itself, until there is a board.
            let me = process.me();
            me.quiet = me.quiet.saturating_add(1);
        }
        return process.unlocked(|| file::poll(target, events)).map_or(POLLERR, |reply| reply.events & (events | ALWAYS));
    };
    match end.side() {
        Side::Read if end.waiting() != 0 => events & POLLIN,
        Side::Read if end.is_alone() => POLLHUP,
        Side::Write if end.is_alone() => events & POLLOUT | POLLERR,
        Side::Write if end.is_ready() => events & POLLOUT,
        _ => 0,
    }
}

/// Result of watching files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watched {
    /// The agent will hear of each of them.
    pub is_complete: bool,
    /// One has an event already.
    pub is_ready: bool,
}

impl Watched {
    /// Result that needs no notification.
    pub const NOTHING: Watched = Watched { is_complete: true, is_ready: false };
    /// Result for a file whose server sends no notification.
    pub const UNKNOWN: Watched = Watched { is_complete: false, is_ready: false };

    /// Both.
    pub fn and(self, other: Watched) -> Watched {
        Watched { is_complete: self.is_complete && other.is_complete, is_ready: self.is_ready || other.is_ready }
    }
}

/// Has `ask` tell a file's server to notify these bits, unless it still has a watch of all these
/// events. `changes` are what edges are told from.
pub fn watch_with(process: &mut Process, open: &OpenFile, (events, changes): (u64, Option<[u64; 2]>), ask: impl FnOnce(&mut Process, Reference, Reference, u64) -> Result<bool, Errno>) -> Watched {
    if process.watches.holds(open.watch.get(), events, changes) {
        return Watched::NOTHING;
    }
    if open.counts_changes()
        && quiet_files::need_board(process)
        && let Some(now) = quiet_files::enroll(process, open, events, changes)
    {
        let is_ready = changes.map_or(now.events != 0, |changes| changes != [now.arrivals, now.departures]);
        return Watched { is_complete: true, is_ready };
    }
    let watch = Watch { is_on_board: false, ..process.watches.of(&open.watch) };
    let count = process.watches.count(watch);
    let Ok(agent) = process.need_agent() else { return Watched::UNKNOWN };
    let Ok(target) = open.reference() else { return Watched::NOTHING };
    let Ok(is_ready) = ask(process, target, agent, watch.bits()) else { return Watched::UNKNOWN };
    if !is_ready {
        quiet_files::replace_watch(process, open, Watch { events, notified: count, changes, ..watch });
    }
    Watched { is_complete: true, is_ready }
}

/// Returns true if any file of an epoll set is ready.
pub fn any_ready(process: &mut Process, local: &RefCell<InProcessFile>) -> bool {
    let entries = with_set(local, |set| {
        quiet_files::shelve(process, set);
        set.loud().cloned().collect::<Vec<_>>()
    });
    entries.unwrap_or_default().iter().any(|entry| entry.file.upgrade().is_some_and(|file| ready(process, &file, (entry.wanted & !FLAGS) | ALWAYS) != 0))
}

/// Has the agent told when a file of a set may be ready; other files inside the process tell
/// themselves.
pub fn watch_set(process: &mut Process, local: &RefCell<InProcessFile>) -> Watched {
    let entries = match &mut *local.borrow_mut() {
        InProcessFile::Set(set) => {
            set.wake(&process.watches);
            set.loud().filter(|entry| !quiet_files::is_watched(process, entry)).cloned().collect::<Vec<_>>()
        }
        _ => return Watched::NOTHING,
    };
    let wanted = entries.iter().filter(|entry| entry.wanted & !FLAGS != 0);
    wanted.fold(Watched::NOTHING, |all, entry| all.and(watch_entry(process, entry)))
}

fn watch_entry(process: &mut Process, entry: &Entry) -> Watched {
    let Some(file) = entry.file.upgrade() else { return Watched::NOTHING };
    let events = entry.wanted & !FLAGS;
    if entry.wanted & EDGE == 0 {
        return watch(process, &file, events);
    }
    if !file.counts_changes() {
        // What is ready and was told of is no news, and nobody tells of the next time.
        let watched = watch(process, &file, events);
        return Watched { is_complete: watched.is_complete && !watched.is_ready, is_ready: false };
    }
    let [arrivals, departures] = entry.changes;
    watch_with(process, &file, (events | EDGE, Some(entry.changes)), |_, target, agent, bits| {
        let now = channel::expect(target, events, arrivals, departures, bits, agent)?;
        Ok([now.arrivals, now.departures] != [arrivals, departures])
    })
}

/// Returns the events of a file inside the process.
pub fn local_events(process: &mut Process, file: &RefCell<InProcessFile>) -> u64 {
    let set = match &mut *file.borrow_mut() {
        InProcessFile::Counter(counter) => return counter.events(),
        InProcessFile::Timer(timer) => {
            // A clock that does not answer leaves the timer as it is.
            timer.timer.expire(clock_reading::now(process, MONOTONIC).unwrap_or(0));
            in_process_io::attend_to_timer(process, timer);
            return if timer.timer.count != 0 { POLLIN } else { 0 };
        }
        InProcessFile::Signals(set) => *set,
        InProcessFile::Shown(_) => return POLLIN | POLLOUT,
        InProcessFile::Process(pid) => return if pidfd::has_ended(*pid) { POLLIN } else { 0 },
        InProcessFile::Faults(faults) => return if user_faults::is_ready(process, *faults) { POLLIN } else { 0 },
        InProcessFile::Set(_) => 0,
    };
    if set != 0 {
        let there = process.signals.pending.set() | process.me().pending.set();
        return if there & set != 0 { POLLIN } else { 0 };
    }
    if any_ready(process, file) { POLLIN } else { 0 }
}

/// Asks that the agent hears when `open` may have one of the events. Files inside the process need
/// no asking.
pub fn watch(process: &mut Process, open: &OpenFile, events: u64) -> Watched {
    match &open.kind {
        // Nobody tells of a process that ends, unless it is a child.
        Kind::Local(_) if open.process().is_some() => Watched::UNKNOWN,
        Kind::Local(local) if !open.is_remote() => watch_set(process, local),
        Kind::Pipe(_) => Watched::NOTHING,
        _ => watch_with(process, open, (events, None), |process, target, agent, bits| {
            Ok(process.unlocked(|| file::watch(target, events, bits, agent))?.events != 0)
        }),
    }
}

/// Watches the files that `look` finds, of which there are at most `count`.
pub fn watch_all(process: &mut Process, count: u64, look: impl Fn(&Process, u64) -> Option<(Rc<OpenFile>, u64)>) -> Watched {
    let mut all = Watched::NOTHING;
    for index in 0..count {
        if let Some((open, events)) = look(process, index) {
            all = all.and(watch(process, &open, events));
        }
    }
    all
}

/// Asks `check` until it says how many are ready, or the time has passed; 0 then. Between, `watch`
/// has the agent told when it is to ask again.
pub fn wait(process: &mut Process, timeout: u64, mut check: impl FnMut(&mut Process) -> Answer, mut watch: impl FnMut(&mut Process) -> Watched) -> Answer {
    // Who does not wait is to see all that was done before, also where monitors hand notifications
    // on, which takes them a while.
    let knows = quiet_files::settle(process, timeout != 0);
    let mut count = quiet_files::looking(process, knows, &mut check)?;
    if count != 0 || timeout == 0 {
        return Ok(count);
    }
    let end = if timeout == FOR_EVER { None } else { Some(now(process, MONOTONIC)?.saturating_add(timeout)) };
    let mut pace = Pace::default();
    loop {
        if process.is_interrupted() {
            return Err(ERESTART_UNHANDLED);
        }
        process.me().awaits_pipe = true;
        let left = watch_and_sleep(process, end, &mut pace, &mut watch);
        process.me().awaits_pipe = false;
        let left = left?;
        // What the agent counts later has come during this call, too.
        count = quiet_files::looking(process, [true; 2], &mut check)?;
        if count != 0 || left == 0 {
            return Ok(count);
        }
    }
}

/// Watches files and sleeps unless one is ready; returns what was left of the time before. While
/// servers are asked the lock is free, and the agent may hear of a file that was asked for already.
/// So the thread is to be woken from before the first question on
/// ([the model](../../../../../doc/models/watched-files.pml)).
fn watch_and_sleep(process: &mut Process, end: Option<u64>, pace: &mut Pace, watch: &mut impl FnMut(&mut Process) -> Watched) -> Result<u64, Errno> {
    let seen = process.me().block.seen();
    let watched = watch(process);
    let left = match end {
        Some(end) => end.saturating_sub(now(process, MONOTONIC)?),
        None => FOR_EVER,
    };
    if let Some(rest) = pace.rest(watched, left) {
        process.sleep_since(seen, rest);
    }
    Ok(left)
}

/// Pace of questions about files whose servers do not tell.
struct Pace {
    /// Nanoseconds until the next question.
    pause: u64,
    /// A file was ready when it was watched last.
    was_ready: bool,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { pause: FIRST_PAUSE, was_ready: false }
    }
}

impl Pace {
    /// Nanoseconds to sleep, of those that are left; `None`: the files are to be looked at now.
    fn rest(&mut self, watched: Watched, left: u64) -> Option<u64> {
        // What is ready, and yet is none of what is waited for, is asked again after a while.
        let sleeps = !watched.is_ready || self.was_ready;
        self.was_ready = watched.is_ready;
        if !sleeps || left == 0 {
            return None;
        }
        let is_told = watched.is_complete && !watched.is_ready;
        let rest = if is_told { left } else { left.min(self.pause) };
        self.pause = if is_told { FIRST_PAUSE } else { (2 * self.pause).min(LONGEST_PAUSE) };
        Some(rest)
    }
}

/// Waits until a file has an event, for at most so many nanoseconds; whether it has.
pub fn wait_for_one(process: &mut Process, file: &OpenFile, event: u64, limit: u64) -> Result<bool, Errno> {
    let check = |process: &mut Process| Ok(u64::from(ready(process, file, event) != 0));
    wait(process, limit, check, |process| watch(process, file, event)).map(|count| count != 0)
}

const DEPARTURES: u64 = POLLOUT | 0x100;
/// Events of which something that comes is news: `POLLIN POLLPRI POLLRDNORM POLLRDHUP`; and those
/// of which room is.
const ARRIVALS: u64 = POLLIN | 2 | 0x40 | 0x2000;
pub const EDGE: u64 = 1 << 31;
pub const ONE_SHOT: u64 = 1 << 30;

/// Does something with a set.
pub fn with_set<R>(local: &RefCell<InProcessFile>, work: impl FnOnce(&mut Set) -> R) -> Result<R, Errno> {
    match &mut *local.borrow_mut() {
        InProcessFile::Set(set) => Ok(work(set)),
        _ => Err(EINVAL),
    }
}

/// Asks a file that counts changes for its events and counts. If these are the `known` ones, the
/// board tells of the next change.
fn look_at_changes(process: &mut Process, file: &OpenFile, wanted: u64, known: [u64; 2]) -> Option<channel::look::Reply> {
    if let Some(now) = quiet_files::enroll(process, file, wanted | EDGE, Some(known)) {
        return Some(channel::look::Reply { events: now.events & (wanted | ALWAYS), arrivals: now.arrivals, departures: now.departures });
    }
    file.reference().ok().and_then(|target| channel::look(target, wanted).ok())
}

/// Returns the events of a file in an epoll set, and those of them to report.
pub fn look(process: &mut Process, file: &OpenFile, entry: &mut Entry) -> (u64, u64) {
    let wanted = entry.wanted & !FLAGS;
    if entry.wanted & EDGE != 0 && quiet_files::is_quiet(process, file, wanted, Some(entry.changes)) {
        return (entry.told, 0);
    }
    if entry.wanted & EDGE != 0
        && !file.options.get().has_failed()
        && file.counts_changes()
        && let Some(now) = look_at_changes(process, file, wanted, entry.changes)
    {
        let before = core::mem::replace(&mut entry.changes, [now.arrivals, now.departures]);
        let came = if now.arrivals != before[0] && wanted & ARRIVALS != 0 { now.events } else { 0 };
        let went = if now.departures != before[1] && wanted & DEPARTURES != 0 { now.events } else { 0 };
        let told = core::mem::replace(&mut entry.told, now.events);
        return (now.events, came | went | now.events & !told);
    }
    let ready = ready(process, file, wanted | ALWAYS);
    let used = file.used.get();
    let news = if entry.wanted & EDGE == 0 || used != entry.used { ready } else { ready & !entry.told };
    (entry.told, entry.used) = (ready, used);
    (ready, news)
}
