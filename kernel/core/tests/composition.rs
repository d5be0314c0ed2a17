//! Composition against a reference model: random regions, mappings and spaces, also in circles,
//! overlapping, with large pages, object pages in the middle and pools that are too small; after
//! every step what a thread sees at random addresses, and what every call answered, must be what
//! plain tables of windows say.

use crate::support::machine::RAM_START;
use crate::support::world::{CODE, RAM, World};
use crate::support::{Random, check};
use nacre_abi::state::{MappingState, RegionState};
use nacre_abi::message::{Info, RECEIVE_ONLY};
use nacre_abi::object::TargetType;
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status, environment};
use nacre_core::machine::{Physical, thread_page::register};
use nacre_core::object::{Reference, Thread};
use std::cell::Cell;

const SPACES: usize = 4;
const REGIONS: usize = 10;
const MAPPINGS: usize = 14;
/// Layers that the kernel follows however many mappings it looks at on the way.
const SURE_DEPTH: usize = 32;
const LARGE: u64 = 2 << 20;
/// Address of the windows in the spaces that the test makes.
const BASE: u64 = 0x4000_0000;
/// The part of memory that root exports.
const DATA: u64 = RAM + (8 << 20);

/// Root's space, or one that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Root,
    Space(usize),
}

#[derive(Clone, Copy, Debug)]
struct Region {
    owner: Owner,
    start: u64,
    size: u64,
    rights: u64,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    owner: usize,
    start: u64,
    size: u64,
    region: Option<usize>,
    offset: u64,
    rights: u64,
}

struct Test {
    world: World,
    regions: Vec<Option<Region>>,
    mappings: Vec<Option<Mapping>>,
    /// Addresses of the objects, which move.
    region_slots: Vec<u64>,
    mapping_slots: Vec<u64>,
    spare_slots: Vec<u64>,
    /// Slot and pool of each space.
    spaces: Vec<(u64, u64, u64)>,
    threads: Vec<u64>,
    buffer: u64,
    /// Layers that the last look at the model went through.
    deepest: Cell<usize>,
}

impl Test {
    fn new(random: &mut Random) -> Test {
        let world = World::new(2);
        world.map_ram();
        let (first, second) = (world.page(), world.page());
        let mut slots: Vec<u64> = (0..32).map(|slot| first + 128 * slot).collect();
        let region_slots = slots.split_off(32 - REGIONS);
        let mapping_slots = slots.split_off(slots.len() - MAPPINGS);
        let mut test = Test {
            regions: vec![None; REGIONS],
            mappings: vec![None; MAPPINGS],
            region_slots,
            mapping_slots,
            spare_slots: slots,
            spaces: Vec::new(),
            threads: Vec::new(),
            buffer: second,
            deepest: Cell::new(0),
            world,
        };
        for _ in 0..SPACES {
            let pages = random.of(&[5, 5, 6, 9]);
            let (slot, pool) = (test.world.page(), test.world.pages(pages));
            test.spaces.push((slot, pool, pages));
            let thread = test.world.page();
            test.threads.push(thread);
            let number = test.spaces.len() - 1;
            test.make_space(number);
        }
        test
    }

    fn make_space(&mut self, number: usize) {
        let (slot, pool, pages) = self.spaces[number];
        self.world.ok(Call::SpaceCreate, &[slot, pool, pages, 0]);
        self.world.ok(Call::ThreadCreate, &[self.threads[number], slot]);
        let thread = self.world.thread(self.world.physical(self.threads[number]));
        thread.set_register(register::RIP, CODE + 2);
    }

    /// Returns the translation of an address according to the model.
    fn meaning(&self, owner: Owner, address: u64, depth: usize) -> Option<(u64, u64)> {
        let Owner::Space(space) = owner else {
            return Some((address - RAM + RAM_START, Rights::ALL.0));
        };
        self.deepest.set(self.deepest.get().max(depth));
        // Root's own mapping is one layer too.
        if depth >= 126 {
            return None;
        }
        let inside = |mapping: &&Mapping| mapping.owner == space && mapping.start <= address && address < mapping.start + mapping.size;
        let in_layer = |over| self.mappings.iter().flatten().filter(inside).find(|mapping| Rights(mapping.rights).is_over() == over);
        let mapping = in_layer(true).filter(|mapping| mapping.region.is_some()).or_else(|| in_layer(false))?;
        let region = self.regions[mapping.region?].expect("a mapping's region");
        let offset = mapping.offset + (address - mapping.start);
        if offset >= region.size {
            return None;
        }
        let (physical, rights) = self.meaning(region.owner, region.start + offset, depth + 1)?;
        Some((physical, rights & mapping.rights & region.rights))
    }

