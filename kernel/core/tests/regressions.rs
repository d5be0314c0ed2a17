//! Faults that were found and mended: each test is the shortest way to one.

use crate::support::check;
use crate::support::world::{CODE, RAM, World};
use nacre_abi::fault::{ERROR_FETCH, ERROR_USER, ERROR_WRITE, REFUSE};
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::state::{MappingState, PortState, ReferenceState, RegionState, SpaceState, ThreadState};
use nacre_abi::rights::REFERENCE_ALL;
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status, environment};
use nacre_core::machine::thread_page::register;
use nacre_core::object::{Port, Reference, Thread, WaitKind};

fn world(cpus: usize) -> World {
    let world = World::new(cpus);
    world.map_ram();
    world
}

fn view(world: &World, thread: u64) -> Thread<'_> {
    world.thread(world.physical(thread))
}

/// Makes a thread in root's space that stands at a call and may run.
fn start_at(world: &World, call: Call, arguments: &[u64]) -> u64 {
    let thread = world.make_thread(0);
    world.prepare(view(world, thread), call, arguments);
    world.ok(Call::ThreadStart, &[thread]);
    thread
}

/// Root makes a call that blocks, and whoever is put on its CPU makes the call that it stands at;
/// root goes on.
fn root_waits_for_one(world: &World, call: Call, arguments: &[u64]) {
    let root = world.running(0).expect("root").at;
    world.call_on(0, call, arguments);
    world.enter(0);
    assert_eq!(world.running(0).map(|thread| thread.at), Some(root));
}

/// A thread makes one entry of a call that takes several.
fn one_entry(world: &World, call: Call, arguments: &[u64]) {
    let full = world.kernel.budget_full.replace(1);
    world.call_on(0, call, arguments);
    world.kernel.budget_full.set(full);
    assert!(World::stands_at_call(world.running(0).expect("a thread")), "{} was over at once", call.name());
    check(world);
}

/// Makes `count` references by a call; the first.
fn references(world: &World, call: Call, object: u64, count: u64) -> u64 {
    let pages = world.pages(count.div_ceil(64));
    for slot in 0..count {
        world.ok(Call::ReferenceCreate, &[pages + 64 * slot]);
        world.ok(call, &[object, pages + 64 * slot, 3]);
    }
    pages
}

#[test]
fn slots_for_links_may_lie_in_the_buffer() {
    let world = world(1);
    let thread = world.make_thread(0);
    let (buffer, slots) = (world.page(), world.page());
    world.write(slots, &[buffer + 0x40, buffer + 0x80]);
    view(&world, thread).set_register(register::RBX, nacre_core::object::header(nacre_abi::ObjectType::Reference));
    world.ok(Call::ThreadGetState, &[thread, buffer, ThreadState::SIZE, slots]);
    check(&world);
}

#[test]
fn the_links_of_objects_grant_nothing() {
    let world = world(1);
    let (page, pool, buffer, array) = (world.page(), world.pages(5), world.page(), world.page());
    let (port, set, space, region, mapping) = (page, page + 0x80, page + 0x100, page + 0x200, page + 0x280);
    world.ok(Call::PortSetCreate, &[set]);
    world.ok(Call::PortCreate, &[port, 0, set]);
    world.ok(Call::SpaceCreate, &[space, pool, 5, port]);
    world.ok(Call::RegionCreate, &[region, space, 0, PAGE_SIZE, Rights::ALL.0, port]);
    world.ok(Call::MappingCreate, &[mapping, space, 0x1000, PAGE_SIZE, region, 0, Rights::READ.0]);
    let thread = world.make_thread(space);
    world.ok(Call::ThreadSetScheduler, &[thread, port, 0]);
    let slots = [page + 0x400, page + 0x440, page + 0x480];
    let links = |call, object, size| {
        world.write(array, &slots);
        world.ok(call, &[object, buffer, size, array]);
        slots.map(|slot| {
            world.ok(Call::ReferenceGetState, &[slot, buffer, ReferenceState::SIZE, 0]);
            (world.read(buffer + 8), world.read(buffer + 16))
        })
    };
    for slot in slots {
        world.ok(Call::ReferenceCreate, &[slot]);
    }
    assert_eq!(links(Call::SpaceGetState, space, SpaceState::SIZE)[0], (5, 0));
    assert_eq!(links(Call::RegionGetState, region, RegionState::SIZE)[..2], [(5, 0), (1, 0)]);
    assert_eq!(links(Call::MappingGetState, mapping, MappingState::SIZE)[..2], [(2, 1), (1, 0)]);
    assert_eq!(links(Call::ThreadGetState, thread, ThreadState::SIZE), [(1, 0), (0, 0), (5, 0)]);
    assert_eq!(links(Call::PortGetState, port, PortState::SIZE)[0], (6, 0));
    // The holder of the port's memory is told where it is, and a space is no secret to its own
    // threads.
    world.ok(Call::ReferenceReveal, &[slots[0], page, 0x400]);
    assert_eq!(world.running(0).map(|root| root.register(register::RDX)), Some(set));
    assert_eq!(links(Call::ThreadGetState, environment::THREAD, ThreadState::SIZE)[0], (1, REFERENCE_ALL));
    check(&world);
}

