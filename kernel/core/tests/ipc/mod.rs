//! Messages against a reference model: several threads on one and two CPUs do random things to
//! ports, sets, references and each other; after every step every thread must wait for what the
//! model says, and have been answered what the model says.

mod acts;
mod choose;
mod registers;

use crate::support::ipc_model::{Action, Message, Model, Target, Thread, Wait};
use crate::support::world::{CODE, World};
use crate::support::{Random, check};
use nacre_abi::{Call, Code};
use nacre_core::machine::{Physical, thread_page::register};
use nacre_core::object;
use std::collections::VecDeque;

const THREADS: usize = 6;
const PORTS: usize = 4;
const SETS: usize = 2;
const SLOTS: usize = 5;
const WORDS: [usize; 6] = [register::RDX, register::R8, register::R9, register::R10, register::R12, register::R13];

struct Test {
    world: World,
    model: Model,
    threads: Vec<u64>,
    buffers: Vec<u64>,
    objects: u64,
    slots: u64,
}

impl Test {
    fn new(cpus: usize) -> Test {
        let world = World::new(cpus);
        world.map_ram();
        let (objects, slots) = (world.page(), world.page());
        (0..SETS as u64).for_each(|set| _ = world.ok(Call::PortSetCreate, &[objects + 0x800 + 0x80 * set]));
        (0..PORTS as u64).for_each(|port| _ = world.ok(Call::PortCreate, &[objects + 0x80 * port, 0x9000 + port, 0]));
        world.ok(Call::ConditionCreate, &[objects + 0xc00]);
        (0..(THREADS * SLOTS) as u64).for_each(|slot| _ = world.ok(Call::ReferenceCreate, &[slots + 64 * slot]));
        let buffers = (0..THREADS).map(|_| world.page()).collect();
        // Root's own thread is number 0; its page cannot be named directly.
        let threads: Vec<u64> = (0..THREADS).map(|number| if number == 0 { 0 } else { world.make_thread(0) }).collect();
        threads[1..].iter().for_each(|thread| _ = world.ok(Call::ThreadStart, &[*thread]));
        world.kick_all();
        let thread = Thread {
            exists: true,
            stopped: false,
            wait: Wait::None,
            at: None,
            message: Message::default(),
            answer: None,
            client: None,
            server: None,
            awaits: false,
            deadline: None,
            references: vec![Target::Null; SLOTS],
            reply_kind: vec![false; SLOTS],
        };
        let model = Model {
            threads: vec![thread; THREADS],
            ports: vec![crate::support::ipc_model::Port { exists: true, ..Default::default() }; PORTS],
            sets: vec![(true, VecDeque::new()); SETS],
            condition: VecDeque::new(),
        };
        Test { world, model, threads, buffers, objects, slots }
    }

    fn thread_at(&self, number: usize) -> Physical {
        if number == 0 { Physical(crate::support::machine::RAM_START + 0x2000) } else { self.world.physical(self.threads[number]) }
    }

