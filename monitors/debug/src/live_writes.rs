//! Writes to watched memory of a program that runs. A thread that writes there makes its
//! instruction with the pages open, while all others that are known stand still. The library writes
//! there by instructions, too: it receives answers in memory of its own. Before it changes mappings
//! of the program it comes to a gate, and to the same gate behind that: meanwhile pages are open.

use crate::breakpoints::Pages;
use crate::copier::Copier;
use crate::debugger::{Debugger, State};
use crate::gates::Gates;
use crate::inferior::Inferior;
use crate::library::is_in_library;
use crate::live::Writer;
use crate::stops::{KIND_STEP, TRAP, Verdict};
use crate::threads::{self, Mode, TRAP_FLAG};
use crate::writes::Raised;
use alloc::vec::Vec;
use nacre_abi::fault::{KIND_BREAKPOINT, KIND_MEMORY};
use nacre_abi::state::ThreadState;
use nacre_gdb::{Reason, Stop, ThreadId};
use nacre_nest::host::Exception;
use nacre_nest::library::{CHANGES_BEGIN, CHANGES_END, THREAD_IS_MADE};

/// Bytes of the longest instruction that writes again and again, without prefixes that compilers
/// do not use.
const MAX_REPEATED: usize = 3;

/// Returns the size of an instruction that writes again and again (`rep movs`, `rep stos`), if it
/// is one.
fn repeated(code: &[u8]) -> Option<u64> {
    match code {
        [0xf2 | 0xf3, 0xa4 | 0xa5 | 0xaa | 0xab, ..] => Some(2),
        [0xf2 | 0xf3, 0x40..=0x4f, 0xa4 | 0xa5 | 0xaa | 0xab] => Some(3),
        _ => None,
    }
}

impl Inferior {
    /// Lets the exception of a thread wait while another one writes to watched memory. False: none
    /// does.
    pub fn holds_exception(&mut self, number: u32, exception: &Exception, state: &ThreadState) -> bool {
        let Some(entry) = self.threads.get(number) else { return false };
        let slot = entry.slot;
        let Some(live) = self.watches.live.as_mut().filter(|live| live.writer.is_some_and(|writer| writer.slot != slot)) else { return false };
        live.held.push(slot);
        let waits = match exception.kind {
            KIND_BREAKPOINT if self.breakpoints.has(state.rip.wrapping_sub(1)) => ThreadState { rip: state.rip - 1, ..*state },
            KIND_MEMORY if self.watches.has_page(exception.address) => *state,
            kind => ThreadState { fault: ThreadState::FAULT_EXCEPTION, fault_first: kind, fault_second: exception.error, fault_third: exception.address, ..*state },
        };
        entry.set(&waits);
        true
    }

    /// Decides what an exception means for watched memory of a program that runs. `None`: nothing.
    pub fn judge_live_write(&mut self, debugger: (&Copier, &mut Pages), raised: &mut Raised<'_>) -> Option<Verdict> {
        let live = self.watches.live.as_ref()?;
        let Raised { thread, exception, state, .. } = raised;
        let slot = self.threads.get(*thread)?.slot;
        if live.writer.is_some_and(|writer| writer.slot == slot) {
            return self.has_written(debugger, raised);
        }
        if exception.kind == KIND_MEMORY && self.watches.covers(exception.address) {
            return self.writes_live(debugger, raised);
        }
        if exception.kind == KIND_MEMORY && self.watches.has_page(exception.address) && self.tries_again(*thread, state) {
            return Some(Verdict::GoOn(*state));
        }
        let at = state.rip.wrapping_sub(1);
        let plain = ThreadState { rip: at, rflags: state.rflags & !TRAP_FLAG, ..*state };
        let entry = self.threads.get(*thread).filter(|entry| exception.kind == KIND_BREAKPOINT && entry.awaited == Some(at))?;
        let address = entry.changed.pop()?;
        Some(Verdict::Stop(plain, TRAP, Reason::Change(address)))
    }

