//! What clients hold references to: a port for each, whose word is the object's key.

use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_root::open_file::OpenFile;
use nacre_root::table::{Key, Table};
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, Port, PortSet, Reference};

/// Maximum number of objects.
const MOST: usize = 16_384;

/// Kind of an object.
pub enum Kind {
    /// An open file.
    File(OpenFile),
    /// A process that locks files, with its number.
    Owner(u64),
    /// A program that runs a file.
    Running(Key),
}

struct Object {
    kind: Kind,
    port: OwnedPort,
}

/// All objects, and the set through which their ports are received from.
pub struct Objects {
    table: Table<Option<Object>>,
    set: OwnedPortSet,
}

impl Objects {
    /// Makes an empty table.
    pub fn new() -> Result<Objects, Errno> {
        Ok(Objects { table: Table::new(), set: OwnedPortSet::new()? })
    }

    /// The set of all ports.
    pub fn set(&self) -> PortSet {
        self.set.handle()
    }

    /// Adds an object, and makes the one reference to it.
    pub fn give(&mut self, kind: Kind) -> Result<OwnedReference, Errno> {
        if self.table.len() >= MOST {
            return Err(Errno::ENFILE);
        }
        self.table.reserve()?;
        let key = self.table.insert(None);
        let made = OwnedPort::new(key.to_word(), self.set.handle()).and_then(|port| port.new_reference(REFERENCE_USE).map(|reference| (port, reference)));
        match made {
            Ok((port, reference)) => {
                if let Some(place) = self.table.get_mut(key) {
                    *place = Some(Object { kind, port });
                }
                Ok(reference)
            }
            Err(status) => {
                self.table.remove(key);
                Err(status.into())
            }
        }
    }

    /// Takes an object out. Its port goes.
    pub fn remove(&mut self, key: Key) -> Option<Kind> {
        self.table.remove(key).flatten().map(|object| object.kind)
    }

    /// The kind of an object.
    pub fn kind(&self, key: Key) -> Option<&Kind> {
        self.table.get(key)?.as_ref().map(|object| &object.kind)
    }

    /// The object of ours that a client's reference leads to, if it leads to one.
    pub fn find(&self, reference: Reference) -> Option<Key> {
        let revealed = reference.reveal(0, nacre_abi::USER_END).ok()??;
        let key = Key::from_word(Port(revealed.address).get_state().ok()?.word);
        let object = self.table.get(key)?.as_ref()?;
        (object.port.handle().address() == revealed.address).then_some(key)
    }

    /// The open file behind a port's word. `ENOSYS`: it is something else.
    pub fn file(&self, word: u64) -> Result<OpenFile, Errno> {
        match self.kind(Key::from_word(word)) {
            Some(Kind::File(file)) => Ok(*file),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// The open file of a word, to be changed.
    pub fn file_mut(&mut self, word: u64) -> Result<&mut OpenFile, Errno> {
        match self.table.get_mut(Key::from_word(word)).and_then(Option::as_mut).map(|object| &mut object.kind) {
            Some(Kind::File(file)) => Ok(file),
            _ => Err(Errno::ENOSYS),
        }
    }
}
