//! Entries are short: a call that follows mappings for too long is made again and finds what it had
//! found, and receivers that are to look again may be any number. What is cut off goes on: each
//! entry of a long call does a part of it, and to make it again takes little.

use crate::support::check;
use crate::support::world::{RAM, World};
use nacre_abi::state::{PortState, RegionState};
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status, environment};
use nacre_core::machine::{Machine, thread_page::register};
use nacre_core::object::{Space, Thread, WaitKind};

/// More than one entry tells.
const RECEIVERS: usize = 40;
/// Words of three pages.
const WORDS: u64 = 3 * PAGE_SIZE / 8;

/// Makes a thread in root's space that makes a call on the second CPU.
fn start_at(world: &World, call: Call, arguments: &[u64]) -> u64 {
    let thread = world.make_thread(0);
    world.prepare(world.thread(world.physical(thread)), call, arguments);
    world.ok(Call::ThreadStart, &[thread]);
    world.kick_all();
    world.enter(1);
    thread
}

/// A port at which somebody waits with room for three pages, and root about to send so much.
fn stage() -> (World, u64) {
    let world = World::new(2);
    world.machine().rows.set(false);
    world.map_ram();
    let (port, source, target, descriptors) = (world.page(), world.pages(3), world.pages(3), world.page());
    world.ok(Call::PortCreate, &[port, 0, 0]);
    for word in 0..WORDS {
        world.write(source + 8 * word, &[word]);
    }
    world.write(descriptors, &[source, 8 * WORDS, 0, 0, 0, 0, 0, 0]);
    world.write(descriptors + 64, &[0, 0, target, 8 * WORDS, 0, 0, 0, 0]);
    start_at(&world, Call::IpcReceive, &[port, 0, 0, 0, 0, 0, 0, 0, descriptors + 64]);
    let root = world.running(0).expect("root");
    world.prepare(root, Call::IpcSend, &[port, 0, 0, 0, 0, 0, 0, 0, descriptors]);
    world.kernel.reach.set(1);
    (world, target)
}

/// Root makes its call until that is over; how often.
fn entries(world: &World, after_each: impl Fn()) -> usize {
    let root = world.running(0).expect("root");
    for count in 1..200 {
        world.enter(0);
        if !World::stands_at_call(root) {
            return count;
        }
        check(world);
        after_each();
    }
    panic!("the call has no end");
}

#[test]
fn a_message_is_made_again_until_its_pages_are_found() {
    let (world, target) = stage();
    let count = entries(&world, || {});
    assert!((4..20).contains(&count), "{count} entries");
    assert_eq!(world.running(0).expect("root").register(register::RAX), 0);
    assert!((0..WORDS).all(|word| world.read(target + 8 * word) == word));
    check(&world);
}

#[test]
fn a_message_whose_pages_are_lost_again_and_again_fails() {
    let (world, _) = stage();
    let root = world.running(0).expect("root");
    let tables = Space::new(world.machine(), root.space()).root();
    entries(&world, || world.machine().table_reset(tables));
    assert_eq!(Status(root.register(register::RAX)), Status::argument(Code::TooDeep, 9));
}

#[test]
fn very_many_receivers_look_again() {
    let world = World::new(2);
    world.map_ram();
    let (port, set, buffer, links) = (world.page(), world.page(), world.page(), world.page());
    world.ok(Call::PortCreate, &[port, 7, 0]);
    world.ok(Call::PortSetCreate, &[set]);
    let receivers: Vec<u64> = (0..RECEIVERS).map(|_| start_at(&world, Call::IpcReceive, &[set])).collect();
    let sender = start_at(&world, Call::IpcSend, &[port]);
    world.ok(Call::PortGetState, &[port, buffer, PortState::SIZE, 0]);
    world.write(links, &[set]);
    world.ok(Call::PortSetState, &[port, buffer, PortState::SIZE, links]);
    let waiting = || receivers.iter().filter(|thread| world.thread(world.physical(**thread)).waits_for(WaitKind::Receive)).count();
    check(&world);
    assert!((1..RECEIVERS).contains(&waiting()), "{} have not heard of it", waiting());
    for _ in 0..4 * RECEIVERS {
        world.kick_all();
        world.pass(1);
        if world.running(1).is_some_and(World::stands_at_call) {
            world.enter(1);
        } else if world.running(1).is_some() {
            world.call_on(1, Call::ThreadSleep, &[1 << 40]);
        }
        check(&world);
    }
    assert_eq!(waiting(), RECEIVERS - 1);
    assert!(!world.thread(world.physical(sender)).waits_for(WaitKind::Send), "it was received");
}

