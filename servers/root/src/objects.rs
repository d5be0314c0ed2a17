//! What clients hold references to: a port for each, whose word is the object's key.

use crate::coloured::Colouring;
use crate::accounts::{Accounts, cost};
use crate::memory::{self, Segment};
use crate::open_file::{FileOperations, OpenFile};
use crate::promises::Promise;
use crate::sources::Source;
use crate::table::{Key, Table};
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::{Errno, clock, control, directory, driver, file, nic, parent, segment, terminal};
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, Port, PortSet, Reference, Status};

/// Records of all clients take at most this part of the memory, within these bounds.
const RECORDS_PART: u64 = 8;
const RECORDS: core::ops::RangeInclusive<u64> = 1 << 20..=16 << 20;
/// Free memory below which there are no new ones.
const ROOM: u64 = 256 << 10;

/// Kind of an object.
pub enum Kind {
    /// The program's parent.
    Parent,
    /// Port of the program's exceptions and of its end.
    Keeper,
    /// The interrupts of the serial lines arrive here.
    Lines,
    /// The clock.
    Clock,
    /// The service of commands.
    Control,
    /// A seat at which commands wait.
    Seat,
    /// The service that knows the network card's driver.
    Nic,
    /// The parent of a driver, by its device's number.
    Driver(usize),
    /// Port of the exceptions of a driver, and of its end.
    DriverKeeper(usize),
    /// A pool of memory.
    Pool(Key),
    /// A pool of memory, for those who may not destroy it. True: memory for kernel objects does not
    /// come through it.
    SharedPool(Key, bool),
    /// Memory, and the pool that pays for it.
    Segment(Key, Segment),
    /// Memory of some colours.
    Coloured(Colouring),
    /// Memory that is there once it is touched, and the pool that pays for it then. Its faults
    /// arrive here, too.
    Promise(Key, Promise),
    /// An open file.
    File(OpenFile),
    /// An open file of which another account pays for what is asked here. It keeps the file open.
    Charged(Key, OwnedReference),
    /// A file's contents as memory: who holds it keeps the file.
    View(View),
    /// Port of the faults of a view of a file; the flag is set if the view can be written through.
    Faults(Key, bool),
    /// Object that is read like a file and is none.
    Source(alloc::boxed::Box<Source>),
    /// A process that locks files, with its number.
    Owner(u64),
    /// A program that runs a file.
    Running(Key),
}

impl Kind {
    /// Returns true if an object of this kind answers the protocol. An interposer may hand a
    /// reference out as it is because of what the type declares, so a port must never answer
    /// anything else.
    pub fn serves(&self, protocol: u32) -> bool {
        match self {
            Kind::Parent => protocol == parent::NUMBER,
            Kind::Clock => protocol == clock::NUMBER,
            Kind::Control | Kind::Seat => protocol == control::NUMBER,
            Kind::Nic => protocol == nic::NUMBER,
            Kind::Driver(_) => [parent::NUMBER, driver::NUMBER].contains(&protocol),
            Kind::Pool(_) | Kind::SharedPool(..) => protocol == nacre_proto::memory::NUMBER,
            Kind::Segment(..) | Kind::Promise(..) | Kind::Coloured(_) | Kind::View(_) => protocol == segment::NUMBER,
            Kind::File(_) | Kind::Charged(..) | Kind::Source(_) => [file::NUMBER, terminal::NUMBER, directory::NUMBER].contains(&protocol),
            Kind::Keeper | Kind::DriverKeeper(_) | Kind::Lines | Kind::Faults(..) | Kind::Owner(_) | Kind::Running(_) => false,
        }
    }
}

/// A view of a file.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The file; it counts the view as an open file.
    pub node: Key,
    /// The object at which its faults arrive.
    pub faults: Key,
    /// Set if the view can be written through.
    pub writable: bool,
    /// The file counts it as a way to write.
    pub is_writer: bool,
    /// Bytes that it could show.
    pub size: u64,
}

/// An object.
pub struct Object {
    /// Kind of the object.
    pub kind: Kind,
    /// Set if the object stays when nobody refers to it: it will be asked for again.
    pub stays: bool,
    /// The account that pays for it.
    pub account: Key,
    /// Bytes that are charged to the account for it.
    charged: u64,
    port: Option<OwnedPort>,
}

/// All objects, and the set through which their ports are received from.
pub struct Objects {
    table: Table<Object>,
    set: OwnedPortSet,
    /// Accounts that pay for objects.
    pub accounts: Accounts,
}

impl Objects {
    /// Returns an empty table of objects.
    pub fn new() -> Result<Objects, Status> {
        let limit = (memory::total() / RECORDS_PART).clamp(*RECORDS.start(), *RECORDS.end());
        Ok(Objects { table: Table::new(), set: OwnedPortSet::new()?, accounts: Accounts::new(limit) })
    }

    /// The set of all ports.
    pub fn set(&self) -> PortSet {
        self.set.handle()
    }

