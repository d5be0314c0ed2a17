//! Files that are inside the process: counters (`eventfd`), timers (`timerfd`), signals (`signalfd`). Sets of files (`epoll`) are in [`epoll`](crate::calls::files::epoll).
//!
//! What would have to wait gives `EAGAIN` here; whoever calls waits until something changes in the process.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, Errno};
use crate::abi::registers::Frame;
use crate::calls::files::epoll::Set;
use crate::calls::files::poll::{POLLIN, POLLOUT};
use crate::calls::signals::ALWAYS;
use crate::calls::time::clocks::{self, MONOTONIC};
use crate::calls::time::timers::{Timer, moment, read_setting, write_setting};
use crate::operations::files::pidfd;
use crate::operations::proc::open::Shown;
use crate::process::Process;
use crate::state::files::descriptor_table::{Kind, O_CLOEXEC, O_NONBLOCK, O_RDWR, OpenFile};
use crate::state::signals::pending::Info;
use alloc::rc::{Rc, Weak};
use core::cell::RefCell;

/// Bytes of a `signalfd_siginfo`.
const SIGNAL_RECORD: usize = 128;

/// A counter.
pub struct Counter {
    value: u64,
    /// A read takes 1, and not all.
    is_semaphore: bool,
}

impl Counter {
    fn read(&mut self) -> Result<u64, Errno> {
        if self.value == 0 {
            return Err(EAGAIN);
        }
        let taken = if self.is_semaphore { 1 } else { self.value };
        self.value -= taken;
        Ok(taken)
    }

    fn write(&mut self, by: u64) -> Result<(), Errno> {
        if by == u64::MAX {
            return Err(EINVAL);
        }
        let sum = self.value.checked_add(by).filter(|sum| *sum != u64::MAX).ok_or(EAGAIN)?;
        self.value = sum;
        Ok(())
    }

    fn events(&self) -> u64 {
        let readable = if self.value != 0 { POLLIN } else { 0 };
        readable | if self.value < u64::MAX - 1 { POLLOUT } else { 0 }
    }
}

/// A timer that is read.
pub struct FileTimer {
    timer: Timer,
    clock: u64,
}

/// What a file inside the process is.
pub enum Local {
    /// `eventfd`.
    Counter(Counter),
    /// `timerfd`.
    Timer(FileTimer),
    /// `signalfd`: the signals of a set.
    Signals(u64),
    /// `epoll`.
    Set(Set),
    /// A process, by its number.
    Process(u64),
    /// Something in `/proc`.
    Shown(Shown),
}

/// The record that a `signalfd` gives for a signal.
fn record(info: &Info) -> [u8; SIGNAL_RECORD] {
    let mut bytes = [0; SIGNAL_RECORD];
    let mut put = |at: usize, value: u64, size: usize| bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    put(0, info.signal, 4);
    put(8, u64::from(info.code as u32), 4);
    put(12, info.fields[0], 4);
    put(16, info.fields[0] >> 32, 4);
    // A child's status, or a value.
    put(40, info.fields[1], 4);
    put(44, info.fields[1], 4);
    put(48, info.fields[1], 8);
    bytes
}

impl Process {
    /// Reads a file that is inside the process.
    pub fn read_local(&mut self, file: &RefCell<Local>, into: &mut [u8]) -> Result<usize, Errno> {
        let wanted = match &*file.borrow() {
            Local::Signals(set) => Some(*set),
            _ => None,
        };
        if let Some(set) = wanted {
            return self.read_signals(set, into);
        }
        if matches!(&*file.borrow(), Local::Shown(_)) {
            return self.read_shown(file, None, into);
        }
        let place = into.get_mut(..8).ok_or(EINVAL)?;
        let value = match &mut *file.borrow_mut() {
            Local::Counter(counter) => counter.read()?,
            Local::Timer(timer) => {
                timer.timer.expire(clocks::now(self, MONOTONIC)?);
                Some(core::mem::take(&mut timer.timer.count)).filter(|count| *count != 0).ok_or(EAGAIN)?
            }
            _ => return Err(EINVAL),
        };
        place.copy_from_slice(&value.to_le_bytes());
        Ok(8)
    }

    fn read_signals(&mut self, set: u64, into: &mut [u8]) -> Result<usize, Errno> {
        if into.len() < SIGNAL_RECORD {
            return Err(EINVAL);
        }
        let mut done = 0;
        for place in into.chunks_exact_mut(SIGNAL_RECORD) {
            let own = self.me().pending.take(set);
            let Some(info) = own.or_else(|| self.signals.pending.take(set)) else { break };
            place.copy_from_slice(&record(&info));
            done += SIGNAL_RECORD;
        }
        if done == 0 { Err(EAGAIN) } else { Ok(done) }
    }

