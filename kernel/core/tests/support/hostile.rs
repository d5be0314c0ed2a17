//! Two hostile spaces with two threads each, which make any call with any argument on two CPUs, and
//! root, which serves and keeps them. What they do comes from bytes, so a fuzzer can choose it.
//! After every step everything that must hold is checked, and that root's memory is as it was.

use super::machine::RAM_START;
use super::random::Random;
use super::world::{ARGUMENTS, CODE, RAM, World};
use super::check;
use nacre_abi::call::CALL_BASE;
use nacre_abi::{Call, ObjectType, PAGE_SIZE, Rights, Status, USER_END, environment};
use nacre_core::machine::{Frame, Machine, Physical, thread_page::register};
use nacre_core::object::{self, Thread};
use std::cell::RefCell;

/// Address of a hostile space's own memory, which has 2 MiB.
pub const OWN: u64 = 0x4000_0000;
/// Address of the page that both spaces share.
pub const SHARED: u64 = 0x5000_0000;
const VICTIM: u64 = 14 << 20;
const VICTIM_END: u64 = 15 << 20;
const SPACES: u64 = 2;

struct Stage {
    world: World,
    port: u64,
    shared: u64,
    spaces: Vec<u64>,
    threads: Vec<u64>,
    descriptor: u64,
}

fn window(space: u64) -> u64 {
    RAM + ((4 + 2 * space) << 20)
}

fn set_up() -> Stage {
    let world = World::new(2);
    world.map_ram();
    (VICTIM..VICTIM_END).step_by(8).for_each(|at| world.machine().poke(RAM_START + at, !at));
    let page = world.page();
    let (port, slots, descriptor) = (page, world.page(), world.page());
    world.ok(Call::PortCreate, &[port, 77, 0]);
    let shared = world.page();
    world.ok(Call::RegionCreate, &[page + 0x100, 0, shared, PAGE_SIZE, Rights::ALL.0, port]);
    world.write(descriptor, &[0, 0, descriptor + 0x400, 512, 0, 0, descriptor + 0x80, 2]);
    world.write(descriptor + 0x80, &[slots, slots + 0x40]);
    let (mut threads, mut spaces) = (Vec::new(), Vec::new());
    for number in 0..SPACES {
        let (space, own) = (world.make_space(7, port), window(number));
        spaces.push(space);
        let objects = world.page();
        world.ok(Call::RegionCreate, &[objects, 0, own, 2 << 20, Rights::ALL.0, port]);
        world.ok(Call::MappingCreate, &[objects + 0x80, space, OWN, 2 << 20, objects, 0, Rights::ALL.0]);
        world.ok(Call::MappingCreate, &[objects + 0x100, space, SHARED, PAGE_SIZE, page + 0x100, 0, Rights::ALL.0]);
        let first = world.make_thread(space);
        world.ok(Call::ThreadCreate, &[own + PAGE_SIZE, space]);
        (0..10).for_each(|slot| _ = world.ok(Call::ReferenceCreate, &[own + 64 * slot]));
        let given = [(Call::SpaceReference, space, 3), (Call::ThreadReference, first, 3), (Call::ThreadReference, own + PAGE_SIZE, 3)];
        let lent = [(Call::PortReference, port, 5), (Call::RegionReference, objects, 1), (Call::ReferenceReference, environment::CLOCK, 1)];
        for (slot, (call, object, rights)) in given.into_iter().chain(lent).enumerate() {
            world.ok(call, &[object, own + 64 * slot as u64, rights]);
        }
        world.ok(Call::IoPortsReference, &[environment::IO_PORTS, own + 64 * 6, 0x80, 4]);
        world.ok(Call::InterruptReference, &[environment::INTERRUPTS, own + 64 * 7, 4, 4]);
        for thread in [first, own + PAGE_SIZE] {
            world.thread(world.physical(thread)).set_register(register::RIP, CODE + 2);
            world.ok(Call::ThreadStart, &[thread]);
            threads.push(thread);
        }
        stock(&world, space, own + 4 * PAGE_SIZE);
    }
    Stage { world, port, shared, spaces, threads, descriptor }
}

