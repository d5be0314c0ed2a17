//! Making anew: objects first, in the order in which they need each other, then what links them in
//! both directions.

use crate::{Access, Frame, Object, PAGE, Place, Snapshot, Trouble, must, pool_pages, verbs};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_USE};
use nacre_abi::state::ReferenceState;
use nacre_abi::{Call, ObjectType, Rights};

/// Types in the order in which objects are made.
const ORDER: [ObjectType; 9] = [
    ObjectType::Space,
    ObjectType::PortSet,
    ObjectType::Port,
    ObjectType::Region,
    ObjectType::Mapping,
    ObjectType::Thread,
    ObjectType::Mutex,
    ObjectType::Condition,
    ObjectType::Reference,
];

impl Frame {
    /// Takes everything back: the range is plain memory again.
    pub fn destroy(&self, access: &mut impl Access) -> Result<(), Trouble> {
        must(access, Call::MemoryReclaim, &[self.start, self.size]).map(drop)
    }

    /// Makes the environment of a snapshot here. Its threads are stopped; see [`Frame::start`].
    pub fn restore(&self, access: &mut impl Access, snapshot: &Snapshot) -> Result<(), Trouble> {
        for (page, words) in &snapshot.pages {
            words.iter().zip((0..).step_by(8)).for_each(|(word, byte)| access.write(self.start + page + byte, *word));
        }
        self.restore_objects(access, &snapshot.objects)
    }

    /// Makes the objects of an environment whose pages are here.
    pub fn restore_objects(&self, access: &mut impl Access, objects: &[Object]) -> Result<(), Trouble> {
        let mut pool = self.pool;
        for kind in ORDER {
            for object in objects.iter().filter(|object| object.kind == kind) {
                self.create(access, object, &mut pool)?;
            }
        }
        // First all states, then who owes whom: a thread must await its answer before another can
        // owe it.
        for linked in [false, true] {
            for object in objects {
                self.set(access, object, linked)?;
            }
        }
        Ok(())
    }

    /// Starts the threads that were not stopped when the snapshot was taken. It starts first the
    /// one that was stopped last, so that a scheduler finds the threads that it donates to.
    pub fn start(&self, access: &mut impl Access, running: &[u64]) -> Result<(), Trouble> {
        running.iter().rev().try_for_each(|thread| must(access, Call::ThreadStart, &[self.start + thread]).map(drop))
    }

    /// Makes a reference of the caller's own, which is there and null, one by which a thread of the
    /// environment is answered that waits for that.
    pub fn answer_by(&self, access: &mut impl Access, reply: u64, client: Place) -> Result<(), Trouble> {
        let array = self.buffer + PAGE;
        (0..8).for_each(|word| access.write(array + 8 * word, if word == 0 { self.address(client) } else { 0 }));
        let state = ReferenceState { target: TargetType::Reply as u64, rights: REFERENCE_USE, ..ReferenceState::default() };
        state.to_words().into_iter().zip((0..).step_by(8)).for_each(|(word, byte)| access.write(self.buffer + byte, word));
        must(access, Call::ReferenceSetState, &[reply, self.buffer, ReferenceState::SIZE, array]).map(drop)
    }

    /// Returns the address of a place where the environment is now; 0 for nothing.
    pub fn address(&self, place: Place) -> u64 {
        match place {
            Place::Nothing => 0,
            Place::Inside(offset) => self.start + offset,
            Place::Outside(number) => self.outside.get(number).copied().unwrap_or(0),
        }
    }

    fn create(&self, access: &mut impl Access, object: &Object, pool: &mut u64) -> Result<(), Trouble> {
        let (at, words) = (self.start + object.offset, &object.words);
        let [first, second, _] = object.links.map(|place| self.address(place));
        let (call, arguments) = match object.kind {
            ObjectType::Space => {
                let (pages, count) = (*pool, pool_pages(object));
                *pool = count.checked_mul(PAGE).and_then(|size| pages.checked_add(size)).ok_or(Trouble::Nonsense(object.offset))?;
                (Call::SpaceCreate, [at, pages, count, 0, 0, 0, 0])
            }
            ObjectType::Region => (Call::RegionCreate, [at, second, words[1], words[2], words[3], first, 0]),
            ObjectType::Mapping if object.links[0] == Place::Nothing => return self.create_bare(access, [at, second, words[1], words[2]]),
            ObjectType::Mapping => (Call::MappingCreate, [at, second, words[1], words[2], first, words[3], words[4]]),
            ObjectType::Thread => (Call::ThreadCreate, [at, first, 0, 0, 0, 0, 0]),
            ObjectType::Port => (Call::PortCreate, [at, words[1], first, 0, 0, 0, 0]),
            ObjectType::PortSet => (Call::PortSetCreate, [at, 0, 0, 0, 0, 0, 0]),
            ObjectType::Reference => (Call::ReferenceCreate, [at, 0, 0, 0, 0, 0, 0]),
            ObjectType::Mutex => (Call::MutexCreate, [at, 0, 0, 0, 0, 0, 0]),
            ObjectType::Condition => (Call::ConditionCreate, [at, 0, 0, 0, 0, 0, 0]),
        };
        must(access, call, &arguments)?;
        let leads_to_object = object.kind == ObjectType::Reference && object.links[0] != Place::Nothing;
        if leads_to_object && let Some(target) = ObjectType::from_number(words[1]) {
            must(access, verbs(target)[2], &[first, at, words[2].min(REFERENCE_ALL)])?;
        }
        Ok(())
    }

    /// A mapping whose region has gone: it is made of one that goes, too.
    fn create_bare(&self, access: &mut impl Access, [at, space, start, size]: [u64; 4]) -> Result<(), Trouble> {
        let region = self.slots + 256;
        must(access, Call::RegionCreate, &[region, 0, self.start, size, Rights::READ.0, 0])?;
        must(access, Call::MappingCreate, &[at, space, start, size, region, 0, Rights::READ.0])?;
        must(access, Call::RegionDestroy, &[region]).map(drop)
    }

    /// Sets the state of an object that has more of it than it was made with.
    fn set(&self, access: &mut impl Access, object: &Object, linked: bool) -> Result<(), Trouble> {
        let is_reply = object.kind == ObjectType::Reference && object.words[1] == TargetType::Reply as u64;
        let used = match object.kind {
            ObjectType::Thread => true,
            ObjectType::Space | ObjectType::Port => linked,
            _ => linked && is_reply && object.links[0] != Place::Nothing,
        };
        if !used {
            return Ok(());
        }
        let array = self.buffer + PAGE;
        for (word, place) in (0..8).zip(object.links.into_iter().chain([Place::Nothing; 5])) {
            access.write(array + 8 * word, self.address(place));
        }
        object.words.iter().zip((0..).step_by(8)).for_each(|(word, byte)| access.write(self.buffer + byte, *word));
        let size = 8 * object.words.len() as u64;
        must(access, verbs(object.kind)[1], &[self.start + object.offset, self.buffer, size, if linked { array } else { 0 }]).map(drop)
    }
}
