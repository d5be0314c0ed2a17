//! Every call: that it does what it says, and what it answers when it cannot. An error must leave
//! no trace in memory.

use crate::support::check;
use crate::support::machine::{RAM_END, RAM_SIZE, RAM_START};
use crate::support::world::{CODE, RAM, World};
use nacre_abi::frame::{FRAME_VERSION, event, word};
use nacre_abi::state::{self, PortState, ReferenceState, RegionState, ThreadState};
use nacre_abi::{Call, Code, ObjectType, PAGE_SIZE, Rights, Status, USER_END, environment};
use nacre_core::machine::{Physical, thread_page::register};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// One object of each type, references of several kinds, and the calls that were tried.
struct Fixture {
    world: World,
    /// Address of the object of each type, by its number.
    objects: [u64; 10],
    /// References without rights to them.
    weak: [u64; 10],
    null: u64,
    free: u64,
    buffer: u64,
    free_page: u64,
    tried: RefCell<BTreeSet<u8>>,
}

/// The calls of the five verbs of a type, in order: destroy, move, reference, get and set state.
fn verbs(kind: ObjectType) -> [Call; 5] {
    let first = Call::ALL.iter().position(|call| *call == destroy_of(kind)).expect("call");
    std::array::from_fn(|verb| Call::ALL[first + verb])
}

fn destroy_of(kind: ObjectType) -> Call {
    match kind {
        ObjectType::Space => Call::SpaceDestroy,
        ObjectType::Region => Call::RegionDestroy,
        ObjectType::Mapping => Call::MappingDestroy,
        ObjectType::Thread => Call::ThreadDestroy,
        ObjectType::Port => Call::PortDestroy,
        ObjectType::PortSet => Call::PortSetDestroy,
        ObjectType::Reference => Call::ReferenceDestroy,
        ObjectType::Mutex => Call::MutexDestroy,
        ObjectType::Condition => Call::ConditionDestroy,
    }
}

/// Returns the number of words in the state of a type.
fn words_of(kind: ObjectType) -> u64 {
    match kind {
        ObjectType::Thread => ThreadState::WORDS as u64,
        ObjectType::Mapping | ObjectType::Reference => ReferenceState::WORDS as u64,
        ObjectType::Region | ObjectType::Port => RegionState::WORDS as u64,
        ObjectType::Space => state::SpaceState::WORDS as u64,
        _ => 2,
    }
}

impl Fixture {
    fn new() -> Fixture {
        let world = World::new(1);
        world.map_ram();
        let (page, references, buffer) = (world.page(), world.page(), world.page());
        let space = world.make_space(8, 0);
        let data = world.pages(8);
        let objects = [0, space, page, page + 0x80, world.page(), page + 0x100, page + 0x180, page + 0x200, page + 0x240, page + 0x280];
        let fixture = Fixture {
            objects,
            weak: std::array::from_fn(|number| references + 64 * number as u64),
            null: references + 64 * 20,
            free: page + 0xf00,
            buffer,
            free_page: world.page(),
            tried: RefCell::default(),
            world,
        };
        fixture.ok(Call::RegionCreate, &[page, 0, data, 8 * PAGE_SIZE, Rights::ALL.0, 0]);
        fixture.ok(Call::MappingCreate, &[page + 0x80, space, 0x10_0000, 4 * PAGE_SIZE, page, PAGE_SIZE, Rights::READ.0]);
        fixture.ok(Call::ThreadCreate, &[objects[4], space]);
        fixture.ok(Call::PortSetCreate, &[page + 0x180]);
        fixture.ok(Call::PortCreate, &[page + 0x100, 5, page + 0x180]);
        fixture.ok(Call::ReferenceCreate, &[page + 0x200]);
        fixture.ok(Call::PortReference, &[page + 0x100, page + 0x200, 7]);
        fixture.ok(Call::MutexCreate, &[page + 0x240]);
        fixture.ok(Call::ConditionCreate, &[page + 0x280]);
        fixture.ok(Call::ReferenceCreate, &[fixture.null]);
        for kind in ObjectType::ALL {
            let number = kind as usize;
            fixture.ok(Call::ReferenceCreate, &[fixture.weak[number]]);
            fixture.ok(verbs(kind)[2], &[objects[number], fixture.weak[number], 0]);
        }
        fixture
    }

