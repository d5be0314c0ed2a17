//! Files of others, whose contents dataspaces show. Whoever serves such a file may be anybody, so
//! no request waits for it for ever.

use nacre_dataspaces::generations::Failed;
use nacre_dataspaces::store::Contents;
use nacre_proto::flags::{FILE_APPEND, KEEP_FLAGS, S_IFREG};
use nacre_proto::structures::Status;
use nacre_proto::{Errno, file};
use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_sys::{OwnedReference, Span, SpanMut};

/// Nanoseconds that a file's server has for an answer.
const PATIENCE: u64 = 1_000_000_000;
/// Bits of a mode that tell the kind of file.
const KIND: u64 = 0o170_000;

/// An open file of somebody else's.
pub struct RemoteFile {
    reader: OwnedReference,
    /// A reference through which the file can be written.
    writer: Option<OwnedReference>,
    /// Set if the server did not answer in time, and is not asked again.
    is_lost: bool,
}

fn ask(file: &OwnedReference, label: u32, words: [u64; 6], bytes: Span<'_>, buffer: SpanMut<'_>) -> Result<Received, Errno> {
    let message = Message { bytes, ..Message::new(label, words) };
    let received = ipc::call_in_place(file.handle(), &message, Buffers { bytes: buffer, slots: &[] }, PATIENCE)?;
    match received.label() {
        0 => Ok(received),
        label => Err(Errno(label)),
    }
}

/// Status of an open file of somebody else's.
pub(crate) fn status_of(file: &OwnedReference) -> Result<Status, Errno> {
    let mut bytes = [0; Status::SIZE];
    ask(file, file::status::LABEL, [0; 6], Span::EMPTY, SpanMut::from(&mut bytes[..]))?;
    Status::from_bytes(&bytes).ok_or(Errno::EPROTO)
}

/// Returns true if a file can be written through this reference. An empty write changes nothing.
pub(crate) fn may_write(file: &OwnedReference) -> bool {
    ask(file, file::write::LABEL, [0; 6], Span::EMPTY, SpanMut::EMPTY).is_ok()
}

impl RemoteFile {
    /// Takes an open file, and tells what is known of it. `EACCES`: it is not open for reading.
    /// `ENODEV`: it is no regular file.
    pub(crate) fn open(reference: OwnedReference) -> Result<(RemoteFile, Status), Errno> {
        let status = status_of(&reference)?;
        if status.mode & KIND != S_IFREG {
            return Err(Errno::ENODEV);
        }
        let mut byte = [0; 1];
        ask(&reference, file::read::LABEL, [0, 1, 0, 0, 0, 0], Span::EMPTY, SpanMut::from(&mut byte[..])).map_err(|errno| if errno == Errno::EBADF { Errno::EACCES } else { errno })?;
        let writer = if may_write(&reference) { Some(OwnedReference::copy_of(reference.handle(), nacre_abi::rights::REFERENCE_USE)?) } else { None };
        Ok((RemoteFile { reader: reference, writer, is_lost: false }, status))
    }

    /// Returns true if the file can be written.
    pub(crate) fn is_writable(&self) -> bool {
        self.writer.is_some()
    }

    /// Takes over the reference for writing of another open file, which is the same file.
    pub(crate) fn adopt(&mut self, other: RemoteFile) {
        if self.is_lost {
            *self = other;
        } else if self.writer.is_none() {
            self.writer = other.writer;
        }
    }

    fn ask(&mut self, label: u32, words: [u64; 6], bytes: Span<'_>, buffer: SpanMut<'_>) -> Result<Received, Errno> {
        let is_change = matches!(label, file::write::LABEL | file::set_size::LABEL | file::flags::LABEL);
        let target = if is_change { self.writer.as_ref().ok_or(Errno::EBADF)? } else { &self.reader };
        if self.is_lost {
            return Err(Errno::EIO);
        }
        let answer = ask(target, label, words, bytes, buffer);
        self.is_lost = answer.as_ref().is_err_and(|errno| *errno == Errno::ETIMEDOUT);
        answer
    }

    /// Status of the file.
    pub(crate) fn status(&mut self) -> Result<Status, Errno> {
        let mut bytes = [0; Status::SIZE];
        self.ask(file::status::LABEL, [0; 6], Span::EMPTY, SpanMut::from(&mut bytes[..]))?;
        Status::from_bytes(&bytes).ok_or(Errno::EPROTO)
    }

    /// Reads bytes: how many.
    pub(crate) fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<u64, Errno> {
        let size = into.len();
        let received = self.ask(file::read::LABEL, [offset, size as u64, 0, 0, 0, 0], Span::EMPTY, SpanMut::from(into))?;
        Ok(received.words[0].min(received.bytes() as u64).min(size as u64))
    }

    /// Writes bytes: how many. `EINVAL`: the file is open to append, and would take them elsewhere.
    pub(crate) fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<u64, Errno> {
        let flags = self.ask(file::flags::LABEL, [KEEP_FLAGS, 0, 0, 0, 0, 0], Span::EMPTY, SpanMut::EMPTY)?.words[0];
        if flags & FILE_APPEND != 0 {
            return Err(Errno::EINVAL);
        }
        let received = self.ask(file::write::LABEL, [offset, 0, 0, 0, 0, 0], Span::from(from), SpanMut::EMPTY)?;
        Ok(received.words[0].min(from.len() as u64))
    }

    /// Makes the file so long.
    pub(crate) fn set_size(&mut self, size: u64) -> Result<(), Errno> {
        self.ask(file::set_size::LABEL, [size, 0, 0, 0, 0, 0], Span::EMPTY, SpanMut::EMPTY).map(drop)
    }

    /// Returns when what was written is where it is to stay.
    pub(crate) fn sync(&mut self) -> Result<(), Errno> {
        self.ask(file::sync::LABEL, [0; 6], Span::EMPTY, SpanMut::EMPTY).map(drop)
    }
}

impl Contents for RemoteFile {
    fn size(&mut self) -> Result<u64, Failed> {
        self.status().map(|status| status.size).map_err(|_| Failed)
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, Failed> {
        self.read_at(offset, into).map(|count| count as usize).map_err(|_| Failed)
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), Failed> {
        match self.write_at(offset, from) {
            Ok(count) if count == from.len() as u64 => Ok(()),
            _ => Err(Failed),
        }
    }
}