/// Makes one object of each smaller type in a page of a hostile space, and a space in the pages
/// behind it.
fn stock(world: &World, space: u64, page: u64) {
    world.ok(Call::RegionCreate, &[page, space, OWN + (1 << 20), 8 * PAGE_SIZE, Rights::ALL.0, 0]);
    world.ok(Call::MappingCreate, &[page + 0x80, space, OWN + (8 << 20), 4 * PAGE_SIZE, page, PAGE_SIZE, Rights::ALL.0]);
    world.ok(Call::PortSetCreate, &[page + 0x100]);
    world.ok(Call::PortCreate, &[page + 0x180, 1, page + 0x100]);
    world.ok(Call::PortCreate, &[page + 0x200, 2, 0]);
    world.ok(Call::MutexCreate, &[page + 0x280]);
    world.ok(Call::ConditionCreate, &[page + 0x2c0]);
    world.ok(Call::SpaceCreate, &[page + 0x300, page + 2 * PAGE_SIZE, 5, page + 0x200]);
}

thread_local! {
    /// Results by call: true if a hostile thread has made it, and true if it ever succeeded.
    static TALLY: RefCell<[(bool, bool); Call::ALL.len()]> = const { RefCell::new([(false, false); Call::ALL.len()]) };
}

/// The calls that hostile threads of this host thread never made, and those that never succeeded.
pub fn not_reached() -> [Vec<&'static str>; 2] {
    let tally = TALLY.with_borrow(|tally| *tally);
    let named = |missing: fn(&(bool, bool)) -> bool| tally.iter().zip(Call::ALL).filter(|(tally, _)| missing(tally)).map(|(_, call)| call.name()).collect();
    [named(|(made, _)| !made), named(|(_, succeeded)| !succeeded)]
}

/// Kind of an argument.
#[derive(Clone, Copy)]
enum Kind {
    Slot,
    Page,
    Object,
    Memory,
    Number,
    Rights,
    Address,
    Size,
    Links,
}

/// Returns the kinds of a call's arguments, so that random ones have a chance.
fn kinds(call: Call) -> &'static [Kind] {
    use Kind::{Address, Links, Memory, Number, Object, Page, Rights, Size, Slot};
    match call {
        Call::SpaceCreate => &[Slot, Page, Number, Object],
        Call::SpaceDonate => &[Object, Page, Number],
        Call::RegionCreate => &[Slot, Object, Address, Address, Rights, Object],
        Call::MappingCreate => &[Slot, Object, Address, Address, Object, Address, Rights],
        Call::ThreadCreate => &[Page, Object],
        Call::ThreadMove => &[Object, Page],
        Call::PortCreate => &[Slot, Number, Object],
        Call::IpcCall | Call::IpcSend | Call::IpcReceive | Call::IpcReplyReceive | Call::IpcReply => &[Object, Number, Number, Number],
        Call::ViewEnter => &[Object, Memory, Number],
        Call::ViewForget => &[Object, Address, Address],
        Call::MemoryReclaim | Call::MemoryTouched => &[Page, Page],
        Call::MemoryCopy => &[Page, Page, Size],
        Call::MemoryObjects => &[Page, Address, Memory, Number],
        Call::MutexLock | Call::ConditionWait => &[Object, Memory, Number],
        Call::ThreadSetScheduler => &[Object, Object, Number],
        Call::ThreadDonate => &[Object, Object, Number, Number],
        Call::PortNotify | Call::ConditionSignal | Call::ThreadStop => &[Object, Number],
        Call::InterruptBind => &[Object, Number, Object, Number],
        Call::InterruptReference | Call::IoPortsReference => &[Object, Object, Number, Number],
        Call::ReferenceReveal => &[Object, Address, Address],
        _ => match call.name().rsplit('_').next() {
            Some("create" | "detach") => &[Slot],
            Some("move") => &[Object, Slot],
            Some("reference") => &[Object, Object, Rights],
            Some("state") => &[Object, Memory, Size, Links],
            _ => &[Object, Number, Number, Number],
        },
    }
}

/// The type of object that the first argument of a call is, by the call's name.
fn subject(call: Call) -> Option<ObjectType> {
    use ObjectType::{Condition, Mapping, Mutex, Port, PortSet, Reference, Region, Space, Thread};
    let names = [
        ("port_set", PortSet), ("port", Port), ("ipc", Port), ("space", Space), ("region", Region), ("mapping", Mapping), ("view", Mapping), ("thread", Thread),
        ("reference", Reference), ("mutex", Mutex), ("condition", Condition), ("io", Reference), ("interrupt", Reference), ("clock", Reference),
    ];
    names.into_iter().find(|(name, _)| call.name().starts_with(name)).map(|(_, kind)| kind)
}

