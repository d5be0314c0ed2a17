//! Output of the guest, gathered into few messages: it is shown when the guest waits, when there is
//! enough of it, or after a while.

use crate::records::Records;
use alloc::vec::Vec;

/// Serial line that carries messages and records; the third carries errors.
const MESSAGES: usize = 1;
/// Bytes that are shown at once.
const ENOUGH: usize = 512;
/// Nanoseconds after which output of a guest that does not wait is shown.
pub const PATIENCE: u64 = 20_000_000;

/// Output that has not been shown yet, and the records among what has.
pub struct Output {
    records: Records,
    /// Serial line that it came over.
    line: usize,
    bytes: Vec<u8>,
}

impl Output {
    /// Makes it, empty.
    pub const fn new() -> Output {
        Output { records: Records::new(), line: 0, bytes: Vec::new() }
    }

    /// Returns the status of the guest's program, if a record that was shown tells it.
    pub fn status(&self) -> Option<u8> {
        self.records.status()
    }

    /// Returns true if all output has been shown.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds output of a serial line. Output of another one before is shown first, so that it stays
    /// in order.
    pub fn add(&mut self, line: usize, bytes: &[u8], mut show: impl FnMut(usize, &[u8])) {
        if line != self.line {
            self.show_all(&mut show);
            self.line = line;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= ENOUGH {
            self.show_lines(show);
        }
    }

    /// Shows all output up to the last end of a line, or everything if there is none.
    pub fn show_lines(&mut self, show: impl FnMut(usize, &[u8])) {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(self.bytes.len(), |last| last + 1);
        self.show_first(end, show);
    }

    /// Shows all output.
    pub fn show_all(&mut self, show: impl FnMut(usize, &[u8])) {
        self.show_first(self.bytes.len(), show);
    }

    fn show_first(&mut self, count: usize, mut show: impl FnMut(usize, &[u8])) {
        let first: Vec<u8> = self.bytes.drain(..count.min(self.bytes.len())).collect();
        let text = if self.line == MESSAGES { self.records.feed(&first) } else { first };
        if !text.is_empty() {
            show(self.line, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    /// Adds each byte by itself, and returns what is shown.
    fn added(output: &mut Output, line: usize, text: &str) -> Vec<(usize, String)> {
        let mut shown = Vec::new();
        text.bytes().for_each(|byte| output.add(line, &[byte], |line, text| shown.push((line, String::from_utf8_lossy(text).into_owned()))));
        shown
    }

    #[test]
    fn bytes_are_shown_together_and_lines_whole() {
        let mut output = Output::new();
        assert!(added(&mut output, 0, "one\ntwo").is_empty() && !output.is_empty());
        let mut shown = Vec::new();
        output.show_lines(|line, text| shown.push((line, text.to_vec())));
        output.show_lines(|line, text| shown.push((line, text.to_vec())));
        output.show_lines(|_, _| panic!("there is no more"));
        assert_eq!(shown, [(0, b"one\n".to_vec()), (0, b"two".to_vec())]);
        let line = "x".repeat(99) + "\n";
        let shown = added(&mut output, 0, &line.repeat(7));
        assert_eq!(shown, [(0, line.repeat(5))], "no line is cut where there is enough");
        assert_eq!(added(&mut output, 2, "error"), [(0, line.repeat(2))]);
    }

    #[test]
    fn a_line_without_an_end_does_not_grow() {
        let mut output = Output::new();
        let shown = added(&mut output, 0, &"x".repeat(5 * ENOUGH));
        assert_eq!(shown.len(), 5);
        assert!(output.is_empty());
    }

    #[test]
    fn lines_stay_in_order_and_records_are_no_text() {
        let mut output = Output::new();
        let mut shown = Vec::new();
        for (line, text) in [(0, &b"a"[..]), (2, b"b"), (1, b"c\x1b]nacre;exit=7\x07"), (0, b"d")] {
            output.add(line, text, |line, text| shown.push((line, text.to_vec())));
        }
        assert_eq!(output.status(), Some(7));
        output.show_all(|line, text| shown.push((line, text.to_vec())));
        assert_eq!(shown, [(0, b"a".to_vec()), (2, b"b".to_vec()), (1, b"c".to_vec()), (0, b"d".to_vec())]);
        assert!(output.is_empty());
    }
}