    /// Adds an object that `account` pays for. `stays` is for those that are given out more than
    /// once.
    pub fn add(&mut self, kind: Kind, stays: bool, account: Key) -> Result<Key, Errno> {
        self.table.reserve()?;
        if memory::available() < ROOM {
            return Err(Errno::ENFILE);
        }
        self.accounts.add_object(account)?;
        let key = self.table.insert(Object { kind, stays, account, charged: cost::OBJECT, port: None });
        match OwnedPort::new(key.to_word(), self.set.handle()) {
            Ok(port) => {
                if let Some(object) = self.table.get_mut(key) {
                    object.port = Some(port);
                }
                Ok(key)
            }
            Err(status) => {
                self.remove(key);
                Err(status.into())
            }
        }
    }

    /// Charges more for an object to its account. What was charged for an object is refunded when
    /// it goes.
    pub fn charge(&mut self, key: Key, bytes: u64) -> Result<(), Errno> {
        let object = self.table.get_mut(key).ok_or(Errno::EIO)?;
        self.accounts.charge(object.account, bytes)?;
        object.charged += bytes;
        Ok(())
    }

    /// Takes back some of what was charged for an object.
    pub fn refund(&mut self, key: Key, bytes: u64) {
        if let Some(object) = self.table.get_mut(key) {
            let bytes = bytes.min(object.charged - cost::OBJECT);
            object.charged -= bytes;
            self.accounts.refund(object.account, bytes);
        }
    }

    /// The account that pays for an object; the outermost one if there is no such object.
    pub fn account(&self, word: u64) -> Key {
        self.table.get(Key::from_word(word)).map_or(self.accounts.outermost(), |object| object.account)
    }

    /// A new reference to an object, for a client.
    pub fn reference(&self, key: Key) -> Result<OwnedReference, Errno> {
        let object = self.table.get(key).ok_or(Errno::EIO)?;
        let port = object.port.as_ref().ok_or(Errno::EIO)?;
        Ok(port.new_reference(REFERENCE_USE)?)
    }

    /// Adds an object and makes the one reference to it. If that fails there is no object; what it
    /// stood for is the caller's again.
    pub fn give(&mut self, kind: Kind, account: Key) -> Result<OwnedReference, Errno> {
        let key = self.add(kind, false, account)?;
        self.reference(key).inspect_err(|_| drop(self.remove(key)))
    }

    /// The port of an object.
    pub fn port(&self, key: Key) -> Option<Port> {
        self.table.get(key)?.port.as_ref().map(OwnedPort::handle)
    }

    /// An object.
    pub fn get(&self, key: Key) -> Option<&Object> {
        self.table.get(key)
    }

    /// An object, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut Object> {
        self.table.get_mut(key)
    }

    /// Takes an object out; its port is destroyed with it.
    pub fn remove(&mut self, key: Key) -> Option<Object> {
        let object = self.table.remove(key)?;
        self.accounts.remove_object(object.account, object.charged);
        Some(object)
    }

    /// Every object.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &Object)> {
        self.table.iter()
    }

    /// The object of ours that a client's reference leads to, if it leads to one.
    pub fn find(&self, reference: Reference) -> Option<Key> {
        let revealed = reference.reveal(0, nacre_abi::USER_END).ok()??;
        let key = Key::from_word(Port(revealed.address).get_state().ok()?.word);
        (self.port(key)?.address() == revealed.address).then_some(key)
    }

    /// The object that is the open file itself, of one that another account pays for.
    fn opened(&self, word: u64) -> Key {
        let key = Key::from_word(word);
        match self.table.get(key).map(|object| &object.kind) {
            Some(Kind::Charged(opened, _)) => *opened,
            _ => key,
        }
    }

    /// The open file behind a port's word; `ENOSYS` if it is something else.
    pub fn file(&self, word: u64) -> Result<&OpenFile, Errno> {
        match self.table.get(self.opened(word)).map(|object| &object.kind) {
            Some(Kind::File(file)) => Ok(file),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Returns the open file of a word, to be changed.
    pub fn file_mut(&mut self, word: u64) -> Result<&mut OpenFile, Errno> {
        let key = self.opened(word);
        match self.table.get_mut(key).map(|object| &mut object.kind) {
            Some(Kind::File(file)) => Ok(file),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Gives an open file out once more, for `account` to pay for what is asked there. `EXDEV`: the
    /// reference leads to no such file. A port to the host, or a debugger's line, charges its waits
    /// to whoever opened it.
    pub fn charge_file(&mut self, reference: Reference, account: Key) -> Result<(Key, OwnedReference), Errno> {
        let opened = self.find(reference).map(|key| self.opened(key.to_word())).ok_or(Errno::EXDEV)?;
        let file = *self.file(opened.to_word()).map_err(|_| Errno::EXDEV)?;
        if matches!(file.operations, FileOperations::HostPort(_) | FileOperations::Debugger) {
            return Err(Errno::EXDEV);
        }
        let kept = self.reference(opened)?;
        Ok((file.node, self.give(Kind::Charged(opened, kept), account)?))
    }
}
