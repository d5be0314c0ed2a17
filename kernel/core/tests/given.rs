//! Given time against a plain model of it: several threads on one and two processors give their
//! time to each other, call, answer, sleep, and stop and schedule each other at random. After every
//! step it must follow from who waits for whom alone, without chains and their numbers, that a
//! thread with a scheduler may run.

use crate::schedule::Stage;
use crate::support::world::World;
use crate::support::{Random, check};
use nacre_abi::{Call, environment};
use nacre_core::list;
use nacre_core::machine::Physical;
use nacre_core::machine::thread_page::register;
use nacre_core::object::{Port, Thread, WaitKind};

const THREADS: usize = 5;
const PORTS: u64 = 3;
/// Maximum way from a thread with a right of its own to the one that runs by it.
const HOPS: usize = 64;
/// Random runs, and steps of each.
const SEEDS: u64 = 60;
const STEPS: usize = 400;

struct Test {
    world: World,
    cpus: usize,
    root: Physical,
    threads: Vec<u64>,
    ports: u64,
}

impl Test {
    fn new(cpus: usize) -> Test {
        let world = World::new(cpus);
        world.map_ram();
        let ports = world.page();
        (0..PORTS).for_each(|port| _ = world.ok(Call::PortCreate, &[ports + 0x80 * port, port, 0]));
        let threads: Vec<u64> = (0..THREADS).map(|_| world.make_thread(0)).collect();
        let root = world.running(0).expect("root").at;
        for (number, thread) in threads.iter().enumerate().skip(1) {
            world.ok(Call::ThreadSetScheduler, &[*thread, ports, number as u64]);
        }
        threads.iter().for_each(|thread| _ = world.ok(Call::ThreadStart, &[*thread]));
        Test { world, cpus, root, threads, ports }
    }