    fn ok(&self, call: Call, arguments: &[u64]) -> u64 {
        self.tried.borrow_mut().insert(call as u8);
        let result = self.world.ok(call, arguments);
        check(&self.world);
        result
    }

    /// The kernel's memory and the test's buffer, but for the caller's own registers.
    fn memory(&self) -> Vec<u64> {
        let (root, buffer) = (RAM_START + 2 * PAGE_SIZE, self.world.physical(self.buffer).0);
        let page_of = |at: u64| (at..at + PAGE_SIZE).step_by(8);
        let kept = |at: &u64| *at != root && (*at == buffer || !self.world.is_vacant(Physical(*at)));
        let pages: Vec<u64> = (RAM_START..RAM_END).step_by(PAGE_SIZE as usize).filter(kept).collect();
        let words = pages.iter().flat_map(|at| page_of(*at)).map(|at| self.world.machine().peek(at));
        pages.iter().copied().chain(words).collect()
    }

    fn fails(&self, call: Call, arguments: &[u64], code: Code, argument: u8) {
        let before = self.memory();
        let status = self.world.call(call, arguments);
        assert_eq!(status, Status::argument(code, argument), "{}({arguments:x?})", call.name());
        assert!(self.memory() == before, "{}({arguments:x?}) failed and left a trace", call.name());
        check(&self.world);
    }
}

/// Checks the errors that every call returns that names an object of a type first.
fn object_errors(fixture: &Fixture, call: Call, kind: ObjectType, rest: &[u64]) {
    let arguments = |first: u64| -> Vec<u64> { [first].into_iter().chain(rest.iter().copied()).collect() };
    let number = kind as usize;
    let other = if kind == ObjectType::Mutex { ObjectType::Condition } else { ObjectType::Mutex };
    fixture.fails(call, &arguments(fixture.objects[number] + 8), Code::BadAddress, 1);
    fixture.fails(call, &arguments(USER_END), Code::BadAddress, 1);
    fixture.fails(call, &arguments(0x6000_0000_0000), Code::BadAddress, 1);
    fixture.fails(call, &arguments(fixture.free), Code::NotAnObject, 1);
    fixture.fails(call, &arguments(fixture.buffer), Code::NotAnObject, 1);
    fixture.fails(call, &arguments(fixture.objects[other as usize]), Code::WrongType, 1);
    if kind != ObjectType::Reference && !call.name().ends_with("move") {
        fixture.fails(call, &arguments(fixture.null), Code::NullReference, 1);
        fixture.fails(call, &arguments(fixture.weak[other as usize]), Code::WrongType, 1);
    }
}

#[test]
fn verbs_refuse_what_they_should() {
    let fixture = Fixture::new();
    let buffer = fixture.buffer;
    for kind in ObjectType::ALL {
        let [destroy, move_to, reference, get, set] = verbs(kind);
        let (at, size) = (fixture.objects[kind as usize], 8 * words_of(kind));
        fixture.world.write(buffer, &[state::header(kind, 9)]);
        object_errors(&fixture, destroy, kind, &[]);
        object_errors(&fixture, move_to, kind, &[fixture.free_page]);
        if kind != ObjectType::Reference {
            object_errors(&fixture, reference, kind, &[fixture.null, 0]);
            for (call, rest) in [(destroy, [0; 3]), (get, [buffer, size, 0]), (set, [buffer, size, 0])] {
                fixture.fails(call, &[fixture.weak[kind as usize], rest[0], rest[1], rest[2]], Code::Denied, 1);
            }
        }
        object_errors(&fixture, get, kind, &[buffer, 4096, 0]);
        object_errors(&fixture, set, kind, &[buffer, 4096, 0]);
        let occupied = if kind.size() > 1024 { fixture.objects[5] & !4095 } else { fixture.objects[2] };
        fixture.fails(move_to, &[at, occupied], Code::SlotOccupied, 2);
        fixture.fails(move_to, &[at, fixture.free_page + 8], Code::BadAddress, 2);
        fixture.fails(reference, &[at, fixture.null, 8], Code::BadRights, 3);
        fixture.fails(reference, &[at, fixture.objects[8], 1], Code::SlotOccupied, 2);
        fixture.fails(get, &[at, buffer, size - 8, 0], Code::BufferTooSmall, 3);
        fixture.fails(get, &[at, buffer + 4, size, 0], Code::BadAddress, 2);
        fixture.fails(get, &[at, 0x6000_0000_0000, size, 0], Code::BadAddress, 2);
        fixture.fails(set, &[at, buffer, size - 8, 0], Code::BufferTooSmall, 3);
        fixture.fails(set, &[at, buffer, size, 0], Code::BadVersion, 2);
        fixture.fails(set, &[at, buffer + 4, size, 0], Code::BadAddress, 2);
    }
    fixture.fails(Call::ReferenceReference, &[fixture.weak[5], fixture.null, 3], Code::Denied, 3);
    fixture.fails(Call::SpaceDestroy, &[environment::SPACE], Code::Busy, 1);
    fixture.fails(Call::ThreadMove, &[environment::THREAD, fixture.free_page], Code::WrongType, 1);
}

