//! An environment of a few threads in 64 KiB of root's memory, and what they do, step by step. All
//! that says how far a thread has come stands in its registers, so that it is exported with them.

use crate::support::check;
use crate::support::machine::RAM_START;
use crate::support::world::{ARGUMENTS, CODE, World};
use nacre_abi::{Call, ObjectType, PAGE_SIZE, Rights, Status};
use nacre_core::machine::{Frame as Kind, Physical, thread_page::register};
use nacre_core::object::{Thread, WaitKind};
use nacre_snapshot::{Access, Frame, POOL_PAGES, Snapshot};
use std::collections::BTreeSet;

/// Address of the environment's memory in its own space.
pub const BASE: u64 = 0x1000_0000;
/// Size of the environment's memory.
pub const SIZE: u64 = 16 * PAGE_SIZE;
/// Root and all threads have a CPU each.
const CPUS: usize = 4;
/// Root's thread.
const ROOT: Physical = Physical(RAM_START + 2 * PAGE_SIZE);
/// Steps without an end in sight.
const ENDLESS: usize = 4000;
/// The longest that anything in a scenario waits for a time, in nanoseconds.
const LONGEST: u64 = 20_000;

/// The space of all threads.
pub const SPACE: u64 = BASE;
/// A second space, in which nothing runs unless a scenario says so.
pub const INNER: u64 = BASE + 0x800;
/// Two ports; the second is in `SET`.
pub const PORTS: [u64; 2] = [BASE + 0x200, BASE + 0x280];
/// A set of ports.
pub const SET: u64 = BASE + 0x300;
/// A mutex.
pub const MUTEX: u64 = BASE + 0x380;
/// A condition.
pub const CONDITION: u64 = BASE + 0x3c0;
/// Free units of an object page.
pub const FREE: u64 = BASE + 0xc00;

/// A null reference, of sixteen.
pub const fn reference(number: u64) -> u64 {
    BASE + 0x4000 + 64 * number
}

/// Plain memory of a thread.
pub const fn data(thread: u64) -> u64 {
    BASE + 0x5000 + PAGE_SIZE * thread
}

/// Next action of a thread.
pub enum Step {
    /// Makes a call with these arguments (the ninth is the descriptor, the tenth the timeout).
    Call(Call, Vec<u64>),
    /// Writes a word of its memory.
    Store(u64, u64),
    /// Fails with an exception behind its instruction.
    Trap(u64),
}

/// Way in which a run is disturbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disturbance {
    /// All threads are stopped and started again.
    Stop,
    /// The environment is read out, destroyed, and made anew somewhere else.
    Rebuild,
}

/// Result of a run, as far as its threads could see.
#[derive(PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Answers to the steps of each thread.
    pub answers: Vec<Vec<Vec<u64>>>,
    /// The memory at the end, and the states of all objects but threads.
    pub memory: Vec<(u64, Vec<u64>)>,
}

pub struct Stage {
    pub world: World,
    pub frame: Frame,
    programs: Vec<Vec<Step>>,
    answers: Vec<Vec<Vec<u64>>>,
    /// Thread and step of calls that were begun.
    begun: BTreeSet<(usize, u64)>,
    /// Numbers of calls that a disturbance met half way.
    pub met: BTreeSet<u8>,
}

struct Root<'w>(&'w World);

impl Access for Root<'_> {
    fn call(&mut self, call: Call, arguments: [u64; 8]) -> (Status, u64, u64) {
        let root = self.0.thread(ROOT);
        self.0.prepare(root, call, &arguments);
        for _ in 0..1000 {
            self.0.kick_all();
            let cpu = (0..CPUS).find(|cpu| self.0.running(*cpu).map(|thread| thread.at) == Some(ROOT)).expect("root has a CPU");
            self.0.enter(cpu);
            if !World::stands_at_call(root) {
                return (Status(root.register(register::RAX)), root.register(register::RDX), root.register(register::R8));
            }
        }
        panic!("{} of root has no end", call.name());
    }

    fn read(&mut self, address: u64) -> u64 {
        self.touch(address);
        self.0.read(address)
    }

    fn write(&mut self, address: u64, value: u64) {
        self.touch(address);
        self.0.write(address, &[value]);
    }
}

