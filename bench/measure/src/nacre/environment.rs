//! Operations of an owner on memory that it gave away: it lists the objects there, takes all of it
//! back, moves objects while they are in use, and revokes a page from each space that was given it.

use alloc::vec::Vec;

use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::{ObjectEntry, RegionState};
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_sys::{Condition, Mapping, Mutex, Object, OwnedPort, OwnedRegion, Port, PortSet, Reference, Region, Space, Status, Thread, ipc, memory};

use super::fixture::{Fixture, first_state, image_range, pages, rest, slot, stack};
use crate::figure::{sample_batches, sample_results};

/// Spaces of the environment that is listed and destroyed, and threads of each.
const SPACES: u64 = 4;
const THREADS: u64 = 4;
/// Pages of the pool of one of its spaces, and of the plain memory of the environment.
const POOL: u64 = 16;
const PLAIN: u64 = 64;
/// Number of smaller objects: two hundred.
const MAPPINGS: u64 = 10 * SPACES;
const REGIONS: u64 = 8;
const PORTS: u64 = THREADS * SPACES;
const SETS: u64 = 4;
const REFERENCES: u64 = 120;
const LOCKS: u64 = 6;
const SMALL: u64 = MAPPINGS + REGIONS + PORTS + SETS + REFERENCES + 2 * LOCKS;
const ALL: u64 = SMALL + SPACES + SPACES * THREADS;
const _: () = assert!(SMALL == 200);
/// Pages for its spaces and smaller objects, and all of its pages.
const OBJECT_PAGES: u64 = 8;
const PAGES: u64 = OBJECT_PAGES + SPACES * (POOL + THREADS) + PLAIN;
/// Addresses of pages that no other mapping uses, and of the page that is revoked.
const ELSEWHERE: u64 = 0x1a00_0000_0000;
const MAPPED: u64 = 0x1a80_0000_0000;
const REVOKED: u64 = 0x1c00_0000_0000;
const DATA: Rights = Rights(3);

/// Slots in a row.
struct Slots(u64);

impl Slots {
    fn next(&mut self, kind: ObjectType) -> u64 {
        let at = self.0.next_multiple_of(kind.alignment());
        self.0 = at + kind.size();
        at
    }
}

/// An environment in memory of its own, as its parent sees it.
struct Environment {
    start: u64,
    image: OwnedRegion,
}

impl Environment {
    fn new() -> Result<Environment, Errno> {
        let (start, size) = image_range();
        Ok(Environment { start: pages(PAGES)?, image: OwnedRegion::new(Space::OWN, start, size, Rights(7), Reference::NONE)? })
    }

    /// Makes all of its objects; its threads run, and wait.
    fn furnish(&self, ground: &Fixture, stacks: &[u64]) -> Result<(), Errno> {
        let mut slots = Slots(self.start);
        let mut next = |kind| slots.next(kind);
        let spaces: Vec<u64> = (0..SPACES).map(|_| next(ObjectType::Space)).collect();
        let pools = self.start + OBJECT_PAGES * PAGE_SIZE;
        for (number, space) in (0..).zip(&spaces) {
            let space = Space::create(*space, pools + number * POOL * PAGE_SIZE, POOL, Reference::NONE)?;
            let (start, size) = image_range();
            Mapping::create(next(ObjectType::Mapping), space, start, size, self.image.handle(), 0, Rights(7))?;
            ground.show(next(ObjectType::Mapping), space)?;
            for page in 0..MAPPINGS / SPACES - 2 {
                let from = Fixture::offset(self.plain(page));
                Mapping::create(next(ObjectType::Mapping), space, ELSEWHERE + page * PAGE_SIZE, PAGE_SIZE, ground.region(), from, DATA)?;
            }
            for region in 0..REGIONS / SPACES {
                Region::create(next(ObjectType::Region), space, ELSEWHERE + region * PAGE_SIZE, PAGE_SIZE, DATA, Reference::NONE)?;
            }
        }
        let ports = self.smaller(&mut next)?;
        for number in 0..SPACES * THREADS {
            let at = pools + SPACES * POOL * PAGE_SIZE + number * PAGE_SIZE;
            let thread = Thread::create(at, Space(spaces[(number / THREADS) as usize]))?;
            thread.set_state(&first_state(receive, ports[number as usize], stacks[number as usize]))?;
            thread.start()?;
        }
        // All of them come to their wait.
        (0..2 * SPACES * THREADS).for_each(|_| Thread::yield_now());
        Ok(())
    }

