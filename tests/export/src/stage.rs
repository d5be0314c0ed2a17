//! An environment of three threads in 64 KiB of ours, and what they do.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::vec;
use nacre_abi::state::{SpaceState, ThreadState};
use nacre_abi::{Call, ObjectType, PAGE_SIZE, Rights, Status};
use nacre_raw::runner::{self, ENTRY_WORDS};
use nacre_snapshot::{Access, Frame, POOL_PAGES};
use nacre_sys::Thread;

/// Memory that we have set aside.
pub const ARENA: u64 = 0x3000_0000_0000;
/// Size of the arena.
pub const ARENA_SIZE: u64 = 0x40_0000;
/// Addresses of the environment, in turn.
const WINDOWS: [u64; 2] = [ARENA, ARENA + 0x10_0000];
/// Number of disturbances after which a run counts as endless.
const ENDLESS: u32 = 3000;
/// Objects of ours: the regions over the windows.
const OUTSIDE: u64 = ARENA + 0x20_0000;
const SLOTS: u64 = OUTSIDE + 512;
const BUFFER: u64 = ARENA + 0x21_0000;
const POOLS: [u64; 2] = [ARENA + 0x30_0000, ARENA + 0x38_0000];

/// Address of the environment's memory in its own space.
pub const BASE: u64 = 0x1000_0000;
/// Size of the environment's memory.
pub const SIZE: u64 = 16 * PAGE_SIZE;
/// The space of all threads.
pub const SPACE: u64 = BASE;
/// Another space.
pub const INNER: u64 = BASE + 0x800;
/// Ports; the second is in `SET`.
pub const PORTS: [u64; 2] = [BASE + 0x200, BASE + 0x280];
/// A set.
pub const SET: u64 = BASE + 0x300;
/// A mutex.
pub const MUTEX: u64 = BASE + 0x380;
/// A condition.
pub const CONDITION: u64 = BASE + 0x3c0;
/// Free units of an object page.
pub const FREE: u64 = BASE + 0xc00;
const CODE: u64 = BASE + 0xe000;

/// A null reference, of sixteen.
pub const fn reference(number: u64) -> u64 {
    BASE + 0x4000 + 64 * number
}

/// Plain memory of a thread, of which the second half is its table.
pub const fn data(thread: u64) -> u64 {
    BASE + 0x5000 + PAGE_SIZE * thread
}

const fn table(thread: u64) -> u64 {
    data(thread) + 0x800
}

/// A step: the number of a call, or of what the runner does instead, and the registers that it
/// takes.
pub type Step = (u64, Vec<u64>);

/// Calls of the system.
pub struct System;

impl Access for System {
    fn call(&mut self, call: Call, arguments: [u64; 8]) -> (Status, u64, u64) {
        nacre_raw::call(call, arguments)
    }

    fn read(&mut self, address: u64) -> u64 {
        nacre_raw::read(address)
    }

    fn write(&mut self, address: u64, value: u64) {
        nacre_raw::write(address, value);
    }
}

/// A call that must succeed.
pub fn must(which: Call, arguments: &[u64]) -> Result<(), String> {
    let mut all = [0; 8];
    all[..arguments.len()].copy_from_slice(arguments);
    nacre_raw::call(which, all).0.result().map_err(|status| format!("{}{arguments:x?}: {status:?}", which.name()))
}

pub struct Stage {
    frame: Frame,
    window: usize,
    programs: Vec<Vec<Step>>,
}

impl Stage {
    /// An environment with these programs, whose threads are not started.
    pub fn new(programs: Vec<Vec<Step>>) -> Result<Stage, String> {
        must(Call::MemoryReclaim, &[ARENA, ARENA_SIZE])?;
        for (number, window) in WINDOWS.into_iter().enumerate() {
            must(Call::RegionCreate, &[OUTSIDE + 128 * number as u64, 0, window, SIZE, Rights::ALL.0, 0])?;
            (0..SIZE).step_by(8).for_each(|byte| nacre_raw::write(window + byte, 0));
        }
        for slot in 0..3 {
            must(Call::ReferenceCreate, &[SLOTS + 64 * slot])?;
        }
        let frame = Frame { start: WINDOWS[0], size: SIZE, outside: vec![OUTSIDE], buffer: BUFFER, slots: SLOTS, pool: POOLS[0] };
        let stage = Stage { frame, window: 0, programs };
        stage.make_objects()?;
        Ok(stage)
    }

    /// Our address of what stands at an address of the environment.
    pub fn at(&self, address: u64) -> u64 {
        address - BASE + self.frame.start
    }

    /// Writes words at an address of the environment.
    pub fn write(&self, address: u64, words: &[u64]) {
        words.iter().zip((0..).step_by(8)).for_each(|(word, byte)| nacre_raw::write(self.at(address) + byte, *word));
    }

    fn make_objects(&self) -> Result<(), String> {
        let pool = ARENA + 0x28_0000;
        must(Call::SpaceCreate, &[self.at(SPACE), pool, POOL_PAGES, 0])?;
        must(Call::SpaceCreate, &[self.at(INNER), pool + POOL_PAGES * PAGE_SIZE, POOL_PAGES, 0])?;
        must(Call::MappingCreate, &[self.at(BASE + 0x100), self.at(SPACE), BASE, SIZE, OUTSIDE, 0, Rights::ALL.0])?;
        must(Call::PortSetCreate, &[self.at(SET)])?;
        must(Call::PortCreate, &[self.at(PORTS[0]), 70, 0])?;
        must(Call::PortCreate, &[self.at(PORTS[1]), 71, self.at(SET)])?;
        must(Call::MutexCreate, &[self.at(MUTEX)])?;
        must(Call::ConditionCreate, &[self.at(CONDITION)])?;
        for number in 0..16 {
            must(Call::ReferenceCreate, &[self.at(reference(number))])?;
        }
        runner::code().zip((0..).step_by(8)).for_each(|(word, byte)| self.write(CODE + byte, &[word]));
        (0..self.programs.len() as u64).try_for_each(|number| self.make_thread(number, SPACE))
    }