#[test]
fn a_refused_fault_has_the_error_code_of_an_absent_page() {
    for (needed, error) in [(Rights::READ, ERROR_USER), (Rights::WRITE, ERROR_USER | ERROR_WRITE), (Rights::EXECUTE, ERROR_USER | ERROR_FETCH)] {
        let world = world(1);
        let (page, pools) = (world.page(), world.pages(10));
        let (port, empty, space, region, mapping) = (page, page + 0x100, page + 0x200, page + 0x300, page + 0x380);
        world.ok(Call::PortCreate, &[port, 0, 0]);
        world.ok(Call::SpaceCreate, &[empty, pools, 5, 0]);
        world.ok(Call::SpaceCreate, &[space, pools + 5 * PAGE_SIZE, 5, 0]);
        world.ok(Call::RegionCreate, &[region, empty, PAGE_SIZE, PAGE_SIZE, Rights::ALL.0, port]);
        world.ok(Call::MappingCreate, &[mapping, space, PAGE_SIZE, PAGE_SIZE, region, 0, Rights::ALL.0]);
        let thread = world.make_thread(space);
        world.ok(Call::ThreadStart, &[thread]);
        world.call_on(0, Call::IpcReceive, &[port]);
        assert_eq!(world.access(0, PAGE_SIZE, needed), None);
        world.ok(Call::IpcReply, &[0, u64::from(REFUSE)]);
        assert!(view(&world, thread).has(Thread::ABANDONED));
        assert_eq!(view(&world, thread).fault_second(), error);
        check(&world);
    }
}

#[test]
fn a_server_gets_no_control_over_its_client() {
    let world = world(1);
    let page = world.page();
    world.ok(Call::PortCreate, &[page, 0, 0]);
    start_at(&world, Call::IpcCall, &[page]);
    root_waits_for_one(&world, Call::IpcReceive, &[page]);
    let (buffer, slots) = (world.page(), world.page());
    world.write(slots, &[page + 0x100, page + 0x140]);
    world.ok(Call::ThreadGetState, &[environment::THREAD, buffer, ThreadState::SIZE, slots]);
    assert_eq!(world.call(Call::ThreadStop, &[page + 0x140, 0]), Status::argument(Code::Denied, 1));
    check(&world);
}

#[test]
fn a_replaced_reference_was_the_last_to_a_port_of_the_receiver() {
    let world = world(1);
    let (page, memory) = (world.page(), world.page());
    let (set, port, other) = (page, page + 0x80, page + 0x100);
    world.ok(Call::PortSetCreate, &[set]);
    world.ok(Call::PortCreate, &[port, 1, set]);
    world.ok(Call::PortCreate, &[other, 2, set]);
    world.ok(Call::ReferenceCreate, &[page + 0x200]);
    world.ok(Call::ReferenceCreate, &[page + 0x240]);
    world.ok(Call::PortReference, &[other, page + 0x200, 1]);
    world.write(memory, &[0, 0, 0, 0, 0, 0, memory + 0x40, 1, page + 0x200]);
    world.write(memory + 0x80, &[0, 0, 0, 0, memory + 0xc0, 1, 0, 0, page + 0x240]);
    start_at(&world, Call::IpcCall, &[port, 0, 0, 0, 0, 0, 0, 0, memory + 0x80]);
    root_waits_for_one(&world, Call::IpcReceive, &[set, 0, 0, 0, 0, 0, 0, 0, memory]);
    let root = world.running(0).expect("root");
    assert_eq!((root.register(register::RIP), root.register(register::RDI)), (CODE + 2, 1));
    assert_eq!(Port::new(world.machine(), world.physical(other)).pending(), NO_REFERENCES);
    check(&world);
}