#[test]
fn creation_refuses_what_it_should() {
    let fixture = Fixture::new();
    let [_, space, region, ..] = fixture.objects;
    let (free, page, pool) = (fixture.free, fixture.free_page, fixture.world.pages(8));
    let occupied = fixture.objects[2];
    let rights = Rights::ALL.0;
    let creates = [
        Call::SpaceCreate,
        Call::RegionCreate,
        Call::MappingCreate,
        Call::PortCreate,
        Call::PortSetCreate,
        Call::ReferenceCreate,
        Call::MutexCreate,
        Call::ConditionCreate,
    ];
    for call in creates {
        fixture.fails(call, &[occupied], Code::SlotOccupied, 1);
        fixture.fails(call, &[occupied + 8], Code::BadAddress, 1);
        fixture.fails(call, &[environment::BOOT_INFO], Code::NotObjectMemory, 1);
        fixture.fails(call, &[USER_END], Code::BadAddress, 1);
    }
    fixture.fails(Call::ThreadCreate, &[occupied & !4095, space], Code::SlotOccupied, 1);
    fixture.fails(Call::ThreadCreate, &[page + 64, space], Code::BadAddress, 1);
    fixture.fails(Call::ThreadCreate, &[page, region], Code::WrongType, 2);
    let slot = page + 0x100;
    fixture.fails(Call::SpaceCreate, &[slot, pool, 4, 0], Code::NoMemory, 3);
    fixture.fails(Call::SpaceCreate, &[slot, pool, 513, 0], Code::BadArgument, 3);
    fixture.fails(Call::SpaceCreate, &[slot, pool + 8, 5, 0], Code::BadRange, 2);
    fixture.fails(Call::SpaceCreate, &[slot, page, 5, 0], Code::BadRange, 2);
    fixture.fails(Call::SpaceCreate, &[slot, occupied & !4095, 5, 0], Code::Busy, 2);
    fixture.fails(Call::SpaceCreate, &[slot, pool, 5, region], Code::WrongType, 4);
    fixture.fails(Call::SpaceDonate, &[space, pool + 8, 1], Code::BadRange, 2);
    fixture.fails(Call::SpaceDonate, &[space, pool, 0], Code::BadRange, 2);
    fixture.fails(Call::SpaceDonate, &[space, pool, 513], Code::BadArgument, 3);
    fixture.fails(Call::SpaceDonate, &[region, pool, 1], Code::WrongType, 1);
    for (start, size, argument) in [(1, PAGE_SIZE, 3), (0, 0, 4), (0, 1, 4), (USER_END, PAGE_SIZE, 3), (PAGE_SIZE, USER_END, 4)] {
        fixture.fails(Call::RegionCreate, &[free & !127, 0, start, size, rights, 0], Code::BadRange, argument);
        fixture.fails(Call::MappingCreate, &[free & !127, 0, start, size, region, 0, rights], Code::BadRange, argument);
    }
    fixture.fails(Call::RegionCreate, &[free & !127, 0, PAGE_SIZE, PAGE_SIZE, 16, 0], Code::BadRights, 5);
    fixture.fails(Call::RegionCreate, &[free & !127, 0, PAGE_SIZE, PAGE_SIZE, rights, region], Code::WrongType, 6);
    fixture.fails(Call::MappingCreate, &[free & !127, space, 0x10_1000, PAGE_SIZE, region, 0, rights], Code::Overlap, 3);
    fixture.fails(Call::MappingCreate, &[free & !127, space, 0x20_0000, 9 * PAGE_SIZE, region, 0, rights], Code::BadRange, 6);
    fixture.fails(Call::MappingCreate, &[free & !127, space, 0x20_0000, PAGE_SIZE, region, 8, rights], Code::BadRange, 6);
    fixture.fails(Call::MappingCreate, &[free & !127, space, 0x20_0000, PAGE_SIZE, region, 0, 64], Code::BadRights, 7);
    fixture.fails(Call::MappingCreate, &[free & !127, space, 0x20_0000, PAGE_SIZE, region, 0, Rights::VIEW.0 | Rights::OVER.0 | 1], Code::BadRights, 7);
    fixture.fails(Call::MappingCreate, &[free & !127, space, 0x20_0000, PAGE_SIZE, space, 0, 1], Code::WrongType, 5);
    fixture.fails(Call::MappingCreate, &[free & !127, space, 0x20_0000, PAGE_SIZE, fixture.weak[2], 0, 1], Code::Denied, 5);
    fixture.fails(Call::PortCreate, &[free & !127, 0, region], Code::WrongType, 3);
}

