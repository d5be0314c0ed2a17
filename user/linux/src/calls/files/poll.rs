//! Waiting for several files at once. Servers say what is ready, and tell the agent once when that may have changed: they are asked for that again when they have. Of one that does not,
//! a wait asks again and again, at growing intervals up to [`LONGEST_PAUSE`].

use crate::abi::errno::{Answer, EINVAL, ERESTART_UNHANDLED, Errno};
use crate::abi::registers::Frame;
use crate::calls::identity::limits::MOST_DESCRIPTORS;
use crate::calls::time::clocks::{MICROSECOND, MONOTONIC, SECOND, duration, duration_of_timeval, now};
use crate::process::Process;
use crate::state::files::descriptor_table::{Kind, OpenFile};
use crate::state::files::pipe::Side;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::KERNEL_BITS;
use nacre_proto::file;
use nacre_sys::Reference;

/// Something can be read.
pub const POLLIN: u64 = 1;
const POLLPRI: u64 = 2;
/// Something can be written.
pub const POLLOUT: u64 = 4;
/// Something is wrong.
pub const POLLERR: u64 = 8;
const POLLHUP: u64 = 0x10;
const POLLNVAL: u64 = 0x20;
/// What poll reports though nobody asks for it.
pub const ALWAYS: u64 = POLLERR | POLLHUP;
const FIRST_PAUSE: u64 = 500_000;
const LONGEST_PAUSE: u64 = 16_000_000;
const MILLISECOND: u64 = 1_000_000;
/// A wait without a limit.
pub const FOR_EVER: u64 = u64::MAX;
/// Bytes of a `struct pollfd`.
const ENTRY: u64 = 8;

/// Which of `events`, and of those that are told in any case, an open file has.
pub fn ready(process: &mut Process, open: &OpenFile, events: u64) -> u64 {
    if let Kind::Local(local) = &open.kind
        && !open.is_remote()
    {
        return process.local_events(local) & events;
    }
    let Some(end) = open.pipe() else {
        if open.options.get().has_failed() {
            return events & (POLLIN | POLLOUT) | ALWAYS;
        }
        let Ok(target) = process.services.reference(open) else { return POLLERR };
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

/// What came of watching files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watched {
    /// The agent will hear of each of them.
    pub is_complete: bool,
    /// One has an event already.
    pub is_ready: bool,
}

impl Watched {
    /// Nothing needs to be heard of.
    pub const NOTHING: Watched = Watched { is_complete: true, is_ready: false };
    /// Nobody will tell.
    pub const UNKNOWN: Watched = Watched { is_complete: false, is_ready: false };

    /// Both.
    pub fn and(self, other: Watched) -> Watched {
        Watched { is_complete: self.is_complete && other.is_complete, is_ready: self.is_ready || other.is_ready }
    }
}

/// Bits of the notifications that tell of files: each file has one of them, which it may share.
pub const FILES: u64 = !0 << FIRST_BIT & !KERNEL_BITS;
const FIRST_BIT: u32 = 8;
const BITS: usize = FILES.count_ones() as usize;

/// A watch that a file's server has taken, and has not told of yet as long as its bit was notified so often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    events: u64,
    /// Its bit, counted from 1; 0: it has none yet.
    bit: u8,
    notified: u32,
}

/// How often each bit was notified, and which a new file gets.
pub struct Watches {
    notified: [u32; BITS],
    next: u8,
}

impl Watches {
    /// None yet.
    pub const fn new() -> Watches {
        Watches { notified: [0; BITS], next: 0 }
    }

    /// Bits have come: what stood at them is to be asked for again.
    pub fn notified(&mut self, bits: u64) {
        for (index, count) in self.notified.iter_mut().enumerate() {
            *count = count.wrapping_add((bits >> (FIRST_BIT as usize + index) & 1) as u32);
        }
    }

    /// The watch of a file; a bit is chosen if it has none.
    fn of(&mut self, file: &OpenFile) -> Watch {
        let mut watch = file.watch.get();
        if watch.bit == 0 {
            self.next = (self.next + 1) % BITS as u8;
            watch = Watch { events: 0, bit: self.next + 1, notified: 0 };
            file.watch.set(watch);
        }
        watch
    }