#[test]
fn a_reply_replaces_the_reference_that_it_is_sent_to() {
    let world = world(1);
    let (page, memory) = (world.page(), world.page());
    world.ok(Call::PortCreate, &[page, 0, 0]);
    world.ok(Call::ReferenceCreate, &[page + 0x240]);
    let slot = page + 0x200;
    world.write(memory, &[0, 0, 0, 0, 0, 0, memory + 0x40, 1, slot]);
    world.write(memory + 0x80, &[0, 0, 0, 0, memory + 0xc0, 1, 0, 0, page + 0x240]);
    let client = start_at(&world, Call::IpcCall, &[page, 0, 0, 0, 0, 0, 0, 0, memory]);
    root_waits_for_one(&world, Call::IpcReceive, &[page]);
    world.ok(Call::IpcDetach, &[slot]);
    world.ok(Call::IpcSend, &[slot, 0, 0, 0, 0, 0, 0, 0, memory + 0x80]);
    assert_eq!(view(&world, client).register(register::RIP), CODE + 2);
    check(&world);
}

#[test]
fn a_thread_is_evicted_as_its_turn_ends() {
    let world = world(2);
    let victim = start_at(&world, Call::Null, &[]);
    world.kick_all();
    assert_eq!(world.running(1).map(|thread| thread.at), Some(world.physical(victim)));
    start_at(&world, Call::Null, &[]);
    start_at(&world, Call::Null, &[]);
    world.call_on(0, Call::ThreadStop, &[victim, 0]);
    world.machine().time.set(world.machine().time.get() + 100_000_000);
    world.on(1, |kernel| kernel.timer());
    assert!(view(&world, victim).has(Thread::STOPPED));
    check(&world);
}

#[test]
fn an_exception_comes_as_its_thread_is_evicted() {
    let world = world(2);
    let port = world.page();
    world.ok(Call::PortCreate, &[port, 0, 0]);
    let space = world.make_space(6, port);
    let victim = world.make_thread(space);
    world.ok(Call::ThreadStart, &[victim]);
    world.kick_all();
    assert_eq!(world.running(1).map(|thread| thread.at), Some(world.physical(victim)));
    world.call_on(0, Call::ThreadStop, &[victim, 0]);
    world.on(1, |kernel| kernel.exception(3, 0, 0));
    check(&world);
    world.enter(0);
    let buffer = world.page();
    world.ok(Call::ThreadGetState, &[victim, buffer, ThreadState::SIZE, 0]);
    let fault: Vec<u64> = (24..28).map(|word| world.read(buffer + 8 * word)).collect();
    assert_eq!(fault, [ThreadState::FAULT_EXCEPTION, 3, 0, 0]);
    world.ok(Call::ThreadStart, &[victim]);
    assert!(view(&world, victim).waits_for(WaitKind::Fault));
    world.ok(Call::IpcReceive, &[port]);
    assert_eq!(world.running(0).expect("root").register(register::RDX), 3);
    check(&world);
}

#[test]
fn a_thread_is_started_while_it_is_destroyed() {
    let world = world(1);
    let space = world.make_space(6, 0);
    let thread = world.make_thread(space);
    references(&world, Call::ThreadReference, thread, 100);
    one_entry(&world, Call::ThreadDestroy, &[thread]);
    world.ok(Call::ThreadStart, &[thread]);
    check(&world);
    world.ok(Call::ThreadDestroy, &[thread]);
    world.ok(Call::SpaceDestroy, &[space]);
    check(&world);
}

