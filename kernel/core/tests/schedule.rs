//! Schedulers that are threads: who runs on whose time, and when it goes back.

use crate::support::check;
use crate::support::world::{CODE, World};
use nacre_abi::call::{DONATION_ARRIVED, DONATION_BLOCKED, DONATION_BUSY, DONATION_TIMED_OUT, DONATION_YIELDED};
use nacre_abi::message::Info;
use nacre_abi::{Call, Code, PAGE_SIZE, Status};
use nacre_core::machine::thread_page::register;
use nacre_core::object::{Thread, WaitKind};

/// Root as a scheduler, with a port for announcements.
pub struct Stage {
    pub world: World,
    /// Root's own port.
    pub port: u64,
    pub page: u64,
}

impl Stage {
    pub fn new(cpus: usize) -> Stage {
        let world = World::new(cpus);
        world.map_ram();
        let page = world.page();
        world.ok(Call::PortCreate, &[page, 77, 0]);
        Stage { world, port: page, page }
    }

    pub fn view(&self, thread: u64) -> Thread<'_> {
        self.world.thread(self.world.physical(thread))
    }

    /// A port of its own page.
    pub fn another_port(&self) -> u64 {
        let port = self.world.page();
        self.world.ok(Call::PortCreate, &[port, 0, 0]);
        port
    }

    /// A started thread that `port` schedules.
    pub fn scheduled(&self, port: u64, word: u64) -> u64 {
        let thread = self.world.make_thread(0);
        self.world.ok(Call::ThreadSetScheduler, &[thread, port, word]);
        self.world.ok(Call::ThreadStart, &[thread]);
        check(&self.world);
        thread
    }

    /// A started thread of the run queue that stands at a call.
    pub fn plain_at(&self, call: Call, arguments: &[u64]) -> u64 {
        let thread = self.world.make_thread(0);
        self.world.prepare(self.view(thread), call, arguments);
        self.world.ok(Call::ThreadStart, &[thread]);
        thread
    }

    /// Root takes the announcement that waits.
    pub fn take(&self) -> u64 {
        let word = self.world.ok(Call::IpcReceive, &[self.port]);
        let root = self.world.running(0).expect("root");
        assert!(Info(root.register(register::RSI)).has(Info::READY), "no announcement");
        word
    }

    /// Root gives its time away.
    pub fn donate(&self, thread: u64, until: u64, timeout: u64) {
        self.world.call_on(0, Call::ThreadDonate, &[thread, until, 0, 0, 0, 0, 0, 0, 0, timeout]);
        check(&self.world);
    }

    /// The thread on the CPU makes a call.
    pub fn act(&self, cpu: usize, call: Call, arguments: &[u64]) {
        self.world.call_on(cpu, call, arguments);
        check(&self.world);
    }

    pub fn assert_runs(&self, cpu: usize, thread: u64) {
        assert_eq!(self.world.running(cpu).map(|running| running.at), Some(self.world.physical(thread)));
    }

    /// Root runs on the first CPU, after a donation that ended for this reason.
    pub fn assert_ended(&self, reason: u64) {
        check(&self.world);
        let root = self.world.running(0).expect("root");
        assert_eq!(root.at, self.root().at, "root does not run");
        assert_eq!((root.register(register::RIP), root.register(register::RAX), root.register(register::RDX)), (CODE + 2, 0, reason));
    }

    /// Returns the status of the call of the first CPU's thread.
    pub fn answer(&self) -> Status {
        Status(self.world.running(0).expect("a thread").register(register::RAX))
    }

    pub fn root(&self) -> Thread<'_> {
        self.world.thread(nacre_core::machine::Physical(crate::support::machine::RAM_START + 2 * PAGE_SIZE))
    }
}

#[test]
fn it_runs_only_on_given_time() {
    let stage = Stage::new(2);
    let thread = stage.scheduled(stage.port, 5);
    stage.world.kick_all();
    stage.act(0, Call::ThreadSleep, &[1000]);
    assert!(stage.world.running(0).is_none() && stage.world.running(1).is_none());
    stage.world.pass(1000);
    assert!(stage.view(thread).waits_for(WaitKind::Ready));
    stage.donate(thread, 0, 0);
    stage.assert_runs(0, thread);
}

