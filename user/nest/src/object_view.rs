//! The kernel objects of another program, seen in our own space.

use crate::places::Place;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_abi::environment::OBJECTS;
use nacre_abi::state::ObjectEntry;
use nacre_abi::{ObjectType, Rights, USER_END};
use nacre_proto::Errno;
use nacre_sys::{OwnedMapping, OwnedRegion, Reference, Region, Space, Thread, memory};

/// Areas in which programs have their kernel objects.
const AREAS: [(u64, u64); 2] = [(OBJECTS, 2 << 20), (OBJECTS + 0x80_0000_0000, 128 << 20)];
/// Maximum number of threads that are looked for.
const MAX_THREADS: usize = 4096;
/// Maximum number of objects that are looked at.
const MAX_OBJECTS: usize = 1 << 17;
/// Maximum number of looks for threads that others have made meanwhile.
const MAX_LOOKS: usize = 64;

/// The areas of a program where its kernel objects lie, mapped into our own space.
pub struct ObjectView {
    areas: Vec<(OwnedMapping, Place)>,
    region: OwnedRegion,
}

impl ObjectView {
    /// Views the objects in a space.
    pub fn new(space: Space) -> Result<ObjectView, Errno> {
        let region = OwnedRegion::new(space, 0, USER_END, Rights::ALL, Reference::NONE)?;
        let mut areas = Vec::new();
        for (start, size) in AREAS {
            let place = Place::take(size).ok_or(Errno::ENOMEM)?;
            areas.push((OwnedMapping::new(Space::SELF, place.window().start(), size, region.handle(), start, Rights::ALL)?, place));
        }
        Ok(ObjectView { areas, region })
    }

    /// Returns the region of the whole space.
    pub fn region(&self) -> Region {
        self.region.handle()
    }

    /// Returns the objects of the program, with their addresses in our own space, but for those
    /// that somebody else made.
    pub fn objects(&self) -> Vec<ObjectEntry> {
        let mut found = Vec::new();
        for (_, place) in &self.areas {
            let (mut start, end) = (place.window().start(), place.window().start() + place.window().size());
            let mut entries = [ObjectEntry::default(); 64];
            while start < end && found.len() < MAX_OBJECTS {
                let Ok((count, next)) = memory::objects(start, end - start, &mut entries) else { break };
                found.extend(&entries[..count]);
                if next <= start {
                    break;
                }
                start = next;
            }
        }
        found
    }

    /// Returns the addresses in our own space of the threads that the program has made.
    pub fn threads(&self) -> Vec<u64> {
        threads_of(&self.objects()).collect()
    }

    /// Returns the address in our own space of the object that a reference leads to, if it is one
    /// of the program's.
    pub fn place_of(&self, reference: Reference) -> Option<u64> {
        self.areas.iter().find_map(|(_, place)| {
            let window = place.window();
            Some(reference.reveal(window.start(), window.size()).ok()??.address)
        })
    }

    /// Stops the threads of the program that run. `first` is the one that it has not made itself.
    pub fn halt(&self, first: Thread) -> Halt {
        let mut halt = Halt { stopped: Vec::new(), objects: Vec::new() };
        let mut known = BTreeSet::new();
        halt.stop(first);
        for _ in 0..MAX_LOOKS {
            let before = known.len();
            halt.objects = self.objects();
            let new: Vec<u64> = threads_of(&halt.objects).filter(|thread| known.insert(*thread)).collect();
            new.into_iter().for_each(|thread| halt.stop(Thread(thread)));
            // One that was not stopped yet may have made others.
            if known.len() == before {
                break;
            }
        }
        halt
    }
}

fn threads_of(objects: &[ObjectEntry]) -> impl Iterator<Item = u64> {
    objects.iter().filter(|entry| entry.kind == ObjectType::Thread as u64).map(|entry| entry.address).take(MAX_THREADS)
}

/// Threads that we have stopped. They go on when this is dropped.
pub struct Halt {
    stopped: Vec<Thread>,
    objects: Vec<ObjectEntry>,
}

impl Halt {
    /// Returns the program's references as they are while its threads stand still.
    pub fn references(&self) -> impl Iterator<Item = Reference> {
        self.objects.iter().filter(|entry| entry.kind == ObjectType::Reference as u64).map(|entry| Reference(entry.address))
    }

    /// Stops a thread, if it runs: a stopped one has a state.
    fn stop(&mut self, thread: Thread) {
        if thread.get_state().is_err() && thread.stop().is_ok() {
            self.stopped.push(thread);
        }
    }
}

impl Drop for Halt {
    fn drop(&mut self) {
        for thread in &self.stopped {
            // One that is not there any more does not run.
            let _ = thread.start();
        }
    }
}
