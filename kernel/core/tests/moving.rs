//! Objects of every type are moved while they are in use, and whoever uses them goes on as if they
//! had not been; also when every long call is cut off wherever it can be.

use crate::support::check;
use crate::support::world::{CODE, RAM, World};
use nacre_abi::state::{RegionState, ThreadState};
use nacre_abi::{Call, Code, ObjectType, PAGE_SIZE, Rights, Status};
use nacre_core::machine::thread_page::register;
use nacre_core::object::{Thread, WaitKind};

/// Address at which the other thread's space has what root shows it.
const WINDOW: u64 = 0x5000_0000;

/// A use that an object is in while it is moved: what it is, and a play of it.
type Use = (&'static str, fn(&Play));

/// The uses of each type. A type that is missing does not compile.
fn uses(object: ObjectType) -> &'static [Use] {
    match object {
        ObjectType::Port => &[
            ("a thread receives from it", |play| received(play, Thing::Port)),
            ("a thread waits to send to it", sent_to),
            ("bits are pending at it", pending),
            ("it keeps the space of a thread that failed", kept_space),
            ("it keeps a region whose page is awaited", kept_region),
        ],
        ObjectType::PortSet => &[("a thread receives from it", |play| received(play, Thing::Set))],
        ObjectType::Reference => &[("a reply is owed through it", replied_to), ("it leads to a port", led)],
        ObjectType::Mutex => &[("a thread waits for it", |play| woken(play, Thing::Mutex))],
        ObjectType::Condition => &[("a thread waits for it", |play| woken(play, Thing::Condition))],
        ObjectType::Thread => &[
            ("it runs", running),
            ("it is ready", ready),
            ("it sleeps", sleeping),
            ("it receives", receiving),
            ("it awaits an answer", answered),
            ("it owes an answer", owing),
            ("it waits for its keeper", failed),
        ],
        ObjectType::Space => &[("a thread runs in it", inhabited), ("its threads wait", resting)],
        ObjectType::Region => &[("a page of it is mapped", exported)],
        ObjectType::Mapping => &[("a page of it is used", mapped)],
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thing {
    Port,
    Set,
    Mutex,
    Condition,
}

/// Root on the first CPU, and a thread of its space on the second.
struct Play {
    world: World,
    thread: u64,
    page: u64,
}

impl Play {
    fn new(budget: u32) -> Play {
        let world = World::new(2);
        world.map_ram();
        world.kernel.budget_full.set(budget);
        let thread = world.make_thread(0);
        world.ok(Call::ThreadStart, &[thread]);
        world.kick_all();
        let page = world.page();
        world.ok(Call::PortCreate, &[page, 7, 0]);
        Play { world, thread, page }
    }

    fn view(&self, thread: u64) -> Thread<'_> {
        self.world.thread(self.world.physical(thread))
    }

    /// The thread makes a call that waits.
    fn wait(&self, call: Call, arguments: &[u64]) {
        self.world.call_on(1, call, arguments);
        let view = self.view(self.thread);
        while self.world.running(1).is_some_and(|running| running.at == view.at) {
            assert!(World::stands_at_call(view), "{} does not wait: {:?}", call.name(), Status(view.register(register::RAX)));
            self.world.enter(1);
        }
        check(&self.world);
    }

    /// Moves an object to a page of its own; where that is.
    fn moved(&self, call: Call, object: u64) -> u64 {
        let to = self.world.page();
        self.world.ok(call, &[object, to]);
        check(&self.world);
        to
    }

    /// The thread at `thread` goes on to the end of its call: the status and two results.
    fn end(&self, thread: u64) -> (Status, u64, u64) {
        let view = self.view(thread);
        for _ in 0..100 {
            self.world.kick_all();
            if self.world.running(1).is_some_and(|running| running.at == view.at) && World::stands_at_call(view) {
                self.world.enter(1);
            }
            check(&self.world);
        }
        assert!(!World::stands_at_call(view), "the call has no end (wait {})", view.wait());
        (Status(view.register(register::RAX)), view.register(register::RDX), view.register(register::R8))
    }

    /// A space of its own, kept by the port, that sees the page of memory `shown` at `WINDOW`; with
    /// the region and the mapping.
    fn space(&self, shown: u64) -> (u64, u64, u64) {
        let (space, objects) = (self.world.make_space(8, self.page), self.world.page());
        self.world.ok(Call::RegionCreate, &[objects, 0, shown, PAGE_SIZE, Rights::ALL.0, 0]);
        self.world.ok(Call::MappingCreate, &[objects + 128, space, WINDOW, PAGE_SIZE, objects, 0, Rights::ALL.0]);
        (space, objects, objects + 128)
    }

    /// A thread of a space that the second CPU runs, in the place of the other.
    fn run_in(&self, space: u64) -> u64 {
        self.world.ok(Call::ThreadStop, &[self.thread, 0]);
        let thread = self.world.make_thread(space);
        self.world.ok(Call::ThreadStart, &[thread]);
        self.world.kick_all();
        assert_eq!(self.world.running(1).map(|running| running.at), Some(self.view(thread).at));
        thread
    }
}

fn received(play: &Play, thing: Thing) {
    let world = &play.world;
    let (set, port) = (play.page + 128, play.page + 256);
    world.ok(Call::PortSetCreate, &[set]);
    world.ok(Call::PortCreate, &[port, 9, set]);
    let (waited, notified, word) = if thing == Thing::Set { (set, port, 9) } else { (play.page, play.page, 7) };
    play.wait(Call::IpcReceive, &[waited]);
    let to = play.moved(if thing == Thing::Set { Call::PortSetMove } else { Call::PortMove }, waited);
    world.ok(Call::PortNotify, &[if thing == Thing::Set { notified } else { to }, 5]);
    let (status, bits, _) = play.end(play.thread);
    assert_eq!((status, bits, play.view(play.thread).register(register::RDI)), (Status::OK, 5, word));
}

fn sent_to(play: &Play) {
    play.wait(Call::IpcCall, &[play.page, 0, 11, 12]);
    let to = play.moved(Call::PortMove, play.page);
    assert_eq!(play.world.ok(Call::IpcReceive, &[to]), 11);
    play.world.ok(Call::IpcReply, &[0, 0, 21, 22]);
    assert_eq!(play.end(play.thread), (Status::OK, 21, 22));
}

fn pending(play: &Play) {
    play.world.ok(Call::PortNotify, &[play.page, 6]);
    let to = play.moved(Call::PortMove, play.page);
    assert_eq!(play.world.ok(Call::IpcReceive, &[to]), 6);
}

fn kept_space(play: &Play) {
    let (space, ..) = play.space(play.world.page());
    let thread = play.run_in(space);
    play.world.on(1, |kernel| kernel.exception(6, 0, 0));
    let to = play.moved(Call::PortMove, play.page);
    assert_eq!(play.world.ok(Call::IpcReceive, &[to]), 6);
    play.world.ok(Call::IpcReply, &[]);
    play.world.kick_all();
    assert_eq!(play.world.running(1).map(|running| running.at), Some(play.view(thread).at), "it was not let go on");
}

/// A region over a hole that the port keeps, mapped into root's space: its slot.
fn hole(play: &Play) -> (u64, u64) {
    let (inner, objects) = (play.world.make_space(8, 0), play.world.page());
    play.world.ok(Call::RegionCreate, &[objects, inner, WINDOW, PAGE_SIZE, Rights::ALL.0, play.page]);
    play.world.ok(Call::MappingCreate, &[objects + 128, 0, WINDOW, PAGE_SIZE, objects, 0, Rights::ALL.0]);
    (inner, objects)
}

/// The keeper at `port` fills the hole with a page, and the thread that waits for it sees that.
fn fill(play: &Play, inner: u64, port: u64) {
    let (memory, objects) = (play.world.page(), play.world.page());
    play.world.ok(Call::IpcReceive, &[port]);
    play.world.ok(Call::RegionCreate, &[objects, 0, memory, PAGE_SIZE, Rights::ALL.0, 0]);
    play.world.ok(Call::MappingCreate, &[objects + 128, inner, WINDOW, PAGE_SIZE, objects, 0, Rights::ALL.0]);
    play.world.ok(Call::IpcReply, &[]);
    play.world.kick_all();
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
}

fn kept_region(play: &Play) {
    let (inner, region) = hole(play);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), None);
    let to = play.moved(Call::PortMove, play.page);
    let region = play.moved(Call::RegionMove, region);
    fill(play, inner, to);
    play.world.ok(Call::RegionDestroy, &[region]);
    play.world.machine().current.set(1);
    assert_eq!(play.world.machine().translate(WINDOW, Rights::WRITE), None);
}

