//! Numbers of signals: gdb's protocol has numbers of its own, which are the same on all systems.

use crate::text::{self, split};

/// Number of Linux's last signal.
const LAST: u8 = 64;
/// gdb's number of a signal that it has no name for.
const UNKNOWN: u8 = 143;
/// Maximum number of signals that one packet lists.
const MAX_LISTED: usize = 256;
/// Linux's numbers 1 to 32 in gdb's protocol. `SIGSTKFLT` has no name there.
const FIRST: [u8; 32] = [1, 2, 3, 4, 5, 6, 10, 8, 9, 30, 11, 31, 13, 14, 15, UNKNOWN, 20, 19, 17, 18, 21, 22, 16, 24, 25, 26, 27, 28, 23, 32, 12, 77];
/// gdb's numbers of the real-time signals 33 and 64. Those between follow the first.
const SECOND_QUEUED: u8 = 45;
const LAST_QUEUED: u8 = 78;

/// Returns gdb's number of a signal of Linux's.
pub(crate) fn to_gdb(signal: u8) -> u8 {
    match signal {
        0 => 0,
        1..=32 => FIRST[usize::from(signal) - 1],
        33..64 => SECOND_QUEUED + signal - 33,
        LAST => LAST_QUEUED,
        _ => UNKNOWN,
    }
}

/// Returns Linux's number of a signal of gdb's.
pub(crate) fn from_gdb(number: u64) -> Option<u8> {
    (0..=LAST).find(|signal| u64::from(to_gdb(*signal)) == number)
}

/// Returns the set of signals that a packet lists: a bit for each of Linux's, the lowest for 1.
/// Numbers that are no signals of Linux's are left out.
pub(crate) fn set(list: &[u8]) -> Option<u64> {
    let mut found = 0;
    let mut rest = list;
    for _ in 0..MAX_LISTED {
        if rest.is_empty() {
            return Some(found);
        }
        let (number, behind) = split(rest, b';');
        let signal = from_gdb(text::number(number)?).filter(|signal| *signal != 0);
        found |= signal.map_or(0, |signal| 1 << (signal - 1));
        rest = behind;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        for signal in 0..=LAST {
            assert_eq!(from_gdb(to_gdb(signal).into()), Some(signal));
        }
        assert_eq!((to_gdb(7), to_gdb(10), to_gdb(17), to_gdb(34), to_gdb(63), to_gdb(200)), (10, 30, 20, 46, 75, UNKNOWN));
        assert_eq!((from_gdb(7), from_gdb(29), from_gdb(1 << 32)), (None, None, None));
    }

    #[test]
    fn sets_are_listed() {
        assert_eq!((set(b""), set(b"e"), set(b"e;14;97;")), (Some(0), Some(1 << 13), Some(1 << 13 | 1 << 16)));
        assert_eq!((set(b"x"), set(b"e;;14"), set(b"0")), (None, None, Some(0)));
        assert_eq!(set("1;".repeat(MAX_LISTED + 1).as_bytes()), None);
    }
}
