//! A space can have the machine's time hidden from it, by whoever holds it and not from inside.

use crate::support::check;
use crate::support::machine::{RAM_SIZE, RAM_START};
use crate::support::world::{RAM, World};
use nacre_abi::state::{SpaceState, ThreadState};
use nacre_abi::{Call, Code, Rights, Status, environment, register, waiting};

const SECOND: u64 = 1_000_000_000;

fn set_flags(world: &World, space: u64, flags: u64) -> Status {
    let buffer = world.page();
    world.write(buffer, &SpaceState { flags, ..SpaceState::default() }.to_words());
    world.call(Call::SpaceSetState, &[space, buffer, SpaceState::SIZE, 0])
}

fn flags(world: &World, space: u64) -> u64 {
    let buffer = world.page();
    world.ok(Call::SpaceGetState, &[space, buffer, SpaceState::SIZE, 0]);
    world.read(buffer + 24)
}

/// A hidden space that sees all memory where root does, with its only thread running in root's
/// place.
fn inside_hidden_space(world: &World) -> u64 {
    let (space, mapping) = (world.make_space(8, 0), world.page());
    world.ok(Call::MappingCreate, &[mapping, space, RAM, RAM_SIZE, environment::PHYSICAL, RAM_START, Rights::ALL.0]);
    assert!(set_flags(world, space, SpaceState::TIME_HIDDEN).is_ok());
    let thread = world.make_thread(space);
    world.ok(Call::ThreadStart, &[thread]);
    world.call_on(0, Call::ThreadSleep, &[SECOND]);
    assert_eq!(world.running(0).map(|thread| thread.at), Some(world.physical(thread)));
    space
}

#[test]
fn the_machine_follows_the_space() {
    let world = World::new(1);
    world.map_ram();
    assert!(!world.machine().cpus[0].time_hidden.get());
    inside_hidden_space(&world);
    assert!(world.machine().cpus[0].time_hidden.get());
    // The hidden thread waits, and root's sleep is over.
    world.call_on(0, Call::ThreadSleep, &[4 * SECOND]);
    world.pass(2 * SECOND);
    assert!(!world.machine().cpus[0].time_hidden.get());
    check(&world);
}

#[test]
fn what_is_made_inside_is_hidden_too() {
    let world = World::new(1);
    world.map_ram();
    inside_hidden_space(&world);
    let inner = world.make_space(8, 0);
    assert_eq!(flags(&world, inner), SpaceState::TIME_HIDDEN);
    assert_eq!(set_flags(&world, inner, 0), Status::argument(Code::Denied, 2));
    assert_eq!(flags(&world, inner), SpaceState::TIME_HIDDEN);
    check(&world);
}

#[test]
fn nobody_changes_the_own_space_or_sets_unknown_bits() {
    let world = World::new(1);
    world.map_ram();
    let space = inside_hidden_space(&world);
    assert_eq!(set_flags(&world, space, 0), Status::argument(Code::Busy, 1));
    let inner = world.make_space(8, 0);
    assert_eq!(set_flags(&world, inner, 4 | SpaceState::TIME_HIDDEN), Status::argument(Code::BadArgument, 2));
}

#[test]
fn waits_do_not_end_where_time_is_held() {
    let world = World::new(2);
    world.map_ram();
    let (space, mapping) = (world.make_space(8, 0), world.page());
    world.ok(Call::MappingCreate, &[mapping, space, RAM, RAM_SIZE, environment::PHYSICAL, RAM_START, Rights::ALL.0]);
    assert!(set_flags(&world, space, SpaceState::TIME_HELD).is_ok());
    let thread = world.make_thread(space);
    world.ok(Call::ThreadStart, &[thread]);
    world.on(1, |kernel| kernel.cpu_start());
    world.call_on(1, Call::ThreadSleep, &[SECOND]);
    world.pass(4 * SECOND);
    assert_eq!(waiting_of(&world, thread), waiting::SLEEPS | waiting::TIMED);
    assert!(!world.machine().cpus[1].time_hidden.get());
    // A wait that is made again follows the flags as they are then.
    assert!(set_flags(&world, space, 0).is_ok());
    world.call(Call::ThreadStop, &[thread, 0]);
    world.ok(Call::ThreadStart, &[thread]);
    check(&world);
}

#[test]
fn a_running_space_is_told_at_once() {
    let world = World::new(2);
    world.map_ram();
    let (space, mapping) = (world.make_space(8, 0), world.page());
    world.ok(Call::MappingCreate, &[mapping, space, RAM, RAM_SIZE, environment::PHYSICAL, RAM_START, Rights::ALL.0]);
    let thread = world.make_thread(space);
    world.ok(Call::ThreadStart, &[thread]);
    world.on(1, |kernel| kernel.cpu_start());
    assert_eq!(world.running(1).map(|thread| thread.at), Some(world.physical(thread)));
    assert!(set_flags(&world, space, SpaceState::TIME_HIDDEN).is_ok());
    world.kick_all();
    assert!(world.machine().cpus[1].time_hidden.get());
    assert!(set_flags(&world, space, 0).is_ok());
    world.kick_all();
    assert!(!world.machine().cpus[1].time_hidden.get());
}