    fn choose_range(&self, random: &mut Random, base: u64) -> (u64, u64) {
        let start = base + random.of(&[0, 0, LARGE, 2 * LARGE]) + PAGE_SIZE * random.of(&[0, 0, 0, 1, 2, 5, 511]);
        let size = random.of(&[1, 2, 3, 8, 512, 513, 1024, 1024]) * PAGE_SIZE;
        (start, size)
    }

    fn choose_rights(&self, random: &mut Random) -> u64 {
        random.of(&[15, 15, 15, 7, 3, 1, 5, 0])
    }

    fn expect(&self, call: Call, arguments: &[u64], expected: (Code, u8)) -> bool {
        let status = self.world.call(call, arguments);
        assert_eq!(status, Status::argument(expected.0, expected.1), "{}({arguments:x?})", call.name());
        status.is_ok()
    }

    fn owner_argument(&self, owner: Owner) -> u64 {
        match owner {
            Owner::Root => 0,
            Owner::Space(space) => self.spaces[space].0,
        }
    }

    fn choose_region(&self, random: &mut Random) -> Region {
        let owner = if random.once_in(2) { Owner::Root } else { Owner::Space(random.below(SPACES as u64) as usize) };
        let (start, size) = self.choose_range(random, if owner == Owner::Root { DATA } else { BASE });
        Region { owner, start, size, rights: self.choose_rights(random) }
    }

    fn change_region(&mut self, number: usize, random: &mut Random) {
        let slot = self.region_slots[number];
        let Some(old) = self.regions[number] else {
            let region = self.choose_region(random);
            let arguments = [slot, self.owner_argument(region.owner), region.start, region.size, region.rights, 0];
            self.expect(Call::RegionCreate, &arguments, (Code::Ok, 0));
            self.regions[number] = Some(region);
            return;
        };
        match random.below(4) {
            0 => {
                self.expect(Call::RegionDestroy, &[slot], (Code::Ok, 0));
                self.forget_region(number);
            }
            1 => {
                let place = random.below(self.spare_slots.len() as u64) as usize;
                self.expect(Call::RegionMove, &[slot, self.spare_slots[place]], (Code::Ok, 0));
                std::mem::swap(&mut self.region_slots[number], &mut self.spare_slots[place]);
            }
            _ => {
                let (start, size) = self.choose_range(random, if old.owner == Owner::Root { DATA } else { BASE });
                let rights = self.choose_rights(random);
                let (start, size) = if random.once_in(3) { (old.start, old.size) } else { (start, size) };
                let state = RegionState { start, size, rights, ..RegionState::default() };
                self.world.write(self.buffer, &state.to_words());
                self.expect(Call::RegionSetState, &[slot, self.buffer, RegionState::SIZE, 0], (Code::Ok, 0));
                self.regions[number] = Some(Region { start, size, rights, ..old });
            }
        }
    }

    fn forget_region(&mut self, number: usize) {
        self.regions[number] = None;
        self.mappings.iter_mut().flatten().filter(|mapping| mapping.region == Some(number)).for_each(|mapping| mapping.region = None);
    }

    /// Returns the error that `mapping_create` must return for a mapping that would be number
    /// `except`.
    fn check_mapping(&self, mapping: &Mapping, except: usize) -> Option<(Code, u8)> {
        let region = self.regions[mapping.region?].expect("region");
        if mapping.offset + mapping.size > region.size {
            return Some((Code::BadRange, 6));
        }
        let overlaps = |(number, other): (usize, &Option<Mapping>)| {
            other.is_some_and(|other| number != except && other.owner == mapping.owner && Rights(other.rights ^ mapping.rights).of_memory() == Rights(other.rights ^ mapping.rights) && other.start < mapping.start + mapping.size && mapping.start < other.start + other.size)
        };
        if self.mappings.iter().enumerate().any(overlaps) {
            return Some((Code::Overlap, 3));
        }
        (!Rights(region.rights).contains(Rights(mapping.rights).of_memory())).then_some((Code::BadRights, 7))
    }

    fn choose_mapping(&self, random: &mut Random, region: usize) -> Mapping {
        let space = random.below(SPACES as u64) as usize;
        let (start, size) = self.choose_range(random, BASE);
        let size = if random.once_in(3) { size } else { size.min(self.regions[region].expect("region").size) };
        let offset = PAGE_SIZE * random.of(&[0, 0, 0, 0, 1, 2, 512]);
        Mapping { owner: space, start, size, region: Some(region), offset, rights: self.choose_rights(random) | random.of(&[0, 0, Rights::OVER.0]) }
    }