/// The type of object that argument `index` of a call is.
fn object_kind(call: Call, index: usize) -> Option<ObjectType> {
    match (call, index) {
        (Call::SpaceCreate | Call::RegionCreate | Call::InterruptBind, 3 | 5 | 2) => Some(ObjectType::Port),
        (Call::PortCreate, 2) => Some(ObjectType::PortSet),
        (Call::ThreadSetScheduler | Call::ThreadDonate, 1) => Some(ObjectType::Port),
        (Call::MappingCreate, 4) => Some(ObjectType::Region),
        (_, 0) => subject(call),
        _ if call.name().ends_with("reference") => Some(ObjectType::Reference),
        _ => Some(ObjectType::Space),
    }
}

const ODD: [u64; 14] =
    [0, 1, 2, 63, 64, 4095, 4096, 1 << 21, USER_END, USER_END - 4096, u64::MAX, 1 << 63, 1 << 52, nacre_abi::environment::OBJECTS];

fn argument(random: &mut Random, kind: Kind) -> u64 {
    if random.once_in(12) {
        return if random.once_in(2) { random.word() } else { random.of(&ODD) };
    }
    let base = if random.once_in(8) { SHARED } else { OWN + PAGE_SIZE * random.of(&[0, 0, 1, 2, 3, 4]) };
    match kind {
        Kind::Slot => base + 64 * random.of(&[10, 16, 20, 24, 28, 32, 36, 40, 41, 48, 52, 56, 62]),
        Kind::Object if random.once_in(3) => OWN + 64 * random.below(10),
        Kind::Object if random.once_in(6) => 0,
        Kind::Object => base + 64 * random.of(&[0, 10, 16, 20, 24, 28, 32, 36, 40, 41, 48, 52, 56, 62]),
        Kind::Page => OWN + PAGE_SIZE * (1 + random.below(12)),
        Kind::Memory => OWN + PAGE_SIZE * random.of(&[5, 5, 5, 12, 13, 511]) + 64 * random.below(8),
        Kind::Size => random.of(&[8, 16, 64, 256, 4096, 64, 256]),
        Kind::Links => random.of(&[0, 0, OWN + 5 * PAGE_SIZE, OWN + 5 * PAGE_SIZE + 64]),
        Kind::Number => random.of(&[0, 1, 2, 3, 5, 6, 7, 8, 64, 256]),
        Kind::Rights => random.of(&[0, 1, 2, 3, 7, 15, 15, 15, 39, 47]),
        Kind::Address => random.of(&[PAGE_SIZE, 2 * PAGE_SIZE, 1 << 20, 1 << 21, OWN, OWN + PAGE_SIZE, OWN + (4 << 20), OWN + (4 << 20) + PAGE_SIZE, SHARED, 0, 208, 3000, 64]),
    }
}

impl Stage {
    /// An object of a type that the space has, or a reference to one, as a program that knows what
    /// it made would name it.
    fn find(&self, thread: Thread<'_>, kind: ObjectType, random: &mut Random) -> Option<u64> {
        let own = (0..SPACES).find(|space| self.world.physical(self.spaces[*space as usize]) == thread.space())?;
        let pages = (0..16).map(|page| (OWN + page * PAGE_SIZE, window(own) + page * PAGE_SIZE)).chain([(SHARED, self.shared)]);
        let mut found = Vec::new();
        for (address, at) in pages {
            let at = self.world.physical(at);
            let units = self.world.machine().frame(at).filter(|frame| frame.kind.get() == Frame::OBJECTS).map_or(0, |frame| frame.units.get());
            for unit in (0..64).filter(|unit| units >> unit & 1 == 1) {
                let place = at.add(64 * unit);
                let is = object::type_of(self.world.machine().peek(place.0)) == Some(kind);
                let leads = object::type_of(self.world.machine().peek(place.0)) == Some(ObjectType::Reference)
                    && self.world.machine().peek(place.0 + 8) == kind as u64;
                if is || leads {
                    found.push(address + 64 * unit);
                }
            }
        }
        (!found.is_empty()).then(|| random.of(&found))
    }

