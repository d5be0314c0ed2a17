//! Values of extended attributes that a guest reads and writes by numbers of files.

use crate::tree::Errno;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Bytes of a value, at most.
const MAX_VALUE: usize = 1 << 16;
/// Values at a time, at most, so that a guest cannot take all memory of its machine's owner.
const MAX_VALUES: usize = 16;
/// Flag of a change: the attribute must be there. With no bytes at all it is a removal.
const REPLACE: u32 = 2;

/// Value that a number leads to.
pub enum Value {
    /// Value or names that the guest reads.
    Read(Vec<u8>),
    /// Value that the guest writes.
    Written(Written),
}

/// Value that is set when its number is given back.
pub struct Written {
    name: Vec<u8>,
    bytes: Vec<u8>,
    size: usize,
    flags: u32,
}

impl Written {
    /// A value of so many bytes that nobody has written yet.
    pub fn new(name: &[u8], size: u64, flags: u32) -> Result<Self, Errno> {
        let size = usize::try_from(size).ok().filter(|size| *size <= MAX_VALUE).ok_or(Errno::TOOBIG)?;
        if name.is_empty() || name.len() > 255 {
            return Err(Errno::INVAL);
        }
        Ok(Written { name: name.to_vec(), bytes: Vec::new(), size, flags })
    }

    /// Returns name, value and flags; no value: the attribute is removed.
    pub fn whole(&self) -> Result<(&[u8], Option<&[u8]>, u32), Errno> {
        if self.bytes.len() != self.size {
            return Err(Errno::INVAL);
        }
        let is_removal = self.size == 0 && self.flags == REPLACE;
        Ok((&self.name, (!is_removal).then_some(&self.bytes[..]), self.flags))
    }
}

impl Value {
    /// Returns bytes from a position on.
    pub fn part(&self, at: u64, count: u32) -> Result<&[u8], Errno> {
        let Value::Read(bytes) = self else { return Err(Errno::BADF) };
        let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        Ok(&rest[..rest.len().min(count as usize)])
    }

    /// Appends bytes, which come in their order.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let Value::Written(written) = self else { return Err(Errno::BADF) };
        if at != written.bytes.len() as u64 || bytes.len() > written.size - written.bytes.len() {
            return Err(Errno::INVAL);
        }
        written.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Values by the numbers that lead to them.
#[derive(Default)]
pub struct Values(BTreeMap<u32, Value>);

impl Values {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// `ENFILE`: there are too many.
    pub fn check_room(&self) -> Result<(), Errno> {
        if self.0.len() < MAX_VALUES { Ok(()) } else { Err(Errno::NFILE) }
    }

    /// Lets a number lead to a value.
    pub fn add(&mut self, number: u32, value: Value) -> Result<(), Errno> {
        self.check_room()?;
        self.0.insert(number, value);
        Ok(())
    }

    /// Returns the value that a number leads to.
    pub fn get(&mut self, number: u32) -> Option<&mut Value> {
        self.0.get_mut(&number)
    }

    /// Takes a value out.
    pub fn remove(&mut self, number: u32) -> Option<Value> {
        self.0.remove(&number)
    }
}