#[test]
fn a_space_is_used_while_it_is_destroyed() {
    let world = world(2);
    let page = world.page();
    let space = world.make_space(100, 0);
    let memory = world.page();
    world.ok(Call::RegionCreate, &[page, 0, memory, PAGE_SIZE, Rights::ALL.0, 0]);
    one_entry(&world, Call::SpaceDestroy, &[space]);
    for (number, address) in [0x1000_0000, 0x7000_0000_0000].into_iter().enumerate() {
        world.ok(Call::MappingCreate, &[page + 0x80 * (1 + number as u64), space, address, PAGE_SIZE, page, 0, Rights::ALL.0]);
    }
    let thread = world.make_thread(space);
    world.ok(Call::ThreadStart, &[thread]);
    world.kick_all();
    for address in [0x1000_0000, 0x7000_0000_0000] {
        assert_eq!(world.access(1, address, Rights::WRITE), Some(world.physical(memory)));
        check(&world);
    }
    world.ok(Call::SpaceDestroy, &[space]);
    check(&world);
}

#[test]
fn an_object_with_many_references_is_destroyed_by_one_of_them() {
    let world = world(1);
    let page = world.page();
    let calls = [(Call::PortCreate, Call::PortReference, Call::PortDestroy), (Call::MutexCreate, Call::MutexReference, Call::MutexDestroy)];
    for (create, reference, destroy) in calls {
        world.ok(create, &[page, 0, 0]);
        let first = references(&world, reference, page, 130);
        one_entry(&world, destroy, &[first + 64]);
        world.ok(destroy, &[first + 64]);
        assert_eq!(world.call(destroy, &[first + 64]), Status::argument(Code::NullReference, 1));
        check(&world);
        world.ok(Call::MemoryReclaim, &[first, 3 * PAGE_SIZE]);
    }
}

/// Sets the state of a stopped thread to what it is, but for some words (number and value).
fn change_state(world: &World, thread: u64, words: &[(u64, u64)]) -> Status {
    let buffer = world.page();
    world.ok(Call::ThreadGetState, &[thread, buffer, ThreadState::SIZE, 0]);
    words.iter().for_each(|(number, word)| world.write(buffer + 8 * number, &[*word]));
    world.call(Call::ThreadSetState, &[thread, buffer, ThreadState::SIZE, 0])
}

#[test]
fn a_client_is_made_to_do_something_else() {
    let world = world(1);
    let page = world.page();
    world.ok(Call::PortCreate, &[page, 0, 0]);
    world.ok(Call::PortCreate, &[page + 0x80, 0, 0]);
    let client = start_at(&world, Call::IpcCall, &[page]);
    root_waits_for_one(&world, Call::IpcReceive, &[page]);
    world.ok(Call::ThreadStop, &[client, 0]);
    let (flags, rax, rdi) = (1, 3, 8);
    assert_eq!(change_state(&world, client, &[(rax, Call::IpcCall.number())]), Status::argument(Code::BadArgument, 2));
    assert_eq!(change_state(&world, client, &[(flags, 0), (rax, Call::IpcCall.number()), (rdi, page + 0x80)]), Status::OK);
    assert_eq!(world.call(Call::IpcReply, &[]), Status::new(Code::NotConnected));
    world.ok(Call::ThreadStart, &[client]);
    world.ok(Call::ThreadYield, &[]);
    check(&world);
    world.enter(0);
    check(&world);
    assert!(view(&world, client).waits_for(WaitKind::Send));
}

#[test]
fn a_client_that_was_started_again_gets_its_reply() {
    let world = world(2);
    let page = world.page();
    world.ok(Call::PortCreate, &[page, 0, 0]);
    let client = start_at(&world, Call::IpcCall, &[page, 0, 0, 0, 0, 0, 0, 0, 0, 5000]);
    root_waits_for_one(&world, Call::IpcReceive, &[page]);
    world.ok(Call::ThreadStop, &[client, 0]);
    world.pass(10_000);
    world.ok(Call::ThreadStart, &[client]);
    world.kick_all();
    assert!(view(&world, client).waits_for(WaitKind::Reply) && world.running(1).is_none(), "a thread runs that awaits a reply");
    check(&world);
    world.ok(Call::IpcReply, &[0, 7, 8]);
    let client = view(&world, client);
    assert_eq!((Status(client.register(register::RAX)), client.register(register::RDX)), (Status::OK, 8));
    check(&world);
}