    fn all(&self) -> impl Iterator<Item = Thread<'_>> {
        let others = self.threads.iter().map(|thread| self.world.physical(*thread));
        others.chain([self.root]).map(|at| self.world.thread(at))
    }

    /// Something that the thread on a processor does.
    fn act(&self, random: &mut Random<'_>, thread: Thread<'_>) {
        let port = self.ports + 0x80 * random.below(PORTS);
        let other = random.of(&self.threads);
        let timeout = 100 + random.below(3000);
        let message = [port, 0, 0, 0, 0, 0, 0, 0, 0, timeout];
        let until = random.of(&[0, port]);
        let (call, arguments) = match random.below(18) {
            0..=4 => (Call::ThreadDonate, [random.of(&[other, environment::THREAD]), until, 0, 0, 0, 0, 0, 0, 0, timeout]),
            5..=6 => (Call::IpcCall, message),
            7..=8 => (Call::IpcReceive, message),
            9 => (Call::IpcReplyReceive, message),
            10 => (Call::IpcReply, message),
            11 => (Call::ThreadSleep, [timeout, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            12..=13 => (Call::ThreadYield, [0; 10]),
            14 => (Call::PortNotify, [port, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
            15 => (Call::ThreadSetScheduler, [other, random.of(&[0, port, port]), 7, 0, 0, 0, 0, 0, 0, 0]),
            16 => (Call::ThreadStop, [other, random.below(2), 0, 0, 0, 0, 0, 0, 0, 0]),
            _ => (Call::ThreadStart, [other, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        };
        self.world.prepare(thread, call, &arguments);
    }

    fn step(&self, random: &mut Random<'_>) {
        let cpu = random.below(self.cpus as u64) as usize;
        match self.world.running(cpu) {
            Some(thread) => {
                if !World::stands_at_call(thread) {
                    self.act(random, thread);
                }
                self.world.enter(cpu);
            }
            None => self.world.pass(random.below(3000)),
        }
        if random.once_in(3) {
            self.world.pass(random.below(1000));
        }
        // What processors have asked each other for, and what was put off, but not for long.
        for _ in 0..3 {
            self.world.kick_all();
            self.world.pass(0);
        }
    }

    /// Returns the thread that gets the time of one that cannot use it itself.
    fn next(&self, thread: Thread<'_>) -> Option<Thread<'_>> {
        let machine = self.world.machine();
        let next = match thread.wait() {
            wait if wait == WaitKind::Donate as u64 => list::link_target(machine, thread.donee()),
            wait if wait == WaitKind::Reply as u64 => Some(thread.server()),
            wait if wait == WaitKind::Send as u64 => Some(Port::new(machine, thread.waits_at()).holder()),
            _ => None,
        };
        next.filter(|next| *next != Physical(0) && !thread.has(Thread::STOPPED)).map(|next| self.world.thread(next))
    }

    /// Returns the threads through which the time of a thread goes, to the last one.
    fn way(&self, from: Thread<'_>) -> Vec<Physical> {
        let mut way = vec![from.at];
        let mut thread = from;
        while let Some(next) = self.next(thread).filter(|_| way.len() < HOPS) {
            way.push(next.at);
            thread = next;
        }
        way
    }

    fn assert_given(&self) {
        let ways: Vec<Vec<Physical>> = self.all().filter(|thread| !thread.has(Thread::SCHEDULED)).map(|thread| self.way(thread)).collect();
        let running: Vec<Option<Physical>> = (0..self.cpus).map(|cpu| self.world.running(cpu).map(|thread| thread.at)).collect();
        for at in running.iter().flatten().filter(|at| self.world.thread(**at).has(Thread::SCHEDULED)) {
            assert!(ways.iter().any(|way| way.last() == Some(at)), "{at:?} runs on time that nobody gives");
        }
    }
}

#[test]
fn nobody_runs_but_on_given_time() {
    let first = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    for seed in first..first + seeds {
        let test = Test::new(1 + seed as usize % 2);
        let mut random = Random::new(seed);
        for step in 0..STEPS {
            println!("SEED={seed} step {step}");
            test.step(&mut random);
            check(&test.world);
            test.assert_given();
        }
    }
}

#[test]
fn who_drops_the_last_reference_goes_on_when_the_server_knows() {
    let stage = Stage::new(1);
    let running = |stage: &Stage| stage.world.running(0).map(|thread| thread.at);
    let (root, reference) = (running(&stage), stage.page + 0x400);
    let receive = |stage: &Stage| stage.act(0, Call::IpcReceive, &[stage.port]);
    stage.world.ok(Call::ReferenceCreate, &[reference]);
    let server = stage.plain_at(Call::IpcReceive, &[stage.port]);
    stage.act(0, Call::ThreadYield, &[]);
    stage.assert_runs(0, server);
    receive(&stage);
    let other = stage.plain_at(Call::ThreadYield, &[]);
    let end = stage.world.machine().cpus[0].deadline.get();
    for _ in 0..3 {
        assert_eq!(running(&stage), root);
        stage.world.ok(Call::PortReference, &[stage.port, reference, 1]);
        stage.act(0, Call::ReferenceDestroy, &[reference]);
        stage.assert_runs(0, server);
        assert_eq!(stage.view(server).register(register::RDX), nacre_abi::message::NO_REFERENCES);
        receive(&stage);
        assert_eq!(running(&stage), root);
        stage.world.ok(Call::ReferenceCreate, &[reference]);
        stage.world.pass(1000);
        // All of it is one turn: it does not begin anew.
        assert_eq!(stage.world.machine().cpus[0].deadline.get(), end);
    }
    stage.world.pass(9_998_000);
    stage.assert_runs(0, other);
}

/// A port that somebody serves, and the only reference to it.
fn port_and_reference(stage: &Stage) -> (u64, u64) {
    let (port, reference) = (stage.another_port(), stage.page + 0x400);
    stage.world.ok(Call::ReferenceCreate, &[reference]);
    stage.world.ok(Call::PortReference, &[port, reference, 1]);
    (port, reference)
}

#[test]
fn who_drops_it_on_given_time_goes_on_when_the_server_knows() {
    let stage = Stage::new(1);
    let (port, reference) = port_and_reference(&stage);
    let server = stage.plain_at(Call::IpcReceive, &[port]);
    stage.act(0, Call::ThreadYield, &[]);
    stage.assert_runs(0, server);
    stage.act(0, Call::IpcReceive, &[port]);
    let (dropper, other) = (stage.scheduled(stage.port, 5), stage.plain_at(Call::ThreadYield, &[]));
    stage.take();
    stage.donate(dropper, stage.port, 0);
    stage.assert_runs(0, dropper);
    stage.act(0, Call::ReferenceDestroy, &[reference]);
    stage.assert_runs(0, server);
    assert_eq!(stage.view(server).register(register::RDX), nacre_abi::message::NO_REFERENCES);
    stage.act(0, Call::IpcReceive, &[port]);
    stage.assert_runs(0, dropper);
    stage.world.pass(10_000_000);
    stage.assert_runs(0, other);
}

#[test]
fn a_server_that_has_a_scheduler_hears_first_of_the_last_reference() {
    let stage = Stage::new(1);
    let (port, reference) = port_and_reference(&stage);
    let dropper = stage.scheduled(stage.port, 5);
    stage.take();
    let server = stage.world.make_thread(0);
    stage.world.ok(Call::ThreadSetScheduler, &[server, stage.port, 6]);
    stage.world.prepare(stage.view(server), Call::IpcReceive, &[port]);
    stage.world.ok(Call::ThreadStart, &[server]);
    assert_eq!(stage.take(), 6);
    assert_eq!(stage.root().register(register::R8), 0);
    stage.donate(server, stage.port, 0);
    stage.world.enter(0);
    stage.assert_ended(nacre_abi::call::DONATION_BLOCKED);
    stage.donate(dropper, stage.port, 0);
    stage.act(0, Call::ReferenceDestroy, &[reference]);
    stage.assert_ended(nacre_abi::call::DONATION_ARRIVED);
    assert_eq!((stage.take(), stage.root().register(register::R8)), (6, 1));
    stage.donate(server, stage.port, 0);
    stage.assert_runs(0, server);
    assert_eq!(stage.view(server).register(register::RDX), nacre_abi::message::NO_REFERENCES);
}