impl Root<'_> {
    /// Memory that held objects and was not taken back is plain memory for whoever touches it.
    fn touch(&self, address: u64) {
        if self.0.machine().kind(self.0.physical(address)) != Kind::PLAIN {
            let cpu = (0..CPUS).find(|cpu| self.0.running(*cpu).map(|thread| thread.at) == Some(ROOT)).expect("root has a CPU");
            self.0.access(cpu, address, Rights::READ);
        }
    }
}

impl Stage {
    /// An environment whose threads have these programs and are not started yet.
    pub fn new(programs: Vec<Vec<Step>>) -> Stage {
        let world = World::new(CPUS);
        world.map_ram();
        let slots = world.page();
        (0..3).for_each(|slot| _ = world.ok(Call::ReferenceCreate, &[slots + 64 * slot]));
        let start = world.pages(SIZE / PAGE_SIZE);
        let frame = Frame { start, size: SIZE, outside: Vec::new(), buffer: world.pages(2), slots, pool: world.pages(4 * POOL_PAGES) };
        let answers = programs.iter().map(|_| Vec::new()).collect();
        let mut stage = Stage { world, frame, programs, answers, begun: BTreeSet::new(), met: BTreeSet::new() };
        stage.export();
        stage.make_objects();
        stage
    }

    /// Root's own region over the environment's memory: the one thing outside that it is linked to.
    fn export(&mut self) {
        let region = self.world.page();
        self.ok(Call::RegionCreate, &[region, 0, self.frame.start, SIZE, Rights::ALL.0, 0]);
        self.frame.outside = vec![region];
    }

    fn make_objects(&self) {
        let pool = self.world.pages(2 * POOL_PAGES);
        self.ok(Call::SpaceCreate, &[self.at(SPACE), pool, POOL_PAGES, 0]);
        self.ok(Call::SpaceCreate, &[self.at(INNER), pool + POOL_PAGES * PAGE_SIZE, POOL_PAGES, 0]);
        self.ok(Call::MappingCreate, &[self.at(BASE + 0x100), self.at(SPACE), BASE, SIZE, self.frame.outside[0], 0, Rights::ALL.0]);
        self.ok(Call::PortSetCreate, &[self.at(SET)]);
        self.ok(Call::PortCreate, &[self.at(PORTS[0]), 70, 0]);
        self.ok(Call::PortCreate, &[self.at(PORTS[1]), 71, self.at(SET)]);
        self.ok(Call::MutexCreate, &[self.at(MUTEX)]);
        self.ok(Call::ConditionCreate, &[self.at(CONDITION)]);
        (0..16).for_each(|number| self.ok(Call::ReferenceCreate, &[self.at(reference(number))]));
        for number in 0..self.programs.len() {
            self.make_thread(number, SPACE);
        }
    }

    /// Makes (again) the thread of a program, in a space of the environment.
    pub fn make_thread(&self, number: usize, space: u64) {
        let at = self.frame.start + PAGE_SIZE * (1 + number as u64);
        Root(&self.world).call(Call::ThreadDestroy, [at, 0, 0, 0, 0, 0, 0, 0]);
        self.ok(Call::ThreadCreate, &[at, self.at(space)]);
        self.view(number).set_register(register::RIP, CODE + 2);
    }

    /// Root's address of what stands at an address of the environment.
    pub fn at(&self, address: u64) -> u64 {
        address - BASE + self.frame.start
    }

    /// Root makes a call that must succeed.
    pub fn ok(&self, call: Call, arguments: &[u64]) {
        let mut all = [0; 8];
        all[..arguments.len()].copy_from_slice(arguments);
        let (status, ..) = Root(&self.world).call(call, all);
        assert!(status.is_ok(), "{}({arguments:x?}): {status:?}", call.name());
    }