#[test]
fn the_scheduler_is_told_once() {
    let stage = Stage::new(1);
    let thread = stage.scheduled(stage.port, 5);
    assert_eq!(stage.take(), 5);
    assert!(stage.view(thread).has(Thread::KNOWN) && stage.view(thread).waits_for(WaitKind::Time));
    // Stopped and started it is what it was: no second message.
    stage.world.ok(Call::ThreadStop, &[thread, 0]);
    stage.world.ok(Call::ThreadStart, &[thread]);
    assert_eq!(stage.world.call(Call::IpcReply, &[]), Status::new(Code::NotConnected));
    stage.act(0, Call::IpcReceive, &[stage.port, 0, 0, 0, 0, 0, 0, 0, 0, 500]);
    stage.world.pass(500);
    assert_eq!(Status(stage.root().register(register::RAX)), Status::new(Code::TimedOut));
    stage.donate(thread, stage.port, 0);
    stage.act(0, Call::ThreadSleep, &[300]);
    stage.assert_ended(DONATION_BLOCKED);
    stage.world.pass(300);
    assert_eq!(stage.take(), 5);
}

#[test]
fn a_waiting_scheduler_hears_at_once_and_gets_a_reference() {
    let stage = Stage::new(1);
    let memory = stage.world.page();
    let slot = stage.page + 0x200;
    stage.world.write(memory, &[0, 0, 0, 0, 0, 0, memory + 0x40, 1, slot]);
    let thread = stage.world.make_thread(0);
    stage.world.ok(Call::ThreadSetScheduler, &[thread, stage.port, 9]);
    stage.world.prepare(stage.view(thread), Call::ThreadSleep, &[50]);
    stage.world.ok(Call::ThreadStart, &[thread]);
    assert_eq!(stage.take(), 9);
    stage.donate(thread, 0, 0);
    stage.world.enter(0);
    stage.assert_ended(DONATION_BLOCKED);
    stage.act(0, Call::IpcReceive, &[stage.port, 0, 0, 0, 0, 0, 0, 0, memory]);
    stage.world.pass(50);
    stage.world.enter(0);
    let root = stage.world.running(0).expect("root");
    assert_eq!((root.register(register::RDX), Info(root.register(register::RSI)).references()), (9, 1));
    stage.donate(slot, 0, 0);
    stage.assert_runs(0, thread);
    stage.act(0, Call::ThreadYield, &[]);
    // The reference is to give time by, not to command.
    assert_eq!(stage.world.call(Call::ThreadStop, &[slot, 0]), Status::argument(Code::Denied, 1));
}

#[test]
fn time_goes_back_when_it_is_over_and_is_counted() {
    let stage = Stage::new(1);
    let thread = stage.scheduled(stage.port, 5);
    stage.take();
    stage.world.call_on(0, Call::ThreadDonate, &[thread, stage.port, 0, 40, 0, 0, 0, 0, 0, 1000]);
    stage.world.pass(999);
    stage.assert_runs(0, thread);
    stage.world.pass(1);
    stage.assert_ended(DONATION_TIMED_OUT);
    assert_eq!(stage.root().register(register::R8), 1040);
    assert!(stage.view(thread).waits_for(WaitKind::Time));
    stage.donate(thread, 0, 0);
    stage.world.pass(30);
    stage.act(0, Call::ThreadYield, &[]);
    stage.assert_ended(DONATION_YIELDED);
    assert_eq!(stage.root().register(register::R8), 30);
}

#[test]
fn an_arrival_ends_it_and_stays_there() {
    let stage = Stage::new(1);
    let thread = stage.scheduled(stage.port, 5);
    stage.take();
    let set = stage.page + 0x100;
    stage.world.ok(Call::PortSetCreate, &[set]);
    stage.world.ok(Call::PortCreate, &[stage.page + 0x180, 3, set]);
    for until in [stage.port, set] {
        stage.donate(thread, until, 0);
        stage.act(0, Call::PortNotify, &[if until == set { stage.page + 0x180 } else { stage.port }, 4]);
        stage.assert_ended(DONATION_ARRIVED);
        // It is there at once when the call is made again, and until it is received.
        stage.donate(thread, until, 0);
        stage.assert_ended(DONATION_ARRIVED);
        assert_eq!(stage.world.ok(Call::IpcReceive, &[until]), 4);
    }
    let other = stage.scheduled(stage.port, 6);
    stage.donate(thread, stage.port, 0);
    stage.assert_ended(DONATION_ARRIVED);
    assert_eq!(stage.take(), 6);
    stage.donate(other, stage.port, 0);
    stage.act(0, Call::IpcCall, &[stage.port]);
    // A message of the one that runs is an arrival like any other.
    stage.assert_ended(DONATION_ARRIVED);
}

