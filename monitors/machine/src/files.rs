//! Files of the environment.

use alloc::format;
use alloc::string::String;
use nacre_machine_load::{ByteSource, Unreadable};
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file};
use nacre_sys::{OwnedReference, Reference};

/// Bytes that one message carries.
const PIECE: usize = 16 << 10;

/// An open file.
pub struct File {
    port: OwnedReference,
    size: u64,
}

/// Opens a file.
pub fn open(services: &Services, path: &[u8], flags: u64) -> Result<File, String> {
    let refused = |doing: &str, errno| format!("cannot {doing} {}: {errno}", lossy(path));
    let opened = directory::open(services.files(), flags, 0, path).map_err(|errno| refused("open", errno))?;
    let mut bytes = [0; Status::SIZE];
    file::status(opened.file.handle(), &mut bytes).map_err(|errno| refused("read", errno))?;
    Ok(File { port: opened.file, size: Status::from_bytes(&bytes).map_or(0, |status| status.size) })
}

impl File {
    /// Returns the open file.
    pub fn port(&self) -> Reference {
        self.port.handle()
    }

    /// Returns the size that it had when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads bytes that lie inside.
    pub fn read_exact(&self, mut at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        for piece in into.chunks_mut(PIECE) {
            let size = piece.len() as u64;
            match file::read(self.port(), at, size, piece) {
                Ok(reply) if reply.count == size => at += size,
                _ => return Err(Unreadable),
            }
        }
        Ok(())
    }
}

impl ByteSource for File {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        self.read_exact(at, into)
    }
}

/// Writes bytes to an open file. Returns how many were written, and why not all were.
pub fn write_all(port: Reference, at: u64, bytes: &[u8]) -> (usize, Result<(), Errno>) {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file::write(port, at.wrapping_add(done as u64), &rest[..rest.len().min(PIECE)]) {
            Ok(reply) if reply.count != 0 => done += (reply.count as usize).min(rest.len()),
            Ok(_) => return (done, Err(Errno::EIO)),
            Err(errno) => return (done, Err(errno)),
        }
    }
    (done, Ok(()))
}