    /// Writes to a file that is inside the process.
    pub fn write_local(&mut self, file: &RefCell<Local>, from: &[u8]) -> Result<usize, Errno> {
        let shown = match &*file.borrow() {
            Local::Shown(shown) => Some(shown.node),
            _ => None,
        };
        if let Some(node) = shown {
            return self.write_shown(node, from);
        }
        let bytes: [u8; 8] = from.get(..8).and_then(|bytes| bytes.try_into().ok()).ok_or(EINVAL)?;
        match &mut *file.borrow_mut() {
            Local::Counter(counter) => counter.write(u64::from_le_bytes(bytes))?,
            _ => return Err(EINVAL),
        }
        Ok(8)
    }

    /// Which events a file inside the process has.
    pub fn local_events(&mut self, file: &RefCell<Local>) -> u64 {
        let set = match &mut *file.borrow_mut() {
            Local::Counter(counter) => return counter.events(),
            Local::Timer(timer) => {
                // A clock that does not answer leaves the timer as it is.
                timer.timer.expire(clocks::now(self, MONOTONIC).unwrap_or(0));
                return if timer.timer.count != 0 { POLLIN } else { 0 };
            }
            Local::Signals(set) => *set,
            Local::Shown(_) => return POLLIN | POLLOUT,
            Local::Process(pid) => return if pidfd::has_ended(*pid) { POLLIN } else { 0 },
            Local::Set(_) => 0,
        };
        if set != 0 {
            let there = self.signals.pending.set() | self.me().pending.set();
            return if there & set != 0 { POLLIN } else { 0 };
        }
        if self.any_ready(file) { POLLIN } else { 0 }
    }

    /// Whether there are timers that are files.
    pub fn has_file_timers(&self) -> bool {
        !self.file_timers.is_empty()
    }

    /// Lets timers that are files expire, and wakes who may wait for them; when the next is due.
    pub fn fire_file_timers(&mut self, now: u64) -> Option<u64> {
        let mut next = None;
        let mut fired = false;
        self.file_timers.retain(|file| {
            let Some(open) = file.upgrade() else { return false };
            let Kind::Local(local) = &open.kind else { return false };
            let Local::Timer(timer) = &mut *local.borrow_mut() else { return false };
            fired |= timer.timer.expire(now) != 0;
            next = next.into_iter().chain(timer.timer.due).min();
            true
        });
        if fired {
            self.pipe_changed();
        }
        next
    }

    /// Counters of other processes' descriptors must be where those find them too: a server keeps them from now on.
    pub fn move_counters(&mut self) {
        for number in self.descriptors.open_in(0, u64::MAX) {
            let Ok(file) = self.descriptors.get(number) else { continue };
            if !file.is_remote() && self.move_counter(&file).is_some() {
                self.pipe_changed();
            }
        }
    }

    fn move_counter(&mut self, file: &OpenFile) -> Option<()> {
        let Kind::Local(local) = &file.kind else { return None };
        let (value, takes_one) = match &*local.borrow() {
            Local::Counter(counter) => (counter.value, counter.is_semaphore),
            _ => return None,
        };
        // One that no server takes stays the process's own.
        let reference = nacre_proto::directory::counter(self.services.files().ok()?, value, takes_one.into()).ok()?.file;
        if file.is_nonblocking() {
            nacre_proto::file::flags(reference.handle(), O_NONBLOCK.into()).ok()?;
        }
        file.moved.set(reference).ok()
    }

    fn open_local(&mut self, local: Local, flags: u64) -> Answer {
        let flags = flags as u32;
        let file = OpenFile::new(Kind::Local(RefCell::new(local)), 0o600, O_RDWR | flags & O_NONBLOCK);
        self.open(file, flags & O_CLOEXEC != 0)
    }
}

fn check_flags(flags: u64, known: u32) -> Result<(), Errno> {
    if flags as u32 & !known == 0 { Ok(()) } else { Err(EINVAL) }
}

/// `eventfd2(value, flags)`.
pub fn eventfd2(process: &mut Process, frame: &mut Frame) -> Answer {
    const SEMAPHORE: u32 = 1;
    let [value, flags, ..] = frame.arguments();
    check_flags(flags, SEMAPHORE | O_CLOEXEC | O_NONBLOCK)?;
    let counter = Counter { value: value & 0xffff_ffff, is_semaphore: flags as u32 & SEMAPHORE != 0 };
    process.open_local(Local::Counter(counter), flags)
}

/// `eventfd(value)`.
pub fn eventfd(process: &mut Process, frame: &mut Frame) -> Answer {
    let counter = Counter { value: frame.arguments()[0] & 0xffff_ffff, is_semaphore: false };
    process.open_local(Local::Counter(counter), 0)
}

/// `epoll_create1(flags)`.
pub fn epoll_create1(process: &mut Process, frame: &mut Frame) -> Answer {
    let flags = frame.arguments()[0];
    check_flags(flags, O_CLOEXEC)?;
    process.open_local(Local::Set(Set::new()), flags)
}

/// `epoll_create(size)`.
pub fn epoll_create(process: &mut Process, frame: &mut Frame) -> Answer {
    if (frame.arguments()[0] as i32) <= 0 {
        return Err(EINVAL);
    }
    process.open_local(Local::Set(Set::new()), 0)
}