/// The state of a thread, written to `buffer`.
fn thread_state(world: &World, thread: u64, buffer: u64) -> ThreadState {
    world.ok(Call::ThreadGetState, &[thread, buffer, ThreadState::SIZE, 0]);
    ThreadState::from_words(std::array::from_fn(|word| world.read(buffer + 8 * word as u64)))
}

#[test]
fn the_time_that_a_thread_has_had_goes_with_its_state() {
    let world = World::new(2);
    world.map_ram();
    let (thread, buffer) = (world.make_thread(0), world.page());
    world.ok(Call::ThreadStart, &[thread]);
    world.kick_all();
    world.pass(5000);
    assert_eq!(world.ok(Call::ThreadTime, &[thread]), 5000);
    world.call(Call::ThreadStop, &[thread, 0]);
    let state = thread_state(&world, thread, buffer);
    assert_eq!(state.time, 5000);
    world.ok(Call::ThreadDestroy, &[thread]);
    let again = world.make_thread(0);
    world.ok(Call::ThreadSetState, &[again, buffer, ThreadState::SIZE, 0]);
    assert_eq!(world.ok(Call::ThreadTime, &[again]), 5000);
    world.ok(Call::ThreadStart, &[again]);
    world.kick_all();
    world.pass(100);
    assert_eq!(world.ok(Call::ThreadTime, &[again]), 5100);
    // However much it is said to have had, it goes on from there and stops at the end.
    world.call(Call::ThreadStop, &[again, 0]);
    world.write(buffer, &ThreadState { time: u64::MAX, ..state }.to_words());
    world.ok(Call::ThreadSetState, &[again, buffer, ThreadState::SIZE, 0]);
    assert_eq!(world.ok(Call::ThreadTime, &[again]), u64::MAX);
    check(&world);
}

/// Returns what a thread waits for, as `thread_time` tells root.
fn waiting_of(world: &World, thread: u64) -> u64 {
    world.ok(Call::ThreadTime, &[thread]);
    world.running(0).map_or(u64::MAX, |root| root.register(register::RESULT_2))
}

/// Ends the wait of a thread, which runs on the second CPU then.
fn interrupt(world: &World, thread: u64) {
    world.ok(Call::ThreadStop, &[thread, 1]);
    world.ok(Call::ThreadStart, &[thread]);
    world.kick_all();
}

#[test]
fn what_a_thread_waits_for_is_told_and_not_disturbed() {
    let world = World::new(2);
    world.map_ram();
    let (thread, port) = (world.make_thread(0), world.page());
    world.ok(Call::PortCreate, &[port, 0, 0]);
    assert_eq!(waiting_of(&world, thread), waiting::STOPPED);
    world.ok(Call::ThreadStart, &[thread]);
    world.kick_all();
    assert_eq!(waiting_of(&world, thread), waiting::RUNS);
    world.call_on(1, Call::ThreadSleep, &[SECOND]);
    assert_eq!([waiting_of(&world, thread), waiting_of(&world, thread)], [waiting::SLEEPS | waiting::TIMED; 2]);
    interrupt(&world, thread);
    assert_eq!(waiting_of(&world, thread), waiting::RUNS);
    world.call_on(1, Call::IpcReceive, &[port]);
    assert_eq!(waiting_of(&world, thread), waiting::RECEIVES);
    interrupt(&world, thread);
    // A call that nobody has received yet, and then one that somebody has.
    world.call_on(1, Call::IpcCall, &[port, 0x7_0003]);
    assert_eq!(waiting_of(&world, thread), waiting::SENDS | 0x7_0003 << waiting::LABEL_SHIFT);
    world.ok(Call::IpcReceive, &[port]);
    let waits = waiting_of(&world, thread);
    assert_eq!((waiting::kind(waits), waiting::label(waits)), (waiting::AWAITS_REPLY, 0x7_0003));
    world.ok(Call::ThreadDestroy, &[thread]);
    check(&world);
}

#[test]
fn who_does_not_see_the_time_does_not_set_it() {
    let world = World::new(1);
    world.map_ram();
    let (thread, buffer) = (world.make_thread(0), world.page());
    let state = ThreadState { time: 77, ..thread_state(&world, thread, buffer) };
    world.write(buffer, &state.to_words());
    world.ok(Call::ThreadSetState, &[thread, buffer, ThreadState::SIZE, 0]);
    inside_hidden_space(&world);
    assert_eq!(thread_state(&world, thread, buffer).time, 0);
    world.write(buffer, &ThreadState { time: 5, ..state }.to_words());
    world.ok(Call::ThreadSetState, &[thread, buffer, ThreadState::SIZE, 0]);
    world.pass(2 * SECOND);
    assert_eq!(thread_state(&world, thread, buffer).time, 77);
}