    /// Makes the objects that do not belong to a space: the ports.
    fn smaller(&self, next: &mut impl FnMut(ObjectType) -> u64) -> Result<Vec<u64>, Status> {
        let sets = (0..SETS).map(|_| PortSet::create(next(ObjectType::PortSet))).collect::<Result<Vec<_>, _>>()?;
        let mut ports = Vec::new();
        for number in 0..PORTS {
            // Most threads wait at a port itself.
            let set = if number < SETS { sets[number as usize] } else { PortSet::NONE };
            ports.push(Port::create(next(ObjectType::Port), number, set)?.0);
        }
        for number in 0..REFERENCES {
            let reference = Reference::create(next(ObjectType::Reference))?;
            Port(ports[(number % PORTS) as usize]).reference(reference, REFERENCE_USE)?;
        }
        for _ in 0..LOCKS {
            Mutex::create(next(ObjectType::Mutex))?;
            Condition::create(next(ObjectType::Condition))?;
        }
        Ok(ports)
    }

    /// A page of its plain memory.
    fn plain(&self, number: u64) -> u64 {
        self.start + (PAGES - PLAIN + number % PLAIN) * PAGE_SIZE
    }

    /// Lists everything: how many objects there are.
    fn list(&self, entries: &mut [ObjectEntry]) -> Result<u64, Status> {
        let (mut from, end, mut count) = (self.start, self.start + PAGES * PAGE_SIZE, 0);
        while from != 0 {
            let (found, next) = memory::objects(from, end - from, entries)?;
            (count, from) = (count + found as u64, next);
        }
        Ok(count)
    }

    fn reclaim(&self) -> Result<(), Status> {
        memory::reclaim(self.start, PAGES * PAGE_SIZE)
    }
}

extern "C" fn receive(port: u64) -> ! {
    while ipc::receive_words(port).is_ok() {}
    rest()
}

fn stacks() -> Result<Vec<u64>, Errno> {
    (0..SPACES * THREADS).map(|_| stack()).collect()
}

/// An environment of 16 threads, 4 spaces and 200 other objects, listed by its parent.
pub fn list(ground: &Fixture) -> Result<u64, Errno> {
    let (environment, mut entries) = (Environment::new()?, [ObjectEntry::default(); 128]);
    environment.furnish(ground, &stacks()?)?;
    let counted = environment.list(&mut entries)?;
    let figure = sample_results(20, || environment.list(&mut entries));
    environment.reclaim()?;
    if counted == ALL { figure } else { Err(Errno::EIO) }
}

/// Takes the environment back.
pub fn destroy(ground: &Fixture) -> Result<u64, Errno> {
    let (environment, stacks) = (Environment::new()?, stacks()?);
    let (mut before, mut result) = (Ok(()), Ok(()));
    let figure = sample_batches(1, |_| before = environment.furnish(ground, &stacks), |_| result = environment.reclaim());
    before.and(result.map_err(Errno::from)).map(|()| figure)
}

/// Moves `object` to another slot and back, again and again.
fn to_and_fro<T: Object>(object: T, move_to: fn(T, u64) -> Result<T, Status>) -> Result<u64, Errno> {
    let slots = [object.address(), slot(T::TYPE)?];
    let mut place = 0;
    // A page for objects alone is taken from all who see it when the first one is put there: that
    // is measured elsewhere.
    let figure = sample_results(200, || {
        let moved = move_to(T::at(slots[place]), slots[1 - place]);
        place = 1 - place;
        moved
    });
    T::at(slots[place]).destroy()?;
    figure
}

/// A port with sixteen references to it, in a set.
pub fn move_port(_: &Fixture) -> Result<u64, Errno> {
    let set = PortSet::create(slot(ObjectType::PortSet)?)?;
    let port = Port::create(slot(ObjectType::Port)?, 1, set)?;
    for _ in 0..16 {
        port.reference(Reference::create(slot(ObjectType::Reference)?)?, REFERENCE_USE)?;
    }
    to_and_fro(port, Port::move_to)
}

/// A reference to a port.
pub fn move_reference(_: &Fixture) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    to_and_fro(port.new_reference(REFERENCE_USE)?.leak(), Reference::move_to)
}