    /// A thread could not write to a watched page, which is open by now. Returns true if it is to
    /// try again: the page may have been closed then. The library tries once, since it may be what
    /// has opened the page.
    fn tries_again(&mut self, number: u32, state: &ThreadState) -> bool {
        let Some(entry) = self.threads.get(number) else { return false };
        let again = entry.tried.replace(state.rip) == Some(state.rip);
        !(again && is_in_library(state.rip))
    }

    /// A thread is about to write to a watched page.
    fn writes_live(&mut self, (copier, pages): (&Copier, &mut Pages), raised: &Raised<'_>) -> Option<Verdict> {
        let held = self.stop_known_others(raised.thread);
        let mut code = [0; MAX_REPEATED];
        let size = self.view.read(copier, raised.state.rip, &mut code);
        let behind = repeated(&code[..size]).and_then(|size| raised.state.rip.checked_add(size));
        let behind = behind.filter(|behind| self.insert(copier, pages, *behind));
        let entry = self.threads.get(raised.thread)?;
        entry.tried = None;
        let writer = Writer { slot: entry.slot, mode: entry.mode, behind };
        entry.mode = Mode::Write(entry.mode == Mode::Step);
        self.watches.uncover(pages);
        let live = self.watches.live.as_mut()?;
        (live.writer, live.held) = (Some(writer), held);
        let flags = raised.state.rflags & !TRAP_FLAG | if behind.is_none() { TRAP_FLAG } else { 0 };
        Some(Verdict::GoOn(ThreadState { rflags: flags, ..raised.state }))
    }

    /// A thread has made its instruction, or has another exception at it.
    fn has_written(&mut self, (copier, pages): (&Copier, &mut Pages), raised: &mut Raised<'_>) -> Option<Verdict> {
        let live = self.watches.live.as_mut()?;
        let (writer, held) = (live.writer.take()?, core::mem::take(&mut live.held));
        let changed = self.close_watches(copier, pages);
        self.threads.get(raised.thread)?.mode = writer.mode;
        let mut plain = ThreadState { rflags: raised.state.rflags & !TRAP_FLAG, ..raised.state };
        let is_behind = raised.exception.kind == KIND_BREAKPOINT && writer.behind == Some(plain.rip.wrapping_sub(1));
        if let Some(behind) = writer.behind {
            self.breakpoints.remove(pages, behind);
            plain.rip -= u64::from(is_behind);
        }
        let verdict = match raised.exception.kind {
            kind if kind == KIND_STEP || is_behind => Some(self.behind_write((copier, pages), raised.thread, changed, plain)),
            _ => {
                let flag = if writer.mode == Mode::Step { TRAP_FLAG } else { 0 };
                raised.state = ThreadState { rflags: plain.rflags | flag, ..plain };
                None
            }
        };
        if !matches!(verdict, Some(Verdict::Stop(..))) {
            for slot in held {
                self.threads.at(slot).into_iter().for_each(|entry| entry.start());
            }
        }
        verdict
    }

    /// Decides what follows an instruction that has written to a watched page.
    fn behind_write(&mut self, (copier, pages): (&Copier, &mut Pages), number: u32, changed: Vec<u64>, plain: ThreadState) -> Verdict {
        let is_inside = is_in_library(plain.rip);
        let steps = self.threads.get(number).is_some_and(|entry| entry.mode == Mode::Step);
        if self.will_tell(copier, pages, number, changed) {
            // The program sees the change behind its call.
            self.threads.get(number).into_iter().for_each(|entry| entry.mode = Mode::Run);
            return Verdict::GoOn(plain);
        }
        match self.threads.get(number).and_then(|entry| entry.changed.pop()) {
            Some(address) => Verdict::Stop(plain, TRAP, Reason::Change(address)),
            None if steps && !is_inside => Verdict::Stop(plain, TRAP, Reason::Signal),
            None => Verdict::GoOn(plain),
        }
    }