    fn argument(&self, thread: Thread<'_>, call: Call, index: usize, random: &mut Random) -> u64 {
        let kind = kinds(call).get(index).copied().unwrap_or(Kind::Number);
        if matches!(kind, Kind::Object)
            && !random.once_in(6)
            && let Some(found) = object_kind(call, index).and_then(|kind| self.find(thread, kind, random))
        {
            return found;
        }
        argument(random, kind)
    }

    /// A hostile thread makes a call.
    fn call(&self, cpu: usize, thread: Thread<'_>, random: &mut Random) {
        self.world.machine().current.set(cpu);
        if World::stands_at_call(thread) && !random.once_in(4) {
            return self.world.enter(cpu);
        }
        let often = [Call::ThreadDonate, Call::ThreadSetScheduler, Call::MappingCreate, Call::IpcCall, Call::IpcSend, Call::IpcReceive, Call::IpcReplyReceive, Call::ThreadGetState, Call::MappingSetState, Call::ViewEnter];
        let number = if random.once_in(4) { random.of(&often) as u64 } else { random.below(Call::ALL.len() as u64 + 1) };
        thread.set_register(register::RIP, CODE);
        thread.set_register(register::RAX, CALL_BASE.wrapping_add(if random.once_in(50) { random.word() } else { number }));
        let call = Call::ALL.get(number as usize).copied().unwrap_or(Call::Null);
        for (index, register) in ARGUMENTS.into_iter().enumerate().take(8) {
            thread.set_register(register, self.argument(thread, call, index, random));
        }
        if let Some(kind) = subject(call).filter(|_| call.name().ends_with("set_state"))
            && let Some(at) = self.world.machine().translate(thread.register(register::RSI) & !7, Rights::WRITE)
        {
            self.world.machine().poke(at.0, nacre_abi::state::current_header(kind));
        }
        if call == Call::ViewEnter
            && let Some(at) = self.world.machine().translate(thread.register(register::RSI) & !15, Rights::WRITE)
        {
            let words = [argument(random, Kind::Address) & !(PAGE_SIZE - 1) | random.of(&[1, 3, 7, 17, 33, 0]), PAGE_SIZE * random.below(16)];
            words.into_iter().enumerate().for_each(|(number, word)| self.world.machine().poke(at.0 + 8 * number as u64, word));
        }
        thread.set_register(register::R14, if random.once_in(2) { 0 } else { OWN + 5 * PAGE_SIZE + 64 * random.below(4) });
        thread.set_register(register::R15, random.of(&[0, 1000, 5000, 1]));
        self.world.enter(cpu);
        // The thread may have destroyed itself, or wait.
        let goes_on = self.world.running(cpu).is_some_and(|now| now.at == thread.at) && !World::stands_at_call(thread);
        let succeeded = goes_on && thread.register(register::RAX) == Status::OK.0;
        TALLY.with_borrow_mut(|tally| {
            let Some((made, ever)) = tally.get_mut(number as usize) else { return };
            (*made, *ever) = (true, *ever || succeeded);
        });
    }

    /// A hostile thread touches its memory; what it writes may be a descriptor, an array, or a
    /// state.
    fn touch(&self, cpu: usize, random: &mut Random) {
        let mut address = argument(random, Kind::Memory) & !63;
        if random.once_in(2) {
            address = OWN + 5 * PAGE_SIZE + 64 * random.below(6);
        }
        let needed = random.of(&[Rights::READ, Rights::WRITE, Rights::EXECUTE]);
        let Some(at) = self.world.access(cpu, address, needed) else { return };
        if needed != Rights::WRITE {
            return;
        }
        let kind = self.world.machine().kind(at);
        assert!(kind == Frame::PLAIN || kind == Frame::SEIZED && self.world.kernel.is_revoking(), "a user writes to {at:?} of kind {kind}");
        let state = random.once_in(4);
        for word in 0..8 {
            let value = match (state, word) {
                (true, 0) => nacre_abi::state::current_header(nacre_abi::ObjectType::ALL[random.below(9) as usize]),
                (true, _) => argument(random, Kind::Address),
                (false, 1 | 3) => random.of(&[0, 8, 100, 4096, 9000]),
                (false, 5 | 7) => random.of(&[0, 1, 2, 8, 9]),
                (false, 4 | 6) => OWN + 5 * PAGE_SIZE + 64 * random.below(6),
                (false, _) => argument(random, Kind::Slot),
            };
            self.world.machine().poke(at.0 + 8 * word, value);
        }
    }