    fn count(&self, watch: Watch) -> u32 {
        self.notified.get(usize::from(watch.bit) - 1).copied().unwrap_or_default()
    }
}

impl Watch {
    /// What is notified.
    fn bits(self) -> u64 {
        1 << (FIRST_BIT + u32::from(self.bit) - 1)
    }
}

impl Process {
    /// Has `ask` tell a file's server to notify these bits, unless it still has a watch of all these events.
    pub fn watch_with(&mut self, open: &OpenFile, events: u64, ask: impl FnOnce(&mut Process, Reference, Reference, u64) -> Result<bool, Errno>) -> Watched {
        let watch = self.watches.of(open);
        let count = self.watches.count(watch);
        if events & !watch.events == 0 && watch.notified == count && watch.events != 0 {
            return Watched::NOTHING;
        }
        let Ok(agent) = self.need_agent() else { return Watched::UNKNOWN };
        let Ok(target) = self.services.reference(open) else { return Watched::NOTHING };
        let Ok(is_ready) = ask(self, target, agent, watch.bits()) else { return Watched::UNKNOWN };
        if !is_ready {
            open.watch.set(Watch { events, notified: count, ..watch });
        }
        Watched { is_complete: true, is_ready }
    }
}

/// Asks that the agent hears when `open` may have one of the events. Files inside the process need no asking.
pub fn watch(process: &mut Process, open: &OpenFile, events: u64) -> Watched {
    match &open.kind {
        // Nobody tells of a process that ends, unless it is a child.
        Kind::Local(_) if open.process().is_some() => Watched::UNKNOWN,
        Kind::Local(local) if !open.is_remote() => process.watch_set(local),
        Kind::Pipe(_) => Watched::NOTHING,
        _ => process.watch_with(open, events, |process, target, agent, bits| {
            Ok(process.unlocked(|| file::watch(target, events, bits, agent))?.events != 0)
        }),
    }
}

/// Watches several files.
fn watch_all(process: &mut Process, files: &[(Rc<OpenFile>, u64)]) -> Watched {
    files.iter().fold(Watched::NOTHING, |all, (open, events)| all.and(watch(process, open, *events)))
}

/// Asks `check` until it says how many are ready, or the time has passed; 0 then. Between, `watch` has the agent told when it is to ask again.
pub fn wait(process: &mut Process, timeout: u64, mut check: impl FnMut(&mut Process) -> Answer, mut watch: impl FnMut(&mut Process) -> Watched) -> Answer {
    let mut count = check(process)?;
    if count != 0 || timeout == 0 {
        return Ok(count);
    }
    let end = if timeout == FOR_EVER { None } else { Some(now(process, MONOTONIC)?.saturating_add(timeout)) };
    let mut pause = FIRST_PAUSE;
    let mut was_ready = false;
    loop {
        if process.is_interrupted() {
            return Err(ERESTART_UNHANDLED);
        }
        let watched = watch(process);
        let left = match end {
            Some(end) => end.saturating_sub(now(process, MONOTONIC)?),
            None => FOR_EVER,
        };
        // What is ready, and yet is none of what is waited for, is asked again after a while.
        let sleeps = !watched.is_ready || was_ready;
        was_ready = watched.is_ready;
        if sleeps && left != 0 {
            let is_told = watched.is_complete && !watched.is_ready;
            let rest = if is_told { left } else { left.min(pause) };
            pause = if is_told { FIRST_PAUSE } else { (2 * pause).min(LONGEST_PAUSE) };
            process.me().awaits_pipe = true;
            process.sleep(rest);
            process.me().awaits_pipe = false;
        }
        count = check(process)?;
        if count != 0 || left == 0 {
            return Ok(count);
        }
    }
}

/// Waits until a file has an event, for at most so many nanoseconds; whether it has.
pub fn wait_for_one(process: &mut Process, file: &OpenFile, event: u64, limit: u64) -> Result<bool, Errno> {
    let check = |process: &mut Process| Ok(u64::from(ready(process, file, event) != 0));
    wait(process, limit, check, |process| watch(process, file, event)).map(|count| count != 0)
}

