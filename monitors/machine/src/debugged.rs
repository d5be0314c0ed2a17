//! The guest as gdb sees it: one process, whose threads are the processors.

use crate::access;
use crate::board::BOARD;
use crate::guest::Memory;
use alloc::format;
use alloc::vec::Vec;
use nacre_abi::frame::word;
use nacre_gdb::registers::FPU_SIZE;
use nacre_gdb::target::{Caught, Events, FileError};
use nacre_gdb::{Action, Reason, Registers, Stop, Target, ThreadId};
use nacre_machine_x86::{Breakpoints, Paging};
use nacre_sys::{Frame, fpu};

/// Signal of a breakpoint and of a step.
pub const TRAP: u8 = 5;
/// Signal of a stop that gdb asks for.
const INTERRUPT: u8 = 2;
/// Linux's "no such file": a guest's kernel is no file of this environment.
const ENOENT: FileError = 2;
/// Numbers of the frame's registers in the order of gdb's: `rax rbx rcx rdx rsi rdi rbp rsp`, `r8`
/// and so on.
const ORDER: [usize; 16] = [0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
/// Numbers of the frame's segments in gdb's order: `cs ss ds es fs gs`.
const SEGMENTS: [usize; 6] = [1, 2, 3, 0, 4, 5];
const FS: usize = word::SEGMENTS + 2 * 4;
const GS: usize = word::SEGMENTS + 2 * 5;

/// State that gdb wants a processor in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The processor parks.
    Stopped,
    /// The processor goes on.
    Run,
    /// The processor makes one instruction.
    Step,
}

struct Processor {
    frame: Frame,
    mode: Mode,
    /// The processor's thread waits for gdb.
    is_parked: bool,
    /// FPU registers of a processor that has parked, which are otherwise those of its thread.
    fpu: [u8; FPU_SIZE],
    /// gdb has changed them.
    has_new_fpu: bool,
}

/// Processors, memory and breakpoints.
pub struct Debugged {
    processors: Vec<Processor>,
    memory: Memory,
    breakpoints: Breakpoints,
    /// Processor as which memory is seen.
    selected: usize,
    /// Stop that gdb is not told of yet, since some processors have not parked.
    pub stop: Option<Stop>,
    /// gdb ends the machine.
    pub is_killed: bool,
}

/// Name of a processor.
fn thread(processor: usize) -> ThreadId {
    ThreadId { process: Debugged::PROCESS, thread: processor as u32 + 1 }
}

impl Debugged {
    /// Number of the one process.
    pub const PROCESS: u32 = 1;

    /// Processors with these frames, which are all to park.
    pub fn new(frames: &[Frame], memory: Memory) -> Debugged {
        let new = |frame: &Frame| Processor { frame: *frame, mode: Mode::Stopped, is_parked: false, fpu: Registers::default().fpu, has_new_fpu: false };
        let processors = frames.iter().map(new).collect();
        Debugged { processors, memory, breakpoints: Breakpoints::default(), selected: 0, stop: None, is_killed: false }
    }

    /// Returns true if some processor goes on.
    pub fn is_running(&self) -> bool {
        self.processors.iter().any(|processor| processor.mode != Mode::Stopped)
    }

    /// Returns true if all processors have parked.
    pub fn is_settled(&self) -> bool {
        self.processors.iter().all(|processor| processor.mode == Mode::Stopped && processor.is_parked)
    }

    /// Returns true if processors have to look before they go on.
    pub fn wants_looks(&self) -> bool {
        !self.breakpoints.is_empty() || self.processors.iter().any(|processor| processor.mode != Mode::Run)
    }

    /// Returns what a processor is to do.
    pub fn mode(&self, processor: usize) -> Mode {
        self.processors.get(processor).map_or(Mode::Run, |processor| processor.mode)
    }

    /// A processor, whose thread is the caller, is at the end of an exit: what it is to do.
    /// Breakpoints that its tables lead to by now are put into memory.
    pub fn look(&mut self, number: usize) -> Mode {
        let Some(processor) = self.processors.get_mut(number) else { return Mode::Run };
        let was_parked = processor.is_parked;
        processor.is_parked = processor.mode == Mode::Stopped;
        if !was_parked && core::mem::take(&mut processor.has_new_fpu) {
            fpu::restore(&processor.fpu);
        }
        if !was_parked && processor.is_parked {
            processor.fpu = fpu::save();
        }
        let paging = access::paging(&processor.frame);
        self.breakpoints.arm(&mut self.memory, &paging);
        self.mode(number)
    }

    fn paging(&self, number: usize) -> Paging {
        self.processors.get(number).map_or(Paging::default(), |processor| access::paging(&processor.frame))
    }

    /// Returns true if a processor stands at a breakpoint.
    pub fn is_breakpoint(&self, number: usize) -> bool {
        let Some(processor) = self.processors.get(number) else { return false };
        self.breakpoints.has(&self.memory, &self.paging(number), access::linear(&processor.frame))
    }

    /// Stops all processors for something that one has come to. Another stop that comes first
    /// counts: this processor comes to the same place again.
    pub fn stop_at(&mut self, number: usize, signal: u8, reason: Reason) {
        if self.is_running() {
            self.stop = Some(Stop::Thread(thread(number), signal, reason));
            self.selected = number;
            self.stop_all();
        }
    }

