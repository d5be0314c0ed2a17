//! Records that a guest of this tree writes to its second serial line, between messages to people:
//! `ESC ] nacre ; KEY BEL`, some with raw bytes behind them (`host/README.md`). The one that counts
//! here is the status of its program; the others are answers to a host that there is not.

use alloc::vec::Vec;

const START: &[u8] = b"\x1b]nacre;";
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 7;
/// Bytes of the longest record; a longer one is text.
const MAX_RECORD: usize = 512;

/// Taker-apart of what the line carries.
#[derive(Debug)]
pub struct Records {
    /// Bytes that may be the start of a record.
    held: Vec<u8>,
    /// Raw bytes of a record that are still to come.
    rest: u64,
    status: Option<u8>,
}

impl Records {
    /// A line that has carried nothing.
    pub const fn new() -> Records {
        Records { held: Vec::new(), rest: 0, status: None }
    }

    /// Returns the status of the guest's program, if it has ended.
    pub fn status(&self) -> Option<u8> {
        self.status
    }

    /// Takes bytes, and returns those of them that are messages.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        for byte in bytes {
            if self.rest > 0 {
                self.rest -= 1;
                continue;
            }
            if *byte == ESCAPE {
                text.append(&mut self.held);
            }
            self.held.push(*byte);
            let common = self.held.len().min(START.len());
            if self.held[..common] != START[..common] || self.held.len() > MAX_RECORD {
                text.append(&mut self.held);
            } else if *byte == BELL {
                let record = core::mem::take(&mut self.held);
                self.record(&record[START.len().min(record.len() - 1)..record.len() - 1]);
            }
        }
        text
    }

    fn record(&mut self, record: &[u8]) {
        let number = |digits: &[u8]| core::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
        let behind = |byte| record.iter().rposition(|found| *found == byte).and_then(|at| number(&record[at + 1..]));
        if record.starts_with(b"exit=") {
            self.status = behind(b'=').map(|status| status as u8);
        } else if record.starts_with(b"file=") || record.starts_with(b"answer=") {
            self.rest = behind(b';').unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_taken_out_wherever_they_are_cut() {
        let whole = b"one\x1b]nacre;ready\x07two\x1b]nacre;file=/x;3\x07\x1b]n\x1b]nacre;exit=7\x07\x1b[0m";
        for cut in 0..whole.len() {
            let mut records = Records::new();
            let text = [records.feed(&whole[..cut]), records.feed(&whole[cut..])].concat();
            assert_eq!((&text[..], records.status()), (&b"onetwo\x1b[0m"[..], Some(7)), "{cut}");
        }
    }

    #[test]
    fn what_is_no_record_is_text_and_no_bytes_panic() {
        let mut records = Records::new();
        let long = [START, &[b'a'; 2 * MAX_RECORD]].concat();
        assert_eq!(records.feed(&long), long);
        assert_eq!((records.feed(b"\x1b]nacre;exit=x\x07\x1b]nacre;\x07\x07"), records.status()), (b"\x07".to_vec(), None));
        for byte in 0..=255u8 {
            records.feed(&[START, &[byte], b"file=;99999999999999999999\x07", &[byte]].concat());
        }
    }
}