#[test]
fn a_server_works_on_its_clients_time() {
    let stage = Stage::new(1);
    let port = stage.another_port();
    let server = stage.plain_at(Call::IpcReceive, &[port]);
    stage.act(0, Call::ThreadSleep, &[10]);
    stage.world.enter(0);
    stage.world.pass(10);
    let thread = stage.scheduled(stage.port, 5);
    stage.take();
    stage.donate(thread, stage.port, 1000);
    stage.act(0, Call::IpcCall, &[port]);
    stage.assert_runs(0, server);
    stage.act(0, Call::IpcReplyReceive, &[port]);
    stage.assert_runs(0, thread);
    stage.act(0, Call::IpcCall, &[port]);
    stage.world.pass(1000);
    stage.assert_ended(DONATION_TIMED_OUT);
    // The server goes on by its own right, and its answer does not let the client run.
    stage.act(0, Call::ThreadSleep, &[100]);
    stage.assert_runs(0, server);
    stage.act(0, Call::IpcReply, &[]);
    stage.assert_runs(0, server);
    assert!(stage.view(thread).waits_for(WaitKind::Time));
    stage.act(0, Call::IpcReceive, &[port]);
    assert!(stage.world.running(0).is_none());
}

#[test]
fn who_has_answered_goes_on_by_its_own_right() {
    let stage = Stage::new(1);
    let port = stage.another_port();
    let server = stage.plain_at(Call::IpcReceive, &[port]);
    stage.act(0, Call::ThreadSleep, &[10]);
    stage.world.enter(0);
    stage.world.pass(10);
    let thread = stage.scheduled(stage.port, 5);
    stage.take();
    for call in [Call::IpcReply, Call::IpcDetach] {
        stage.donate(thread, 0, 0);
        stage.act(0, Call::IpcCall, &[port]);
        stage.act(0, call, &[if call == Call::IpcDetach { stage.page + 0x300 } else { 0 }]);
        match call {
            Call::IpcReply => stage.assert_runs(0, thread),
            _ => stage.assert_ended(DONATION_BLOCKED),
        }
        if call == Call::IpcReply {
            stage.act(0, Call::ThreadYield, &[]);
        }
        stage.act(0, Call::ThreadSleep, &[10]);
        stage.assert_runs(0, server);
        stage.act(0, Call::IpcReceive, &[port]);
        stage.world.pass(10);
    }
}

#[test]
fn a_busy_server_gets_the_time_of_whoever_waits_for_it() {
    let stage = Stage::new(1);
    let port = stage.another_port();
    let [server, low, high] = [1, 2, 3].map(|word| stage.scheduled(stage.port, word));
    (0..3).for_each(|_| _ = stage.take());
    stage.donate(server, 0, 0);
    stage.act(0, Call::IpcReceive, &[port]);
    stage.assert_ended(DONATION_BLOCKED);
    stage.donate(low, stage.port, 1000);
    stage.act(0, Call::IpcCall, &[port]);
    stage.assert_runs(0, server);
    stage.world.pass(1000);
    // The server would need time of its scheduler; who waits for it gives it some.
    stage.assert_ended(DONATION_TIMED_OUT);
    assert_eq!(stage.take(), 1);
    stage.donate(high, stage.port, 1000);
    stage.act(0, Call::IpcCall, &[port]);
    stage.assert_runs(0, server);
    stage.act(0, Call::IpcReplyReceive, &[port]);
    // It has answered the first, and serves the second.
    assert!(stage.view(low).waits_for(WaitKind::Time));
    stage.assert_runs(0, server);
    stage.act(0, Call::IpcReplyReceive, &[port]);
    stage.assert_runs(0, high);
}

#[test]
fn schedulers_nest() {
    let stage = Stage::new(1);
    let port = stage.another_port();
    let inner = stage.scheduled(stage.port, 1);
    stage.take();
    let thread = stage.scheduled(port, 2);
    stage.donate(inner, stage.port, 5000);
    stage.act(0, Call::IpcReceive, &[port]);
    assert_eq!(stage.view(inner).register(register::RDX), 2);
    stage.act(0, Call::ThreadDonate, &[thread, port, 0, 0, 0, 0, 0, 0, 0, 9000]);
    stage.assert_runs(0, thread);
    stage.world.pass(2000);
    stage.act(0, Call::PortNotify, &[port, 1]);
    stage.assert_runs(0, inner);
    assert_eq!([register::RDX, register::R8].map(|word| stage.view(inner).register(word)), [DONATION_ARRIVED, 2000]);
    stage.act(0, Call::IpcReceive, &[port]);
    stage.act(0, Call::ThreadDonate, &[thread, port, 0, 0, 0, 0, 0, 0, 0, 9000]);
    stage.world.pass(3000);
    stage.assert_ended(DONATION_TIMED_OUT);
    assert!(stage.view(inner).waits_for(WaitKind::Donate));
    // It waits for its turn with what it was doing, and uses up only what was given.
    stage.world.pass(100_000_000);
    stage.donate(inner, stage.port, 1000);
    stage.assert_runs(0, inner);
    assert_eq!([register::RDX, register::R8].map(|word| stage.view(inner).register(word)), [DONATION_TIMED_OUT, 3000]);
}

