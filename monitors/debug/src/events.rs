//! Breakpoints of ours in the library, which threads meet: at system calls, and at the way into a
//! program that has changed.

use crate::debugger::Debugger;
use crate::gates::{self, Gates, SystemCall};
use crate::inferior::{Arrival, Inferior};
use crate::library;
use crate::threads::{Mode, TRAP_FLAG};
use nacre_abi::state::ThreadState;
use nacre_gdb::{Caught, Reason, Stop, ThreadId};

/// Signal of stops at events.
const TRAP: u8 = 5;
/// Calls of Linux that make a process: `clone`, `fork`, `vfork` and `clone3`.
const FORKS: [u64; 4] = [56, 57, 58, 435];

impl Debugger {
    /// A thread has met a breakpoint, and its state is as it was before. `None`: none of those in
    /// the library. Otherwise the stop that this makes, if it makes one.
    pub fn at_gate(&mut self, thread: ThreadId, state: &ThreadState) -> Option<Option<Stop>> {
        let inferior = self.inferiors.get_mut(&thread.process)?;
        let gates = inferior.gates?;
        if inferior.is_leaving && state.rip == gates.leave() {
            self.leaves(thread, state);
            return Some(None);
        }
        if state.rip == gates.signals()[0] {
            return Some(self.at_signal(thread, &gates, state));
        }
        if inferior.watches.live.is_some() && state.rip == gates.changes()[0] {
            return Some(self.at_change(thread, &gates, state));
        }
        let is_entry = inferior.caught != Caught::Nothing && gates.entries().contains(&state.rip);
        if is_entry { self.calls(thread, gates, state) } else { None }
    }

    /// The library is about to enter a program that has changed: it stops at its first instruction.
    fn leaves(&mut self, thread: ThreadId, state: &ThreadState) {
        let Debugger { inferiors, copier, pages, .. } = self;
        let Some(inferior) = inferiors.get_mut(&thread.process) else { return };
        inferior.is_leaving = false;
        inferior.breakpoints.remove(pages, state.rip);
        if let Some((next, stack)) = gates::target((&inferior.view, copier), state) {
            if inferior.arrival == Arrival::Exec {
                inferior.look_at_vector(copier, stack, next);
            }
            inferior.first_stop = inferior.insert(copier, pages, next).then_some(next);
        }
        if let Some(entry) = inferior.threads.get(thread.thread) {
            (entry.awaited, entry.returns) = (None, None);
            entry.set(state);
            entry.start();
        }
    }

    /// A thread is about to make a system call.
    fn calls(&mut self, thread: ThreadId, gates: Gates, state: &ThreadState) -> Option<Option<Stop>> {
        let Debugger { inferiors, copier, pages, .. } = self;
        let inferior = inferiors.get_mut(&thread.process)?;
        let memory = (&inferior.view, &*copier);
        let next = library::return_address(memory, state)?;
        let (call, passed) = Gates::pass(memory, &gates, state, next)?;
        let is_caught = inferior.is_attached && inferior.caught.has(call.number);
        let entry = inferior.threads.get(thread.thread)?;
        let steps = entry.mode == Mode::Step;
        entry.set(&passed);
        if is_caught {
            (entry.mode, entry.call, entry.returns) = (Mode::Run, Some(call), None);
            let awaited = entry.awaited.take();
            awaited.map(|address| inferior.breakpoints.remove(pages, address));
            return Some(Some(Stop::Thread(thread, TRAP, Reason::CallBegins(call.number))));
        }
        let awaits = steps && entry.awaited.is_none();
        entry.mode = Mode::Run;
        if awaits && inferior.insert(copier, pages, next) {
            inferior.threads.get(thread.thread)?.awaited = Some(next);
        }
        inferior.threads.get(thread.thread)?.start();
        Some(None)
    }

    /// A thread that was stopped before a system call makes it, and stops when that returns.
    pub fn make_call(&mut self, thread: ThreadId, call: SystemCall) {
        let Debugger { inferiors, copier, pages, .. } = self;
        let Some(inferior) = inferiors.get_mut(&thread.process) else { return };
        let is_watched = inferior.caught.has(call.number) && inferior.insert(copier, pages, call.next);
        let Some(entry) = inferior.threads.get(thread.thread) else { return };
        entry.mode = Mode::Run;
        (entry.awaited, entry.returns) = if is_watched { (Some(call.next), Some(call.number)) } else { (None, None) };
        entry.start();
    }

    /// A thread has reached the first breakpoint of its program: the stop that gdb is told of.
    /// `None`: nobody wants to know, and the thread goes on.
    pub fn arrives(&mut self, thread: ThreadId, state: &ThreadState) -> Option<Stop> {
        let inferior = self.inferiors.get_mut(&thread.process)?;
        inferior.first_stop = None;
        inferior.breakpoints.remove(&mut self.pages, state.rip);
        match core::mem::replace(&mut inferior.arrival, Arrival::Nothing) {
            Arrival::Nothing => {
                self.history.begins();
                Some(Stop::Thread(thread, TRAP, Reason::Signal))
            }
            Arrival::Exec => {
                let path = inferior.path(&self.copier);
                let caught = core::mem::take(&mut inferior.caught);
                inferior.catch(&self.copier, &mut self.pages, caught);
                Some(Stop::Thread(thread, TRAP, Reason::Exec(path)))
            }
            Arrival::Fork(maker) => {
                let breakpoints = self.inferiors.get(&maker.process).filter(|maker| maker.is_attached).map(|maker| maker.wanted.clone());
                let inferior = self.inferiors.get_mut(&thread.process)?;
                let Some(breakpoints) = breakpoints else {
                    if let Some(entry) = inferior.threads.get(thread.thread) {
                        entry.start();
                    }
                    return None;
                };
                inferior.is_attached = true;
                for address in breakpoints {
                    if inferior.insert(&self.copier, &mut self.pages, address) {
                        inferior.wanted.insert(address);
                    }
                }
                Some(Stop::Thread(maker, TRAP, Reason::Fork(thread)))
            }
        }
    }
}

impl Inferior {
    /// Puts a breakpoint at the library's way out, since it will enter a program that has changed.
    pub fn await_leaving(&mut self, debugger: (&crate::copier::Copier, &mut crate::breakpoints::Pages)) {
        let (copier, pages) = debugger;
        if let Some(gates) = self.gates {
            self.is_leaving = self.insert(copier, pages, gates.leave());
        }
    }

    /// Returns the thread that makes a process.
    pub fn maker(&self, copier: &crate::copier::Copier) -> Option<u32> {
        let memory = (&self.view, copier);
        let makes = |state: ThreadState| library::frame(memory, &state).is_some_and(|frame| FORKS.contains(&frame.call));
        let found = self.threads.iter().find(|entry| entry.state().is_some_and(makes));
        found.or(self.threads.iter().next()).map(|entry| entry.number)
    }
}

/// Returns the state of a thread before the breakpoint that it has met.
pub fn before(state: &ThreadState) -> ThreadState {
    ThreadState { rip: state.rip.wrapping_sub(1), rflags: state.rflags & !TRAP_FLAG, ..*state }
}
