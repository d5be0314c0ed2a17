//! Reading out: all threads are stopped first, so that nothing changes while the rest is read.

use crate::{Access, Frame, Object, PAGE, Place, Snapshot, THREAD_WORDS, Trouble, must, state_words, verbs};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::object::TargetType;
use nacre_abi::state::{ReferenceState, ThreadState};
use nacre_abi::{Call, Code, ObjectType, Status, waiting};

/// Word of a thread's state that holds the number of FPU bytes behind it.
const FPU_SIZE_WORD: u64 = core::mem::offset_of!(ThreadState, fpu_size) as u64;
/// Numbers of the objects outside, by their addresses.
type Known = BTreeMap<u64, usize>;

/// Returns the number of objects that one of this type is linked to, at most; for a reference, but
/// for the object that it names.
const fn link_count(kind: ObjectType) -> usize {
    match kind {
        ObjectType::Thread => 3,
        ObjectType::Space | ObjectType::Region | ObjectType::Mapping => 2,
        ObjectType::Port | ObjectType::Reference => 1,
        ObjectType::PortSet | ObjectType::Mutex | ObjectType::Condition => 0,
    }
}

/// State of a reader of objects, from one to the next.
struct Desk {
    known: Known,
    /// True for those of our references that lead anywhere.
    is_used: [bool; 3],
    /// Number of references that the array at the buffer names.
    links: usize,
    /// Room for a state.
    bytes: Vec<u8>,
}

/// Maximum of entries of a list that the buffer holds.
const ENTRIES: u64 = 64;

impl Frame {
    /// The objects of the environment: where and of which type.
    pub fn list(&self, access: &mut impl Access) -> Result<Vec<(u64, ObjectType)>, Trouble> {
        let (mut found, mut at) = (Vec::new(), self.start);
        while at != 0 {
            let (count, next) = must(access, Call::MemoryObjects, &[at, self.start + self.size - at, self.buffer, ENTRIES])?;
            for entry in 0..count {
                let [address, kind] = [0, 8].map(|word| access.read(self.buffer + 16 * entry + word));
                found.extend(ObjectType::from_number(kind).map(|kind| (address - self.start, kind)));
            }
            at = next;
        }
        Ok(found)
    }

    /// Stops every thread. Those that were not stopped before are added to `running`, also those
    /// before one that could not be.
    pub fn stop(&self, access: &mut impl Access, running: &mut Vec<u64>) -> Result<(), Trouble> {
        for (offset, kind) in self.list(access)? {
            if kind != ObjectType::Thread {
                continue;
            }
            let thread = self.start + offset;
            let (status, _, waits) = access.call(Call::ThreadTime, [thread, 0, 0, 0, 0, 0, 0, 0]);
            // One that is not there any more was destroyed by another that runs.
            if status.is_ok() && waiting::kind(waits) != waiting::STOPPED {
                must(access, Call::ThreadStop, &[thread, 0])?;
                running.push(offset);
            }
        }
        Ok(())
    }

    /// Reads the whole environment out, whose threads are stopped from then on.
    pub fn take(&self, access: &mut impl Access) -> Result<Snapshot, Trouble> {
        let mut running = Vec::new();
        self.stop(access, &mut running)?;
        let objects = self.objects(access)?;
        let pages = self.plain_pages(&objects).filter(|page| self.is_ours(access, self.start + page)).collect::<Vec<_>>().into_iter();
        let pages = pages.map(|page| (page, (0..PAGE).step_by(8).map(|byte| access.read(self.start + page + byte)).collect())).collect();
        Ok(Snapshot { objects, pages, running })
    }

    /// The objects of the environment, whose threads are stopped.
    pub fn objects(&self, access: &mut impl Access) -> Result<Vec<Object>, Trouble> {
        let mut desk = Desk { known: self.known(), is_used: [true; 3], links: usize::MAX, bytes: vec![0; 8 * THREAD_WORDS] };
        let mut objects = Vec::new();
        for (offset, kind) in self.list(access)? {
            objects.push(self.object(access, (offset, kind), &mut desk)?);
        }
        Ok(objects)
    }