#[test]
fn the_turn_of_the_base_is_that_of_the_chain() {
    let stage = Stage::new(1);
    let thread = stage.scheduled(stage.port, 1);
    stage.take();
    let other = stage.plain_at(Call::Null, &[]);
    stage.donate(thread, stage.port, 0);
    stage.world.pass(20_000_000);
    check(&stage.world);
    stage.assert_runs(0, other);
    assert!(stage.view(thread).waits_for(WaitKind::Time));
    stage.world.pass(20_000_000);
    check(&stage.world);
    stage.assert_runs(0, thread);
    stage.act(0, Call::PortNotify, &[stage.port, 1]);
    stage.assert_ended(DONATION_ARRIVED);
    assert_eq!(stage.root().register(register::R8), 20_000_000);
}

#[test]
fn nobody_frees_himself() {
    let stage = Stage::new(1);
    let port = stage.another_port();
    let thread = stage.scheduled(port, 1);
    stage.donate(thread, 0, 0);
    let made = stage.world.page();
    stage.act(0, Call::ThreadCreate, &[made, 0]);
    stage.view(made).set_register(register::RIP, CODE + 2);
    stage.act(0, Call::ThreadStart, &[made]);
    assert!(stage.view(made).waits_for(WaitKind::Ready));
    for victim in [thread, made] {
        stage.act(0, Call::ThreadSetScheduler, &[victim, 0, 0]);
        assert_eq!(Status(stage.view(thread).register(register::RAX)), Status::argument(Code::Denied, 2));
    }
    stage.act(0, Call::PortDestroy, &[port]);
    assert!(stage.view(made).waits_for(WaitKind::Time));
    stage.act(0, Call::ThreadYield, &[]);
    stage.assert_ended(DONATION_YIELDED);
    stage.act(0, Call::ThreadSleep, &[1000]);
    assert!(stage.world.running(0).is_none());
    stage.world.pass(1000);
    // Who runs by its own right may free others.
    stage.world.ok(Call::ThreadSetScheduler, &[made, 0, 0]);
    stage.act(0, Call::ThreadSleep, &[1000]);
    stage.assert_runs(0, made);
    stage.act(0, Call::ThreadSetScheduler, &[made, stage.port, 8]);
    assert!(stage.world.running(0).is_none());
    assert_eq!(Status(stage.view(made).register(register::RAX)), Status::OK);
}

#[test]
fn what_cannot_run_is_no_donee() {
    let stage = Stage::new(1);
    let thread = stage.world.make_thread(0);
    stage.donate(thread, 0, 0);
    stage.assert_ended(DONATION_BLOCKED);
    assert_eq!(stage.world.call(Call::ThreadDonate, &[nacre_abi::environment::THREAD]), Status::argument(Code::BadArgument, 1));
    // Two that give to each other give to nobody.
    let [one, two] = [1, 2].map(|word| stage.scheduled(stage.port, word));
    stage.donate(one, 0, 0);
    stage.act(0, Call::ThreadDonate, &[two]);
    stage.assert_runs(0, two);
    stage.act(0, Call::ThreadDonate, &[one]);
    let running = stage.world.running(0).expect("a thread");
    assert_eq!(running.register(register::RDX), DONATION_BUSY);
    stage.world.ok(Call::ThreadSleep, &[0]);
}

