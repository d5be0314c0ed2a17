//! Thread that sends a request: its number, in the upper half of the request's last word. The
//! client says so itself, so a reader may show the number, and must not rest anything on it.
//!
//! Nearly all operations have five words at most, and the last word of `channel.send` has 32 bits.
//! Two of a mailbox have no room. Servers do not look at the number.

use crate::describe::Operation;
use crate::{channel, describe};
use nacre_sys::FunctionCell;

/// Number of the last word.
const LAST: usize = 5;
/// First bit of the number.
const SHIFT: u32 = 32;

static NUMBER: FunctionCell<fn() -> u64> = FunctionCell::new();

/// Sets the function that returns the number of the thread that calls it. Number 0: the first
/// thread of its process, or none that has a number.
pub fn set(number: fn() -> u64) {
    NUMBER.set(number);
}

/// Returns what the last word of a request has besides what the operation declares.
#[inline(always)]
pub fn mark() -> u64 {
    NUMBER.get().map_or(0, |number| number() << SHIFT)
}

/// Returns the words of a request that starts with `words`, and its sender's number. All six words
/// have no room for that.
#[inline(always)]
pub fn words<const N: usize>(words: [u64; N]) -> [u64; 6] {
    let mut all = crate::client::words(words);
    if N <= LAST {
        all[LAST] = mark();
    }
    all
}

/// Returns a request's words without its sender's number, and that number; 0 if it is not told.
pub fn split(label: u32, mut words: [u64; 6]) -> ([u64; 6], u64) {
    let mut number = 0;
    if describe(label).is_some_and(has_room) {
        number = words[LAST] >> SHIFT;
        words[LAST] &= (1 << SHIFT) - 1;
    }
    (words, number)
}

fn has_room(operation: &Operation) -> bool {
    operation.words_in.len() <= LAST || operation.label == channel::send::LABEL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PROTOCOLS, file, mailbox};
    use alloc::vec::Vec;

    #[test]
    fn a_request_tells_its_sender_beside_its_words() {
        assert_eq!(words([1, 2]), [1, 2, 0, 0, 0, 0]);
        set(|| 7);
        let marked = words([1, 2]);
        assert_eq!(split(file::read::LABEL, marked), ([1, 2, 0, 0, 0, 0], 7));
        assert_eq!(words([1, 2, 3, 4, 5, 6]), [1, 2, 3, 4, 5, 6]);
        let sent = channel::Outgoing { part: 3, ..channel::Outgoing::default() }.words();
        assert_eq!(split(channel::send::LABEL, sent), ([0, 0, 0, 0, 0, 3], 7));
        assert_eq!(split(0x90_0001, [u64::MAX; 6]), ([u64::MAX; 6], 0));
        assert_eq!(split(mailbox::send::LABEL, [u64::MAX; 6]), ([u64::MAX; 6], 0));
    }

    #[test]
    fn few_operations_have_no_room() {
        let all = PROTOCOLS.iter().flat_map(|protocol| protocol.operations);
        let full: Vec<_> = all.filter(|operation| !has_room(operation)).map(|operation| (operation.protocol, operation.name)).collect();
        assert_eq!(full, [("mailbox", "open"), ("mailbox", "send")]);
    }
}
