//! Waits for pages that a user-fault file brings, and what the file is told of them.
//!
//! A thread that touches such a page comes here by an exception, as it would take a signal, or out
//! of a call, which is made again. It waits like any thread of the library: signals end the wait,
//! and the thread does again what it did.

use crate::abi::errno::{EAGAIN, EFAULT, EINVAL, Errno};
use crate::abi::signal_info::Info;
use crate::abi::user_fault_layouts as layout;
use crate::abi::user_fault_layouts::{FAULT_MINOR, FAULT_PROTECTED, FAULT_WRITE, FEATURE_ADDRESS, FEATURE_SIGNAL, FEATURE_THREAD, MESSAGE, message};
use crate::operations::grow_stack;
use crate::process::Process;
use crate::state::files::in_process_file::UserFaultFile;
use crate::state::files::open_file::OpenFile;
use crate::state::memory::registered::{Event, Found, GROWTH, Lacking, Registered};
use crate::state::memory::user_faults as memory_faults;
use crate::state::threads::awaited_page::AwaitedPage;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;

const SIGBUS: u64 = 7;

/// The open file of this number, if the program has it still.
fn file_of(process: &Process, number: u64) -> Option<UserFaultFile> {
    process.descriptors.used().filter_map(|(_, file)| file.faults()).find(|file| file.number == number)
}

/// Outcome for a thread that lacks a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The thread can do again what it did.
    Again,
    /// The thread waits, as is noted.
    Waits,
    /// The thread gets a signal.
    Signal,
    /// The call fails.
    Fails,
}

/// Notes that the caller waits for a page, if its file is to be told. `is_call`: by a call.
fn begin(process: &mut Process, lacking: Lacking, address: u64, is_call: bool) -> Outcome {
    let Some(UserFaultFile { number, features, is_for_program }) = file_of(process, lacking.file) else {
        // The file has gone, and with it what it was told of.
        return match memory_faults::unregister(&mut process.memory, 0, nacre_abi::USER_END, Some(lacking.file)) {
            Ok(()) => Outcome::Again,
            Err(_) => Outcome::Signal,
        };
    };
    let found = if lacking.is_protected { Ok(Found::Missing) } else { process.memory.look_for(lacking.page) };
    let minor = match found {
        Ok(Found::Shown) => return Outcome::Again,
        Ok(Found::Minor) => FAULT_MINOR,
        Ok(Found::Missing) => 0,
        Err(_) => return if is_call { Outcome::Fails } else { Outcome::Signal },
    };
    let features = features.unwrap_or(0);
    if features & FEATURE_SIGNAL != 0 || is_call && is_for_program {
        return if is_call { Outcome::Fails } else { Outcome::Signal };
    }
    let flags = minor | if lacking.is_write { FAULT_WRITE } else { 0 } | if lacking.is_protected { FAULT_PROTECTED } else { 0 };
    let address = if features & FEATURE_ADDRESS != 0 { address } else { address & !(PAGE_SIZE - 1) };
    process.tickets += 1;
    let order = process.tickets;
    process.me().awaits_page = Some(AwaitedPage { file: number, address, flags, order, is_told: false, is_woken: false });
    process.pipe_changed();
    Outcome::Waits
}

/// An exception of the caller was for want of a page.
pub fn faulted(process: &mut Process, lacking: Lacking, address: u64) -> Outcome {
    let outcome = begin(process, lacking, address, false);
    match outcome {
        Outcome::Signal => process.force(Info { signal: SIGBUS, code: 2, fields: [address, 0, 0, 0] }),
        Outcome::Waits => process.me().block.set_attention(true),
        _ => {}
    }
    outcome
}

/// Waits until the page that the caller waits for was brought; whether it was, and not a signal
/// came.
pub fn wait(process: &mut Process) -> bool {
    let is_woken = loop {
        if process.me().awaits_page.is_none_or(|awaited| awaited.is_woken) {
            break true;
        }
        if process.is_interrupted() {
            break false;
        }
        process.sleep(nacre_sys::FOREVER);
    };
    process.me().awaits_page = None;
    is_woken
}

/// A call of the caller lacked a page. Waits for it; `EFAULT`: nobody brings it. Whether the call
/// is to be made again at once, and not after a signal.
pub fn wait_in_call(process: &mut Process) -> Result<bool, Errno> {
    let lacking = process.memory.faults.take_awaited().ok_or(EFAULT)?;
    if lacking.file == GROWTH {
        return grow_stack::grow_mapping(process, lacking.page).map(|()| true).map_err(|_| EFAULT);
    }
    if process.lock.is_none() || process.threads.get(process.caller).is_none() {
        // Who is no thread of the program's cannot wait for it.
        return Err(EFAULT);
    }
    match begin(process, lacking, lacking.page, true) {
        Outcome::Again => Ok(true),
        Outcome::Waits => Ok(wait(process)),
        Outcome::Signal | Outcome::Fails => Err(EFAULT),
    }
}