#[test]
fn other_calls_refuse_what_they_should() {
    let fixture = Fixture::new();
    let [_, space, _, _, thread, port, ..] = fixture.objects;
    let [mutex, condition] = [fixture.objects[8], fixture.objects[9]];
    let buffer = fixture.buffer;
    let interrupts = environment::INTERRUPTS;
    for call in [Call::IpcCall, Call::IpcSend, Call::PortNotify] {
        object_errors(&fixture, call, ObjectType::Port, &[0]);
        fixture.fails(call, &[fixture.weak[5]], Code::Denied, 1);
    }
    object_errors(&fixture, Call::IpcReceive, ObjectType::Port, &[]);
    fixture.fails(Call::IpcReceive, &[fixture.weak[6]], Code::Denied, 1);
    fixture.fails(Call::IpcReplyReceive, &[port], Code::NotConnected, 0);
    fixture.fails(Call::IpcReply, &[], Code::NotConnected, 0);
    fixture.fails(Call::IpcDetach, &[fixture.free], Code::NotConnected, 0);
    fixture.fails(Call::IpcDetach, &[port], Code::SlotOccupied, 1);
    fixture.fails(Call::IpcReceiveReply, &[], Code::Gone, 0);
    for call in [Call::ThreadStart, Call::ThreadStop, Call::ThreadSetForeign, Call::ThreadTime] {
        object_errors(&fixture, call, ObjectType::Thread, &[0]);
        fixture.fails(call, &[fixture.weak[4]], Code::Denied, 1);
    }
    fixture.fails(Call::ThreadStop, &[thread, 4], Code::BadArgument, 2);
    fixture.fails(Call::ThreadSetForeign, &[0, USER_END], Code::BadAddress, 2);
    fixture.fails(Call::ThreadSetBase, &[2, 0], Code::BadArgument, 1);
    fixture.fails(Call::ThreadSetBase, &[0, USER_END], Code::BadAddress, 2);
    object_errors(&fixture, Call::MutexLock, ObjectType::Mutex, &[buffer]);
    object_errors(&fixture, Call::MutexUnlock, ObjectType::Mutex, &[]);
    object_errors(&fixture, Call::ConditionWait, ObjectType::Condition, &[buffer, 0]);
    object_errors(&fixture, Call::ConditionSignal, ObjectType::Condition, &[1]);
    fixture.fails(Call::MutexLock, &[mutex, buffer + 2], Code::BadAddress, 2);
    fixture.fails(Call::ConditionWait, &[condition, buffer, 1 << 32], Code::BadArgument, 3);
    object_errors(&fixture, Call::ReferenceReveal, ObjectType::Reference, &[0, 0]);
    fixture.fails(Call::ReferenceReveal, &[fixture.null, USER_END, 0], Code::BadRange, 2);
    fixture.fails(Call::MemoryObjects, &[1, 0, buffer, 0], Code::BadRange, 1);
    fixture.fails(Call::MemoryObjects, &[RAM, 0, buffer + 4, 0], Code::BadAddress, 3);
    fixture.fails(Call::MemoryReclaim, &[RAM + 8, PAGE_SIZE], Code::BadRange, 1);
    fixture.fails(Call::MemoryTouched, &[RAM + 8, PAGE_SIZE], Code::BadRange, 1);
    fixture.fails(Call::MemoryTouched, &[RAM, PAGE_SIZE + 8], Code::BadRange, 2);
    fixture.fails(Call::MemoryTouched, &[RAM, USER_END], Code::BadRange, 2);
    fixture.fails(Call::MemoryCopy, &[RAM + 8, buffer, PAGE_SIZE], Code::BadRange, 1);
    fixture.fails(Call::MemoryCopy, &[RAM, buffer + 8, PAGE_SIZE], Code::BadRange, 2);
    fixture.fails(Call::MemoryCopy, &[RAM, RAM, PAGE_SIZE + 8], Code::BadRange, 3);
    fixture.fails(Call::MemoryCopy, &[USER_END - PAGE_SIZE, buffer, PAGE_SIZE], Code::BadAddress, 1);
    fixture.fails(Call::MemoryCopy, &[buffer, USER_END - PAGE_SIZE, PAGE_SIZE], Code::BadAddress, 2);
    fixture.fails(Call::MemoryCopy, &[fixture.objects[1] & !(PAGE_SIZE - 1), buffer, PAGE_SIZE], Code::BadAddress, 1);
    fixture.fails(Call::IoRead, &[environment::IO_PORTS, 0, 3], Code::BadArgument, 3);
    fixture.fails(Call::IoRead, &[environment::IO_PORTS, 65535, 2], Code::BadRange, 2);
    fixture.fails(Call::IoWrite, &[environment::CLOCK, 0, 1], Code::WrongType, 1);
    fixture.fails(Call::IoWrite, &[fixture.null, 0, 1], Code::NullReference, 1);
    fixture.fails(Call::IoWriteBytes, &[environment::IO_PORTS, 0, buffer, 4097], Code::BadArgument, 4);
    fixture.fails(Call::IoWriteBytes, &[environment::IO_PORTS, 0, USER_END, 1], Code::BadAddress, 3);
    fixture.fails(Call::IoPortsReference, &[environment::IO_PORTS, fixture.null, 1, 65536], Code::BadRange, 3);
    fixture.fails(Call::IoPortsReference, &[environment::IO_PORTS, space, 0, 1], Code::WrongType, 2);
    fixture.fails(Call::InterruptBind, &[interrupts, 64, port, 1], Code::BadRange, 2);
    fixture.fails(Call::InterruptBind, &[interrupts, 1, space, 1], Code::WrongType, 3);
    fixture.fails(Call::InterruptAcknowledge, &[interrupts, 64], Code::BadRange, 2);
    fixture.fails(Call::InterruptReference, &[interrupts, fixture.null, 65, 0], Code::BadRange, 3);
    fixture.fails(Call::ClockRead, &[interrupts], Code::WrongType, 1);
}

