//! Signals, which the library shows before it delivers them. A breakpoint of ours lies at its gate
//! of signals. A thread that meets it waits in the library until gdb says which signal it gets.

use crate::copier::Copier;
use crate::debugger::Debugger;
use crate::gates::Gates;
use crate::inferior::Inferior;
use crate::library::{self, is_in_library};
use crate::signalled::{KILL, Shown, Signalled, bit};
use crate::stops::{KIND_STEP, Verdict};
use crate::threads::{Entry, Mode, TRAP_FLAG};
use crate::view::View;
use crate::writes::Raised;
use crate::breakpoints::Pages;
use alloc::vec::Vec;
use nacre_abi::fault::{KIND_BREAKPOINT, KIND_MEMORY, KIND_OPCODE, KIND_PROTECTION};
use nacre_abi::state::ThreadState;
use nacre_gdb::{Action, Reason, Stop, ThreadId};
use nacre_nest::host::Exception;
use nacre_nest::library::{INJECTED, RESUME};
use nacre_proto::flags::SI_USER;
use nacre_proto::process;

/// Bytes of Linux's `siginfo`.
const INFO_SIZE: usize = 128;
/// Bit of the machine's error code: there is memory at the address.
const PRESENT: u64 = 1;
/// `si_code` of what has no other: `SI_KERNEL`.
const BY_KERNEL: u32 = 0x80;

impl Debugger {
    /// The library of a process, which goes on, shows signals.
    pub fn show_signals(&mut self, process: u32) {
        let stopping = !self.signals.passed & !bit(KILL);
        let is_recorded = self.tape.is_some();
        let Debugger { inferiors, copier, pages, .. } = self;
        let Some(inferior) = inferiors.get_mut(&process).filter(|inferior| inferior.is_attached && inferior.is_foreign && !is_recorded) else { return };
        let Some(gates) = inferior.find_gates(copier) else { return };
        if !inferior.shown.is_placed {
            inferior.shown = Shown { is_placed: inferior.insert(copier, pages, gates.signals()[0]), ..Shown::default() };
        }
        if inferior.shown.is_placed && inferior.shown.stopping != stopping && inferior.view.write(copier, gates.stopping(), &stopping.to_le_bytes()) {
            inferior.shown.stopping = stopping;
        }
    }

    /// The library of a process that gdb leaves shows signals no more. Threads that have one get
    /// it, if gdb wants that.
    pub fn hide_signals(&mut self, process: u32) {
        let left = self.signals.left;
        let Debugger { inferiors, copier, .. } = self;
        let Some(inferior) = inferiors.get_mut(&process) else { return };
        if let Some(gates) = inferior.gates.filter(|_| inferior.shown.is_placed) {
            inferior.view.write(copier, gates.stopping(), &[0; 8]);
        }
        inferior.shown = Shown::default();
        for entry in inferior.threads.iter_mut() {
            if let Some(signalled) = entry.signalled.take()
                && let Some(state) = entry.state()
            {
                entry.set(&ThreadState { rax: signalled.answer(if left & bit(signalled.number) != 0 { signalled.number } else { 0 }), ..state });
            }
        }
    }

    /// A thread is about to get a signal. The stop that this makes, if it makes one.
    pub fn at_signal(&mut self, thread: ThreadId, gates: &Gates, state: &ThreadState) -> Option<Stop> {
        let Debugger { inferiors, copier, pages, .. } = self;
        let inferior = inferiors.get_mut(&thread.process)?;
        let signal = state.rdi;
        let is_shown = inferior.is_attached && (1..=64).contains(&signal) && inferior.shown.stopping & bit(signal) != 0;
        let mut info = alloc::vec![0; INFO_SIZE];
        let count = inferior.view.read(copier, state.rsi, &mut info);
        info.truncate(count);
        let entry = inferior.threads.get(thread.thread)?;
        entry.set(&ThreadState { rip: gates.signals()[1], rax: signal, rflags: state.rflags & !TRAP_FLAG, ..*state });
        let is_given = entry.given.take_if(|given| *given == signal).is_some();
        if !is_shown || is_given {
            entry.start();
            return None;
        }
        entry.mode = Mode::Run;
        entry.signalled = Some(Signalled { number: signal, handler: state.rdx, is_made_again: state.r8 != 0, is_changed: false, info });
        // A call that gdb waits for returns behind the signal.
        if entry.returns.is_none()
            && let Some(address) = entry.awaited.take()
        {
            inferior.breakpoints.remove(pages, address);
        }
        Some(Stop::Thread(thread, signal as u8, Reason::Signal))
    }

    /// A thread that was about to get a signal goes on.
    pub fn answer_signal(&mut self, thread: ThreadId, signalled: &Signalled, action: Action) {
        let Debugger { inferiors, copier, pages, .. } = self;
        let Some(inferior) = inferiors.get_mut(&thread.process) else { return };
        let memory = (&inferior.view, &*copier);
        let Some(entry) = inferior.threads.get(thread.thread) else { return };
        let Some(state) = entry.state() else { return };
        let signal = u64::from(action.signal);
        let is_handled = signal == signalled.number && signalled.handler != 0;
        let next = library::frame(memory, &state).map(|frame| frame.rip);
        entry.set(&ThreadState { rax: signalled.answer(signal), ..state });
        entry.mode = match action.is_step && !is_handled && (signalled.is_changed || !signalled.is_made_again) {
            true => Mode::StepAgain,
            false => Mode::Run,
        };
        let end = if is_handled { Some(signalled.handler) } else { next };
        let waits = action.is_step && entry.awaited.is_none();
        if let Some(end) = end.filter(|_| waits)
            && inferior.insert(copier, pages, end)
        {
            inferior.threads.get(thread.thread).into_iter().for_each(|entry| entry.awaited = Some(end));
        }
        inferior.threads.get(thread.thread).into_iter().for_each(Entry::start);
    }

