//! Questions that the guard itself asks a server about its own objects. A server that others handed
//! to the child is a stranger: it may never answer, and the guard waits for it for a bounded time.

use crate::paths::{Links, marked};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::flags::{AT_SYMLINK_NOFOLLOW, FILE_KINDS, O_DIRECTORY, O_PATH, S_IFDIR};
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file};
use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_sys::{FOREVER, OwnedReference, Reference, Span, SpanMut};

/// Maximum of bytes of a path.
const MAX_PATH: usize = 4096;

/// Nanoseconds that a stranger has for an answer: 0.25 s.
pub const PATIENCE: u64 = 250_000_000;
/// Maximum of questions to a strange server for one request.
const QUESTIONS: u32 = 32;

/// A server, by one of its objects.
pub struct Peer {
    reference: Reference,
    /// Questions that are left; none for a server that is known.
    left: Option<u32>,
}

impl Peer {
    /// The server of this object.
    pub fn new(reference: Reference, is_stranger: bool) -> Peer {
        Peer { reference, left: is_stranger.then_some(QUESTIONS) }
    }

    /// Asks, and puts the bytes of the answer into `into`. `ETIMEDOUT`: a stranger does not answer,
    /// or was asked too often. `EPROTO`: the answer is no answer to this.
    fn ask(&mut self, (label, words): (u32, [u64; 6]), bytes: &[u8], into: &mut [u8], slots: &[Reference]) -> Result<Received, Errno> {
        let timeout = if self.left.is_some() { PATIENCE } else { FOREVER };
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1).ok_or(Errno::ETIMEDOUT)?;
        }
        let message = Message { bytes: Span::from(bytes), ..Message::new(label, words) };
        let received = ipc::call(self.reference, &message, Buffers::new(SpanMut::from(into), slots), timeout)?;
        match received.label() {
            0 if received.references() == slots.len() => Ok(received),
            label => {
                nacre_nest::interpose::reference_translation::destroy(&slots[..received.references()]);
                Err(if label == 0 { Errno::EPROTO } else { Errno(label) })
            }
        }
    }

    fn status_of(&mut self, question: (u32, [u64; 6]), path: &[u8]) -> Result<Status, Errno> {
        let mut bytes = [0; Status::SIZE];
        let received = self.ask(question, path, &mut bytes, &[])?;
        let is_whole = received.bytes() == Status::SIZE;
        Status::from_bytes(&bytes).filter(|_| is_whole).ok_or(Errno::EPROTO)
    }

    /// Returns the kind of the object itself, as bits of its mode.
    pub fn kind(&mut self) -> Result<u64, Errno> {
        let status = self.status_of((file::status::LABEL, [0; 6]), &[])?;
        Ok(u64::from(status.mode) & FILE_KINDS[0].mask)
    }

    /// Returns true if there is a directory at a path, or if nobody can tell.
    pub fn may_be_directory(&mut self, path: &[u8]) -> bool {
        let question = (directory::status_at::LABEL, [AT_SYMLINK_NOFOLLOW, 0, 0, 0, 0, 0]);
        let Ok(path) = marked(path) else { return true };
        self.status_of(question, &path).map_or(true, |status| u64::from(status.mode) & FILE_KINDS[0].mask == S_IFDIR)
    }

    /// Returns the path of the object, a directory, wherever it is by now.
    pub fn path(&mut self) -> Result<Vec<u8>, Errno> {
        let mut path = vec![0; 2 * MAX_PATH];
        let received = self.ask((directory::path::LABEL, [0; 6]), &[], &mut path, &[])?;
        path.truncate(received.bytes());
        if path.starts_with(b"/") && !path.contains(&0) { Ok(path) } else { Err(Errno::EPROTO) }
    }

    /// Asks where a path leads, used from the object. Returns the path without links, and true if
    /// it can only mean a directory.
    pub fn find(&mut self, path: &[u8], follows: bool) -> Result<(Vec<u8>, bool), Errno> {
        let flags = if follows { 0 } else { AT_SYMLINK_NOFOLLOW };
        let mut found = vec![0; MAX_PATH];
        let received = self.ask((directory::find::LABEL, [flags, 0, 0, 0, 0, 0]), path, &mut found, &[])?;
        found.truncate(received.bytes());
        Ok((found, received.words[0] != 0))
    }

    /// Returns the path of the directory that the object, a directory, is in, or was.
    pub fn path_of_parent(&mut self) -> Result<Vec<u8>, Errno> {
        let above = OwnedReference::null()?;
        self.ask((directory::open::LABEL, [O_PATH | O_DIRECTORY, 0, 0, 0, 0, 0]), b"..", &mut [], &[above.handle()])?;
        Peer { reference: above.handle(), left: self.left }.path()
    }
}

impl Links for Peer {
    fn read(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut target = vec![0; MAX_BYTES as usize];
        let received = self.ask((directory::read_link::LABEL, [0; 6]), &marked(path)?, &mut target, &[])?;
        target.truncate(received.bytes());
        Ok(target)
    }
}