#[test]
fn very_many_donors_at_one_port_are_told() {
    let world = World::new(1);
    world.map_ram();
    let (port, scheduler) = (world.page(), world.page());
    world.ok(Call::PortCreate, &[port, 7, 0]);
    world.ok(Call::PortCreate, &[scheduler, 7, 0]);
    let donee = world.make_thread(0);
    world.ok(Call::ThreadSetScheduler, &[donee, scheduler, 0]);
    // Its donors wait for it to become ready, so that none of them gets its call done.
    let donors: Vec<u64> = (0..RECEIVERS)
        .map(|_| {
            let thread = world.make_thread(0);
            world.prepare(world.thread(world.physical(thread)), Call::ThreadDonate, &[donee, port]);
            world.ok(Call::ThreadStart, &[thread]);
            thread
        })
        .collect();
    world.ok(Call::ThreadStart, &[donee]);
    for _ in 0..8 * RECEIVERS {
        world.kick_all();
        world.pass(10_000_000);
        if world.running(0).is_some_and(World::stands_at_call) {
            world.enter(0);
        }
    }
    let waiting = || donors.iter().filter(|thread| world.thread(world.physical(**thread)).has(Thread::DONATES)).count();
    assert_eq!(waiting(), RECEIVERS);
    world.call_on(0, Call::PortNotify, &[port, 1]);
    check(&world);
    assert!((1..RECEIVERS).contains(&waiting()), "{} of them have not heard of it", waiting());
    for _ in 0..RECEIVERS {
        world.kick_all();
        world.pass(1);
        check(&world);
    }
    assert_eq!(waiting(), 0);
}

/// Approximate number of times that one entry of a long call looks at the kernel's memory, at most:
/// the work of three thousand instructions.
const ENTRY_LOOKS: u64 = 1200;

/// Stages for calls that take many entries: what the call is, and how many parts it does.
fn long_calls() -> Vec<(&'static str, fn(&World, u64) -> (Call, Vec<u64>))> {
    vec![
        ("a space with many mappings is destroyed", |world, parts| {
            let (space, slots) = (world.make_space(8, 0), world.pages(8));
            for number in 0..parts {
                let at = (number + 1) * 2 * PAGE_SIZE;
                world.ok(Call::MappingCreate, &[slots + 128 * number, space, at, PAGE_SIZE, environment::PHYSICAL, 0, Rights::READ.0]);
            }
            (Call::SpaceDestroy, vec![space])
        }),
        ("a port with many references is destroyed", |world, parts| {
            let (port, slots) = (world.page(), world.pages(4));
            world.ok(Call::PortCreate, &[port, 7, 0]);
            for slot in (0..parts).map(|number| slots + 64 * number) {
                world.ok(Call::ReferenceCreate, &[slot]);
                world.ok(Call::PortReference, &[port, slot, 5]);
            }
            (Call::PortDestroy, vec![port])
        }),
        ("many objects are taken back with their memory", |world, parts| {
            let slots = world.pages(8);
            (0..parts).for_each(|number| _ = world.ok(Call::PortCreate, &[slots + 128 * number, 7, 0]));
            (Call::MemoryReclaim, vec![slots, 8 * PAGE_SIZE, 0])
        }),
        ("a region that many spaces have mapped is closed", |world, parts| {
            let (region, slots, buffer) = (world.page(), world.pages(8), world.page());
            world.ok(Call::RegionCreate, &[region, 0, RAM, PAGE_SIZE, Rights::READ.0, 0]);
            for number in 0..parts {
                let space = world.make_space(5, 0);
                world.ok(Call::MappingCreate, &[slots + 128 * number, space, RAM, PAGE_SIZE, region, 0, Rights::READ.0]);
            }
            world.write(buffer, &RegionState { start: RAM, size: PAGE_SIZE, ..RegionState::default() }.to_words());
            (Call::RegionSetState, vec![region, buffer, RegionState::SIZE, 0])
        }),
    ]
}

