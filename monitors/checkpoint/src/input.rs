//! The console of a copy. What people type is for the original alone: a copy reads what it was
//! given when it was made, and then the end. One that was given nothing waits for input that never
//! comes.

use crate::logs::Log;
use crate::origin::Source;
use alloc::vec::Vec;
use nacre_proto::flags::{KEEP_FLAGS, O_NONBLOCK, POLLIN};
use nacre_proto::{Errno, file, terminal};
use nacre_sys::Reference;

/// Bytes that a copy reads from the console.
pub struct Input {
    bytes: Option<Vec<u8>>,
    position: usize,
    /// Output of the copy.
    pub log: Log,
}

/// Answer to a request at the console.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Words and bytes.
    Now([u64; 6], Vec<u8>),
    /// There is nothing to read yet.
    Later,
    /// The console answers this request.
    Console,
    /// The console answers a request for these events, and these are present besides.
    Events(u64, u64),
}

impl Input {
    /// Makes an input of these bytes and the end; without them, of nothing ever.
    pub fn new(bytes: Option<&[u8]>) -> Input {
        Input { bytes: bytes.map(<[u8]>::to_vec), position: 0, log: Log::default() }
    }

    /// Answers a request that comes to the console, which is `original`.
    pub fn answer(&mut self, original: Reference, label: u32, words: [u64; 6]) -> Result<Answer, Errno> {
        match label {
            file::read::LABEL if self.bytes.is_some() => Ok(self.read(words[1])),
            file::read::LABEL if file::flags(original, KEEP_FLAGS)?.old & O_NONBLOCK != 0 => Err(Errno::EAGAIN),
            file::read::LABEL => Ok(Answer::Later),
            _ => Ok(self.state(label, words)),
        }
    }

    fn read(&mut self, size: u64) -> Answer {
        let rest = self.rest();
        let count = rest.len().min(usize::try_from(size).unwrap_or(usize::MAX)).min(MAX_READ);
        let bytes = rest[..count].to_vec();
        self.position += count;
        Answer::Now([count as u64, 0, 0, 0, 0, 0], bytes)
    }

    fn rest(&self) -> &[u8] {
        self.bytes.as_deref().and_then(|bytes| bytes.get(self.position..)).unwrap_or_default()
    }

    /// Answers what asks for the state of the console, or changes it. A copy changes nothing: the
    /// original would notice.
    fn state(&self, label: u32, words: [u64; 6]) -> Answer {
        match label {
            file::poll::LABEL | file::watch::LABEL => {
                let present = if self.bytes.is_some() { words[0] & POLLIN } else { 0 };
                Answer::Events(words[0] & !POLLIN, present)
            }
            terminal::waiting::LABEL => Answer::Now([self.rest().len() as u64, 0, 0, 0, 0, 0], Vec::new()),
            terminal::set_attributes::LABEL | terminal::set_window::LABEL | terminal::attend::LABEL | terminal::flush::LABEL | terminal::type_byte::LABEL | terminal::flow::LABEL => {
                Answer::Now([0; 6], Vec::new())
            }
            _ => Answer::Console,
        }
    }
}

/// Maximum number of bytes that a read brings.
const MAX_READ: usize = 16384;

/// Returns true if the console is behind something that was got so.
pub fn is_console(source: &Source) -> bool {
    match source {
        Source::Stream(_) => true,
        Source::File(path, _) => matches!(&path[..], b"/dev/tty" | b"/dev/console"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &mut Input, size: u64) -> Result<Answer, Errno> {
        input.answer(Reference::NONE, file::read::LABEL, [u64::MAX, size, 0, 0, 0, 0])
    }

    #[test]
    fn what_was_given_is_read_once_and_then_the_end() {
        let mut input = Input::new(Some(b"word"));
        let now = |bytes: &[u8]| Ok(Answer::Now([bytes.len() as u64, 0, 0, 0, 0, 0], bytes.to_vec()));
        assert_eq!(read(&mut input, 3), now(b"wor"));
        assert_eq!(input.state(terminal::waiting::LABEL, [0; 6]), Answer::Now([1, 0, 0, 0, 0, 0], Vec::new()));
        assert_eq!(read(&mut input, u64::MAX), now(b"d"));
        assert_eq!(read(&mut input, 1), now(b""));
    }

    #[test]
    fn events_of_input_are_the_copy_s_own() {
        let words = [POLLIN | 4, 0, 0, 0, 0, 0];
        assert_eq!(Input::new(Some(b"")).state(file::poll::LABEL, words), Answer::Events(4, POLLIN));
        assert_eq!(Input::new(None).state(file::watch::LABEL, words), Answer::Events(4, 0));
        assert_eq!(Input::new(None).state(file::write::LABEL, words), Answer::Console);
    }
}