fn replied_to(play: &Play) {
    play.wait(Call::IpcCall, &[play.page]);
    play.world.ok(Call::IpcReceive, &[play.page]);
    play.world.ok(Call::IpcDetach, &[play.page + 512]);
    let to = play.moved(Call::ReferenceMove, play.page + 512);
    play.world.ok(Call::IpcSend, &[to, 0, 31]);
    assert_eq!(play.end(play.thread), (Status::OK, 31, 0));
}

fn led(play: &Play) {
    let reference = play.page + 512;
    play.world.ok(Call::ReferenceCreate, &[reference]);
    play.world.ok(Call::PortReference, &[play.page, reference, 5]);
    play.wait(Call::IpcCall, &[reference, 0, 41]);
    let to = play.moved(Call::ReferenceMove, reference);
    play.world.ok(Call::PortNotify, &[to, 2]);
    assert_eq!(play.world.ok(Call::IpcReceive, &[play.page]), 2);
    assert_eq!(play.world.ok(Call::IpcReceive, &[play.page]), 41);
    play.world.ok(Call::IpcReply, &[]);
    assert_eq!(play.end(play.thread).0, Status::OK);
}

/// A lock that is held, or a condition: what waits for it is woken at its new place.
fn woken(play: &Play, thing: Thing) {
    let (object, word) = (play.page + 512, play.world.page());
    play.world.write(word, &[2]);
    let is_mutex = thing == Thing::Mutex;
    play.world.ok(if is_mutex { Call::MutexCreate } else { Call::ConditionCreate }, &[object]);
    play.wait(if is_mutex { Call::MutexLock } else { Call::ConditionWait }, &[object, word, 2]);
    let to = play.moved(if is_mutex { Call::MutexMove } else { Call::ConditionMove }, object);
    assert!(!play.view(play.thread).waits_for(WaitKind::None), "it does not wait any more");
    play.world.ok(if is_mutex { Call::MutexUnlock } else { Call::ConditionSignal }, &[to, 1]);
    assert_eq!(play.end(play.thread).0, Status::OK);
}

