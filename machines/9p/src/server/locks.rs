//! Locks of files.

use super::{Server, Step};
use crate::message::{Reader, Writer};
use crate::tree::{Errno, Lock, Tree};

/// Kinds of lock, and outcomes.
const LOCK_READ: u8 = 0;
const LOCK_WRITE: u8 = 1;
const LOCK_NONE: u8 = 2;
const LOCKED: u8 = 0;
const BLOCKED: u8 = 1;

impl<T: Tree> Server<T> {
    pub(super) fn lock(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, kind, _flags) = (message.u32()?, message.u8()?, message.u32()?);
        let (first, last) = part(message)?;
        let kind = match kind {
            LOCK_READ => Lock::Read,
            LOCK_WRITE => Lock::Write,
            LOCK_NONE => Lock::None,
            _ => return Err(Errno::INVAL),
        };
        match self.tree.lock(self.fids.open(fid)?, kind, first, last) {
            Ok(()) => answer.put(&[LOCKED]),
            // The guest asks again after a while.
            Err(Errno::AGAIN) => answer.put(&[BLOCKED]),
            Err(errno) => Err(errno),
        }
    }

    /// Says that nobody else has a lock, which only an attempt finds out for sure.
    pub(super) fn lock_test(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, _kind) = (message.u32()?, message.u8()?);
        self.fids.open(fid)?;
        let (start, length, process) = (message.u64()?, message.u64()?, message.u32()?);
        let client = message.string()?;
        answer.put(&[LOCK_NONE])?;
        answer.put(&start.to_le_bytes())?;
        answer.put(&length.to_le_bytes())?;
        answer.put(&process.to_le_bytes())?;
        answer.string(client)
    }
}

/// Reads the part of a file that a lock is for. Length 0 is up to the end that may come.
fn part(message: &mut Reader<'_>) -> Result<(u64, u64), Errno> {
    let (first, length) = (message.u64()?, message.u64()?);
    let last = if length == 0 { u64::MAX } else { first.saturating_add(length - 1) };
    Ok((first, last))
}