    /// Root serves: receives from the port, answers, starts again what was stopped.
    fn serve(&self, cpu: usize, thread: Thread<'_>, random: &mut Random) {
        if World::stands_at_call(thread) {
            return self.world.enter(cpu);
        }
        match random.below(7) {
            // Who has a scheduler lives on what root gives, or is freed again.
            5 => self.world.call_on(cpu, Call::ThreadSetScheduler, &[random.of(&self.threads), random.of(&[0, 0, self.port])]),
            6 => self.world.call_on(cpu, Call::ThreadDonate, &[random.of(&self.threads), random.of(&[0, self.port]), 0, 0, 0, 0, 0, 0, 0, random.of(&[1000, 5000])]),
            0 => {
                let number = random.below(self.threads.len() as u64) as usize;
                let slot = self.threads[number];
                let at = self.world.physical(slot).0;
                let is_thread = object::type_of(self.world.machine().peek(at)) == Some(ObjectType::Thread);
                let space = self.spaces[number / 2];
                match is_thread {
                    true => self.world.call_on(cpu, Call::ThreadStart, &[slot]),
                    false => self.world.call_on(cpu, Call::ThreadCreate, &[slot, space]),
                }
            }
            1 => {
                let waiting = random.of(&self.threads);
                self.world.call_on(cpu, Call::ThreadStop, &[waiting, 1]);
            }
            2 => self.world.call_on(cpu, Call::IpcReply, &[0, random.below(3), 1, 2, 3, 4, 5, 6, 0]),
            _ => self.world.call_on(cpu, Call::IpcReceive, &[self.port, 0, 0, 0, 0, 0, 0, 0, self.descriptor, 3000]),
        }
    }

    fn step(&self, random: &mut Random) {
        let cpu = random.below(2) as usize;
        match random.below(24) {
            0 => return self.world.pass(random.of(&[1, 1000, 5000, 20_000_000])),
            1 => return self.world.on(cpu, |kernel| kernel.interrupt(random.below(64) as u32)),
            2 => return self.world.on(cpu, |kernel| kernel.kicked()),
            3 => return self.world.kick_all(),
            _ => {}
        }
        let Some(thread) = self.world.running(cpu) else { return self.world.pass(500) };
        if thread.at.0 == RAM_START + 2 * PAGE_SIZE {
            return self.serve(cpu, thread, random);
        }
        match random.below(16) {
            0 => self.world.on(cpu, |kernel| kernel.exception(random.below(32), 0, 0)),
            1 | 2 => self.touch(cpu, random),
            _ => self.call(cpu, thread, random),
        }
    }

    fn check_victim(&self) {
        for at in (VICTIM..VICTIM_END).step_by(PAGE_SIZE as usize) {
            let physical = Physical(RAM_START + at);
            let frame = self.world.machine().frame(physical).expect("frame");
            assert_eq!(frame.kind.get(), Frame::PLAIN);
            assert!((at..at + PAGE_SIZE).step_by(8).all(|at| self.world.machine().peek(RAM_START + at) == !at), "root's memory at {at:#x} changed");
        }
        let root = self.world.thread(Physical(RAM_START + 2 * PAGE_SIZE));
        assert!(!root.has(Thread::STOPPED), "root was stopped");
    }
}

/// Lets hostile threads do what the choices say; checks after `every` so many steps.
pub fn run(mut random: Random, steps: u64, every: u64) {
    let stage = set_up();
    // In every other run long operations are cut off after each of their parts.
    stage.world.kernel.budget_full.set(random.of(&[1, 400, u32::MAX, stage.world.kernel.budget_full.get()]));
    check(&stage.world);
    for step in 0..steps {
        if random.is_over() {
            break;
        }
        stage.step(&mut random);
        if step % every == 0 {
            check(&stage.world);
        }
    }
    stage.check_victim();
}

/// The body of a fuzzer.
pub fn run_bytes(bytes: &[u8]) {
    run(Random::from_bytes(bytes), u64::MAX, 1);
}