/// Tries the calls that a single thread can make on one object after another.
fn do_everything_alone(fixture: &Fixture) {
    let buffer = fixture.buffer;
    let moved = fixture.world.pages(9);
    for kind in ObjectType::ALL {
        let [_, move_to, reference, get, set] = verbs(kind);
        let (at, size) = (fixture.objects[kind as usize], 8 * words_of(kind));
        fixture.ok(get, &[at, buffer, size, 0]);
        assert_eq!(fixture.world.read(buffer), state::current_header(kind));
        if kind == ObjectType::Reference {
            fixture.world.write(buffer, &ReferenceState::default().to_words());
        }
        fixture.ok(set, &[at, buffer, size, 0]);
        let place = moved + PAGE_SIZE * (kind as u64 - 1);
        fixture.ok(move_to, &[at, place]);
        fixture.ok(reference, &[place, fixture.null, 3]);
        let found = fixture.ok(Call::ReferenceReveal, &[fixture.null, RAM, RAM_SIZE]);
        assert_eq!(found, if kind == ObjectType::Reference { 0 } else { place });
    }
    let entries = fixture.ok(Call::MemoryObjects, &[moved, 9 * PAGE_SIZE, buffer, 16]);
    assert_eq!(entries, 9);
    let thread = moved + 3 * PAGE_SIZE;
    for (call, arguments) in [(Call::ThreadSetForeign, [thread, CODE]), (Call::ThreadStop, [thread, 1]), (Call::ThreadStart, [thread, 0])] {
        fixture.ok(call, &arguments);
    }
    for kind in ObjectType::ALL.into_iter().rev() {
        fixture.ok(destroy_of(kind), &[moved + PAGE_SIZE * (kind as u64 - 1)]);
    }
    let null = fixture.null;
    fixture.ok(Call::Null, &[]);
    fixture.ok(Call::ThreadYield, &[]);
    fixture.ok(Call::ThreadSetBase, &[0, CODE]);
    assert_eq!(fixture.ok(Call::ClockRead, &[environment::CLOCK]), fixture.world.machine().time.get());
    fixture.ok(Call::IoPortsReference, &[environment::IO_PORTS, null, 0x80, 4]);
    assert_eq!(fixture.ok(Call::IoRead, &[null, 1, 2]), 0x81 * 16 + 2);
    fixture.ok(Call::IoWrite, &[null, 3, 1, 9]);
    fixture.world.write(buffer, &[0x0605_0403]);
    fixture.ok(Call::IoWriteBytes, &[null, 0, buffer + 1, 2]);
    assert_eq!(*fixture.world.machine().written.borrow(), [(0x83, 1, 9), (0x80, 1, 4), (0x80, 1, 5)]);
    fixture.ok(Call::InterruptReference, &[environment::INTERRUPTS, null, 4, 2]);
    fixture.ok(Call::PortCreate, &[moved, 0, 0]);
    fixture.ok(Call::InterruptBind, &[null, 1, moved, 6]);
    assert_eq!(fixture.world.machine().lines.get(), 1 << 5);
    fixture.world.on(0, |kernel| kernel.interrupt(5));
    fixture.ok(Call::InterruptAcknowledge, &[null, 1]);
    fixture.ok(Call::PortNotify, &[moved, 8]);
    fixture.ok(Call::IpcReceive, &[moved]);
    assert_eq!(fixture.world.running(0).expect("root").register(register::RDX), 14);
    fixture.ok(Call::PortGetState, &[moved, buffer, PortState::SIZE, 0]);
    fixture.ok(Call::MemoryReclaim, &[moved, PAGE_SIZE]);
    assert_eq!(fixture.ok(Call::MemoryTouched, &[moved, PAGE_SIZE]), moved);
    fixture.ok(Call::MemoryCopy, &[moved, moved + PAGE_SIZE, PAGE_SIZE]);
    assert_eq!(fixture.world.machine().kind(fixture.world.physical(moved)), 0);
}

