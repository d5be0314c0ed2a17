//! Room for parts of files, holes, and which parts have any: messages of ours, which no other
//! client sends.

use super::{Server, Step};
use crate::message::{Reader, Writer};
use crate::tree::{Errno, Part, Sought, Tree};

impl<T: Tree> Server<T> {
    /// Gives blocks to a part of a file.
    pub(super) fn allocate(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, keeps_size) = (message.u32()?, message.u8()?);
        let (start, end) = (message.u64()?, message.u64()?);
        if start >= end {
            return Err(Errno::INVAL);
        }
        let next = self.tree.allocate(self.fids.open(fid)?, start..end, keeps_size != 0)?;
        answer.put(&next.to_le_bytes())
    }

    /// Takes blocks of a part of a file away.
    pub(super) fn punch(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, start, end) = (message.u32()?, message.u64()?, message.u64()?);
        if start >= end {
            return Err(Errno::INVAL);
        }
        let next = self.tree.punch(self.fids.open(fid)?, start..end)?;
        answer.put(&next.to_le_bytes())
    }

    /// Looks for data or a hole.
    pub(super) fn seek(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, is_hole, from) = (message.u32()?, message.u8()?, message.u64()?);
        let part = if is_hole != 0 { Part::Hole } else { Part::Data };
        let (is_found, at) = match self.tree.seek(self.fids.open(fid)?, from, part)? {
            Sought::At(at) => (1, at),
            Sought::Behind(at) => (0, at),
        };
        answer.put(&[is_found])?;
        answer.put(&at.to_le_bytes())
    }
}