fn running(play: &Play) {
    let to = play.world.page();
    assert_eq!(play.world.call(Call::ThreadMove, &[play.thread, to]), Status::argument(Code::Busy, 1));
    assert_eq!(play.world.running(1).map(|running| running.at), Some(play.view(play.thread).at));
}

fn ready(play: &Play) {
    let other = play.world.make_thread(0);
    play.world.ok(Call::ThreadStart, &[other]);
    let to = play.moved(Call::ThreadMove, other);
    play.wait(Call::ThreadSleep, &[1 << 40]);
    play.world.kick_all();
    assert_eq!(play.world.running(1).map(|running| running.at), Some(play.view(to).at));
}

fn sleeping(play: &Play) {
    play.wait(Call::ThreadSleep, &[1000]);
    let to = play.moved(Call::ThreadMove, play.thread);
    // The first CPU, which has all deadlines, is told of this one.
    play.world.kick_all();
    play.world.pass(1000);
    assert_eq!(play.end(to).0, Status::OK);
}

fn receiving(play: &Play) {
    play.wait(Call::IpcReceive, &[play.page]);
    let to = play.moved(Call::ThreadMove, play.thread);
    play.world.ok(Call::PortNotify, &[play.page, 3]);
    assert_eq!(play.end(to).1, 3);
}

fn answered(play: &Play) {
    play.wait(Call::IpcCall, &[play.page]);
    let again = play.moved(Call::ThreadMove, play.thread);
    play.world.ok(Call::IpcReceive, &[play.page]);
    let to = play.moved(Call::ThreadMove, again);
    play.world.ok(Call::IpcReply, &[0, 0, 51]);
    assert_eq!(play.end(to).1, 51);
}

/// The thread has received from a client, and is stopped before it answers.
fn owing(play: &Play) {
    play.wait(Call::IpcReceive, &[play.page]);
    let client = play.world.make_thread(0);
    play.world.prepare(play.view(client), Call::IpcCall, &[play.page, 0, 61]);
    play.world.ok(Call::ThreadStart, &[client]);
    play.world.kick_all();
    while play.world.running(1).is_some_and(|running| running.at == play.view(client).at && World::stands_at_call(running)) {
        play.world.enter(1);
    }
    assert_eq!(play.end(play.thread).1, 61);
    play.world.ok(Call::ThreadStop, &[play.thread, 0]);
    let to = play.moved(Call::ThreadMove, play.thread);
    let client = play.moved(Call::ThreadMove, client);
    play.world.prepare(play.view(to), Call::IpcReply, &[0, 0, 62]);
    play.world.ok(Call::ThreadStart, &[to]);
    assert_eq!(play.end(to).0, Status::OK);
    let client = play.view(client);
    assert_eq!((Status(client.register(register::RAX)), client.register(register::RDX)), (Status::OK, 62));
}

