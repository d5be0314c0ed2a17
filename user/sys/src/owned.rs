//! Objects that are destroyed when they are dropped, and their slots freed.

use nacre_abi::{Rights, Status};

use crate::{Condition, Mapping, Mutex, Object, Port, PortSet, Reference, Region, Space, Thread, slots};

/// A slot that is taken and has no object yet: where a reference can be received, or an object
/// made.
#[derive(Debug)]
pub struct EmptySlot<T: Object>(T);

impl<T: Object> EmptySlot<T> {
    /// Takes a free slot.
    pub fn new() -> Result<EmptySlot<T>, Status> {
        slots::allocate(T::TYPE).map(|address| EmptySlot(T::at(address)))
    }

    /// Returns the object as a handle, which does not own it.
    pub fn handle(&self) -> T {
        self.0
    }

    /// The slot.
    pub fn address(&self) -> u64 {
        self.0.address()
    }

    /// An object has been made, or a reference received.
    pub fn occupied(self) -> Owned<T> {
        let owned = Owned(self.0);
        core::mem::forget(self);
        owned
    }
}

impl<T: Object> Drop for EmptySlot<T> {
    fn drop(&mut self) {
        slots::free(self.0.address(), T::TYPE);
    }
}

/// An object in a slot of ours: destroyed when this is dropped.
#[derive(Debug)]
pub struct Owned<T: Object>(T);

/// A reference that is destroyed when this is dropped.
pub type OwnedReference = Owned<Reference>;
/// A port that is destroyed when this is dropped.
pub type OwnedPort = Owned<Port>;
/// A set of ports that is destroyed when this is dropped.
pub type OwnedPortSet = Owned<PortSet>;
/// A region that is destroyed when this is dropped.
pub type OwnedRegion = Owned<Region>;
/// A mapping that is destroyed when this is dropped.
pub type OwnedMapping = Owned<Mapping>;
/// A space that is destroyed when this is dropped.
pub type OwnedSpace = Owned<Space>;
/// A thread that is destroyed when this is dropped.
pub type OwnedThread = Owned<Thread>;
/// A mutex that is destroyed when this is dropped.
pub type OwnedMutex = Owned<Mutex>;
/// A condition that is destroyed when this is dropped.
pub type OwnedCondition = Owned<Condition>;

impl<T: Object> Owned<T> {
    /// Owns an object that stands in a slot of this program's allocator.
    pub fn adopt(object: T) -> Owned<T> {
        Owned(object)
    }

    /// Makes an object in a fresh slot, with the call that `create` makes.
    pub fn make(create: impl FnOnce(u64) -> Result<T, Status>) -> Result<Owned<T>, Status> {
        let vacant = EmptySlot::<T>::new()?;
        create(vacant.address())?;
        Ok(vacant.occupied())
    }

    /// The object.
    pub fn handle(&self) -> T {
        self.0
    }

    /// The object, which nobody destroys any more.
    pub fn leak(self) -> T {
        let object = self.0;
        core::mem::forget(self);
        object
    }

    /// Frees the slot of an object that somebody else has destroyed: a send to a reply reference,
    /// or its parent.
    pub fn already_gone(self) {
        slots::free(self.0.address(), T::TYPE);
        core::mem::forget(self);
    }
}

impl<T: Object> core::ops::Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Object> Drop for Owned<T> {
    fn drop(&mut self) {
        // An object that cannot be destroyed is one that is not there any more, or that is still in
        // use: then its slot stays taken.
        match T::destroy(self.0) {
            Err(status) if status.code() == Some(nacre_abi::Code::Busy) => (),
            _ => slots::free(self.0.address(), T::TYPE),
        }
    }
}

impl OwnedReference {
    /// A null reference.
    pub fn null() -> Result<OwnedReference, Status> {
        Owned::make(Reference::create)
    }

    /// A reference that `make` makes in a free slot.
    pub fn made_by(make: impl FnOnce(Reference) -> Result<(), Status>) -> Result<OwnedReference, Status> {
        Owned::make(|slot| make(Reference(slot)).map(|()| Reference(slot)))
    }

    /// A copy of `reference`, with `rights` of those that it has.
    pub fn copy_of(reference: Reference, rights: u64) -> Result<OwnedReference, Status> {
        OwnedReference::made_by(|slot| reference.reference(slot, rights))
    }
}

impl OwnedPort {
    /// A port with the server's own `word`, in `set` unless that is [`PortSet::NONE`].
    pub fn new(word: u64, set: PortSet) -> Result<OwnedPort, Status> {
        Owned::make(|slot| Port::create(slot, word, set))
    }

    /// A new reference to the port, with `rights`.
    pub fn new_reference(&self, rights: u64) -> Result<OwnedReference, Status> {
        OwnedReference::made_by(|slot| self.handle().reference(slot, rights))
    }
}

impl OwnedPortSet {
    /// An empty set.
    pub fn new() -> Result<OwnedPortSet, Status> {
        Owned::make(PortSet::create)
    }
}

impl OwnedRegion {
    /// Exports `size` bytes from `start` of `space`; see [`Region::create`].
    pub fn new(space: Space, start: u64, size: u64, rights: Rights, keeper: Reference) -> Result<OwnedRegion, Status> {
        Owned::make(|slot| Region::create(slot, space, start, size, rights, keeper))
    }

    /// A new reference to the region, with `rights`.
    pub fn new_reference(&self, rights: u64) -> Result<OwnedReference, Status> {
        OwnedReference::made_by(|slot| self.handle().reference(slot, rights))
    }
}

impl OwnedMapping {
    /// Fills `size` bytes from `start` of `space`; see [`Mapping::create`].
    pub fn new(space: Space, start: u64, size: u64, region: Region, offset: u64, rights: Rights) -> Result<OwnedMapping, Status> {
        Owned::make(|slot| Mapping::create(slot, space, start, size, region, offset, rights))
    }
}
