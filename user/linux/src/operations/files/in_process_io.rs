//! Reads and writes of files inside the process.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, Errno};
use crate::abi::file_flags::{O_CLOEXEC, O_NONBLOCK, O_RDWR};
use crate::abi::signal_info::Info;
use crate::abi::time_units::MONOTONIC;
use crate::operations::clock_reading;
use crate::operations::proc;
use crate::operations::user_faults;
use crate::process::Process;
use crate::state::files::in_process_file::{FileTimer, InProcessFile};
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::proc_node::Node;
use alloc::vec::Vec;
use core::cell::RefCell;

/// Bytes of a `signalfd_siginfo`.
const SIGNAL_RECORD: usize = 128;

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

/// Reads a file that is inside the process.
pub fn read_local(process: &mut Process, file: &RefCell<InProcessFile>, into: &mut [u8]) -> Result<usize, Errno> {
    let (signals, faults) = match &*file.borrow() {
        InProcessFile::Signals(set) => (Some(*set), None),
        InProcessFile::Faults(faults) => (None, Some(*faults)),
        _ => (None, None),
    };
    if let Some(set) = signals {
        return read_signals(process, set, into);
    }
    if let Some(faults) = faults {
        return user_faults::read(process, faults, into);
    }
    if matches!(&*file.borrow(), InProcessFile::Shown(_)) {
        return proc::open::read_shown(process, file, None, into);
    }
    let place = into.get_mut(..8).ok_or(EINVAL)?;
    let value = match &mut *file.borrow_mut() {
        InProcessFile::Counter(counter) => counter.read()?,
        InProcessFile::Timer(timer) => {
            timer.timer.expire(clock_reading::now(process, MONOTONIC)?);
            attend_to_timer(process, timer);
            Some(core::mem::take(&mut timer.timer.count)).filter(|count| *count != 0).ok_or(EAGAIN)?
        }
        _ => return Err(EINVAL),
    };
    place.copy_from_slice(&value.to_le_bytes());
    Ok(8)
}

fn read_signals(process: &mut Process, set: u64, into: &mut [u8]) -> Result<usize, Errno> {
    if into.len() < SIGNAL_RECORD {
        return Err(EINVAL);
    }
    let mut done = 0;
    for place in into.chunks_exact_mut(SIGNAL_RECORD) {
        let own = process.me().pending.take(set);
        let Some(info) = own.or_else(|| process.signals.pending.take(set)) else { break };
        place.copy_from_slice(&record(&info));
        done += SIGNAL_RECORD;
    }
    if done == 0 { Err(EAGAIN) } else { Ok(done) }
}

/// Writes to a file that is inside the process.
pub fn write_local(process: &mut Process, file: &RefCell<InProcessFile>, from: &[u8]) -> Result<usize, Errno> {
    let shown = match &*file.borrow() {
        InProcessFile::Shown(shown) => Some(shown.node),
        _ => None,
    };
    if let Some(Node::Fact(_, _, "clear_refs")) = shown {
        return proc::clear_refs::write(process, from);
    }
    if let Some(node) = shown {
        return proc::memory_shortage::write_shown(process, node, from);
    }
    let bytes: [u8; 8] = from.get(..8).and_then(|bytes| bytes.try_into().ok()).ok_or(EINVAL)?;
    match &mut *file.borrow_mut() {
        InProcessFile::Counter(counter) => counter.write(u64::from_le_bytes(bytes))?,
        _ => return Err(EINVAL),
    }
    Ok(8)
}

/// Makes the agent if a timer is armed and there is none: a fork's child and a new program get
/// their timers from another process.
pub fn attend_to_timer(process: &mut Process, timer: &FileTimer) {
    if timer.timer.due.is_some() && !process.has_agent() {
        // Without it the timer is seen whenever somebody looks.
        let _ = process.call_agent();
    }
}

/// Returns true if any timers are files.
pub fn has_file_timers(process: &Process) -> bool {
    !process.file_timers.is_empty()
}

/// Lets timers that are files expire, and wakes who may wait for them; when the next is due.
pub fn fire_file_timers(process: &mut Process, now: u64) -> Option<u64> {
    let mut next = None;
    let mut fired = false;
    process.file_timers.retain(|file| {
        let Some(open) = file.upgrade() else { return false };
        let Kind::Local(local) = &open.kind else { return false };
        let InProcessFile::Timer(timer) = &mut *local.borrow_mut() else { return false };
        fired |= timer.timer.expire(now) != 0;
        next = next.into_iter().chain(timer.timer.due).min();
        true
    });
    if fired {
        process.pipe_changed();
    }
    next
}

/// Counters of other processes' descriptors must be where those find them too: a server keeps them
/// from now on.
pub fn move_counters(process: &mut Process) {
    // What was inherited and is not used yet is no counter of the process's own.
    let is_own = |file: &OpenFile| matches!(&file.kind, Kind::Local(_)) && !file.is_remote();
    let own: Vec<u64> = process.descriptors.used().filter(|(_, file)| is_own(file)).map(|(number, _)| number).collect();
    for number in own {
        if process.descriptors.get(number).is_ok_and(|file| move_counter(process, &file).is_some()) {
            process.pipe_changed();
        }
    }
}

fn move_counter(process: &mut Process, file: &OpenFile) -> Option<()> {
    let Kind::Local(local) = &file.kind else { return None };
    let (value, takes_one) = match &*local.borrow() {
        InProcessFile::Counter(counter) => (counter.value, counter.is_semaphore),
        _ => return None,
    };
    // One that no server takes stays the process's own.
    let reference = nacre_proto::directory::counter(process.services.files().ok()?, value, takes_one.into()).ok()?.file;
    if file.is_nonblocking() {
        nacre_proto::file::flags(reference.handle(), O_NONBLOCK.into()).ok()?;
    }
    file.moved.set(reference).ok()
}

pub fn open_local(process: &mut Process, local: InProcessFile, flags: u64) -> Answer {
    let flags = flags as u32;
    let file = OpenFile::new(Kind::Local(RefCell::new(local)), 0o600, O_RDWR | flags & O_NONBLOCK);
    process.open(file, flags & O_CLOEXEC != 0)
}