fn failed(play: &Play) {
    let (space, ..) = play.space(play.world.page());
    let thread = play.run_in(space);
    play.world.on(1, |kernel| kernel.exception(6, 0, 0));
    let again = play.moved(Call::ThreadMove, thread);
    assert_eq!(play.world.ok(Call::IpcReceive, &[play.page]), 6);
    let to = play.moved(Call::ThreadMove, again);
    play.world.ok(Call::IpcReply, &[]);
    play.world.kick_all();
    assert_eq!(play.world.running(1).map(|running| running.at), Some(play.view(to).at), "it was not let go on");
}

fn inhabited(play: &Play) {
    let (space, ..) = play.space(play.world.page());
    play.run_in(space);
    let to = play.world.page();
    assert_eq!(play.world.call(Call::SpaceMove, &[space, to]), Status::argument(Code::Busy, 1));
    assert!(play.world.access(1, WINDOW, Rights::WRITE).is_some());
}

fn resting(play: &Play) {
    let memory = play.world.page();
    let (space, region, mapping) = play.space(memory);
    let thread = play.run_in(space);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
    play.world.ok(Call::ThreadStop, &[thread, 0]);
    play.world.kick_all();
    // The CPU's other thread takes it out of the tables.
    play.world.ok(Call::ThreadStart, &[play.thread]);
    play.world.kick_all();
    let space = play.moved(Call::SpaceMove, space);
    play.world.ok(Call::ThreadStop, &[play.thread, 0]);
    play.world.ok(Call::ThreadStart, &[thread]);
    play.world.kick_all();
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
    play.world.ok(Call::MappingDestroy, &[mapping]);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), None);
    assert_eq!(play.world.ok(Call::IpcReceive, &[play.page]), 14);
    play.world.ok(Call::MappingCreate, &[mapping, space, WINDOW, PAGE_SIZE, region, 0, Rights::ALL.0]);
    play.world.ok(Call::IpcReply, &[]);
    play.world.kick_all();
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
}

fn exported(play: &Play) {
    let memory = play.world.page();
    let (space, region, _) = play.space(memory);
    play.run_in(space);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
    let to = play.moved(Call::RegionMove, region);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
    let buffer = play.world.page();
    play.world.write(buffer, &[RegionState::HEADER, memory, PAGE_SIZE, Rights::READ.0]);
    play.world.ok(Call::RegionSetState, &[to, buffer, RegionState::SIZE, 0]);
    assert_eq!(play.world.access(1, WINDOW, Rights::READ), Some(play.world.physical(memory)));
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), None);
}

fn mapped(play: &Play) {
    let memory = play.world.page();
    let (space, _, mapping) = play.space(memory);
    play.run_in(space);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
    let to = play.moved(Call::MappingMove, mapping);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), Some(play.world.physical(memory)));
    play.world.ok(Call::MappingDestroy, &[to]);
    assert_eq!(play.world.access(1, WINDOW, Rights::WRITE), None);
}

#[test]
fn an_object_of_any_type_can_be_moved_while_it_is_in_use() {
    let mut failed = Vec::new();
    for object in ObjectType::ALL {
        for (what, play) in uses(object) {
            for budget in [1, 5000] {
                let played = std::panic::catch_unwind(|| {
                    let stage = Play::new(budget);
                    play(&stage);
                    check(&stage.world);
                });
                failed.extend(played.is_err().then(|| format!("{object:?}: {what} (budget {budget})")));
            }
        }
    }
    assert_eq!(failed, [""; 0]);
}

/// Makes an object of each type in a page of its own.
fn one_of_each(world: &World) -> [(ObjectType, u64); 9] {
    ObjectType::ALL.map(|object| {
        let at = world.page();
        match object {
            ObjectType::Space => world.ok(Call::SpaceCreate, &[at, world.pages(8), 8, 0]),
            ObjectType::Region => world.ok(Call::RegionCreate, &[at, 0, RAM, PAGE_SIZE, Rights::READ.0, 0]),
            ObjectType::Mapping => {
                world.ok(Call::RegionCreate, &[at + 128, 0, RAM, PAGE_SIZE, Rights::READ.0, 0]);
                world.ok(Call::MappingCreate, &[at, 0, CODE + (1 << 30), PAGE_SIZE, at + 128, 0, Rights::READ.0])
            }
            ObjectType::Thread => world.ok(Call::ThreadCreate, &[at, 0]),
            ObjectType::Port => world.ok(Call::PortCreate, &[at, 0, 0]),
            ObjectType::PortSet => world.ok(Call::PortSetCreate, &[at]),
            ObjectType::Reference => world.ok(Call::ReferenceCreate, &[at]),
            ObjectType::Mutex => world.ok(Call::MutexCreate, &[at]),
            ObjectType::Condition => world.ok(Call::ConditionCreate, &[at]),
        };
        (object, at)
    })
}

