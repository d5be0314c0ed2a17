//! Threads that end: who is told.

use crate::support::check;
use crate::support::world::{CODE, World};
use nacre_abi::message::THREAD_ENDED;
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

#[test]
fn the_end_of_a_space_is_no_end_of_a_thread() {
    let (world, port, space) = world();
    let thread = world.make_thread(space);
    world.ok(Call::SpaceDestroy, &[space]);
    world.ok(Call::ThreadDestroy, &[thread]);
    assert_eq!(pending(&world, port) & THREAD_ENDED, 0);
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
