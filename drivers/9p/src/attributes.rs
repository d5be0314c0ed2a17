//! Extended attributes of the server's files: a value is read and written by a number of its own.

use crate::client::{Client, Fid, Wire, kind};
use crate::Error;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a value, at most, and of all names of a file.
pub const MAX_VALUE: usize = 1 << 16;
/// Flag of a change: the attribute must be there.
const REPLACE: u32 = 2;

impl<W: Wire> Client<W> {
    /// Returns the value of an extended attribute; of an empty name, all names, a zero behind each.
    pub fn attribute(&mut self, fid: Fid, name: &[u8]) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        let open = self.with_new(|client, new| {
            size = client.ask(kind::ATTRIBUTE_WALK, |message| message.words(&[fid.0, new.0]).string(name))?.number(8)?;
            Ok(())
        })?;
        self.note_path(|paths| paths.copy(fid.0, open.0));
        let value = self.read_whole(open, size);
        self.forget(open);
        value
    }

    /// Reads so many bytes by a number of their own.
    fn read_whole(&mut self, open: Fid, size: u64) -> Result<Vec<u8>, Error> {
        let size = usize::try_from(size).ok().filter(|size| *size <= MAX_VALUE).ok_or(Error::BROKEN)?;
        let (mut value, mut done) = (vec![0; size], 0);
        while done < size {
            match self.read(open, done as u64, &mut value[done..])? {
                0 => return Err(Error::BROKEN),
                count => done += count,
            }
        }
        Ok(value)
    }

    /// Sets an extended attribute with Linux's flags. A server may take an empty value for a
    /// removal.
    pub fn set_attribute(&mut self, fid: Fid, name: &[u8], value: &[u8], flags: u32) -> Result<(), Error> {
        let copy = self.copy(fid)?;
        let written = self.write_attribute(copy, name, value, flags);
        // The server sets it when the number is given back.
        let closed = self.close(copy);
        written.and(closed)
    }

    fn write_attribute(&mut self, copy: Fid, name: &[u8], value: &[u8], flags: u32) -> Result<(), Error> {
        self.ask(kind::ATTRIBUTE_CREATE, |message| message.words(&[copy.0]).string(name).long(value.len() as u64).words(&[flags])).map(drop)?;
        let mut done = 0;
        while done < value.len() {
            match self.write(copy, done as u64, &value[done..])? {
                0 => return Err(Error::BROKEN),
                count => done += count,
            }
        }
        Ok(())
    }

    /// Removes an extended attribute.
    pub fn remove_attribute(&mut self, fid: Fid, name: &[u8]) -> Result<(), Error> {
        self.set_attribute(fid, name, b"", REPLACE)
    }
}
