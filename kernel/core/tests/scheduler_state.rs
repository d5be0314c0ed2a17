//! The scheduler of a thread as a part of its state: who sees it, and who may set it.

use crate::schedule::Stage;
use nacre_abi::state::{ReferenceState, ThreadState};
use nacre_abi::{Call, Code, PAGE_SIZE, Status};
use nacre_core::machine::thread_page::register;
use nacre_core::object::{Thread, WaitKind};

/// Addresses for states and links, and a slot for the reference to the scheduler's port.
struct Places {
    state: u64,
    links: u64,
    slot: u64,
}

fn places(stage: &Stage) -> Places {
    let (state, slots) = (stage.world.page(), stage.world.page());
    stage.world.ok(Call::ReferenceCreate, &[slots]);
    stage.world.write(state + 0x800, &[0, 0, slots, 0, 0, 0, 0, 0]);
    Places { state, links: state + 0x800, slot: slots }
}

impl Places {
    /// The state of a thread as the one on the first CPU sees it.
    fn get(&self, stage: &Stage, thread: u64) -> ThreadState {
        stage.act(0, Call::ThreadGetState, &[thread, self.state, ThreadState::SIZE, self.links]);
        assert_eq!(stage.answer(), Status::OK);
        ThreadState::from_words(std::array::from_fn(|word| stage.world.read(self.state + 8 * word as u64)))
    }

    /// Sets the state that stands there, changed, with these links, by the same thread.
    fn set(&self, stage: &Stage, thread: u64, change: impl FnOnce(&mut ThreadState), links: u64) -> Status {
        let mut state = ThreadState::from_words(std::array::from_fn(|word| stage.world.read(self.state + 8 * word as u64)));
        change(&mut state);
        stage.world.write(self.state, &state.to_words());
        stage.act(0, Call::ThreadSetState, &[thread, self.state, ThreadState::SIZE, links]);
        stage.answer()
    }

    /// Returns target and word of the reference in the slot.
    fn reference(&self, stage: &Stage) -> (u64, u64) {
        let state = self.state + 0xc00;
        stage.act(0, Call::ReferenceGetState, &[self.slot, state, ReferenceState::SIZE, 0]);
        assert_eq!(stage.answer(), Status::OK);
        (stage.world.read(state + 8), stage.world.read(state + 16))
    }
}

const FLAGS: u64 = ThreadState::SCHEDULED | ThreadState::KNOWN;

#[test]
fn whoever_runs_by_his_own_right_sees_it_and_sets_it() {
    let stage = Stage::new(1);
    let places = places(&stage);
    let thread = stage.scheduled(stage.port, 5);
    stage.world.ok(Call::ThreadStop, &[thread, 0]);
    let state = places.get(&stage, thread);
    assert_eq!((state.flags & FLAGS, state.scheduler_word), (ThreadState::SCHEDULED, 5));
    stage.world.ok(Call::ThreadStart, &[thread]);
    stage.take();
    stage.world.ok(Call::ThreadStop, &[thread, 0]);
    assert_eq!(places.get(&stage, thread).flags & FLAGS, FLAGS);
    // The reference says where the port is, and is good for nothing else.
    assert_eq!(places.reference(&stage).1, 0);
    assert_eq!(stage.world.ok(Call::ReferenceReveal, &[places.slot, stage.page, PAGE_SIZE]), stage.port);
    assert_eq!(stage.world.call(Call::ThreadSetScheduler, &[thread, places.slot, 6]), Status::argument(Code::Denied, 2));
    assert_eq!(stage.world.call(Call::IpcSend, &[places.slot]), Status::argument(Code::Denied, 1));
    // Another thread gets the same scheduler, which knows it already.
    let other = stage.world.make_thread(0);
    stage.world.write(places.links + 16, &[stage.port]);
    assert_eq!(places.set(&stage, other, |_| {}, places.links), Status::OK);
    assert!(stage.view(other).has(Thread::SCHEDULED) && stage.view(other).has(Thread::KNOWN) && stage.view(other).scheduler_word() == 5);
    stage.world.ok(Call::ThreadStart, &[other]);
    assert!(stage.view(other).waits_for(WaitKind::Time));
    stage.donate(other, stage.port, 0);
    stage.assert_runs(0, other);
    stage.act(0, Call::ThreadYield, &[]);
    // Without links nothing of it changes; with a null one it is free.
    stage.world.ok(Call::ThreadStop, &[other, 0]);
    assert_eq!(places.set(&stage, other, |state| (state.flags, state.scheduler_word) = (ThreadState::STOPPED, 0), 0), Status::OK);
    assert!(stage.view(other).has(Thread::SCHEDULED));
    stage.world.write(places.links + 16, &[0]);
    assert_eq!(places.set(&stage, other, |_| {}, places.links), Status::OK);
    assert!(!stage.view(other).has(Thread::SCHEDULED));
}

