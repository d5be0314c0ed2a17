//! Room for parts of files, and which parts have any: three messages of ours, which a server of a
//! volume takes, and no other.

use crate::client::kind;
use crate::{Client, Error, Fid, Wire};
use core::ops::Range;

impl<W: Wire> Client<W> {
    /// Gives blocks to the holes of a part of an open file, a piece of the work. The file grows to
    /// the part's end unless it keeps its size. Returns where the rest of the part begins.
    pub fn allocate(&mut self, open: Fid, part: Range<u64>, keeps_size: bool) -> Result<u64, Error> {
        let mut answer = self.ask(kind::ALLOCATE, |message| {
            message.words(&[open.0]).bytes(&[keeps_size.into()]).long(part.start).long(part.end)
        })?;
        let next = answer.number(8)?;
        if part.start < next && next <= part.end { Ok(next) } else { Err(Error::BROKEN) }
    }

    /// Takes the blocks of a part of an open file away, which reads as zeros then, a piece of the
    /// work. Returns where the rest of the part begins.
    pub fn punch(&mut self, open: Fid, part: Range<u64>) -> Result<u64, Error> {
        let mut answer = self.ask(kind::PUNCH, |message| message.words(&[open.0]).long(part.start).long(part.end))?;
        let next = answer.number(8)?;
        if part.start < next && next <= part.end { Ok(next) } else { Err(Error::BROKEN) }
    }

    /// Looks for the next data of an open file from an offset on, or for its next hole, a piece of
    /// the work. Returns where that is, and true; or where to go on, and false.
    pub fn seek(&mut self, open: Fid, from: u64, for_data: bool) -> Result<(u64, bool), Error> {
        let mut answer = self.ask(kind::SEEK, |message| {
            message.words(&[open.0]).bytes(&[(!for_data).into()]).long(from)
        })?;
        let (is_found, at) = (answer.number(1)? != 0, answer.number(8)?);
        let is_right = at <= i64::MAX as u64 && if is_found { at >= from } else { at > from };
        if is_right { Ok((at, is_found)) } else { Err(Error::BROKEN) }
    }
}