/// Looks at every `pollfd` once and writes what it found; how many have anything.
fn poll_once(process: &mut Process, entries: u64, count: u64) -> Answer {
    let mut found = 0;
    for index in 0..count {
        let address = entries + ENTRY * index;
        let [word] = process.memory.read_words(address)?;
        let (descriptor, events) = (word as u32, word >> 32 & 0xffff);
        let result = match process.descriptors.get(u64::from(descriptor)) {
            _ if (descriptor as i32) < 0 => 0,
            Ok(open) => ready(process, &open, events),
            Err(_) => POLLNVAL,
        };
        process.memory.write_words(address, &[word & 0xffff_ffff_ffff | result << 48])?;
        found += u64::from(result != 0);
    }
    Ok(found)
}

/// The open files of the entries, with what is waited for of each.
fn polled(process: &Process, entries: u64, count: u64) -> Vec<(Rc<OpenFile>, u64)> {
    let entry = |index| {
        let [word] = process.memory.read_words(entries + ENTRY * index).ok()?;
        let open = process.descriptors.get(word & 0xffff_ffff).ok().filter(|_| (word as i32) >= 0)?;
        Some((open, word >> 32 & 0xffff))
    };
    (0..count).filter_map(entry).collect()
}

fn poll_for(process: &mut Process, entries: u64, count: u64, timeout: u64) -> Answer {
    if count > process.limits.descriptors() as u64 {
        return Err(EINVAL);
    }
    process.memory.writable(entries, ENTRY * count)?;
    wait(process, timeout, |process| poll_once(process, entries, count), |process| {
        let files = polled(process, entries, count);
        watch_all(process, &files)
    })
}

/// `poll(entries, count, milliseconds)`.
pub fn poll(process: &mut Process, frame: &mut Frame) -> Answer {
    let [entries, count, timeout, ..] = frame.arguments();
    let timeout = if (timeout as i32) < 0 { FOR_EVER } else { (timeout & 0xffff_ffff) * MILLISECOND };
    poll_for(process, entries, count, timeout)
}

/// A `timespec` as a duration, for ever without one.
pub fn optional_duration(process: &Process, address: u64) -> Result<u64, Errno> {
    if address == 0 { Ok(FOR_EVER) } else { duration(&process.memory, address) }
}

/// Carries out a wait of at most `timeout`, and writes what is left of it to `address` (if that is not 0), in seconds and a `unit` of so many nanoseconds.
/// As in Linux, it is no error if it cannot be written.
fn telling_rest(process: &mut Process, address: u64, timeout: u64, unit: u64, call: impl FnOnce(&mut Process) -> Answer) -> Answer {
    if address == 0 || timeout == 0 {
        return call(process);
    }
    let end = now(process, MONOTONIC)?.saturating_add(timeout);
    let answer = call(process);
    if let Ok(now) = now(process, MONOTONIC) {
        let rest = end.saturating_sub(now);
        let _ = process.memory.write_words(address, &[rest / SECOND, rest % SECOND / unit]);
    }
    answer
}

/// Carries out `call` under another signal mask, if there is one: `mask` is its address or 0.
pub fn with_mask(process: &mut Process, mask: u64, call: impl FnOnce(&mut Process) -> Answer) -> Answer {
    if mask == 0 {
        return call(process);
    }
    let [mask] = process.memory.read_words(mask)?;
    process.mask_for_call(mask);
    let answer = call(process);
    process.unmask_after_call();
    answer
}

/// `ppoll(entries, count, timeout, mask, size)`.
pub fn ppoll(process: &mut Process, frame: &mut Frame) -> Answer {
    let [entries, count, address, mask, ..] = frame.arguments();
    let timeout = optional_duration(process, address)?;
    telling_rest(process, address, timeout, 1, |process| with_mask(process, mask, |process| poll_for(process, entries, count, timeout)))
}

/// The three sets of `select` and what each waits for.
const SETS: [u64; 3] = [POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI];

