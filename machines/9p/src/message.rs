//! Messages: numbers little-endian, strings behind 16 bits of length.

use crate::tree::Errno;

/// Size of the longest message, either way.
pub const MAX_MESSAGE: usize = 64 << 10;
/// Bytes before what a message says: its size, kind and tag.
pub const HEADER: usize = 7;

/// Rest of a message. Numbers and strings that are not there make the message invalid.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Takes bytes off.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Errno> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        self.bytes(N)?.try_into().map_err(|_| Errno::INVAL)
    }

    /// Takes 8 bits off.
    pub fn u8(&mut self) -> Result<u8, Errno> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Takes 16 bits off.
    pub fn u16(&mut self) -> Result<u16, Errno> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Takes 32 bits off.
    pub fn u32(&mut self) -> Result<u32, Errno> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Takes 64 bits off.
    pub fn u64(&mut self) -> Result<u64, Errno> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Takes a string off.
    pub fn string(&mut self) -> Result<&'a [u8], Errno> {
        let count = self.u16()?;
        self.bytes(count.into())
    }
}

/// An answer that is being written. What does not fit makes it fail as a whole.
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    used: usize,
}

impl<'a> Writer<'a> {
    /// Begins an answer with its header, which `finish` fills in.
    pub fn new(buffer: &'a mut [u8]) -> Option<Self> {
        (buffer.len() >= HEADER).then_some(Writer { buffer, used: HEADER })
    }

    /// Takes everything back but the header.
    pub fn clear(&mut self) {
        self.used = HEADER;
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let end = self.used + bytes.len();
        self.buffer.get_mut(self.used..end).ok_or(Errno::INVAL)?.copy_from_slice(bytes);
        self.used = end;
        Ok(())
    }

    /// Appends a string.
    pub fn string(&mut self, text: &[u8]) -> Result<(), Errno> {
        let size = u16::try_from(text.len()).map_err(|_| Errno::NAMETOOLONG)?;
        self.put(&size.to_le_bytes())?;
        self.put(text)
    }

    /// Appends a size of 32 bits and so many bytes that `fill` writes into the room; it returns how
    /// many.
    pub fn counted(
        &mut self, fill: impl FnOnce(&mut [u8]) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        let at = self.used;
        self.put(&[0; 4])?;
        let room = &mut self.buffer[self.used..];
        let limit = room.len();
        let count = fill(room)?.min(limit);
        self.buffer[at..at + 4].copy_from_slice(&(count as u32).to_le_bytes());
        self.used += count;
        Ok(())
    }

    /// Fills the header in. Returns the size of the answer.
    pub fn finish(self, kind: u8, tag: u16) -> usize {
        self.buffer[..4].copy_from_slice(&(self.used as u32).to_le_bytes());
        self.buffer[4] = kind;
        self.buffer[5..7].copy_from_slice(&tag.to_le_bytes());
        self.used
    }
}
