//! Parts that a rebuilder could forget. A tree that is rebuilt without one of them must be seen to
//! differ. This shows that the frozen programs would notice the loss.

use alloc::vec::Vec;
use nacre_abi::ObjectType;
use nacre_abi::object::TargetType;
use nacre_snapshot::{Object, Place, Snapshot};

/// Words of a port's state with the bits that were not received yet, and of a reference's state
/// with its target.
const PENDING: usize = 2;
const TARGET: usize = 1;
/// Index of the link of a thread to the client that it owes an answer.
const CLIENT: usize = 1;

/// A part of a tree, by its name; what it is taken away by.
type Part = (&'static str, fn(&mut Snapshot));

/// All parts that can be left out.
const PARTS: [Part; 9] = [
    ("memory", |snapshot| snapshot.pages.clear()),
    ("running", |snapshot| snapshot.running.clear()),
    ("mappings", |snapshot| snapshot.objects.retain(|object| object.kind != ObjectType::Mapping)),
    ("conditions", |snapshot| each(snapshot, ObjectType::Reference, |object| nothing_if(object, TargetType::Condition))),
    ("ports", |snapshot| each(snapshot, ObjectType::Reference, |object| nothing_if(object, TargetType::Port))),
    ("replies", |snapshot| each(snapshot, ObjectType::Reference, |object| nothing_if(object, TargetType::Reply))),
    ("clients", |snapshot| each(snapshot, ObjectType::Thread, |object| object.links[CLIENT] = Place::Nothing)),
    ("pending", |snapshot| each(snapshot, ObjectType::Port, |object| object.words[PENDING] = 0)),
    ("sets", |snapshot| each(snapshot, ObjectType::Port, |object| object.links[0] = Place::Nothing)),
];

fn each(snapshot: &mut Snapshot, kind: ObjectType, change: impl Fn(&mut Object)) {
    snapshot.objects.iter_mut().filter(|object| object.kind == kind).for_each(change);
}

/// A reference that leads to something of this kind in the tree leads nowhere.
fn nothing_if(object: &mut Object, target: TargetType) {
    if object.words[TARGET] == target as u64 && matches!(object.links[0], Place::Inside(_)) {
        object.words[TARGET] = TargetType::Null as u64;
        object.links = [Place::Nothing; 3];
    }
}

/// Parts that are left out.
#[derive(Default)]
pub struct Losses(Vec<&'static Part>);

impl Losses {
    /// Adds a part by its name. Returns false if there is no such part.
    pub fn add(&mut self, name: &[u8]) -> bool {
        let part = PARTS.iter().find(|(known, _)| known.as_bytes() == name);
        self.0.extend(part);
        part.is_some()
    }

    /// Returns true if nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes them away.
    pub fn take(&self, snapshot: &mut Snapshot) {
        self.0.iter().for_each(|(_, take)| take(snapshot));
    }
}