#[test]
fn a_search_does_not_pay_for_the_call_before() {
    let world = world(1);
    for _ in 0..100 {
        assert_eq!(world.call(Call::ReferenceReveal, &[environment::SPACE, CODE, PAGE_SIZE]), Status::OK);
    }
}

/// A client calls a server whose buffer is missing, and so is that of the keeper who is asked for
/// it, and so on; how deep the stack went.
fn chain_of_keepers(length: u64) -> usize {
    let world = world(1);
    let hole = world.make_space(6, 0);
    let ports = world.page();
    let others = world.pages(length.div_ceil(32) + 1);
    (0..=length).for_each(|number| _ = world.ok(Call::PortCreate, &[ports + 128 * number, number, 0]));
    for number in 0..length {
        let (region, mapping, window) = (others + 256 * number, others + 256 * number + 128, 0x1000_0000 + number * PAGE_SIZE);
        world.ok(Call::RegionCreate, &[region, hole, PAGE_SIZE, PAGE_SIZE, Rights::ALL.0, ports + 128 * (number + 1)]);
        world.ok(Call::MappingCreate, &[mapping, 0, window, PAGE_SIZE, region, 0, Rights::ALL.0]);
        start_at(&world, Call::IpcReceive, &[ports + 128 * number, 0, 0, 0, 0, 0, 0, 0, window]);
    }
    let root = world.running(0).expect("root").at;
    let memory = world.page();
    world.write(memory, &[memory, 1]);
    world.ok(Call::ThreadYield, &[]);
    while world.running(0).map(|thread| thread.at) != Some(root) {
        world.enter(0);
    }
    world.machine().stack_low.set(usize::MAX);
    let here = 0u8;
    world.call_on(0, Call::IpcCall, &[ports, 0, 0, 0, 0, 0, 0, 0, memory]);
    let depth = &raw const here as usize - world.machine().stack_low.get();
    for _ in 0..4 * length {
        check(&world);
        if world.running(0).is_some() {
            world.enter(0);
        }
    }
    let last = Port::new(world.machine(), world.physical(ports + 128 * length));
    assert!(last.has_something(world.machine()), "the last keeper was not asked");
    depth
}

#[test]
fn a_chain_of_keepers_takes_no_stack() {
    let (short, long) = (chain_of_keepers(4), chain_of_keepers(24));
    assert_eq!(short, long, "the stack grows with the chain");
}

#[test]
fn a_port_with_two_messages_joins_a_set_with_two_receivers() {
    let world = world(1);
    let (page, buffer) = (world.page(), world.page());
    world.ok(Call::PortCreate, &[page, 0, 0]);
    world.ok(Call::PortSetCreate, &[page + 0x80]);
    let senders = [0; 2].map(|_| start_at(&world, Call::IpcSend, &[page]));
    let receivers = [0; 2].map(|_| start_at(&world, Call::IpcReceive, &[page + 0x80]));
    let root = world.running(0).expect("root").at;
    let settle = || {
        world.ok(Call::Null, &[]);
        world.call_on(0, Call::ThreadYield, &[]);
        while world.running(0).map(|thread| thread.at) != Some(root) {
            let thread = world.running(0).expect("a thread");
            if World::stands_at_call(thread) {
                world.enter(0);
            } else {
                world.call_on(0, Call::ThreadSleep, &[1 << 40]);
            }
        }
    };
    settle();
    world.write(buffer, &[PortState::HEADER, 0, 0, 0]);
    world.write(buffer + 0x40, &[page + 0x80]);
    world.ok(Call::PortSetState, &[page, buffer, PortState::SIZE, buffer + 0x40]);
    check(&world);
    settle();
    settle();
    check(&world);
    for thread in senders.into_iter().chain(receivers) {
        assert!(view(&world, thread).waits_for(WaitKind::Sleep), "{thread:#x} still waits");
    }
}