/// A region that is mapped.
pub fn move_region(_: &Fixture) -> Result<u64, Errno> {
    let region = Region::create(slot(ObjectType::Region)?, Space::OWN, pages(1)?, PAGE_SIZE, DATA, Reference::NONE)?;
    Mapping::create(slot(ObjectType::Mapping)?, Space::OWN, MAPPED, PAGE_SIZE, region, 0, DATA)?;
    to_and_fro(region, Region::move_to)
}

/// A mapping.
pub fn move_mapping(ground: &Fixture) -> Result<u64, Errno> {
    let from = Fixture::offset(pages(1)?);
    to_and_fro(Mapping::create(slot(ObjectType::Mapping)?, Space::OWN, ELSEWHERE, PAGE_SIZE, ground.region(), from, DATA)?, Mapping::move_to)
}

/// A space that has a thread and two mappings.
pub fn move_space(ground: &Fixture) -> Result<u64, Errno> {
    let space = Space::create(slot(ObjectType::Space)?, pages(POOL)?, POOL, Reference::NONE)?;
    ground.show(slot(ObjectType::Mapping)?, space)?;
    Mapping::create(slot(ObjectType::Mapping)?, space, ELSEWHERE, PAGE_SIZE, ground.region(), 0, DATA)?;
    Thread::create(slot(ObjectType::Thread)?, space)?;
    to_and_fro(space, Space::move_to)
}

/// A thread that waits at a port.
pub fn move_thread(_: &Fixture) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let thread = Thread::create(slot(ObjectType::Thread)?, Space::OWN)?;
    thread.set_state(&first_state(receive, port.address(), stack()?))?;
    thread.start()?;
    Thread::yield_now();
    to_and_fro(thread, Thread::move_to)
}

/// A page that its owner exports, in the tables of `count` spaces.
struct Shared {
    region: OwnedRegion,
    spaces: Vec<Space>,
    thread: u64,
    stack: u64,
}

extern "C" fn read_once(port: u64) -> ! {
    // SAFETY: the page is mapped, and no Rust object lies there.
    unsafe { (REVOKED as *const u64).read_volatile() };
    let _ = ipc::receive_words(port);
    rest()
}

impl Shared {
    fn new(ground: &Fixture, count: usize) -> Result<Shared, Errno> {
        let region = OwnedRegion::new(Space::OWN, pages(1)?, PAGE_SIZE, DATA, Reference::NONE)?;
        let mut spaces = Vec::new();
        let image = OwnedRegion::new(Space::OWN, image_range().0, image_range().1, Rights(7), Reference::NONE)?.leak();
        for _ in 0..count {
            let space = Space::create(slot(ObjectType::Space)?, pages(POOL)?, POOL, Reference::NONE)?;
            Mapping::create(slot(ObjectType::Mapping)?, space, image_range().0, image_range().1, image, 0, Rights(7))?;
            ground.show(slot(ObjectType::Mapping)?, space)?;
            Mapping::create(slot(ObjectType::Mapping)?, space, REVOKED, PAGE_SIZE, region.handle(), 0, DATA)?;
            spaces.push(space);
        }
        Ok(Shared { region, spaces, thread: slot(ObjectType::Thread)?, stack: stack()? })
    }

    /// Every space gets it into its tables: a thread of it reads it.
    fn fill(&self, port: &OwnedPort) -> Result<(), Errno> {
        for space in &self.spaces {
            let thread = Thread::create(self.thread, *space)?;
            thread.set_state(&first_state(read_once, port.address(), self.stack))?;
            thread.start()?;
            (0..2).for_each(|_| Thread::yield_now());
            thread.destroy()?;
        }
        Ok(())
    }
}

/// A page of the owner's is taken from `COUNT` spaces that have it mapped, and read it.
pub fn revoke<const COUNT: usize>(ground: &Fixture) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let shared = Shared::new(ground, COUNT)?;
    let open = shared.region.get_state()?;
    let closed = RegionState { rights: 0, ..open };
    let (mut before, mut result) = (Ok(()), Ok(()));
    let figure = sample_batches(
        1,
        |_| before = shared.region.set_state(&open).map_err(Errno::from).and_then(|()| shared.fill(&port)),
        |_| result = shared.region.set_state(&closed),
    );
    for space in &shared.spaces {
        space.destroy()?;
    }
    before.and(result.map_err(Errno::from)).map(|()| figure)
}
