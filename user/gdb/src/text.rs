//! Numbers, bytes and threads as text of packets.

use crate::packet::digit;
use crate::target::ThreadId;
use alloc::vec::Vec;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Returns a byte as two digits.
pub fn hex_byte(byte: u8) -> [u8; 2] {
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// Appends bytes as digits.
pub fn put_hex(bytes: &[u8], into: &mut Vec<u8>) {
    bytes.iter().for_each(|byte| into.extend(hex_byte(*byte)));
}

/// Appends a number without leading zeros.
pub fn put_number(number: u64, into: &mut Vec<u8>) {
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    into.extend((0..digits).rev().map(|place| DIGITS[(number >> (4 * place) & 15) as usize]));
}

/// Appends a thread's name.
pub fn put_thread(thread: ThreadId, into: &mut Vec<u8>) {
    into.push(b'p');
    put_number(thread.process.into(), into);
    into.push(b'.');
    put_number(thread.thread.into(), into);
}

/// Returns the bytes that digits stand for.
pub fn bytes_of(text: &[u8]) -> Option<Vec<u8>> {
    let pairs = text.chunks(2).map(|pair| match pair {
        [first, second] => Some(digit(*first)? << 4 | digit(*second)?),
        _ => None,
    });
    pairs.collect()
}

/// Returns the number that digits stand for; all of `text` must be digits, 16 at most.
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0u64, |number, byte| Some(number << 4 | u64::from(digit(*byte)?)))
}

/// Splits text at the first `separator`; the second part is empty if there is none.
pub fn split(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == separator) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

/// Returns two numbers with a separator between them.
pub fn pair(text: &[u8], separator: u8) -> Option<(u64, u64)> {
    let (first, second) = split(text, separator);
    Some((number(first)?, number(second)?))
}

/// Threads that a packet names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// Number of the process; `None`: all.
    pub process: Option<u32>,
    /// Number of the thread; `None`: all.
    pub thread: Option<u32>,
}

impl Named {
    /// All threads of all processes.
    pub const ALL: Named = Named { process: None, thread: None };

    /// Returns true if a thread is among them.
    pub fn has(&self, thread: ThreadId) -> bool {
        self.process.is_none_or(|process| process == thread.process) && self.thread.is_none_or(|one| one == thread.thread)
    }
}

/// Part of a thread's name: -1 and 0, which mean any, or a number.
fn part(text: &[u8]) -> Option<Option<u32>> {
    if text == b"-1" {
        return Some(None);
    }
    let number = u32::try_from(number(text)?).ok()?;
    Some((number != 0).then_some(number))
}

/// Returns the threads that `PROCESS.THREAD`, behind a `p`, or `THREAD` stands for.
pub fn threads(text: &[u8]) -> Option<Named> {
    let Some(text) = text.strip_prefix(b"p") else {
        return Some(Named { process: None, thread: part(text)? });
    };
    let (process, thread) = split(text, b'.');
    Some(Named { process: part(process)?, thread: if thread.is_empty() { None } else { part(thread)? } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_hexadecimal() {
        let text = |number| {
            let mut text = Vec::new();
            put_number(number, &mut text);
            text
        };
        assert_eq!((text(0), text(0x10), text(u64::MAX)), (b"0".to_vec(), b"10".to_vec(), b"ffffffffffffffff".to_vec()));
        assert_eq!((number(b"ff"), number(b""), number(b"x"), number(b"11112222333344445")), (Some(255), None, None, None));
        assert_eq!((bytes_of(b"0aFf"), bytes_of(b"0"), bytes_of(b"")), (Some(Vec::from([10, 255])), None, Some(Vec::new())));
    }

    #[test]
    fn threads_have_two_parts() {
        assert_eq!(threads(b"p1.-1"), Some(Named { process: Some(1), thread: None }));
        assert_eq!(threads(b"pa.b"), Some(Named { process: Some(10), thread: Some(11) }));
        assert_eq!(threads(b"p2"), Some(Named { process: Some(2), thread: None }));
        assert_eq!((threads(b"0"), threads(b"-1"), threads(b"p-1.0")), (Some(Named::ALL), Some(Named::ALL), Some(Named::ALL)));
        assert_eq!((threads(b"p"), threads(b""), threads(b"p1.x"), threads(b"p100000000.1")), (None, None, None, None));
    }
}