    fn change_mapping(&mut self, number: usize, random: &mut Random) {
        let slot = self.mapping_slots[number];
        let region = random.below(REGIONS as u64) as usize;
        let Some(old) = self.mappings[number] else {
            if self.regions[region].is_none() {
                self.expect(Call::MappingCreate, &[slot, 0, BASE, PAGE_SIZE, self.region_slots[region], 0, 1], (Code::NotAnObject, 5));
                return;
            }
            let new = self.choose_mapping(random, region);
            let arguments = [slot, self.spaces[new.owner].0, new.start, new.size, self.region_slots[region], new.offset, new.rights];
            let expected = self.check_mapping(&new, number).unwrap_or((Code::Ok, 0));
            if self.expect(Call::MappingCreate, &arguments, expected) {
                self.mappings[number] = Some(new);
            }
            return;
        };
        match random.below(5) {
            0 => {
                self.expect(Call::MappingDestroy, &[slot], (Code::Ok, 0));
                self.mappings[number] = None;
            }
            1 => {
                let place = random.below(self.spare_slots.len() as u64) as usize;
                self.expect(Call::MappingMove, &[slot, self.spare_slots[place]], (Code::Ok, 0));
                std::mem::swap(&mut self.mapping_slots[number], &mut self.spare_slots[place]);
            }
            _ => self.set_mapping(number, old, region, random),
        }
    }

    fn set_mapping(&mut self, number: usize, old: Mapping, region: usize, random: &mut Random) {
        let relink = self.regions[region].is_some() && random.once_in(2);
        let Some(target) = (if relink { Some(region) } else { old.region }) else { return };
        let new = Mapping { owner: old.owner, ..self.choose_mapping(random, target) };
        // Often nothing changes but the rights.
        let new = if !relink && random.once_in(3) { Mapping { rights: new.rights, ..old } } else { new };
        // Or it gets shorter.
        let new = if !relink && random.once_in(6) { Mapping { size: PAGE_SIZE.max(old.size / 2 & !(PAGE_SIZE - 1)), ..old } } else { new };
        let state = MappingState { start: new.start, size: new.size, offset: new.offset, rights: new.rights, ..MappingState::default() };
        self.world.write(self.buffer, &state.to_words());
        self.world.write(self.buffer + 64, &[if relink { self.region_slots[region] } else { 0 }]);
        let expected = match self.check_mapping(&new, number) {
            // All that can be wrong stands in the buffer.
            Some((code, _)) => (code, 2),
            None => (Code::Ok, 0),
        };
        let links = if relink { self.buffer + 64 } else { 0 };
        if self.expect(Call::MappingSetState, &[self.mapping_slots[number], self.buffer, MappingState::SIZE, links], expected) {
            self.mappings[number] = Some(new);
        }
    }

    /// Destroys a space, and makes it again.
    fn renew_space(&mut self, number: usize, random: &mut Random) {
        self.expect(Call::SpaceDestroy, &[self.spaces[number].0], (Code::Ok, 0));
        for region in 0..REGIONS {
            if self.regions[region].is_some_and(|region| region.owner == Owner::Space(number)) {
                self.forget_region(region);
            }
        }
        self.mappings.iter_mut().filter(|mapping| mapping.is_some_and(|mapping| mapping.owner == number)).for_each(|mapping| *mapping = None);
        if random.once_in(2) {
            check(&self.world);
        }
        self.world.ok(Call::ThreadDestroy, &[self.threads[number]]);
        self.make_space(number);
    }

    /// Makes an object page of a page of data, or takes such a page back.
    fn change_page(&mut self, random: &mut Random) {
        let page = DATA + PAGE_SIZE * random.of(&[0, 1, 2, 5, 511, 512, 513, 1024, 1030]);
        if self.world.is_vacant(self.world.physical(page)) {
            self.world.ok(Call::ReferenceCreate, &[page + 64 * random.below(64)]);
        } else {
            self.world.ok(Call::MemoryReclaim, &[page, PAGE_SIZE]);
        }
    }

    /// Lets the thread of a space run on the second CPU.
    fn put_on_cpu(&self, number: usize) {
        let wanted = self.world.physical(self.threads[number]);
        if self.world.running(1).map(|thread| thread.at) != Some(wanted) {
            if let Some(other) = self.threads.iter().find(|thread| self.world.running(1).map(|it| it.at) == Some(self.world.physical(**thread))) {
                self.world.ok(Call::ThreadStop, &[*other, 0]);
            }
            self.world.ok(Call::ThreadStart, &[self.threads[number]]);
            self.world.kick_all();
        }
        assert_eq!(self.world.running(1).map(|thread| thread.at), Some(wanted));
    }