/// Tries the calls that need a second thread.
fn do_everything_together(fixture: &Fixture) {
    let world = &fixture.world;
    let page = world.page();
    let root = world.running(0).expect("root").at;
    fixture.ok(Call::PortCreate, &[page, 3, 0]);
    fixture.ok(Call::MutexCreate, &[page + 0x80]);
    fixture.ok(Call::ConditionCreate, &[page + 0xc0]);
    fixture.ok(Call::SpaceCreate, &[page + 0x100, world.pages(5), 5, 0]);
    fixture.ok(Call::SpaceDonate, &[page + 0x100, world.pages(2), 2]);
    enter_view(fixture, page + 0x100);
    let other = world.make_thread(0);
    let run = |call: Call, arguments: &[u64], root_does: (Call, &[u64])| {
        fixture.tried.borrow_mut().extend([call as u8, root_does.0 as u8]);
        world.prepare(world.thread(world.physical(other)), call, arguments);
        world.ok(Call::ThreadStart, &[other]);
        world.call_on(0, root_does.0, root_does.1);
        for _ in 0..4 {
            check(world);
            match world.running(0) {
                Some(thread) if thread.at == root => break,
                Some(thread) if World::stands_at_call(thread) => world.enter(0),
                // Idle, or in user mode: until its turn is over.
                _ => world.pass(20_000_000),
            }
        }
        assert_eq!(world.running(0).map(|thread| thread.at), Some(root));
        world.running(0).expect("root")
    };
    let finished = |status: Status| {
        let thread = world.thread(world.physical(other));
        assert_eq!((thread.register(register::RIP), Status(thread.register(register::RAX))), (CODE + 2, status));
        world.ok(Call::ThreadStop, &[other, 0]);
    };
    run(Call::IpcCall, &[page, 7, 1, 2, 3, 4, 5, 6], (Call::IpcReceive, &[page]));
    fixture.ok(Call::IpcReply, &[0, 9, 11]);
    finished(Status::OK);
    run(Call::IpcCall, &[page], (Call::IpcReceive, &[page]));
    fixture.ok(Call::IpcDetach, &[page + 0x3c0]);
    fixture.ok(Call::IpcSend, &[page + 0x3c0, 1]);
    finished(Status::OK);
    run(Call::IpcSend, &[page], (Call::IpcReceive, &[page]));
    run(Call::IpcCall, &[page], (Call::IpcReceive, &[page]));
    fixture.ok(Call::ThreadSetScheduler, &[other, page, 3]);
    run(Call::ThreadYield, &[], (Call::ThreadDonate, &[other]));
    fixture.ok(Call::ThreadSetScheduler, &[other, 0, 0]);
    run(Call::Null, &[], (Call::IpcReplyReceive, &[page, 0, 0, 0, 0, 0, 0, 0, 0, 500]));
    run(Call::IpcReceiveReply, &[], (Call::ThreadSleep, &[100]));
    finished(Status::new(Code::Gone));
    let word = world.page();
    world.write(word, &[2]);
    run(Call::MutexLock, &[page + 0x80, word], (Call::ThreadYield, &[]));
    fixture.ok(Call::MutexUnlock, &[page + 0x80]);
    run(Call::ConditionWait, &[page + 0xc0, word, 2], (Call::ThreadYield, &[]));
    assert_eq!(fixture.ok(Call::ConditionSignal, &[page + 0xc0, 5]), 1);
    let (used, time) = (fixture.ok(Call::ThreadTime, &[other]), world.machine().time.get());
    assert!(used > 0 && used < time, "{used} of {time}");
    fixture.ok(Call::ThreadScheduleAs, &[other, other]);
    enter_guest(fixture, page + 0x100);
}

