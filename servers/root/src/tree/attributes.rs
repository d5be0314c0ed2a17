//! Extended attributes of a node: names with values, which programs give to files. Whoever stores
//! an attribute pays for it as for a name.

use crate::store::Store;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{XATTR_CREATE, XATTR_REPLACE};

/// Bytes of a name, at most.
const MAX_NAME: usize = 255;
/// Bytes of a value, at most, and of all names of a file.
pub const MAX_VALUE: usize = 1 << 16;
/// Beginnings of the names that are kept. Access lists would have to be obeyed.
const KINDS: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];

/// A value, and who pays for it and its name.
#[derive(Debug)]
struct Value {
    bytes: Vec<u8>,
    payer: u64,
}

/// Attributes of a node that are kept here.
#[derive(Debug, Default)]
pub struct Attributes(BTreeMap<Vec<u8>, Value>);

impl Attributes {
    /// Returns the value of an attribute.
    pub(super) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.0.get(name).map(|value| &value.bytes[..])
    }

    /// Returns the names, a zero behind each.
    pub(super) fn names(&self) -> Vec<u8> {
        self.0.keys().flat_map(|name| name.iter().copied().chain([0])).collect()
    }

    /// Takes an attribute out, and gives back what was paid for it.
    pub(super) fn remove(&mut self, store: &mut impl Store, name: &[u8]) -> Option<()> {
        let value = self.0.remove(name)?;
        store.give_name(value.payer, name.len() + value.bytes.len());
        Some(())
    }

    /// Sets an attribute, for which whoever pays now has to have room.
    pub(super) fn set(&mut self, store: &mut impl Store, name: &[u8], value: &[u8]) -> Result<(), Errno> {
        let size = name.len() + value.len();
        if self.names().len() + name.len() + 1 > MAX_VALUE || !store.has_room() {
            return Err(Errno::ENOSPC);
        }
        let payer = store.take_name(size).ok_or(Errno::ENOSPC)?;
        self.remove(store, name);
        self.0.insert(name.to_vec(), Value { bytes: value.to_vec(), payer });
        Ok(())
    }

    /// Gives back what was paid for all of them.
    pub fn release(mut self, store: &mut impl Store) {
        while let Some((name, value)) = self.0.pop_first() {
            store.give_name(value.payer, name.len() + value.bytes.len());
        }
    }
}

/// `EOPNOTSUPP`: attributes of such names are not kept.
pub(super) fn check_name(name: &[u8]) -> Result<(), Errno> {
    match name.len() {
        0 => Err(Errno::ERANGE),
        size if size > MAX_NAME => Err(Errno::ERANGE),
        _ if name.contains(&0) => Err(Errno::EINVAL),
        _ if KINDS.iter().any(|kind| name.len() > kind.len() && name.starts_with(kind)) => Ok(()),
        _ => Err(Errno::EOPNOTSUPP),
    }
}

/// Refuses a change of an attribute that must be there or must not.
pub(super) fn check_flags(is_there: bool, flags: u64) -> Result<(), Errno> {
    match is_there {
        true if flags & XATTR_CREATE != 0 => Err(Errno::EEXIST),
        false if flags & XATTR_REPLACE != 0 => Err(Errno::ENODATA),
        _ => Ok(()),
    }
}
