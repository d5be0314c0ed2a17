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

/// An open file.
enum Open {
    /// A file of the guest's.
    Guest(OwnedReference),
    /// Text that was made for gdb.
    Text(Vec<u8>),
}

/// The open files.
pub struct Files {
    root: OwnedReference,
    open: Vec<Option<Open>>,
}

fn number(errno: Errno) -> FileError {
    errno.0
}

impl Files {
    /// Files below this directory.
    pub fn new(root: OwnedReference) -> Files {
        Files { root, open: Vec::new() }
    }

    fn get(&self, file: u32) -> Result<&Open, FileError> {
        self.open.get(file as usize).and_then(Option::as_ref).ok_or(number(Errno::EBADF))
    }

    /// Opens a file: its number.
    pub fn open(&mut self, path: &[u8]) -> Result<u32, FileError> {
        let opened = directory::open(self.root.handle(), O_RDONLY, 0, path).map_err(number)?;
        self.add(Open::Guest(opened.file))
    }

    /// Opens text as a file: its number.
    pub fn open_text(&mut self, text: Vec<u8>) -> Result<u32, FileError> {
        self.add(Open::Text(text))
    }

    fn add(&mut self, opened: Open) -> Result<u32, FileError> {
        let place = match self.open.iter().position(Option::is_none) {
            Some(place) => place,
            None if self.open.len() < MAX_FILES => {
                self.open.push(None);
                self.open.len() - 1
            }
            None => return Err(number(Errno::EMFILE)),
        };
        self.open[place] = Some(opened);
        Ok(place as u32)
    }

    /// Reads from a file.
    pub fn read(&self, file: u32, offset: u64, size: usize) -> Result<Vec<u8>, FileError> {
        if offset > i64::MAX as u64 {
            return Err(number(Errno::EINVAL));
        }
        let opened = match self.get(file)? {
            Open::Guest(opened) => opened,
            Open::Text(text) => {
                let rest = usize::try_from(offset).ok().and_then(|start| text.get(start..)).unwrap_or_default();
                return Ok(rest[..rest.len().min(size)].to_vec());
            }
        };
        let mut bytes = vec![0; size.min(MAX_BYTES as usize)];
        let reply = file::read(opened.handle(), offset, bytes.len() as u64, &mut bytes[..]).map_err(number)?;
        bytes.truncate(reply.data as usize);
        Ok(bytes)
    }

    /// Returns the size of a file.
    pub fn size(&self, file: u32) -> Result<u64, FileError> {
        let opened = match self.get(file)? {
            Open::Guest(opened) => opened,
            Open::Text(text) => return Ok(text.len() as u64),
        };
        let mut bytes = [0; Status::SIZE];
        file::status(opened.handle(), &mut bytes[..]).map_err(number)?;
        Status::from_bytes(&bytes).map(|status| status.size).ok_or(number(Errno::EIO))
    }

    /// Closes a file.
    pub fn close(&mut self, file: u32) -> Result<(), FileError> {
        self.get(file)?;
        self.open[file as usize] = None;
        Ok(())
    }
}
