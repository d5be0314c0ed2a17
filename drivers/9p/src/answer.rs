//! Answers: numbers little-endian, strings behind 16 bits of length.

use crate::Error;

/// Rest of an answer. What is not there makes the answer broken.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a>(pub &'a [u8]);

impl<'a> Answer<'a> {
    /// Takes bytes off.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Error::BROKEN)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Takes a number of so many bytes off, at most 8.
    pub fn number(&mut self, width: usize) -> Result<u64, Error> {
        Ok(self.bytes(width)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Takes 32 bits off.
    pub fn word(&mut self) -> Result<u32, Error> {
        Ok(self.number(4)? as u32)
    }

    /// Takes a string off.
    pub fn string(&mut self) -> Result<&'a [u8], Error> {
        let count = self.number(2)?;
        self.bytes(count as usize)
    }

    /// Takes a file's number of 13 bytes off: its kind, and the number itself.
    pub fn qid(&mut self) -> Result<(u8, u64), Error> {
        let kind = self.number(1)? as u8;
        self.number(4)?;
        Ok((kind, self.number(8)?))
    }
}

/// A moment, since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Whole seconds.
    pub seconds: u64,
    /// The rest; below 1,000,000,000.
    pub nanoseconds: u32,
}

/// Status of a file, as the server tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Number of the file, the same for all its names.
    pub inode: u64,
    /// Linux's `st_mode`.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names.
    pub links: u64,
    /// Device number, for devices.
    pub device: u64,
    /// Size in bytes; below 2^63.
    pub size: u64,
    /// Blocks of 512 bytes that it takes.
    pub blocks: u64,
    /// Last read, last change of the content, last change.
    pub times: [Time; 3],
}

impl Status {
    /// Reads the answer to a question for a status.
    pub fn read(answer: &mut Answer<'_>) -> Result<Status, Error> {
        answer.number(8)?;
        let (_, inode) = answer.qid()?;
        let (mode, uid, gid) = (answer.word()?, answer.word()?, answer.word()?);
        let (links, device, size) = (answer.number(8)?, answer.number(8)?, answer.number(8)?);
        answer.number(8)?;
        let blocks = answer.number(8)?;
        let mut times = [Time::default(); 3];
        for time in &mut times {
            let (seconds, nanoseconds) = (answer.number(8)?, answer.number(8)?);
            *time = Time { seconds, nanoseconds: u32::try_from(nanoseconds).ok().filter(|part| *part < 1_000_000_000).ok_or(Error::BROKEN)? };
        }
        if size > i64::MAX as u64 {
            return Err(Error::BROKEN);
        }
        Ok(Status { inode, mode, uid, gid, links, device, size, blocks, times })
    }
}