    /// The pages without objects, by their distance from the start. Some may belong to the tables
    /// of a space: see [`Frame::is_ours`].
    pub fn plain_pages<'a>(&self, objects: &'a [Object]) -> impl Iterator<Item = u64> + use<'a> {
        let with_objects: BTreeSet<u64> = objects.iter().map(|object| object.offset & !(PAGE - 1)).collect();
        (0..self.size).step_by(PAGE as usize).filter(move |page| !with_objects.contains(page))
    }

    /// Returns the client that a reply reference of the caller's own answers.
    pub fn client_of(&self, access: &mut impl Access, reply: u64) -> Result<Place, Trouble> {
        self.clear(access, self.slots)?;
        let array = self.buffer + PAGE;
        (0..8).for_each(|word| access.write(array + 8 * word, if word == 0 { self.slots } else { 0 }));
        must(access, Call::ReferenceGetState, &[reply, self.buffer, ReferenceState::SIZE, array])?;
        self.place_of(access, &self.known(), self.slots, 0)
    }

    /// Returns the target of a reference of the caller's own.
    pub fn target_of(&self, access: &mut impl Access, reference: u64) -> Result<Place, Trouble> {
        self.place_of(access, &self.known(), reference, 0)
    }

    /// Returns true if a page without objects is plain memory. A page that a space has for its
    /// tables is not, because tables are made anew elsewhere. A state in it can be read in either
    /// case.
    pub fn is_ours(&self, access: &mut impl Access, page: u64) -> bool {
        let arguments = [self.slots, page, ReferenceState::SIZE, 0, 0, 0, 0, 0];
        access.call(Call::ReferenceSetState, arguments).0 != Status::argument(Code::BadAddress, 2)
    }

    /// The objects outside, by their addresses.
    fn known(&self) -> Known {
        self.outside.iter().enumerate().map(|(number, address)| (*address, number)).collect()
    }

    /// Reads an object.
    fn object(&self, access: &mut impl Access, (offset, kind): (u64, ObjectType), desk: &mut Desk) -> Result<Object, Trouble> {
        let (at, slots) = (self.start + offset, [0, 1, 2].map(|slot| self.slots + 64 * slot));
        for (slot, is_used) in slots.into_iter().zip(desk.is_used.iter_mut()) {
            if core::mem::replace(is_used, false) {
                self.clear(access, slot)?;
            }
        }
        let (array, count) = (self.buffer + PAGE, link_count(kind));
        if core::mem::replace(&mut desk.links, count) != count {
            (0..8).for_each(|word| access.write(array + 8 * word, slots[..count].get(word as usize).copied().unwrap_or(0)));
        }
        must(access, verbs(kind)[0], &[at, self.buffer, 8 * state_words(kind), array])?;
        let words = self.words(access, kind, &mut desk.bytes);
        let target = if kind == ObjectType::Reference { words[1] } else { TargetType::Reply as u64 };
        let mut links = [Place::Nothing; 3];
        if target != TargetType::Null as u64 && target != TargetType::Reply as u64 {
            links[0] = self.found(access, &desk.known, at, offset)?;
        } else if target == TargetType::Reply as u64 {
            for ((link, slot), is_used) in links.iter_mut().zip(slots).zip(&mut desk.is_used).take(count) {
                *link = self.place_of(access, &desk.known, slot, offset)?;
                *is_used = *link != Place::Nothing;
            }
        }
        Ok(Object { offset, kind, words, links })
    }

    /// Returns the words of a state that was just written to the buffer.
    fn words(&self, access: &mut impl Access, kind: ObjectType, bytes: &mut [u8]) -> Vec<u64> {
        let size = match kind {
            ObjectType::Thread => (ThreadState::SIZE + access.read(self.buffer + FPU_SIZE_WORD)) as usize,
            _ => 8 * state_words(kind) as usize,
        };
        let bytes = &mut bytes[..size.min(8 * THREAD_WORDS)];
        access.read_page(self.buffer, bytes);
        bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes)).collect()
    }

    fn clear(&self, access: &mut impl Access, slot: u64) -> Result<(), Trouble> {
        for (word, value) in ReferenceState::default().to_words().into_iter().enumerate() {
            access.write(self.buffer + 8 * word as u64, value);
        }
        must(access, Call::ReferenceSetState, &[slot, self.buffer, ReferenceState::SIZE, 0]).map(drop)
    }

    /// Returns the target of a reference.
    fn place_of(&self, access: &mut impl Access, known: &Known, reference: u64, offset: u64) -> Result<Place, Trouble> {
        let state = self.buffer + PAGE + 512;
        must(access, Call::ReferenceGetState, &[reference, state, ReferenceState::SIZE, 0])?;
        if access.read(state + 8) == TargetType::Null as u64 {
            return Ok(Place::Nothing);
        }
        self.found(access, known, reference, offset)
    }

    /// Returns the target of a reference that leads somewhere.
    fn found(&self, access: &mut impl Access, known: &Known, reference: u64, offset: u64) -> Result<Place, Trouble> {
        let (found, _) = must(access, Call::ReferenceReveal, &[reference, self.start, self.size])?;
        if found != 0 {
            return Ok(Place::Inside(found - self.start));
        }
        let (Some(first), Some(last)) = (known.first_key_value(), known.last_key_value()) else { return Err(Trouble::Unknown(offset)) };
        let (found, _) = must(access, Call::ReferenceReveal, &[reference, *first.0, last.0 - first.0 + 1])?;
        known.get(&found).map(|number| Place::Outside(*number)).ok_or(Trouble::Unknown(offset))
    }
}
