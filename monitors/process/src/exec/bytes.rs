//! Bytes on their way to a process and from it, without a kernel.

use crate::commands::DONE;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_control::exec::{self, WINDOW, frame};
use nacre_proto::Errno;

/// Number of bytes that wait to be read, from which on no more are asked for.
const ENOUGH: usize = 16 << 10;

/// Bytes that the process is to read.
#[derive(Default)]
pub struct Input {
    queue: VecDeque<u8>,
    /// Set once nothing more comes.
    is_ended: bool,
    /// Set once nobody reads any more.
    is_closed: bool,
    /// Commands whose bytes were more than enough.
    held: Vec<u64>,
}

impl Input {
    /// Takes the bytes of a command. The command's result, if it is done.
    pub fn feed(&mut self, command: u64, bytes: &[u8]) -> Option<Errno> {
        if self.is_ended || self.is_closed {
            return Some(Errno::EPIPE);
        }
        if self.queue.len() > ENOUGH {
            return Some(Errno::EAGAIN);
        }
        self.is_ended = bytes.is_empty();
        self.queue.extend(bytes);
        if self.queue.len() <= ENOUGH {
            return Some(DONE);
        }
        self.held.push(command);
        None
    }

    /// Returns true if there are bytes.
    pub fn has_bytes(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns true if a read ends at once.
    pub fn is_readable(&self) -> bool {
        self.is_ended || self.has_bytes()
    }

    /// Returns the first bytes, which stay.
    pub fn look(&mut self, limit: usize) -> &[u8] {
        let bytes = self.queue.make_contiguous();
        &bytes[..bytes.len().min(limit)]
    }

    /// Takes bytes away.
    pub fn consume(&mut self, count: usize) {
        self.queue.drain(..count.min(self.queue.len()));
    }

    /// Returns the commands that are done, because there is room again.
    pub fn done(&mut self) -> Vec<u64> {
        if self.queue.len() > ENOUGH { Vec::new() } else { core::mem::take(&mut self.held) }
    }

    /// Drops all: nobody reads any more. Returns the commands that end by that.
    pub fn close(&mut self) -> Vec<u64> {
        self.is_closed = true;
        self.queue.clear();
        core::mem::take(&mut self.held)
    }
}

/// Frames that wait to go out.
#[derive(Default)]
pub struct Output {
    frames: VecDeque<Vec<u8>>,
    /// Number of bytes that the process has written and nobody has taken.
    on_way: usize,
}

impl Output {
    /// Returns the number of bytes that may be written now.
    pub fn room(&self) -> usize {
        WINDOW.saturating_sub(self.on_way)
    }

    /// Returns true if so many bytes may be written. What is larger than all room waits for all.
    pub fn has_room(&self, count: usize) -> bool {
        self.on_way == 0 || count <= self.room()
    }

    /// Adds bytes.
    pub fn push(&mut self, kind: u8, bytes: &[u8]) {
        if matches!(kind, exec::OUTPUT | exec::ERRORS) {
            self.on_way += bytes.len();
        }
        self.frames.extend(bytes.chunks(exec::MAX_CONTENTS).map(|part| frame(kind, part)));
    }

    /// Notes that so many bytes have been taken.
    pub fn taken(&mut self, count: u64) {
        self.on_way = self.on_way.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
    }

    /// The first frame.
    pub fn first(&self) -> Option<&[u8]> {
        self.frames.front().map(Vec::as_slice)
    }

    /// The first frame has gone.
    pub fn sent(&mut self) {
        self.frames.pop_front();
    }

    /// Returns true if frames wait.
    pub fn has_frames(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Drops all frames.
    pub fn clear(&mut self) {
        self.frames.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_waits_for_room_and_ends_once() {
        let mut input = Input::default();
        assert_eq!(input.feed(1, b"ab"), Some(DONE));
        assert_eq!(input.feed(2, &[0; ENOUGH]), None);
        assert_eq!((input.feed(3, b"c"), input.done()), (Some(Errno::EAGAIN), Vec::new()));
        input.consume(2);
        assert_eq!(input.done(), [2]);
        assert_eq!((input.feed(4, b""), input.feed(5, b"d")), (Some(DONE), Some(Errno::EPIPE)));
        input.consume(usize::MAX);
        assert!(input.is_readable() && !input.has_bytes() && input.look(9).is_empty());
    }

    #[test]
    fn whoever_reads_no_more_keeps_no_command_waiting() {
        let mut input = Input::default();
        assert_eq!(input.feed(1, &[0; ENOUGH + 1]), None);
        assert_eq!((input.close(), input.feed(2, b"x"), input.has_bytes()), (Vec::from([1]), Some(Errno::EPIPE), false));
    }

    #[test]
    fn output_waits_until_some_was_taken() {
        let mut output = Output::default();
        assert!(output.has_room(2 * WINDOW));
        output.push(exec::OUTPUT, &[1; WINDOW]);
        output.push(exec::ENDED, &[0; 4]);
        assert_eq!((output.room(), output.has_room(1), output.frames.len()), (0, false, WINDOW.div_ceil(exec::MAX_CONTENTS) + 1));
        output.taken(10);
        assert_eq!((output.room(), output.has_room(10), output.has_room(11)), (10, true, false));
        output.taken(u64::MAX);
        assert_eq!(output.room(), WINDOW);
    }
}
