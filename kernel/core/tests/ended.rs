//! Threads that end: who is told.

use crate::support::check;
use crate::support::world::{CODE, World};
use nacre_abi::message::THREAD_ENDED;
use nacre_abi::state::SpaceState;
use nacre_abi::{Call, Rights, Status};
use nacre_core::object::Port;

/// A world with a port of root's, and a space that has it for its keeper.
fn world() -> (World, u64, u64) {
    let world = World::new(1);
    world.map_ram();
    let port = world.page();
    world.ok(Call::PortCreate, &[port, 5, 0]);
    let space = world.make_space(8, port);
    (world, port, space)
}

fn pending(world: &World, port: u64) -> u64 {
    Port::new(world.machine(), world.physical(port)).pending()
}

/// Shows a page of root's to the space at its own address, with the objects in it.
fn show(world: &World, space: u64, page: u64) {
    let objects = world.page();
    world.ok(Call::RegionCreate, &[objects, 0, page, 4096, Rights::ALL.0, 0]);
    world.ok(Call::MappingCreate, &[objects + 0x80, space, page, 4096, objects, 0, Rights::ALL.0]);
}

#[test]
fn the_keeper_hears_of_a_thread_that_somebody_else_destroys() {
    let (world, port, space) = world();
    let (one, _other) = (world.make_thread(space), world.make_thread(space));
    assert_eq!(pending(&world, port), 0);
    world.ok(Call::ThreadDestroy, &[one]);
    assert_eq!(pending(&world, port), THREAD_ENDED);
    check(&world);
}

/// Takes what the port was notified of.
fn take(world: &World, port: u64) -> u64 {
    let bits = pending(world, port);
    Port::new(world.machine(), world.physical(port)).set_pending(0);
    bits
}

/// Makes a space with two threads, and hands out its object, its pool and them.
fn space_with_threads(world: &World, keeper: u64) -> (u64, u64, [u64; 2]) {
    let (space, pool) = (world.page(), world.pages(8));
    world.ok(Call::SpaceCreate, &[space, pool, 8, keeper]);
    (space, pool, [world.make_thread(space), world.make_thread(space)])
}

/// Makes a call, again and again if it is cut off, and counts how often the port was notified of an
/// end meanwhile.
fn told_during(world: &World, port: u64, call: Call, arguments: &[u64]) -> usize {
    world.call_on(0, call, arguments);
    let mut told = usize::from(take(world, port) == THREAD_ENDED);
    while world.running(0).is_some_and(World::stands_at_call) {
        world.enter(0);
        told += usize::from(take(world, port) == THREAD_ENDED);
    }
    told
}

/// Ends a space in each way, in one piece and cut off wherever that is possible.
#[test]
fn the_end_of_a_space_with_threads_is_told_once() {
    for budget in [1, 3000] {
        for way in 0..4 {
            let (world, port, _) = world();
            world.kernel.budget_full.set(budget);
            let (space, pool, threads) = space_with_threads(&world, port);
            let (call, arguments) = match way {
                0 => (Call::SpaceDestroy, vec![space]),
                1 => (Call::MemoryReclaim, vec![space, 4096]),
                2 => (Call::MemoryReclaim, vec![pool, 4096]),
                _ => (Call::MemoryReclaim, vec![pool + 7 * 4096, 4096, nacre_abi::rights::RECLAIM_CLEAR]),
            };
            assert_eq!(told_during(&world, port, call, &arguments), 1, "way {way}, budget {budget}");
            for thread in threads {
                assert_eq!(told_during(&world, port, Call::ThreadDestroy, &[thread]), 0, "way {way}, budget {budget}");
            }
            check(&world);
        }
    }
}

#[test]
fn the_end_of_a_space_without_threads_is_told_to_nobody() {
    let (world, port, space) = world();
    world.ok(Call::SpaceDestroy, &[space]);
    assert_eq!(pending(&world, port) & THREAD_ENDED, 0);
    check(&world);
}

/// Sets the keeper and the watcher of a space.
fn set_links(world: &World, space: u64, links: [u64; 2]) {
    let buffer = world.page();
    world.write(buffer, &SpaceState::default().to_words());
    world.write(buffer + 64, &[links[0], links[1], 0, 0, 0, 0, 0, 0]);
    world.ok(Call::SpaceSetState, &[space, buffer, SpaceState::SIZE, buffer + 64]);
}

#[test]
fn a_space_that_keeps_itself_does_not_hide_its_end_from_its_watcher() {
    for object in 0..2 {
        let (world, watcher, _) = world();
        let own = world.page();
        world.ok(Call::PortCreate, &[own, 6, 0]);
        let (space, _, threads) = space_with_threads(&world, own);
        set_links(&world, space, [own, watcher]);
        let moved = world.page();
        world.ok(Call::SpaceMove, &[space, moved]);
        world.ok(Call::MemoryReclaim, &[[moved, threads[0]][object], 4096]);
        assert_eq!((pending(&world, own) & THREAD_ENDED, pending(&world, watcher) & THREAD_ENDED), (0, THREAD_ENDED));
        check(&world);
    }
}

#[test]
fn a_watcher_that_is_taken_away_hears_nothing() {
    let (world, watcher, _) = world();
    let (space, ..) = space_with_threads(&world, 0);
    set_links(&world, space, [0, watcher]);
    set_links(&world, space, [0, 0]);
    world.ok(Call::SpaceDestroy, &[space]);
    assert_eq!(pending(&world, watcher) & THREAD_ENDED, 0);
    check(&world);
}

#[test]
fn memory_that_is_taken_back_with_a_thread_tells_too() {
    let (world, port, space) = world();
    let thread = world.make_thread(space);
    world.ok(Call::MemoryReclaim, &[thread, 4096]);
    assert_eq!(pending(&world, port), THREAD_ENDED);
    check(&world);
}

#[test]
fn a_space_ends_threads_of_its_own_unheard_but_for_the_last() {
    let (world, port, space) = world();
    let (one, other) = (world.make_thread(space), world.make_thread(space));
    show(&world, space, one);
    show(&world, space, other);
    let acting = world.thread(world.physical(one));
    world.prepare(acting, Call::ThreadDestroy, &[other]);
    world.ok(Call::ThreadStart, &[one]);
    world.call_on(0, Call::ThreadYield, &[]);
    world.enter(0);
    assert_eq!(acting.register(nacre_core::machine::thread_page::register::RIP), CODE + 2);
    assert_eq!(pending(&world, port), 0);
    world.prepare(acting, Call::ThreadDestroy, &[one]);
    world.enter(0);
    assert_eq!(pending(&world, port), THREAD_ENDED);
    check(&world);
}

#[test]
fn nobody_but_the_kernel_says_so() {
    let (world, port, _) = world();
    assert_eq!(world.call(Call::PortNotify, &[port, THREAD_ENDED | 1]), Status::OK);
    assert_eq!(pending(&world, port), 1);
    check(&world);
}
