//! Files of the guest that gdb reads.

use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_gdb::target::FileError;
use nacre_proto::flags::O_RDONLY;
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file};
use nacre_sys::OwnedReference;

/// Maximum number of files that are open at a time.
const MAX_FILES: usize = 64;

/// The open files.
pub struct Files {
    root: OwnedReference,
    open: Vec<Option<OwnedReference>>,
}

fn number(errno: Errno) -> FileError {
    errno.0
}

impl Files {
    /// Files below this directory.
    pub fn new(root: OwnedReference) -> Files {
        Files { root, open: Vec::new() }
    }

    fn get(&self, file: u32) -> Result<&OwnedReference, FileError> {
        self.open.get(file as usize).and_then(Option::as_ref).ok_or(number(Errno::EBADF))
    }

    /// Opens a file: its number.
    pub fn open(&mut self, path: &[u8]) -> Result<u32, FileError> {
        let place = match self.open.iter().position(Option::is_none) {
            Some(place) => place,
            None if self.open.len() < MAX_FILES => {
                self.open.push(None);
                self.open.len() - 1
            }
            None => return Err(number(Errno::EMFILE)),
        };
        let opened = directory::open(self.root.handle(), O_RDONLY, 0, path).map_err(number)?;
        self.open[place] = Some(opened.file);
        Ok(place as u32)
    }

    /// Reads from a file.
    pub fn read(&self, file: u32, offset: u64, size: usize) -> Result<Vec<u8>, FileError> {
        let opened = self.get(file)?;
        if offset > i64::MAX as u64 {
            return Err(number(Errno::EINVAL));
        }
        let mut bytes = vec![0; size.min(MAX_BYTES as usize)];
        let reply = file::read(opened.handle(), offset, bytes.len() as u64, &mut bytes[..]).map_err(number)?;
        bytes.truncate(reply.data as usize);
        Ok(bytes)
    }

    /// Returns the size of a file.
    pub fn size(&self, file: u32) -> Result<u64, FileError> {
        let mut bytes = [0; Status::SIZE];
        file::status(self.get(file)?.handle(), &mut bytes[..]).map_err(number)?;
        Status::from_bytes(&bytes).map(|status| status.size).ok_or(number(Errno::EIO))
    }

    /// Closes a file.
    pub fn close(&mut self, file: u32) -> Result<(), FileError> {
        self.get(file)?;
        self.open[file as usize] = None;
        Ok(())
    }
}