/// Wakes who waits for a page in a range.
pub fn wake(process: &mut Process, file: u64, start: u64, end: u64) {
    let pages = (start & !(PAGE_SIZE - 1))..end;
    for index in 0..process.threads.places() {
        let Some(thread) = process.threads.get_mut(index) else { continue };
        if let Some(awaited) = &mut thread.awaits_page
            && awaited.file == file
            && pages.contains(&awaited.address)
        {
            awaited.is_woken = true;
            thread.block.wake();
        }
    }
}

/// The thread whose fault the file is to be told of next.
fn next(process: &Process, file: u64) -> Option<usize> {
    let untold = |awaited: &AwaitedPage| awaited.file == file && !awaited.is_told && !awaited.is_woken;
    let waiting = process.threads.all().filter_map(|(index, thread)| Some((index, thread.awaits_page.filter(untold)?)));
    waiting.min_by_key(|(_, awaited)| awaited.order).map(|(index, _)| index)
}

/// Returns true if the file has something to tell.
pub fn is_ready(process: &Process, file: UserFaultFile) -> bool {
    next(process, file.number).is_some() || process.memory.faults.events.iter().any(|event| event.file == file.number)
}

/// A part of registered memory, and the file that is told of it.
pub type Told = (u64, u64, Registered);

/// Registered parts of a range whose files want to hear of a kind of change.
pub fn told_of(process: &Process, start: u64, end: u64, feature: u64) -> Vec<Told> {
    if !process.memory.faults.any() {
        return Vec::new();
    }
    let wants = |registered: &Registered| file_of(process, registered.file).is_some_and(|file| file.features.unwrap_or(0) & feature != 0);
    process.memory.registered_in(start, end).into_iter().filter(|(_, _, registered)| wants(registered)).collect()
}

/// Tells files of a change, and waits until they were read, or a signal comes.
pub fn tell(process: &mut Process, kind: u8, told: impl Iterator<Item = (u64, [u64; 3])>) {
    process.tickets += 1;
    let (order, thread) = (process.tickets, process.caller);
    process.memory.faults.events.extend(told.map(|(file, words)| Event { file, order, kind, words, thread }));
    let is_untold = |process: &Process| process.memory.faults.events.iter().any(|event| event.order == order);
    if !is_untold(process) {
        return;
    }
    process.pipe_changed();
    while process.lock.is_some() && is_untold(process) && !process.is_interrupted() {
        process.sleep(nacre_sys::FOREVER);
    }
}

/// Tells of parts by their first address and their end.
pub fn tell_parts(process: &mut Process, kind: u8, told: &[Told]) {
    if !told.is_empty() {
        tell(process, kind, told.iter().map(|(start, end, registered)| (registered.file, [*start, *end, 0])));
    }
}

/// Takes the next event of a file, if it came before the thread that waits longest for a page.
fn take_event(process: &mut Process, file: u64) -> Option<Event> {
    let first = next(process, file).and_then(|index| process.threads.get_mut(index)?.awaits_page).map_or(u64::MAX, |awaited| awaited.order);
    let events = &mut process.memory.faults.events;
    let at = events.iter().position(|event| event.file == file && event.order < first)?;
    let event = events.remove(at)?;
    if let Some(thread) = process.threads.get_mut(event.thread) {
        thread.block.wake();
    }
    Some(event)
}

/// Reads messages. `EAGAIN`: there is none.
pub fn read(process: &mut Process, file: UserFaultFile, into: &mut [u8]) -> Result<usize, Errno> {
    let features = file.features.ok_or(EINVAL)?;
    if into.len() < MESSAGE {
        return Err(EINVAL);
    }
    let mut done = 0;
    for place in into.chunks_exact_mut(MESSAGE) {
        if let Some(event) = take_event(process, file.number) {
            place.copy_from_slice(&layout::event(event.kind, event.words));
            done += MESSAGE;
            continue;
        }
        let Some(thread) = next(process, file.number).and_then(|index| process.threads.get_mut(index)) else { break };
        let number = if features & FEATURE_THREAD != 0 { thread.number } else { 0 };
        if let Some(awaited) = &mut thread.awaits_page {
            awaited.is_told = true;
            place.copy_from_slice(&message(awaited.flags, awaited.address, number));
            done += MESSAGE;
        }
    }
    if done == 0 { Err(EAGAIN) } else { Ok(done) }
}

/// A descriptor of the file was closed: with its last one, nobody is told of anything any more.
pub fn closed(process: &mut Process, file: &Rc<OpenFile>) {
    let Some(UserFaultFile { number, .. }) = file.faults() else { return };
    if file_of(process, number).is_none() {
        // What cannot be shown now is shown when it is touched.
        let _ = memory_faults::unregister(&mut process.memory, 0, nacre_abi::USER_END, Some(number));
        wake(process, number, 0, nacre_abi::USER_END);
        while take_event(process, number).is_some() {}
    }
}