    fn view(&self, number: usize) -> Thread<'_> {
        self.world.thread(self.world.physical(self.frame.start + PAGE_SIZE * (1 + number as u64)))
    }

    fn number_of(&self, thread: Thread<'_>) -> Option<usize> {
        (0..self.programs.len()).find(|number| self.view(*number).at == thread.at)
    }

    fn is_over(&self) -> bool {
        (0..self.programs.len()).all(|number| self.view(number).register(register::RBX) == self.programs[number].len() as u64)
    }

    /// Returns the answer of a finished call: all that a message delivered, or status and result.
    fn answer(thread: Thread<'_>, call: Call) -> Vec<u64> {
        let word = |register| thread.register(register);
        let is_message = call as u8 >= Call::IpcCall as u8 && call as u8 <= Call::IpcReplyReceive as u8;
        if !is_message || word(register::RAX) != 0 || call == Call::IpcSend || call == Call::IpcReply {
            // How many a signal wakes is a matter of who came first.
            return vec![word(register::RAX), if is_message || call == Call::ConditionSignal { 0 } else { word(register::RDX) }];
        }
        ARGUMENTS[..8].iter().map(|register| word(*register)).chain([0]).collect()
    }

    /// The thread on a CPU goes on by one step; false if there is none that can.
    fn step(&mut self, cpu: usize) -> bool {
        let Some(number) = self.world.running(cpu).and_then(|thread| self.number_of(thread)) else { return false };
        let thread = self.view(number);
        let (at, in_call) = (thread.register(register::RBX), thread.register(register::RBP) == 1);
        let Some(step) = self.programs[number].get(at as usize) else { return false };
        let finished = match step {
            Step::Call(..) if World::stands_at_call(thread) => {
                self.begun.insert((number, at));
                self.world.enter(cpu);
                return true;
            }
            Step::Call(call, _) if in_call => Some(Self::answer(thread, *call)),
            Step::Call(call, arguments) => {
                self.world.prepare(thread, *call, arguments);
                thread.set_register(register::RBP, 1);
                return true;
            }
            Step::Store(address, value) => match self.world.access(cpu, *address, Rights::WRITE) {
                Some(place) => {
                    self.world.machine().poke(place.0, *value);
                    Some(vec![*value])
                }
                None => return true,
            },
            Step::Trap(_) => Some(Vec::new()),
        };
        thread.set_register(register::RBP, 0);
        thread.set_register(register::RBX, at + 1);
        let trap = if let Step::Trap(kind) = step { Some(*kind) } else { None };
        self.answers[number].extend(finished);
        if let Some(kind) = trap {
            self.world.on(cpu, |kernel| kernel.exception(kind, 0, 0));
        }
        true
    }

    /// Starts the threads and lets them run to their end, disturbed after so many steps; how many
    /// steps there were.
    pub fn run(&mut self, disturbance: Option<(Disturbance, usize)>) -> usize {
        for number in 0..self.programs.len() {
            self.ok(Call::ThreadStart, &[self.frame.start + PAGE_SIZE * (1 + number as u64)]);
        }
        let (mut steps, mut idle, mut next) = (0, 0, 0);
        while !self.is_over() {
            if let Some((disturbance, _)) = disturbance.filter(|(_, at)| *at == steps) {
                self.disturb(disturbance);
            }
            self.world.kick_all();
            steps += 1;
            if let Some(cpu) = (0..CPUS).map(|cpu| (next + cpu) % CPUS).find(|cpu| self.step(*cpu)) {
                (next, idle) = (cpu + 1, 0);
            } else {
                idle += 1;
                self.world.pass(500);
            }
            assert!(idle < 2 * LONGEST as usize / 500 && steps < ENDLESS, "the threads come to no end: {}", self.describe());
        }
        steps
    }

    fn describe(&self) -> String {
        let one = |number| {
            let thread = self.view(number);
            format!("thread {number} at step {} (wait {}, flags {:#x}, fault {})", thread.register(register::RBX), thread.wait(), thread.flags(), thread.fault())
        };
        (0..self.programs.len()).map(one).collect::<Vec<_>>().join("; ")
    }

    /// Notes which calls are half way now.
    fn note(&mut self) {
        for number in 0..self.programs.len() {
            let thread = self.view(number);
            let at = thread.register(register::RBX);
            let half_way = World::stands_at_call(thread) && self.begun.contains(&(number, at));
            assert!(!thread.waits_for(WaitKind::Send) || half_way, "a thread waits before its call");
            if let Some(Step::Call(call, _)) = self.programs[number].get(at as usize).filter(|_| half_way) {
                self.met.insert(*call as u8);
            }
        }
    }

    fn disturb(&mut self, disturbance: Disturbance) {
        self.note();
        if disturbance == Disturbance::Stop {
            let mut running = Vec::new();
            self.frame.stop(&mut Root(&self.world), &mut running).expect("stop");
            check(&self.world);
            running.into_iter().for_each(|thread| self.ok(Call::ThreadStart, &[self.frame.start + thread]));
            return check(&self.world);
        }
        let mut snapshot = self.frame.take(&mut Root(&self.world)).expect("take");
        self.whole_calls(&snapshot);
        check(&self.world);
        self.frame.destroy(&mut Root(&self.world)).expect("destroy");
        assert_eq!(self.frame.list(&mut Root(&self.world)), Ok(Vec::new()));
        (0..SIZE).step_by(8).for_each(|byte| self.world.write(self.frame.start + byte, &[0xdead_dead_dead_dead]));
        let old = self.frame.outside[0];
        self.frame.start = self.world.pages(SIZE / PAGE_SIZE);
        self.export();
        self.ok(Call::RegionDestroy, &[old]);
        self.frame.restore(&mut Root(&self.world), &snapshot).expect("restore");
        // A space whose destruction was cut off has given back some of its pool. It is made anew
        // with a whole one.
        let pools = snapshot.objects.iter_mut().filter(|object| object.kind == ObjectType::Space);
        pools.for_each(|space| space.words[1] = space.words[1].max(POOL_PAGES));
        check(&self.world);
        let again = self.frame.take(&mut Root(&self.world)).expect("take again");
        let differs = snapshot.objects.iter().zip(&again.objects).find(|(one, other)| one != other);
        assert!(differs.is_none(), "made anew, an object is another: {differs:x?}");
        assert!(again == Snapshot { running: Vec::new(), ..snapshot.clone() }, "made anew, the environment is another");
        self.frame.start(&mut Root(&self.world), &snapshot.running).expect("start");
        check(&self.world);
    }

    /// Checks that a reader sees each thread before a call or behind it.
    fn whole_calls(&self, snapshot: &Snapshot) {
        for object in snapshot.objects.iter().filter(|object| object.kind == ObjectType::Thread) {
            let state = nacre_abi::state::ThreadState::from_words(std::array::from_fn(|word| object.words[word]));
            assert!(state.rip == CODE || state.rip == CODE + 2, "a thread stands at {:#x}", state.rip);
            let is_call = Call::ALL.iter().any(|call| call.number() == state.rax);
            assert!(state.rip != CODE || is_call, "a thread stands at a call without a number");
        }
    }

    /// Returns the outcome of the run.
    pub fn outcome(mut self) -> (Outcome, BTreeSet<u8>) {
        let snapshot = self.frame.take(&mut Root(&self.world)).expect("take");
        let objects = snapshot.objects.into_iter().filter(|object| object.kind != ObjectType::Thread);
        let memory = snapshot.pages.into_iter().chain(objects.map(|object| (object.offset, object.words))).collect();
        (Outcome { answers: std::mem::take(&mut self.answers), memory }, self.met)
    }
}
