//! A message as it is written, and the head of an answer.

use crate::Error;
use crate::answer::Answer;
use alloc::vec::Vec;

/// Kind of the answer that tells of an error.
const ERROR: u8 = 7;
/// Bytes before what a message says: its size, kind and tag.
const HEADER: usize = 7;

/// A message that is being written.
pub struct Message<'a>(&'a mut Vec<u8>);

impl Message<'_> {
    pub fn words(self, words: &[u32]) -> Self {
        words.iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
        self
    }

    pub fn long(self, word: u64) -> Self {
        self.0.extend_from_slice(&word.to_le_bytes());
        self
    }

    pub fn short(self, word: u16) -> Self {
        self.0.extend_from_slice(&word.to_le_bytes());
        self
    }

    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A string; what is longer than strings are is cut off.
    pub fn string(self, text: &[u8]) -> Self {
        let text = &text[..text.len().min(u16::MAX.into())];
        self.short(text.len() as u16).bytes(text)
    }
}

/// Appends a message.
pub fn append(to: &mut Vec<u8>, (kind, tag): (u8, u16), fill: impl for<'a> FnOnce(Message<'a>) -> Message<'a>) {
    let start = to.len();
    to.extend_from_slice(&[0, 0, 0, 0, kind]);
    to.extend_from_slice(&tag.to_le_bytes());
    fill(Message(to));
    let size = (to.len() - start) as u32;
    to[start..start + 4].copy_from_slice(&size.to_le_bytes());
}

/// Checks that an answer belongs to a request; the rest of it.
pub fn read_header(answer: &[u8], kind: u8, tag: u16) -> Result<Answer<'_>, Error> {
    let mut rest = Answer(answer);
    let (size, found, its_tag) = (rest.word()?, rest.number(1)? as u8, rest.number(2)? as u16);
    if size as usize != answer.len() || answer.len() < HEADER || its_tag != tag {
        return Err(Error::BROKEN);
    }
    match found {
        ERROR => Err(Error(rest.word().ok().filter(|number| (1..4096).contains(number)).unwrap_or(Error::BROKEN.0))),
        found if found == kind + 1 => Ok(rest),
        _ => Err(Error::BROKEN),
    }
}