    fn view(&self, number: usize) -> object::Thread<'_> {
        self.world.thread(self.thread_at(number))
    }

    fn number_of(&self, at: Physical) -> Option<usize> {
        (0..THREADS).find(|number| self.thread_at(*number) == at)
    }

    fn port_address(&self, port: usize) -> u64 {
        self.objects + 0x80 * port as u64
    }

    fn set_address(&self, set: usize) -> u64 {
        self.objects + 0x800 + 0x80 * set as u64
    }

    fn slot_address(&self, thread: usize, slot: usize) -> u64 {
        self.slots + 64 * (thread * SLOTS + slot) as u64
    }

    fn port_at(&self, port: usize) -> Physical {
        self.world.physical(self.port_address(port))
    }

    fn is_elsewhere(&self, thread: usize, cpu: usize) -> bool {
        let on = self.view(thread).cpu();
        on != 0 && on != cpu as u64 + 1
    }

    fn now(&self) -> u64 {
        self.world.machine().time.get()
    }

    /// Returns true if a running thread stands at a call that was cut off.
    fn is_made_again(&self, thread: usize, cpu: usize) -> bool {
        let runs = self.world.running(cpu).is_some_and(|running| running.at == self.thread_at(thread));
        runs && World::stands_at_call(self.view(thread)) && !self.view(thread).has(object::Thread::EVICT)
    }

    /// Enters the kernel; threads that other CPUs had asked to stop do so now.
    fn entering(&mut self, enter: impl FnOnce(&World)) {
        let is_asked = |thread: &usize| !self.world.is_vacant(self.thread_at(*thread)) && self.view(*thread).has(object::Thread::EVICT);
        let asked: Vec<usize> = (0..THREADS).filter(is_asked).collect();
        enter(&self.world);
        for thread in asked {
            if !self.view(thread).has(object::Thread::EVICT) {
                self.model.threads[thread].stopped = true;
            }
        }
    }

    fn pass(&mut self, time: u64) {
        self.entering(|world| world.kick_all());
        self.entering(|world| world.pass(time));
        let now = self.now();
        let mut due: Vec<usize> = (0..THREADS).filter(|thread| self.model.threads[*thread].deadline.is_some_and(|at| at <= now)).collect();
        due.sort_by_key(|thread| self.model.threads[*thread].deadline);
        for thread in due {
            match self.model.threads[thread].wait {
                // It waited for the sake of another, whose time was over first.
                _ if self.model.threads[thread].deadline.is_none() => {}
                Wait::Sleep => self.model.finish(thread, Code::Ok, 0),
                Wait::Reply => {
                    self.model.client_leaves(thread);
                    self.model.finish(thread, Code::TimedOut, 0);
                }
                _ => self.model.finish(thread, Code::TimedOut, 0),
            }
        }
    }

    fn step(&mut self, random: &mut Random, cpus: usize) -> String {
        let cpu = random.below(cpus as u64) as usize;
        let running = self.world.running(cpu).and_then(|thread| self.number_of(thread.at));
        let Some(thread) = running.filter(|_| !random.once_in(20)) else {
            let time = random.of(&[1, 500, 2000, 20_000_000]);
            self.pass(time);
            return format!("{time} ns pass");
        };
        let (action, timeout) = match self.model.threads[thread].at {
            // Of a sleep that was cut off, what is left is made again.
            Some(Action::Sleep(_)) => (Action::Sleep(self.view(thread).register(register::RDI)), 0),
            Some(action) => (action, self.view(thread).register(register::R15)),
            None => {
                let action = self.choose_fitting(thread, random).unwrap_or_else(|| self.choose(random));
                // Root's thread never waits for ever, so that somebody can always go on.
                let timeout = if thread == 0 { 1000 } else { random.of(&[0, 0, 0, 1000, 4000, 4000, 4000, 4000]) };
                // Whose time is over first matters to those who wait for his sake.
                let timeout = if timeout == 0 { 0 } else { timeout + random.below(900) };
                self.model.threads[thread].message = self.choose_message(random);
                let message = self.model.threads[thread].message.clone();
                self.prepare(thread, action, &message, timeout);
                (action, timeout)
            }
        };
        let text = format!("cpu {cpu} thread {thread}: {action:?} {:x?} timeout {timeout}", self.model.threads[thread].message);
        if self.view(thread).has(object::Thread::EVICT) {
            self.model.threads[thread].at = Some(action);
        } else {
            let deadline = (timeout != 0).then(|| self.now() + timeout);
            self.model_act(thread, cpu, action, deadline);
        }
        self.entering(|world| world.enter(cpu));
        // Who finds many messages that cannot be received is cut off between them.
        while matches!(action, Action::Receive(_) | Action::ReplyReceive(_)) && self.is_made_again(thread, cpu) {
            self.entering(|world| world.enter(cpu));
        }
        if let Action::Create(other) = action
            && self.model.threads[other].exists
            && self.model.threads[other].at.is_none()
            && self.view(other).register(register::RIP) == 0
        {
            self.view(other).set_register(register::RIP, CODE + 2);
        }
        text
    }

}

fn run(seed: u64, cpus: usize, steps: u64) {
    let mut test = Test::new(cpus);
    let mut random = Random::new(seed);
    let mut history = VecDeque::new();
    for step in 0..steps {
        let text = test.step(&mut random, cpus);
        history.push_back(text);
        if history.len() > 12 {
            history.pop_front();
        }
        let sound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            test.verify();
            check(&test.world);
        }));
        if let Err(panic) = sound {
            println!("seed {seed}, {cpus} CPUs, step {step}, after:\n{}", Vec::from(history).join("\n"));
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn messages_are_as_the_model_says() {
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let first: u64 = number("SEED", 1);
    for seed in first..first + number("SEEDS", 36) {
        run(seed, 1 + (seed % 2) as usize, 1500);
    }
}