fn read_set(process: &Process, address: u64, words: usize) -> Result<Vec<u64>, Errno> {
    let mut set = vec![0; words];
    if address != 0 {
        for (index, word) in set.iter_mut().enumerate() {
            [*word] = process.memory.read_words(address + 8 * index as u64)?;
        }
    }
    Ok(set)
}

/// Looks once at every descriptor of the sets; how many bits are set in the result.
fn select_once(process: &mut Process, wanted: &[Vec<u64>; 3], found: &mut [Vec<u64>; 3], count: usize) -> Answer {
    let mut total = 0;
    for descriptor in 0..count {
        let (word, bit) = (descriptor / 64, 1 << (descriptor % 64));
        let asked: Vec<usize> = (0..3).filter(|set| wanted[*set][word] & bit != 0).collect();
        if asked.is_empty() {
            continue;
        }
        let open = process.descriptors.get(descriptor as u64)?;
        let events = ready(process, &open, POLLIN | POLLOUT | POLLPRI);
        for set in asked {
            let is_ready = events & SETS[set] != 0;
            total += u64::from(is_ready);
            found[set][word] = found[set][word] & !bit | if is_ready { bit } else { 0 };
        }
    }
    Ok(total)
}

/// The open files of the sets, with what is waited for of each.
fn selected(process: &Process, wanted: &[Vec<u64>; 3], count: usize) -> Vec<(Rc<OpenFile>, u64)> {
    let events = |descriptor: usize| {
        let has = |set: &usize| wanted[*set][descriptor / 64] & 1 << (descriptor % 64) != 0;
        (0..3).filter(has).fold(0, |events, set| events | SETS[set])
    };
    let all = (0..count).filter(|descriptor| events(*descriptor) != 0);
    all.filter_map(|descriptor| Some((process.descriptors.get(descriptor as u64).ok()?, events(descriptor)))).collect()
}

fn select_for(process: &mut Process, count: u64, addresses: [u64; 3], timeout: u64) -> Answer {
    let count = count as i32;
    if count < 0 {
        return Err(EINVAL);
    }
    let count = (count as usize).min(MOST_DESCRIPTORS as usize);
    let words = count.div_ceil(64);
    let [read, write, except] = addresses;
    let wanted = [read_set(process, read, words)?, read_set(process, write, words)?, read_set(process, except, words)?];
    let mut found = [const { Vec::new() }; 3].map(|_: Vec<u64>| vec![0; words]);
    let check = |process: &mut Process| select_once(process, &wanted, &mut found, count);
    let total = wait(process, timeout, check, |process| {
        let files = selected(process, &wanted, count);
        watch_all(process, &files)
    })?;
    for (address, set) in addresses.into_iter().zip(&found) {
        if address != 0 {
            process.memory.write_words(address, set)?;
        }
    }
    Ok(total)
}

/// `select(count, read, write, except, timeout)`.
pub fn select(process: &mut Process, frame: &mut Frame) -> Answer {
    let [count, read, write, except, address, _] = frame.arguments();
    let timeout = if address == 0 { FOR_EVER } else { duration_of_timeval(&process.memory, address)? };
    telling_rest(process, address, timeout, MICROSECOND, |process| select_for(process, count, [read, write, except], timeout))
}

/// `pselect6(count, read, write, except, timeout, mask and its size)`.
pub fn pselect6(process: &mut Process, frame: &mut Frame) -> Answer {
    let [count, read, write, except, address, mask] = frame.arguments();
    let timeout = optional_duration(process, address)?;
    let mask = if mask == 0 { 0 } else { process.memory.read_words::<2>(mask)?[0] };
    let sets = [read, write, except];
    telling_rest(process, address, timeout, 1, |process| with_mask(process, mask, |process| select_for(process, count, sets, timeout)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_gets_a_bit_of_the_kernels() {
        for bit in 1..=BITS as u8 {
            let bits = Watch { events: POLLIN, bit, notified: 0 }.bits();
            assert!(bits & FILES != 0 && bits & KERNEL_BITS == 0 && bits >= 1 << FIRST_BIT, "{bit}");
        }
    }
}