/// Makes the long call with so much work an entry: how many entries it takes, and how many looks at
/// memory.
fn carried_out(prepare: fn(&World, u64) -> (Call, Vec<u64>), parts: u64, budget: Option<u32>) -> (u64, u64) {
    let world = World::new(1);
    world.map_ram();
    let (call, arguments) = prepare(&world, parts);
    if let Some(budget) = budget {
        world.kernel.budget_full.set(budget);
    }
    let root = world.running(0).expect("root");
    world.prepare(root, call, &arguments);
    world.machine().looked.set(0);
    for count in 1..4 * parts + 20 {
        world.enter(0);
        if !World::stands_at_call(root) {
            assert_eq!(root.register(register::RAX), 0);
            let looked = world.machine().looked.get();
            check(&world);
            return (count, looked);
        }
    }
    panic!("{} makes no progress", call.name());
}

#[test]
fn a_call_that_is_cut_off_goes_on_and_that_costs_little() {
    for (what, prepare) in long_calls() {
        let parts = 100;
        let (once, whole) = carried_out(prepare, parts, Some(u32::MAX));
        assert_eq!(once, 1, "{what}");
        // Cut off wherever it can be, every entry does a part.
        let (entries, looked) = carried_out(prepare, parts, Some(1));
        assert!(entries > parts / 20, "{what}: {entries} entries");
        let each = looked.saturating_sub(whole) / (entries - 1);
        assert!(each <= ENTRY_LOOKS / 10, "{what}: {each} looks for each of {entries} entries ({whole} in all)");
        // As the kernel does it, all that is done twice is a tenth at most.
        let (entries, looked) = carried_out(prepare, parts, None);
        assert!(entries > 1 && looked - whole <= whole / 10 + ENTRY_LOOKS / 10, "{what}: {looked} looks in {entries} entries, {whole} in one");
    }
}

#[test]
fn what_very_many_know_of_stays_and_a_space_of_very_many_parts_moves() {
    let world = World::new(1);
    world.map_ram();
    let (port, slots, to) = (world.page(), world.pages(8), world.page());
    world.ok(Call::PortCreate, &[port, 7, 0]);
    let refer = |number: u64| {
        world.ok(Call::ReferenceCreate, &[slots + 64 * number]);
        world.ok(Call::PortReference, &[port, slots + 64 * number, 5]);
    };
    (0..500).for_each(refer);
    world.ok(Call::PortMove, &[port, to]);
    world.ok(Call::PortMove, &[to, port]);
    refer(500);
    assert_eq!(world.call(Call::PortMove, &[port, to]), Status::argument(Code::Busy, 1));
    check(&world);
    // However many mappings it has, a space is moved in one short entry: they know it by something
    // that stays.
    let (space, parts, place, region) = (world.make_space(8, 0), world.pages(32), world.page(), world.page());
    world.ok(Call::RegionCreate, &[region, 0, RAM, PAGE_SIZE, Rights::READ.0, 0]);
    for number in 0..1000 {
        world.ok(Call::MappingCreate, &[parts + 128 * number, space, (number + 1) * 2 * PAGE_SIZE, PAGE_SIZE, region, 0, Rights::READ.0]);
    }
    world.kernel.budget_full.set(1);
    world.machine().looked.set(0);
    world.ok(Call::SpaceMove, &[space, place]);
    assert!(world.machine().looked.get() < 200, "{} looks at memory", world.machine().looked.get());
    check(&world);
    world.ok(Call::SpaceDestroy, &[place]);
    check(&world);
}