#[test]
fn whoever_takes_part_may_go_at_any_time() {
    for (who, verb) in (0..3).flat_map(|who| [Call::ThreadDestroy, Call::ThreadStop, Call::ThreadMove, Call::ThreadSetScheduler].map(|verb| (who, verb))) {
        let stage = Stage::new(2);
        let far = stage.another_port();
        let server = stage.plain_at(Call::IpcReceive, &[far]);
        stage.act(0, Call::ThreadSleep, &[10]);
        stage.world.enter(0);
        stage.world.pass(10);
        let thread = stage.scheduled(stage.port, 1);
        let donor = stage.plain_at(Call::ThreadDonate, &[thread, 0, 0, 0, 0, 0, 0, 0, 0, 1 << 40]);
        stage.world.kick_all();
        stage.assert_runs(1, donor);
        stage.world.enter(1);
        stage.assert_runs(1, thread);
        stage.act(1, Call::IpcCall, &[far]);
        stage.assert_runs(1, server);
        let victim = [donor, thread, server][who];
        let second = if verb == Call::ThreadMove { stage.world.page() } else { 0 };
        let root = stage.world.running(0).expect("root");
        stage.world.prepare(root, verb, &[victim, second, 0]);
        stage.world.enter(0);
        check(&stage.world);
        for _ in 0..4 {
            stage.world.kick_all();
            check(&stage.world);
        }
        // Nobody runs on time that nobody gives; a server that was only robbed of it goes on by its
        // own right.
        let runs = stage.world.running(1).map(|thread| thread.at);
        assert_ne!(runs, Some(stage.world.physical(thread)), "{who} {verb:?}");
        assert!(!stage.view(server).has(Thread::EVICT) || who == 2);
    }
}

#[test]
fn a_donee_that_goes_ends_the_donation() {
    let stage = Stage::new(1);
    let port = stage.another_port();
    let server = stage.plain_at(Call::IpcReceive, &[port]);
    stage.act(0, Call::ThreadSleep, &[10]);
    stage.world.enter(0);
    stage.world.pass(10);
    // Another keeps the port from being told that nobody leads to it any more.
    let [thread, _] = [1, 2].map(|word| stage.scheduled(stage.port, word));
    (0..2).for_each(|_| _ = stage.take());
    stage.donate(thread, stage.port, 0);
    stage.act(0, Call::IpcCall, &[port]);
    stage.assert_runs(0, server);
    // Its server destroys it, on its time.
    stage.act(0, Call::ThreadDestroy, &[thread]);
    stage.assert_ended(DONATION_BLOCKED);
}

#[test]
fn who_donates_on_given_time_keeps_its_own_right() {
    let stage = Stage::new(1);
    let thread = stage.scheduled(stage.port, 1);
    stage.take();
    let donor = stage.plain_at(Call::ThreadDonate, &[thread]);
    stage.donate(donor, stage.port, 1000);
    stage.world.enter(0);
    stage.assert_runs(0, thread);
    stage.world.pass(1000);
    stage.assert_ended(DONATION_TIMED_OUT);
    stage.act(0, Call::ThreadSleep, &[1000]);
    stage.assert_runs(0, thread);
}

#[test]
fn other_processors_are_told() {
    let stage = Stage::new(2);
    let port = stage.another_port();
    let thread = stage.scheduled(stage.port, 1);
    stage.take();
    let donor = stage.plain_at(Call::ThreadDonate, &[thread, port]);
    stage.world.kick_all();
    stage.world.enter(1);
    stage.assert_runs(1, thread);
    // Who runs elsewhere can be given nothing.
    stage.donate(thread, 0, 0);
    stage.assert_ended(DONATION_BUSY);
    assert!(stage.view(thread).has(Thread::KNOWN));
    stage.world.ok(Call::PortNotify, &[port, 1]);
    check(&stage.world);
    stage.world.kick_all();
    check(&stage.world);
    stage.assert_runs(1, donor);
    assert_eq!(stage.view(donor).register(register::RDX), DONATION_ARRIVED);
    stage.donate(thread, 0, 0);
    stage.assert_runs(0, thread);
}

#[test]
fn an_idle_machine_takes_no_ticks() {
    let stage = Stage::new(2);
    let thread = stage.scheduled(stage.port, 1);
    stage.take();
    let ticks = |stage: &Stage| [0, 1].map(|cpu| stage.world.machine().cpus[cpu].deadline.get());
    stage.world.kick_all();
    // One that runs alone, on given time without an end.
    stage.donate(thread, stage.port, 0);
    assert_eq!(ticks(&stage), [u64::MAX; 2]);
    stage.act(0, Call::IpcReceive, &[stage.port]);
    stage.assert_ended(DONATION_BLOCKED);
    // None that runs.
    stage.act(0, Call::IpcReceive, &[stage.port]);
    assert_eq!(ticks(&stage), [u64::MAX; 2]);
}
