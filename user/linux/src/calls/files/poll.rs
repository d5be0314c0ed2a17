//! Waiting for several files at once. Servers say what is ready, and tell the agent once when that
//! may have changed: they are asked for that again when they have. Of one that does not, a wait
//! asks again and again, at growing intervals up to [`LONGEST_PAUSE`].

use crate::abi::errno::{Answer, EINVAL, Errno};
use crate::abi::poll_events::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLPRI};
use crate::abi::registers::Frame;
use crate::abi::time_units::{MICROSECOND, MONOTONIC, SECOND};
use crate::operations::clock_reading::{duration, duration_of_timeval, now};
use crate::operations::files::quiet_files;
use crate::operations::files::readiness::{FOR_EVER, MILLISECOND, ready, wait, watch_all};
use crate::operations::signal_setup;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::limits::MAX_DESCRIPTORS;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_rt::fallible;

/// Bytes of a `struct pollfd`.
const ENTRY: u64 = 8;

/// Looks at every `pollfd` once and writes what it found; how many have anything.
fn poll_once(process: &mut Process, entries: u64, count: u64) -> Answer {
    let mut found = 0;
    let mut index = 0;
    loop {
        let rest = process.memory.writable(entries + ENTRY * index, ENTRY * (count - index))?;
        index += quiet_files::pass_quiet(process, rest) as u64;
        if index == count {
            break;
        }
        let address = entries + ENTRY * index;
        index += 1;
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

/// The open file of an entry, with what is waited for.
fn polled(process: &Process, entries: u64, index: u64) -> Option<(Rc<OpenFile>, u64)> {
    let [word] = process.memory.read_words(entries + ENTRY * index).ok()?;
    let open = process.descriptors.get(word & 0xffff_ffff).ok().filter(|_| (word as i32) >= 0)?;
    Some((open, word >> 32 & 0xffff))
}

fn poll_for(process: &mut Process, entries: u64, count: u64, timeout: u64) -> Answer {
    if count > process.limits.descriptors() as u64 {
        return Err(EINVAL);
    }
    process.memory.writable(entries, ENTRY * count)?;
    wait(process, timeout, |process| poll_once(process, entries, count), |process| {
        watch_all(process, count, |process, index| polled(process, entries, index))
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

/// Carries out a wait of at most `timeout`, and writes what is left of it to `address` (if that is
/// not 0), in seconds and a `unit` of so many nanoseconds. As in Linux, it is no error if it cannot
/// be written.
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
    signal_setup::mask_for_call(process, mask);
    let answer = call(process);
    signal_setup::unmask_after_call(process);
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
    let mut set = fallible::zeros(words)?;
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
        let asked = (0..3).filter(|set| wanted[*set][word] & bit != 0);
        if asked.clone().next().is_none() {
            continue;
        }
        let open = process.descriptors.get(descriptor as u64)?;
        let events = ready(process, &open, asked.clone().fold(0, |events, set| events | SETS[set]));
        for set in asked {
            let is_ready = events & SETS[set] != 0;
            total += u64::from(is_ready);
            found[set][word] = found[set][word] & !bit | if is_ready { bit } else { 0 };
        }
    }
    Ok(total)
}

/// The open file of a descriptor that is in a set, with what is waited for.
fn selected(process: &Process, wanted: &[Vec<u64>; 3], descriptor: u64) -> Option<(Rc<OpenFile>, u64)> {
    let has = |set: &usize| wanted[*set][descriptor as usize / 64] & 1 << (descriptor % 64) != 0;
    let events = (0..3).filter(has).fold(0, |events, set| events | SETS[set]);
    if events == 0 { None } else { Some((process.descriptors.get(descriptor).ok()?, events)) }
}

fn select_for(process: &mut Process, count: u64, addresses: [u64; 3], timeout: u64) -> Answer {
    let count = count as i32;
    if count < 0 {
        return Err(EINVAL);
    }
    let count = (count as usize).min(MAX_DESCRIPTORS as usize);
    let words = count.div_ceil(64);
    let [read, write, except] = addresses;
    let wanted = [read_set(process, read, words)?, read_set(process, write, words)?, read_set(process, except, words)?];
    let mut found = [fallible::zeros(words)?, fallible::zeros(words)?, fallible::zeros(words)?];
    let check = |process: &mut Process| select_once(process, &wanted, &mut found, count);
    let total = wait(process, timeout, check, |process| {
        watch_all(process, count as u64, |process, descriptor| selected(process, &wanted, descriptor))
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
