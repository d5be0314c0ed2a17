//! `futex_waitv`: a thread waits for several words at once, until one of them is woken.
//!
//! Words in memory that processes share are looked at now and then instead: one whose value has
//! changed counts as woken.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, ERESTART, ETIMEDOUT, Errno};
use crate::abi::futex_numbers::ALL_BITS;
use crate::abi::registers::Frame;
use crate::abi::time_units;
use crate::operations::clock_reading::{self, Until};
use crate::process::Process;
use crate::process::futex_wake::{enter, leave, value_at};
use crate::state::threads::futex_wait::Wait;
use alloc::vec::Vec;

/// Maximum number of words of a wait.
const MOST: u64 = 128;
/// Size of a word, in a wait's flags: the only one that there is.
const BITS_32: u64 = 2;
const PRIVATE: u64 = 128;
/// Nanoseconds between two looks at words that are shared, at first and at most.
const PAUSES: [u64; 2] = [500_000, 16_000_000];

/// A word that a program waits for.
struct Word {
    address: u64,
    expected: u32,
    is_shared: bool,
}

/// The words of a wait, as the program lists them.
fn words(process: &mut Process, list: u64, count: u64) -> Result<Vec<Word>, Errno> {
    let mut words = Vec::new();
    for offset in (0..).step_by(24).take(count as usize) {
        let [expected, address, flags] = process.memory.read_words(list.wrapping_add(offset))?;
        // The upper half must be 0.
        if flags & !(BITS_32 | PRIVATE) != 0 || flags & BITS_32 == 0 || address % 4 != 0 {
            return Err(EINVAL);
        }
        let is_shared = flags & PRIVATE == 0 && process.meeting(address).is_some();
        words.push(Word { address, expected: expected as u32, is_shared });
    }
    Ok(words)
}

/// The first word that is not what was expected, among those that are shared or all.
fn changed(process: &mut Process, words: &[Word], shared_alone: bool) -> Result<Option<u64>, Errno> {
    for (number, word) in (0..).zip(words) {
        if (word.is_shared || !shared_alone) && value_at(process, word.address)? != word.expected {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Waits until one of the words that the thread awaits was woken, or one of those that are shared
/// has changed.
fn wait(process: &mut Process, words: &[Word], until: Until) -> Answer {
    let any_shared = words.iter().any(|word| word.is_shared);
    let [mut pause, longest] = PAUSES;
    loop {
        let Some(left) = until.left(process)? else { return Err(ETIMEDOUT) };
        let sleeps = match left {
            left if !any_shared => left,
            0 => pause,
            left => left.min(pause),
        };
        process.sleep(sleeps);
        if process.me().awaits_several.waits.is_empty() {
            return Ok(process.me().awaits_several.taken as u64);
        }
        if let Some(number) = changed(process, words, true)? {
            return Ok(number);
        }
        if process.is_interrupted() {
            return Err(ERESTART);
        }
        pause = (2 * pause).min(longest);
    }
}

/// `futex_waitv(words, count, flags, until, clock)`: which of the words was woken.
pub fn futex_waitv(process: &mut Process, frame: &mut Frame) -> Answer {
    let [list, count, flags, moment, clock, _] = frame.arguments();
    let count = count & 0xffff_ffff;
    if flags as u32 != 0 || count == 0 || count > MOST || list == 0 {
        return Err(EINVAL);
    }
    let clock = clock & 0xffff_ffff;
    if moment != 0 && clock != time_units::REALTIME && clock != time_units::MONOTONIC {
        return Err(EINVAL);
    }
    let until = clock_reading::until(process, moment, Some(clock))?;
    let words = words(process, list, count)?;
    if changed(process, &words, false)?.is_some() {
        return Err(EAGAIN);
    }
    process.tickets += 1;
    let ticket = process.tickets;
    let waits: Vec<Wait> = words.iter().map(|word| Wait { address: word.address, bits: ALL_BITS, ticket }).collect();
    process.me().awaits_several.waits = waits.clone();
    enter(process, waits.into_iter())?;
    let woken = wait(process, &words, until);
    leave(process);
    woken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_woken_for_all() {
        let wait = |address| Wait { address, bits: ALL_BITS, ticket: 1 };
        let mut several = crate::state::threads::futex_wait::Several { waits: alloc::vec![wait(8), wait(16)], taken: 0 };
        several.take(24);
        assert!(several.waits.iter().any(|wait| wait.address == 8));
        several.move_to(16, 24);
        assert!(several.waits.iter().all(|wait| wait.address != 16));
        several.take(24);
        assert_eq!((several.waits.len(), several.taken), (0, 1));
    }
}