#[test]
fn a_large_page_takes_the_place_of_small_ones() {
    let world = world(2);
    let (page, large) = (world.page(), RAM + (4 << 20));
    let space = world.make_space(8, 0);
    world.ok(Call::RegionCreate, &[page, 0, large, 2 << 20, Rights::ALL.0, 0]);
    world.ok(Call::MappingCreate, &[page + 0x80, space, 0x4000_0000, 2 << 20, page, 0, Rights::ALL.0]);
    let thread = world.make_thread(space);
    world.ok(Call::ReferenceCreate, &[large]);
    world.ok(Call::ThreadStart, &[thread]);
    world.kick_all();
    let see = |offset: u64| world.access(1, 0x4000_0000 + offset, Rights::WRITE);
    assert!(see(5 * PAGE_SIZE).is_some());
    world.ok(Call::ReferenceDestroy, &[large]);
    assert!(see(6 * PAGE_SIZE).is_some());
    world.ok(Call::ReferenceCreate, &[large]);
    check(&world);
    world.ok(Call::ReferenceCreate, &[large + 5 * PAGE_SIZE]);
    assert_eq!(see(5 * PAGE_SIZE), None);
    check(&world);
}

#[test]
fn a_line_that_is_unbound_was_the_last_link_to_a_port() {
    let world = world(1);
    let page = world.page();
    world.ok(Call::PortCreate, &[page, 0, 0]);
    world.ok(Call::InterruptBind, &[environment::INTERRUPTS, 3, page, 1]);
    world.ok(Call::InterruptBind, &[environment::INTERRUPTS, 3, 0, 0]);
    assert_eq!(Port::new(world.machine(), world.physical(page)).pending(), NO_REFERENCES);
    let null = Reference::new(world.machine(), nacre_core::machine::Physical(crate::support::machine::RAM_START + 4 * PAGE_SIZE));
    assert!(null.is_null(world.machine()));
    check(&world);
}

#[test]
fn a_resource_is_of_no_use_without_the_right() {
    let world = world(1);
    let page = world.page();
    let (ports, lines, clock, other) = (page, page + 0x40, page + 0x80, page + 0xc0);
    for (from, to) in [(environment::IO_PORTS, ports), (environment::INTERRUPTS, lines), (environment::CLOCK, clock)] {
        world.ok(Call::ReferenceReference, &[from, to, 0]);
    }
    world.ok(Call::ReferenceCreate, &[other]);
    let calls: [(Call, &[u64]); 8] = [
        (Call::IoRead, &[ports, 0, 1]),
        (Call::IoWrite, &[ports, 0, 1, 0]),
        (Call::IoWriteBytes, &[ports, 0, page, 0]),
        (Call::IoPortsReference, &[ports, other, 0, 1]),
        (Call::InterruptBind, &[lines, 1, 0, 0]),
        (Call::InterruptAcknowledge, &[lines, 1]),
        (Call::InterruptReference, &[lines, other, 0, 1]),
        (Call::ClockRead, &[clock]),
    ];
    for (call, arguments) in calls {
        assert_eq!(world.call(call, arguments), Status::argument(Code::Denied, 1), "{call:?}");
    }
    check(&world);
}

#[test]
fn a_thread_that_was_alone_on_its_processor_shares_it_too() {
    let world = World::new(2);
    world.map_ram();
    let [alone, late] = [0, 1].map(|_| world.make_thread(0));
    world.ok(Call::ThreadStart, &[alone]);
    world.kick_all();
    let on_second = || world.running(1).map(|thread| thread.at);
    assert_eq!(on_second(), Some(world.physical(alone)));
    world.pass(50_000_000);
    world.ok(Call::ThreadStart, &[late]);
    world.kick_all();
    // Root's turn is over too: who waits and it have both processors now, or one each with whoever
    // is next.
    world.pass(1);
    assert_ne!(on_second(), Some(world.physical(alone)));
}

#[test]
fn a_processor_is_told_once_that_a_thread_has_to_go() {
    let world = World::new(2);
    world.map_ram();
    let thread = world.make_thread(0);
    world.ok(Call::ThreadStart, &[thread]);
    world.kick_all();
    world.call_on(0, Call::ThreadDestroy, &[thread]);
    // Each time it is told that somebody else is ready.
    for _ in 0..3 {
        let before = world.machine().cpus[1].kicks.get();
        world.enter(0);
        assert_eq!(world.machine().cpus[1].kicks.get(), before + 1);
    }
    world.ok(Call::ThreadDestroy, &[thread]);
}