    fn thread(&self, number: u64) -> u64 {
        self.frame.start + PAGE_SIZE * (1 + number)
    }

    /// Makes (again) the thread of a program, in a space of the environment.
    pub fn make_thread(&self, number: u64, space: u64) -> Result<(), String> {
        let (at, program) = (self.thread(number), &self.programs[number as usize]);
        // There may be none yet.
        let _ = must(Call::ThreadDestroy, &[at]);
        must(Call::ThreadCreate, &[at, self.at(space)])?;
        for (index, (call, registers)) in program.iter().enumerate() {
            let entry = table(number) + 8 * ENTRY_WORDS * index as u64;
            self.write(entry, &[*call]);
            self.write(entry + 8, registers);
        }
        let state = ThreadState {
            flags: ThreadState::STOPPED,
            rip: CODE,
            rflags: 0x202,
            rbx: table(number),
            rbp: table(number) + 8 * ENTRY_WORDS * program.len() as u64,
            foreign_entry: CODE + runner::foreign_offset(),
            ..ThreadState::default()
        };
        state.to_words().into_iter().zip((0..).step_by(8)).for_each(|(word, byte)| nacre_raw::write(BUFFER + byte, word));
        must(Call::ThreadSetState, &[at, BUFFER, ThreadState::SIZE, 0])
    }

    /// Makes a port the keeper of the space of all threads.
    pub fn keep(&self, port: u64) -> Result<(), String> {
        SpaceState::default().to_words().into_iter().zip((0..).step_by(8)).for_each(|(word, byte)| nacre_raw::write(BUFFER + byte, word));
        nacre_raw::write(BUFFER + 64, self.at(port));
        nacre_raw::write(BUFFER + 72, 0);
        must(Call::SpaceSetState, &[self.at(SPACE), BUFFER, SpaceState::SIZE, BUFFER + 64])
    }

    fn word(&self, number: usize, entry: usize, word: u64) -> u64 {
        nacre_raw::read(self.at(table(number as u64) + 8 * (ENTRY_WORDS * entry as u64 + word)))
    }

    fn is_over(&self) -> bool {
        self.programs.iter().enumerate().all(|(number, program)| self.word(number, program.len() - 1, 15) != 0)
    }

    /// Runs the threads to their end. Every `pause` nanoseconds all objects are exported, destroyed
    /// and rebuilt in the other window. Returns the number of times.
    pub fn run(&mut self, pause: u64, disturb: bool) -> Result<u32, String> {
        for number in 0..self.programs.len() as u64 {
            must(Call::ThreadStart, &[self.thread(number)])?;
        }
        let mut rebuilt = 0;
        for _ in 0..ENDLESS {
            if self.is_over() {
                return Ok(rebuilt);
            }
            Thread::sleep(pause).map_err(|status| format!("sleep: {status:?}"))?;
            if disturb {
                self.rebuild()?;
                rebuilt += 1;
            }
        }
        Err(format!("the threads come to no end: {}", self.describe()?))
    }

    /// Describes the position of every thread for a person who looks for the fault.
    fn describe(&mut self) -> Result<String, String> {
        let snapshot = self.frame.take(&mut System).map_err(|trouble| format!("{trouble:?}"))?;
        let mut text = format!("running {:x?}", snapshot.running);
        for object in snapshot.objects.iter().filter(|object| object.kind == ObjectType::Thread) {
            let state = ThreadState::from_words(core::array::from_fn(|word| object.words.get(word).copied().unwrap_or(0)));
            let step = state.rbx.wrapping_sub(table(object.offset / PAGE_SIZE - 1)) / (8 * ENTRY_WORDS);
            let fault = [state.fault, state.fault_first, state.fault_second, state.fault_third];
            text += &format!("; step {step} rax {:x} rip {:x} flags {:x} fault {fault:x?} left {} {} links {:?}", state.rax, state.rip, state.flags, state.rdi, state.r15, object.links);
        }
        Ok(text)
    }

    fn rebuild(&mut self) -> Result<(), String> {
        let said = |what| move |trouble| format!("{what}: {trouble:?}");
        let snapshot = self.frame.take(&mut System).map_err(said("take"))?;
        self.frame.destroy(&mut System).map_err(said("destroy"))?;
        (0..SIZE).step_by(8).for_each(|byte| nacre_raw::write(self.frame.start + byte, 0xdead_dead_dead_dead));
        self.window ^= 1;
        self.frame = Frame { start: WINDOWS[self.window], outside: vec![OUTSIDE + 128 * self.window as u64], pool: POOLS[self.window], ..self.frame.clone() };
        self.frame.restore(&mut System, &snapshot).map_err(said("restore"))?;
        self.frame.start(&mut System, &snapshot.running).map_err(said("start"))
    }

    /// Returns the answers to the steps: the status, label and first word of received messages, and
    /// plain memory.
    pub fn outcome(&self) -> Vec<u64> {
        let mut all = Vec::new();
        for (number, program) in self.programs.iter().enumerate() {
            for (entry, (call, _)) in program.iter().enumerate() {
                let received = [Call::IpcCall, Call::IpcReceive, Call::IpcReplyReceive].iter().any(|which| which.number() == *call);
                let words = if received { 11..15 } else { 11..12 };
                all.extend(words.map(|word| self.word(number, entry, word)));
            }
            all.extend((0..0x800).step_by(8).map(|byte| nacre_raw::read(self.at(data(number as u64)) + byte)));
        }
        all
    }
}
