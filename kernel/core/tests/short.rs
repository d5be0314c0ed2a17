//! Entries are short: a call that follows mappings for too long is made again and finds what it had found, and receivers that are to look again may be any number.

use crate::support::check;
use crate::support::world::World;
use nacre_abi::state::PortState;
use nacre_abi::{Call, Code, PAGE_SIZE, Status};
use nacre_core::machine::{Machine, thread_page::register};
use nacre_core::object::{Space, WaitKind};

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