    /// Returns the `siginfo` of the signal that has stopped a thread.
    pub fn info(&mut self, thread: ThreadId) -> Option<Vec<u8>> {
        let (_, inferior) = self.entry(thread)?;
        let entry = inferior.threads.get(thread.thread)?;
        match (&entry.signalled, &entry.pending) {
            (Some(signalled), _) => Some(signalled.info.clone()),
            (None, Some(exception)) => Some(info_of(exception)),
            (None, None) => None,
        }
    }
}

impl Inferior {
    /// Decides what an exception of a thread means that gets signals while it makes a step. `None`:
    /// nothing.
    pub fn judge_signal(&mut self, (copier, pages): (&Copier, &mut Pages), raised: &Raised<'_>) -> Option<Verdict> {
        let Raised { exception, state, .. } = raised;
        let gates = self.gates?;
        let memory = (&self.view, copier);
        let entry = self.threads.get(raised.thread)?;
        if exception.kind == KIND_STEP && entry.mode == Mode::Step && gates.begins_signal(state.rip) {
            let next = library::resume(memory, state)?;
            entry.puts_off = !entry.puts_off;
            if entry.puts_off {
                // Signals that come one after the other do not keep it from its steps.
                return Some(Verdict::GoOn(ThreadState { rip: next, rflags: state.rflags | TRAP_FLAG, ..*state }));
            }
            // The step is made when the handlers have returned.
            entry.mode = Mode::StepAgain;
            return Some(Verdict::GoOnTo(ThreadState { rflags: state.rflags & !TRAP_FLAG, ..*state }, next));
        }
        let at = state.rip.wrapping_sub(1);
        if exception.kind == KIND_BREAKPOINT && entry.mode == Mode::StepAgain && entry.awaited == Some(at) {
            (entry.mode, entry.awaited) = (Mode::Step, None);
            self.breakpoints.remove(pages, at);
            if !self.wanted.contains(&at) {
                return Some(Verdict::GoOn(ThreadState { rip: at, rflags: state.rflags | TRAP_FLAG, ..*state }));
            }
        }
        None
    }

    /// Gives a signal to a stopped thread that is about to go on, or makes it look at signals.
    /// Returns the state with which it goes on.
    pub fn send(&mut self, copier: &Copier, number: u32, action: Action, state: ThreadState) -> ThreadState {
        let signal = u64::from(action.signal);
        let Some(gates) = self.gates.filter(|_| self.shown.is_placed) else { return state };
        let Some(entry) = self.threads.get(number) else { return state };
        if is_in_library(state.rip) {
            if signal != 0 && self.is_managed {
                // It comes as all signals do, and cuts the call off. What has gone gets none.
                entry.given = Some(signal);
                let _ = process::kill(self.parent.handle(), 0, number.into(), signal, SI_USER, 0);
            }
            return state;
        }
        let looks = !self.shown.is_told || library::has_attention((&self.view, copier), &state);
        if signal == 0 && looks && action.is_step {
            entry.puts_off = !entry.puts_off;
        }
        if signal == 0 && (!looks || action.is_step && entry.puts_off) {
            return state;
        }
        let half = (signal as u32).to_le_bytes();
        if !put(&self.view, copier, state.gs_base, RESUME, &state.rip.to_le_bytes()) || !put(&self.view, copier, state.gs_base, INJECTED, &half) {
            return state;
        }
        self.shown.is_told = true;
        ThreadState { rip: gates.signal_entry(), ..state }
    }
}

/// Writes to the block of a thread.
fn put(view: &View, copier: &Copier, block: u64, place: u64, bytes: &[u8]) -> bool {
    block.checked_add(place).is_some_and(|at| block != 0 && view.write(copier, at, bytes))
}

/// Makes the `siginfo` of an exception, as far as it is known here.
fn info_of(exception: &Exception) -> Vec<u8> {
    // The codes say: a division, an instruction, no memory, and memory that does not allow it.
    let (code, at) = match exception.kind {
        0 => (1, exception.instruction),
        KIND_OPCODE => (2, exception.instruction),
        KIND_MEMORY if exception.error & PRESENT == 0 => (1, exception.address),
        KIND_MEMORY => (2, exception.address),
        KIND_PROTECTION | KIND_BREAKPOINT => (BY_KERNEL, 0),
        _ => (BY_KERNEL, exception.instruction),
    };
    let mut info = alloc::vec![0; INFO_SIZE];
    info[..4].copy_from_slice(&(exception.signal() as u32).to_le_bytes());
    info[8..12].copy_from_slice(&code.to_le_bytes());
    info[16..24].copy_from_slice(&at.to_le_bytes());
    info
}