    /// Lets all processors park.
    pub fn stop_all(&mut self) {
        for (number, processor) in self.processors.iter_mut().enumerate() {
            processor.mode = Mode::Stopped;
            BOARD.seat(number).call();
        }
    }

    /// The processor of a thread, if it has parked.
    fn parked(&mut self, thread: ThreadId) -> Option<&mut Processor> {
        let number = usize::try_from(thread.thread).ok()?.checked_sub(1)?;
        self.processors.get_mut(number).filter(|processor| processor.is_parked)
    }
}

impl Target for Debugged {
    fn threads(&mut self) -> Vec<ThreadId> {
        (0..self.processors.len()).map(thread).collect()
    }

    fn name(&mut self, thread: ThreadId) -> Vec<u8> {
        format!("processor {}", thread.thread.saturating_sub(1)).into_bytes()
    }

    fn select(&mut self, thread: ThreadId) {
        let number = (thread.thread as usize).saturating_sub(1);
        self.selected = number.min(self.processors.len().saturating_sub(1));
    }

    fn registers(&mut self, thread: ThreadId) -> Option<Registers> {
        let Processor { frame, fpu, .. } = self.parked(thread)?;
        let get = |number| frame.get(number);
        Some(Registers {
            general: ORDER.map(|number| get(word::REGISTERS + number)),
            rip: get(word::RIP),
            flags: get(word::RFLAGS) as u32,
            segments: SEGMENTS.map(|number| u32::from(get(word::SEGMENTS + 2 * number) as u16)),
            fs_base: get(FS + 1),
            gs_base: get(GS + 1),
            fpu: *fpu,
            ..Registers::default()
        })
    }

    fn set_registers(&mut self, thread: ThreadId, registers: &Registers) -> bool {
        let Some(processor) = self.parked(thread) else { return false };
        if processor.fpu != registers.fpu {
            (processor.fpu, processor.has_new_fpu) = (registers.fpu, true);
        }
        let frame = processor.frame;
        ORDER.iter().zip(registers.general).for_each(|(number, value)| frame.set(word::REGISTERS + number, value));
        if frame.get(word::RIP) != registers.rip {
            frame.set(word::RIP, registers.rip);
            frame.set(word::SHADOW, 0);
        }
        frame.set(word::RFLAGS, frame.get(word::RFLAGS) >> 32 << 32 | u64::from(registers.flags));
        frame.set(FS + 1, registers.fs_base);
        frame.set(GS + 1, registers.gs_base);
        true
    }

    fn read(&mut self, _: u32, address: u64, into: &mut [u8]) -> usize {
        self.breakpoints.read(&self.memory, &self.paging(self.selected), address, into)
    }

    fn write(&mut self, _: u32, address: u64, bytes: &[u8]) -> bool {
        let paging = self.paging(self.selected);
        self.breakpoints.write(&mut self.memory, &paging, address, bytes)
    }

    /// Puts a breakpoint to an address, which need not be one yet.
    fn insert_breakpoint(&mut self, _: u32, address: u64) -> bool {
        let paging = self.paging(self.selected);
        let is_known = self.breakpoints.insert(&self.memory, &paging, address);
        self.breakpoints.arm(&mut self.memory, &paging);
        is_known
    }

    fn remove_breakpoint(&mut self, _: u32, address: u64) -> bool {
        self.breakpoints.remove(&mut self.memory, address)
    }

    /// Does nothing: a guest's kernel makes no system calls, and has no processes for gdb.
    fn catch_calls(&mut self, _: u32, _: Caught) {}

    fn follow(&mut self, _: Events) {}

    fn resume(&mut self, threads: &[(ThreadId, Action)]) {
        for (thread, action) in threads {
            if let Some(processor) = self.parked(*thread) {
                processor.mode = if action.is_step { Mode::Step } else { Mode::Run };
                processor.is_parked = false;
                BOARD.seat(thread.thread as usize - 1).call();
            }
        }
    }

    fn interrupt(&mut self) {
        self.stop_at(self.selected, INTERRUPT, Reason::Signal);
    }

    fn kill(&mut self, _: u32) {
        self.is_killed = true;
    }

    fn detach(&mut self, _: u32) {
        self.breakpoints.clear(&mut self.memory);
        for (number, processor) in self.processors.iter_mut().enumerate() {
            (processor.mode, processor.is_parked) = (Mode::Run, false);
            BOARD.seat(number).call();
        }
        self.stop = None;
    }

    fn auxiliary_vector(&mut self, _: u32) -> Vec<u8> {
        Vec::new()
    }

    fn program(&mut self, _: u32) -> Vec<u8> {
        Vec::new()
    }

    fn link(&mut self, _: &[u8]) -> Result<Vec<u8>, FileError> {
        Err(ENOENT)
    }

    fn open(&mut self, _: &[u8]) -> Result<u32, FileError> {
        Err(ENOENT)
    }

    fn read_file(&mut self, _: u32, _: u64, _: usize) -> Result<Vec<u8>, FileError> {
        Err(ENOENT)
    }

    fn file_size(&mut self, _: u32) -> Result<u64, FileError> {
        Err(ENOENT)
    }

    fn close(&mut self, _: u32) -> Result<(), FileError> {
        Err(ENOENT)
    }
}