/// Enters a page into a view, and takes it out again.
fn enter_view(fixture: &Fixture, space: u64) {
    let (slots, list) = (fixture.world.page(), fixture.world.page());
    fixture.ok(Call::RegionCreate, &[slots, 0, list, PAGE_SIZE, Rights::ALL.0, 0]);
    fixture.ok(Call::MappingCreate, &[slots + 0x80, space, 0x2_0000, 8 * PAGE_SIZE, slots, 0, Rights::VIEW.0 | 1]);
    fixture.world.write(list, &[0x2_1001, 0]);
    assert_eq!(fixture.ok(Call::ViewEnter, &[slots + 0x80, list, 1]), 1);
    fixture.ok(Call::ViewForget, &[slots + 0x80, 0x2_0000, 8 * PAGE_SIZE]);
    fixture.ok(Call::MemoryReclaim, &[slots, PAGE_SIZE]);
}

/// Enters a guest in a space, and does not where it is to be left.
fn enter_guest(fixture: &Fixture, space: u64) {
    let world = &fixture.world;
    let frame = world.page();
    world.write(frame, &[FRAME_VERSION, space, 1]);
    fixture.ok(Call::ThreadEnter, &[frame]);
    assert_eq!(world.machine().guest.get(), None);
    world.write(frame, &[FRAME_VERSION, space, 0]);
    world.call_on(0, Call::ThreadEnter, &[frame]);
    let root = world.running(0).expect("root");
    assert!(World::stands_at_call(root));
    assert_eq!(world.machine().guest.get().map(|entry| entry.frame), Some(world.physical(frame)));
    // The space has no memory: the guest is left where it touches some.
    world.machine().guest.set(None);
    world.on(0, |kernel| kernel.guest_fault(0x1000, Rights::READ, 4));
    assert_eq!(world.read(frame + 8 * word::EVENT as u64), event::MEMORY);
    assert!(!World::stands_at_call(root));
}

#[test]
fn every_call_succeeds_somewhere() {
    let fixture = Fixture::new();
    do_everything_alone(&fixture);
    do_everything_together(&fixture);
    let tried = fixture.tried.borrow();
    let missing: Vec<_> = Call::ALL.iter().filter(|call| !tried.contains(&(**call as u8))).collect();
    assert!(missing.is_empty(), "calls without a test: {missing:?}");
    assert_eq!(Physical(0).frame(), Physical(0));
}

#[test]
fn an_unknown_number_is_no_call() {
    let world = World::new(1);
    for number in [Call::ALL.len() as u64, 1 << 32, u64::MAX] {
        world.prepare(world.running(0).expect("root"), Call::Null, &[]);
        world.running(0).expect("root").set_register(register::RAX, nacre_abi::call::CALL_BASE.wrapping_add(number));
        world.enter(0);
        assert_eq!(Status(world.running(0).expect("root").register(register::RAX)), Status::new(Code::UnknownCall));
    }
}