#[test]
fn what_a_thread_and_its_maker_have_in_common_neither_sees() {
    let stage = Stage::new(1);
    let places = places(&stage);
    let inner_port = stage.another_port();
    let [reader, sibling] = [5, 6].map(|word| stage.scheduled(stage.port, word));
    let inner = stage.scheduled(inner_port, 7);
    for thread in [sibling, inner] {
        stage.world.ok(Call::ThreadStop, &[thread, 0]);
    }
    stage.take();
    stage.donate(reader, 0, 0);
    stage.assert_runs(0, reader);
    for thread in [reader, sibling] {
        let state = places.get(&stage, thread);
        assert_eq!((state.flags & FLAGS, state.scheduler_word), (0, 0));
        assert_eq!(places.reference(&stage), (0, 0));
    }
    let state = places.get(&stage, inner);
    assert_eq!((state.flags & FLAGS, state.scheduler_word), (ThreadState::SCHEDULED, 7));
    assert_ne!(places.reference(&stage), (0, 0));
    // What has no scheduler in a state is scheduled as who sets it is.
    stage.world.write(places.links + 16, &[0]);
    assert_eq!(places.set(&stage, inner, |state| (state.flags, state.scheduler_word) = (ThreadState::STOPPED, 0), places.links), Status::OK);
    let view = stage.view(inner);
    assert!(view.has(Thread::SCHEDULED) && view.scheduler_word() == 5);
    stage.act(0, Call::ThreadStart, &[inner]);
    stage.act(0, Call::ThreadYield, &[]);
    assert_eq!(stage.take(), 5);
    // One whose scheduler is gone can be made too: it runs no more.
    stage.world.ok(Call::ThreadStop, &[sibling, 0]);
    assert_eq!(places.set(&stage, sibling, |state| state.flags |= ThreadState::SCHEDULED, places.links), Status::OK);
    stage.world.ok(Call::ThreadStart, &[sibling]);
    assert!(stage.view(sibling).waits_for(WaitKind::Time));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let stage = Stage::new(1);
    let places = places(&stage);
    let thread = stage.world.make_thread(0);
    places.get(&stage, thread);
    stage.world.write(places.links + 16, &[stage.port]);
    assert_eq!(places.set(&stage, thread, |_| {}, places.links), Status::argument(Code::BadArgument, 4));
    assert_eq!(places.set(&stage, thread, |state| state.flags |= ThreadState::KNOWN, places.links), Status::argument(Code::BadArgument, 2));
    let word = |state: &mut ThreadState| (state.flags, state.scheduler_word) = (ThreadState::STOPPED, 1);
    assert_eq!(places.set(&stage, thread, word, places.links), Status::argument(Code::BadArgument, 2));
    assert_eq!(places.set(&stage, thread, |state| state.flags |= ThreadState::SCHEDULED, places.links), Status::OK);
    assert_eq!(stage.view(thread).register(register::RIP), crate::support::world::CODE + 2);
}

#[test]
fn a_thread_is_scheduled_as_another_is() {
    let stage = Stage::new(1);
    let (model, thread) = (stage.scheduled(stage.port, 5), stage.world.make_thread(0));
    stage.world.ok(Call::ThreadScheduleAs, &[thread, model]);
    let view = stage.view(thread);
    assert!(view.has(Thread::SCHEDULED) && view.scheduler_word() == 5);
    stage.world.ok(Call::ThreadStart, &[thread]);
    assert!(stage.view(thread).waits_for(WaitKind::Ready) || stage.view(thread).waits_for(WaitKind::Time));
    // A model without a scheduler frees it; a thread is its own model.
    let free = stage.world.make_thread(0);
    for model in [free, thread] {
        stage.world.ok(Call::ThreadScheduleAs, &[thread, model]);
        assert!(!stage.view(thread).has(Thread::SCHEDULED));
    }
}
