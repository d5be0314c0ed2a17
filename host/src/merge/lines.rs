//! The lines of a file of events, one after the other.

use std::io::{BufRead, Read};

use super::line::{self, Line};

/// Maximum size of a line. The tracer's longest, of 64 KiB in either direction, is shorter.
const MAX_LINE: u64 = 4 << 20;

/// Reason why a file cannot be merged.
#[derive(Debug)]
pub enum Problem {
    /// The file cannot be read.
    Read(std::io::Error),
    /// The file is none of events that `trace` writes.
    NoTrace,
    /// The file was written by a `trace` that did not tell its clock.
    Old,
    /// A line, by its number, is none that `trace` writes there.
    Damaged(u64),
    /// There are more processes and tracks than are kept in memory.
    TooManyTracks,
    /// There are more tracers than groups.
    TooManyTracers,
    /// The clock is another one than that of this file.
    OtherClock(usize),
    /// The file is another one than a moment ago.
    Changed,
    /// The result cannot be written.
    Write(std::io::Error),
}

/// Reads lines. `next` gives them, then `None`.
pub struct Lines<R> {
    input: R,
    /// The line that was read last, and its number.
    bytes: Vec<u8>,
    number: u64,
    /// True after a line without a comma, which is the last.
    expects_end: bool,
    /// True behind the end of the array.
    is_over: bool,
    /// True if the file ended before its end.
    pub is_cut: bool,
}

impl<R: BufRead> Lines<R> {
    /// Starts to read. The first line is that of all arrays.
    pub fn start(input: R) -> Result<Lines<R>, Problem> {
        let mut lines = Lines { input, bytes: Vec::new(), number: 0, expects_end: false, is_over: false, is_cut: false };
        lines.read()?;
        if lines.bytes == b"[\n" { Ok(lines) } else { Err(Problem::NoTrace) }
    }

    /// Reads a line, or what there is of it. A longer one than any is damaged.
    fn read(&mut self) -> Result<(), Problem> {
        self.bytes.clear();
        self.number += 1;
        (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut self.bytes).map_err(Problem::Read)?;
        if self.bytes.len() as u64 == MAX_LINE { Err(self.damaged()) } else { Ok(()) }
    }

    /// The last line is none that belongs there.
    pub fn damaged(&self) -> Problem {
        if self.number <= 2 { Problem::NoTrace } else { Problem::Damaged(self.number) }
    }

    /// Reads the next line.
    pub fn next(&mut self) -> Result<Option<Line<'_>>, Problem> {
        if self.is_cut || self.is_over {
            return Ok(None);
        }
        self.read()?;
        let is_whole = self.bytes.pop_if(|last| *last == b'\n').is_some();
        if self.bytes == b"]" {
            self.is_over = true;
            self.read()?;
            return if self.bytes.is_empty() { Ok(None) } else { Err(self.damaged()) };
        }
        // The last line of a file that was cut off may be whole all the same.
        self.is_cut = !is_whole;
        if self.bytes.is_empty() && !is_whole {
            return Ok(None);
        }
        if self.expects_end && is_whole {
            return Err(self.damaged());
        }
        self.expects_end = self.bytes.pop_if(|last| *last == b',').is_none();
        if self.current().is_some() || !is_whole {
            return Ok(self.current());
        }
        let is_old = self.number == 2 && self.bytes.starts_with(b"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":");
        Err(if is_old { Problem::Old } else { self.damaged() })
    }

    /// Returns the last line again.
    pub fn current(&self) -> Option<Line<'_>> {
        line::parse(std::str::from_utf8(&self.bytes).ok()?)
    }
}