    /// Stops all threads that are known but one; returns the addresses at which those were found
    /// that ran.
    fn stop_known_others(&mut self, number: u32) -> Vec<u64> {
        let mut stopped = Vec::new();
        for entry in self.threads.iter_mut().filter(|entry| entry.number != number && !entry.is_ours) {
            entry.stop();
            if entry.is_ours {
                stopped.push(entry.slot);
            }
        }
        stopped
    }

    /// Returns the number of a thread that people see, in place of one that they do not see.
    pub fn shown_for(&self, copier: &Copier, number: u32) -> u32 {
        let is_shown = |entry: &threads::Entry| threads::is_shown((&self.view, copier), entry, self.is_foreign);
        let is_hidden = self.threads.iter().any(|entry| entry.number == number && !is_shown(entry));
        let first = self.threads.iter().find(|entry| is_hidden && is_shown(entry));
        first.map_or(number, |entry| entry.number)
    }
}

impl State {
    /// Tells gdb of a change that came before the program was to go on. False: there is none.
    pub fn tells_late_change(&mut self) -> bool {
        let Some((thread, address)) = self.debugger.late.take() else { return false };
        self.debugger.stop_all();
        self.stopped(Stop::Thread(thread, TRAP, Reason::Change(address)));
        true
    }
}

impl Debugger {
    /// A thread of the library is about to change mappings of the program, or has done so. The stop
    /// that this makes, if it makes one.
    pub fn at_change(&mut self, thread: ThreadId, gates: &Gates, state: &ThreadState) -> Option<Stop> {
        let Debugger { inferiors, copier, pages, .. } = self;
        let inferior = inferiors.get_mut(&thread.process)?;
        inferior.threads.get(thread.thread)?.set(&ThreadState { rip: gates.changes()[1], ..*state });
        let mut changed = Vec::new();
        match state.rdi {
            CHANGES_BEGIN => {
                inferior.watches.uncover(pages);
                inferior.watches.live.iter_mut().for_each(|live| live.is_changing = true);
            }
            CHANGES_END => {
                if let Some(live) = &mut inferior.watches.live {
                    live.is_changing = false;
                    live.mappings.clear();
                }
                changed = inferior.close_watches(copier, pages);
            }
            THREAD_IS_MADE => drop(inferior.threads.look(&inferior.view)),
            _ => {}
        }
        if !inferior.will_tell(copier, pages, thread.thread, changed)
            && let Some(address) = inferior.threads.get(thread.thread)?.changed.pop()
        {
            let shown = inferior.shown_for(copier, thread.thread);
            return Some(Stop::Thread(ThreadId { thread: shown, ..thread }, TRAP, Reason::Change(address)));
        }
        inferior.threads.get(thread.thread)?.start();
        None
    }

    /// Returns a change of watched memory that gdb has not been told of, of threads that are to go
    /// on.
    pub fn late_change(&mut self, threads: impl Iterator<Item = ThreadId>) -> Option<(ThreadId, u64)> {
        let threads: Vec<ThreadId> = threads.collect();
        let Debugger { inferiors, copier, .. } = self;
        inferiors.values_mut().find_map(|inferior| {
            let numbers: Vec<u32> = threads.iter().filter(|thread| thread.process == inferior.number).map(|thread| thread.thread).collect();
            let (thread, address) = inferior.late_change(&numbers)?;
            let thread = inferior.shown_for(copier, thread);
            Some((ThreadId { process: inferior.number, thread }, address))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::repeated;

    #[test]
    fn instructions_that_write_again_and_again_are_known() {
        assert_eq!([repeated(&[0xf3, 0xa4, 0x90]), repeated(&[0xf3, 0x48, 0xa5]), repeated(&[0xf3, 0xab])], [Some(2), Some(3), Some(2)]);
        assert_eq!([repeated(&[0xf3, 0x0f, 0x7f]), repeated(&[0xa4]), repeated(&[0xf3, 0x48]), repeated(&[])], [None; 4]);
    }
}