/// `timerfd_create(clock, flags)`.
pub fn timerfd_create(process: &mut Process, frame: &mut Frame) -> Answer {
    let [clock, flags, ..] = frame.arguments();
    check_flags(flags, O_CLOEXEC | O_NONBLOCK)?;
    if !matches!(clock as u32, 0 | 1 | 7 | 8 | 9) {
        return Err(EINVAL);
    }
    let timer = FileTimer { timer: Timer::new(), clock: clocks::clock(clock)? };
    let descriptor = process.open_local(Local::Timer(timer), flags)?;
    let file = Rc::downgrade(&process.descriptors.get(descriptor)?);
    process.file_timers.push(file);
    Ok(descriptor)
}

/// The timer behind a descriptor, as the file that it is.
fn timer_file(process: &Process, descriptor: u64) -> Result<Rc<OpenFile>, Errno> {
    let file = process.descriptors.get(descriptor)?;
    let is_timer = matches!(&file.kind, Kind::Local(local) if matches!(&*local.borrow(), Local::Timer(_)));
    if is_timer { Ok(file) } else { Err(EINVAL) }
}

/// Does something with the timer of such a file.
fn with_timer<R>(file: &OpenFile, work: impl FnOnce(&mut FileTimer) -> R) -> Result<R, Errno> {
    let Kind::Local(local) = &file.kind else { return Err(EINVAL) };
    match &mut *local.borrow_mut() {
        Local::Timer(timer) => Ok(work(timer)),
        _ => Err(EINVAL),
    }
}

/// `timerfd_settime(descriptor, flags, new, old)`.
pub fn timerfd_settime(process: &mut Process, frame: &mut Frame) -> Answer {
    const ABSOLUTE: u64 = 1;
    const CANCEL_ON_SET: u64 = 2;
    let [descriptor, flags, new, old, ..] = frame.arguments();
    let [interval, value] = read_setting(process, new)?;
    let file = timer_file(process, descriptor)?;
    if flags & !(ABSOLUTE | CANCEL_ON_SET) != 0 {
        return Err(EINVAL);
    }
    let clock = with_timer(&file, |timer| timer.clock)?;
    let now = clocks::now(process, MONOTONIC)?;
    let due = moment(process, clock, value, flags & ABSOLUTE != 0)?;
    let before = with_timer(&file, |timer| {
        let before = timer.timer.left(now);
        timer.timer = Timer { due, interval, count: 0 };
        before
    })?;
    if old != 0 {
        write_setting(process, old, before)?;
    }
    if due.is_some() {
        process.call_agent()?;
    }
    Ok(0)
}

/// `timerfd_gettime(descriptor, value)`.
pub fn timerfd_gettime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, value, ..] = frame.arguments();
    let file = timer_file(process, descriptor)?;
    let now = clocks::now(process, MONOTONIC)?;
    let left = with_timer(&file, |timer| {
        timer.timer.expire(now);
        timer.timer.left(now)
    })?;
    write_setting(process, value, left)?;
    Ok(0)
}

/// `signalfd4(descriptor, set, size, flags)`.
pub fn signalfd4(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, set, size, flags, ..] = frame.arguments();
    check_flags(flags, O_CLOEXEC | O_NONBLOCK)?;
    if size != 8 {
        return Err(EINVAL);
    }
    let set = process.memory.read_words::<1>(set)?[0] & !ALWAYS;
    if descriptor as i32 == -1 {
        process.has_signal_files = true;
        return process.open_local(Local::Signals(set), flags);
    }
    let file = process.descriptors.get(descriptor)?;
    let Kind::Local(local) = &file.kind else { return Err(EINVAL) };
    match &mut *local.borrow_mut() {
        Local::Signals(place) => *place = set,
        _ => return Err(EINVAL),
    }
    process.pipe_changed();
    Ok(descriptor & 0xffff_ffff)
}

/// `signalfd(descriptor, set, size)`.
pub fn signalfd(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, set, size, ..] = frame.arguments();
    frame.set_arguments([descriptor, set, size, 0, 0, 0]);
    signalfd4(process, frame)
}

/// A timer as the process keeps it, to let it expire.
pub type TimerFile = Weak<OpenFile>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_give_all_or_one() {
        let mut counter = Counter { value: 3, is_semaphore: false };
        assert_eq!((counter.read(), counter.read()), (Ok(3), Err(EAGAIN)));
        assert_eq!(counter.write(u64::MAX), Err(EINVAL));
        assert_eq!(counter.write(u64::MAX - 1), Ok(()));
        assert_eq!(counter.write(1), Err(EAGAIN));
        assert_eq!(counter.events(), POLLIN);
        let mut counter = Counter { value: 2, is_semaphore: true };
        assert_eq!((counter.read(), counter.read(), counter.read()), (Ok(1), Ok(1), Err(EAGAIN)));
        assert_eq!(counter.events(), POLLOUT);
    }
}