#[test]
fn an_object_of_any_type_is_found_in_however_scattered_a_range() {
    const PARTS: u64 = 200;
    for budget in [1, 700, 5000] {
        let world = World::new(1);
        world.map_ram();
        let (objects, slots, reference) = (one_of_each(&world), world.pages(8), world.page());
        world.ok(Call::ReferenceCreate, &[reference]);
        world.ok(Call::RegionCreate, &[slots, 0, RAM, 1 << 24, Rights::ALL.0, 0]);
        // Every second page of the range, none beside another in memory; the pages with the objects
        // are the last.
        let memory = world.pages(2 * PARTS);
        for part in 0..PARTS + 9 {
            let shown = if part < PARTS { memory + (PARTS - part) * 2 * PAGE_SIZE } else { objects[(part - PARTS) as usize].1 };
            let (slot, at) = (slots + 128 * (1 + part), WINDOW + 2 * part * PAGE_SIZE);
            world.ok(Call::MappingCreate, &[slot, 0, at, PAGE_SIZE, slots, shown - RAM, Rights::ALL.0]);
        }
        world.kernel.budget_full.set(budget);
        for (number, (object, at)) in (0..).zip(objects).filter(|(_, (object, _))| *object != ObjectType::Reference) {
            world.ok(reference_call(object), &[at, reference, 3]);
            let (wanted, end) = (WINDOW + 2 * (PARTS + number) * PAGE_SIZE, 2 * (PARTS + 9) * PAGE_SIZE);
            assert_eq!(world.ok(Call::ReferenceReveal, &[reference, WINDOW, end]), wanted, "{object:?}");
            assert_eq!(world.running(0).expect("root").register(register::R8), object as u64);
            assert_eq!(world.ok(Call::ReferenceReveal, &[reference, WINDOW, wanted - WINDOW]), 0, "{object:?} in a range that ends before it");
            assert_eq!(world.ok(Call::ReferenceReveal, &[reference, wanted + 64, 64]), 0, "{object:?} in a range that starts behind it");
            assert_eq!(world.ok(Call::ReferenceReveal, &[reference, wanted, 64]), wanted, "{object:?} in a range of its own");
        }
        check(&world);
    }
}

fn reference_call(object: ObjectType) -> Call {
    match object {
        ObjectType::Space => Call::SpaceReference,
        ObjectType::Region => Call::RegionReference,
        ObjectType::Mapping => Call::MappingReference,
        ObjectType::Thread => Call::ThreadReference,
        ObjectType::Port => Call::PortReference,
        ObjectType::PortSet => Call::PortSetReference,
        ObjectType::Reference => Call::ReferenceReference,
        ObjectType::Mutex => Call::MutexReference,
        ObjectType::Condition => Call::ConditionReference,
    }
}

/// Words that a thread's state has keep their place when it moves.
#[test]
fn a_thread_that_moves_keeps_its_state() {
    let world = World::new(2);
    world.map_ram();
    for with_fpu in [false, true] {
        let (thread, to, buffer) = (world.make_thread(0), world.page(), world.pages(2));
        let state = ThreadState { flags: ThreadState::STOPPED, rip: CODE + 2, rbx: 81, r15: 82, fpu_size: if with_fpu { 3072 } else { 0 }, ..ThreadState::default() };
        world.write(buffer, &state.to_words());
        (0..3072).step_by(8).for_each(|byte| world.write(buffer + ThreadState::SIZE + byte, &[byte]));
        world.ok(Call::ThreadSetState, &[thread, buffer, ThreadState::SIZE + 3072, 0]);
        let read = |thread: u64| -> Vec<u64> {
            world.ok(Call::ThreadGetState, &[thread, buffer, ThreadState::SIZE + 3072, 0]);
            let size = ThreadState::SIZE + if with_fpu { 3072 } else { 0 };
            (0..size).step_by(8).map(|byte| world.read(buffer + byte)).collect()
        };
        let before = read(thread);
        world.ok(Call::ThreadMove, &[thread, to]);
        assert!(read(to) == before, "moved, it has another state");
        // Nothing of it is left where it was.
        let left = |at: u64| (0..PAGE_SIZE).step_by(8).any(|byte| world.machine().peek(world.physical(at).0 + byte) != 0);
        assert!(!left(thread), "something of it is left behind");
        world.ok(Call::ThreadDestroy, &[to]);
        assert!(!left(to), "something of it is left");
        check(&world);
    }
}
