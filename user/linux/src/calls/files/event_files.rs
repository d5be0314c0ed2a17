//! Files inside the process: events, timers, signals.

use crate::abi::errno::{Answer, EINVAL, Errno};
use crate::abi::file_flags::{O_CLOEXEC, O_NONBLOCK};
use crate::abi::registers::Frame;
use crate::abi::signal_numbers::ALWAYS;
use crate::abi::time_units::MONOTONIC;
use crate::operations::clock_reading::{self, moment, read_setting, write_setting};
use crate::operations::files::in_process_io;
use crate::process::Process;
use crate::state::files::epoll_set::Set;
use crate::state::files::in_process_file::{Counter, FileTimer, InProcessFile};
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::timers::Timer;
use alloc::rc::Rc;

fn check_flags(flags: u64, known: u32) -> Result<(), Errno> {
    if flags as u32 & !known == 0 { Ok(()) } else { Err(EINVAL) }
}

/// `eventfd2(value, flags)`.
pub fn eventfd2(process: &mut Process, frame: &mut Frame) -> Answer {
    const SEMAPHORE: u32 = 1;
    let [value, flags, ..] = frame.arguments();
    check_flags(flags, SEMAPHORE | O_CLOEXEC | O_NONBLOCK)?;
    let counter = Counter { value: value & 0xffff_ffff, is_semaphore: flags as u32 & SEMAPHORE != 0 };
    in_process_io::open_local(process, InProcessFile::Counter(counter), flags)
}

/// `eventfd(value)`.
pub fn eventfd(process: &mut Process, frame: &mut Frame) -> Answer {
    let counter = Counter { value: frame.arguments()[0] & 0xffff_ffff, is_semaphore: false };
    in_process_io::open_local(process, InProcessFile::Counter(counter), 0)
}

/// `epoll_create1(flags)`.
pub fn epoll_create1(process: &mut Process, frame: &mut Frame) -> Answer {
    let flags = frame.arguments()[0];
    check_flags(flags, O_CLOEXEC)?;
    in_process_io::open_local(process, InProcessFile::Set(Set::new()), flags)
}

/// `epoll_create(size)`.
pub fn epoll_create(process: &mut Process, frame: &mut Frame) -> Answer {
    if (frame.arguments()[0] as i32) <= 0 {
        return Err(EINVAL);
    }
    in_process_io::open_local(process, InProcessFile::Set(Set::new()), 0)
}

/// `timerfd_create(clock, flags)`.
pub fn timerfd_create(process: &mut Process, frame: &mut Frame) -> Answer {
    let [clock, flags, ..] = frame.arguments();
    check_flags(flags, O_CLOEXEC | O_NONBLOCK)?;
    if !matches!(clock as u32, 0 | 1 | 7 | 8 | 9) {
        return Err(EINVAL);
    }
    let timer = FileTimer { timer: Timer::new(), clock: clock_reading::clock(clock)? };
    let descriptor = in_process_io::open_local(process, InProcessFile::Timer(timer), flags)?;
    let file = Rc::downgrade(&process.descriptors.get(descriptor)?);
    process.file_timers.push(file);
    Ok(descriptor)
}

/// The timer behind a descriptor, as the file that it is.
fn timer_file(process: &Process, descriptor: u64) -> Result<Rc<OpenFile>, Errno> {
    let file = process.descriptors.get(descriptor)?;
    let is_timer = matches!(&file.kind, Kind::Local(local) if matches!(&*local.borrow(), InProcessFile::Timer(_)));
    if is_timer { Ok(file) } else { Err(EINVAL) }
}

/// Does something with the timer of such a file.
fn with_timer<R>(file: &OpenFile, work: impl FnOnce(&mut FileTimer) -> R) -> Result<R, Errno> {
    let Kind::Local(local) = &file.kind else { return Err(EINVAL) };
    match &mut *local.borrow_mut() {
        InProcessFile::Timer(timer) => Ok(work(timer)),
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
    let now = clock_reading::now(process, MONOTONIC)?;
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
    let now = clock_reading::now(process, MONOTONIC)?;
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
        return in_process_io::open_local(process, InProcessFile::Signals(set), flags);
    }
    let file = process.descriptors.get(descriptor)?;
    let Kind::Local(local) = &file.kind else { return Err(EINVAL) };
    match &mut *local.borrow_mut() {
        InProcessFile::Signals(place) => *place = set,
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