    /// Looks at random addresses of a space.
    fn probe(&self, random: &mut Random) {
        let number = random.below(SPACES as u64) as usize;
        for _ in 0..4 {
            self.put_on_cpu(number);
            let window = self.mappings.iter().flatten().filter(|mapping| mapping.owner == number).nth(random.below(6) as usize);
            let address = match window {
                Some(mapping) => mapping.start + (random.word() % (mapping.size + 2 * PAGE_SIZE)) / 8 * 8,
                None => BASE + random.word() % (3 * LARGE) / 8 * 8,
            };
            let needed = random.of(&[Rights::READ, Rights::WRITE, Rights::EXECUTE]);
            self.deepest.set(0);
            let meaning = self.meaning(Owner::Space(number), address, 0);
            let allowed = meaning.filter(|(at, rights)| Rights(*rights).contains(needed) && self.world.is_vacant(Physical(*at)));
            let seen = self.world.access(1, address, needed);
            if seen.is_none() && meaning.is_some() && self.deepest.get() > SURE_DEPTH {
                // So many layers with so many mappings each are more than the kernel follows.
                continue;
            }
            assert_eq!(seen, allowed.map(|(at, _)| Physical(at)), "space {number} at {address:#x} for {needed:?}; it means {meaning:x?}");
            let thread = self.world.thread(self.world.physical(self.threads[number]));
            assert_eq!(thread.has(Thread::ABANDONED), allowed.is_none());
        }
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(16) {
            0..4 => self.change_region(random.below(REGIONS as u64) as usize, random),
            4..9 => self.change_mapping(random.below(MAPPINGS as u64) as usize, random),
            9 => self.change_page(random),
            10 if random.once_in(4) => self.renew_space(random.below(SPACES as u64) as usize, random),
            _ => self.probe(random),
        }
    }
}

#[test]
fn composition_is_as_the_model_says() {
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let first: u64 = number("SEED", 1);
    for seed in first..first + number("SEEDS", 30) {
        let mut random = Random::new(seed);
        let mut test = Test::new(&mut random);
        if seed % 2 == 0 {
            // Long operations are cut off after each of their parts.
            test.world.kernel.budget_full.set(1);
        }
        for step in 0..700 {
            let sound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                test.step(&mut random);
                check(&test.world);
            }));
            if let Err(panic) = sound {
                println!("seed {seed}, step {step}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[test]
fn a_reply_comes_whole_though_the_clients_tables_are_few() {
    const SIZE: u64 = 3 * PAGE_SIZE;
    /// Addresses of buffer, descriptor and slot: no two have a table in common, and the buffer lies
    /// across a border of tables of all levels.
    const PLACES: [u64; 3] = [0x80_0000_0000 - PAGE_SIZE, 0x200_0000_0000, 0x300_0000_0000];
    let world = World::new(1);
    world.map_ram();
    let (port, source, descriptors) = (world.page(), world.pages(3), world.page());
    let memory = [world.pages(3), world.page(), world.page()];
    world.ok(Call::PortCreate, &[port, 0, 0]);
    let space = world.make_space(5, 0);
    let mappings = world.page();
    for (number, (place, memory)) in PLACES.into_iter().zip(memory).enumerate() {
        let size = if number == 0 { SIZE } else { PAGE_SIZE };
        let arguments = [mappings + 128 * number as u64, space, place, size, environment::PHYSICAL, world.physical(memory).0, Rights::ALL.0];
        world.ok(Call::MappingCreate, &arguments);
    }
    world.write(memory[1], &[0, 0, PLACES[0], SIZE, 0, 0, PLACES[1] + 64, 1, PLACES[2]]);
    world.write(descriptors, &[source, SIZE, 0, 0, descriptors + 64, 1, 0, 0, port + 128]);
    (0..SIZE / 8).for_each(|word| world.write(source + 8 * word, &[word + 1]));
    for slot in [port + 128, memory[2] + 64] {
        world.ok(Call::ReferenceCreate, &[slot]);
        world.ok(Call::PortReference, &[port, slot, 1]);
    }
    let client = world.make_thread(space);
    world.prepare(world.thread(world.physical(client)), Call::IpcCall, &[PLACES[2] + 64, 0, 0, 0, 0, 0, 0, 0, PLACES[1] | RECEIVE_ONLY]);
    world.ok(Call::ThreadStart, &[client]);
    let root = world.running(0).expect("root").at;
    world.call_on(0, Call::IpcReceive, &[port]);
    while world.running(0).map(|thread| thread.at) != Some(root) {
        world.enter(0);
    }
    world.ok(Call::IpcReply, &[0, 0, 0, 0, 0, 0, 0, 0, descriptors]);
    let client = world.thread(world.physical(client));
    assert_eq!(Status(client.register(register::RAX)), Status::OK);
    let info = Info(client.register(register::INFO));
    assert_eq!((info.bytes(), info.references()), (SIZE, 1));
    assert!((0..SIZE / 8).all(|word| world.read(memory[0] + 8 * word) == word + 1));
    assert_eq!(Reference::new(world.machine(), world.physical(memory[2])).kind(), TargetType::Port as u64);
    check(&world);
}
