//! Places at which the conductor leaves a thread that neither waits nor sends: behind so many
//! instructions, or where its registers are those of the recording.

use crate::cues;
use crate::debugger::Debugger;
use crate::halt::{Halt, Place, Scheduled};
use crate::inferior::Inferior;
use crate::library::{self, is_in_library};
use crate::score;
use crate::stops::KIND_STEP;
use crate::threads::{Entry, Mode, TRAP_FLAG};
use nacre_abi::fault::KIND_BREAKPOINT;
use nacre_abi::state::ThreadState;
use nacre_abi::waiting;
use nacre_gdb::ThreadId;
use nacre_recording::Digest;

/// Number of instructions of a loop that waits.
const LONGEST_LOOP: u32 = 64;
/// Bytes of the stack that a place has, from below its end on.
const STACK: usize = 640;
/// Bytes below the end of the stack that are the program's.
const RED_ZONE: u64 = 128;
/// Flags of the processor that belong to a place.
const FLAGS: u64 = 0xcd5;

impl Debugger {
    /// A thread is to be left behind so many instructions.
    pub fn counts(&mut self, thread: Scheduled, steps: u64) -> Option<()> {
        let inferior = self.inferiors.get_mut(&self.process_of(thread.word)?)?;
        let entry = inferior.threads.find(&inferior.view, thread.reference)?;
        entry.thread().stop().ok()?;
        let (number, state) = (entry.number, entry.state()?);
        let frame = library::frame((&inferior.view, &self.copier), &state);
        let is_counted = match frame {
            Some(frame) => inferior.insert(&self.copier, &mut self.pages, frame.rip),
            None => !is_in_library(state.rip),
        };
        let entry = inferior.threads.get(number)?;
        if is_counted {
            entry.halt = Some(frame.map_or(Halt::Steps(steps), |frame| Halt::Behind(frame.rip, steps)));
        }
        if is_counted && frame.is_none() {
            entry.set(&ThreadState { rflags: state.rflags | TRAP_FLAG, ..state });
        }
        entry.start();
        is_counted.then_some(())
    }

    /// The place where a thread is that runs in its program: address and digest. It goes on until
    /// it is there again, if that is soon.
    pub fn place_here(&mut self, thread: Scheduled) -> Option<(u64, u64)> {
        let process = self.process_of(thread.word)?;
        let inferior = self.inferiors.get_mut(&process)?;
        let entry = inferior.threads.find(&inferior.view, thread.reference)?;
        let number = entry.number;
        entry.thread().stop().ok()?;
        let state = entry.state().filter(|state| state.fault == 0 && !is_in_library(state.rip));
        // A replay has to stop there.
        let can_stop = state.is_some_and(|state| {
            let is_there = inferior.insert(&self.copier, &mut self.pages, state.rip);
            is_there && inferior.breakpoints.remove(&mut self.pages, state.rip)
        });
        let place = state.filter(|_| can_stop).map(|state| (state.rip, self.digest(process, &state)));
        score::with(|score| score.is_loop = false);
        let entry = self.inferiors.get_mut(&process)?.threads.get(number)?;
        if let (Some((address, digest)), Some(state)) = (place, state) {
            entry.set(&ThreadState { rflags: state.rflags | TRAP_FLAG, ..state });
            entry.halt = Some(Halt::Loop(address, digest, LONGEST_LOOP));
        }
        entry.start();
        place
    }

    /// The place where a thread stands that is stopped in its program, if a replay can stop there.
    pub fn stands_at(&mut self, thread: Scheduled) -> Option<(u64, u64)> {
        let process = self.process_of(thread.word)?;
        let inferior = self.inferiors.get_mut(&process)?;
        let state = inferior.threads.find(&inferior.view, thread.reference)?.state().filter(|state| !is_in_library(state.rip))?;
        let is_there = inferior.insert(&self.copier, &mut self.pages, state.rip) && inferior.breakpoints.remove(&mut self.pages, state.rip);
        is_there.then(|| (state.rip, self.digest(process, &state)))
    }

    /// A thread is to be left at a place.
    pub fn awaits_place(&mut self, thread: Scheduled, place: Place) -> Option<()> {
        let inferior = self.inferiors.get_mut(&self.process_of(thread.word)?)?;
        inferior.threads.find(&inferior.view, thread.reference)?.halt = Some(Halt::Place(place));
        inferior.insert(&self.copier, &mut self.pages, place.address).then_some(())
    }

    /// A thread that is where it was to be left can go on.
    pub fn goes_on(&mut self, thread: Scheduled) -> Option<()> {
        let inferior = self.inferiors.get_mut(&self.process_of(thread.word)?)?;
        inferior.threads.find(&inferior.view, thread.reference)?.start();
        Some(())
    }

    /// A thread is left before it has made as many instructions as it was to.
    pub fn counts_no_more(&mut self, thread: Scheduled) -> Option<()> {
        let inferior = self.inferiors.get_mut(&self.process_of(thread.word)?)?;
        let entry = inferior.threads.find(&inferior.view, thread.reference)?;
        let halt = entry.halt.take();
        if matches!(halt, Some(Halt::Steps(_) | Halt::Loop(..))) {
            entry.halt = if entry.steps_no_more() { None } else { Some(Halt::Left) };
        }
        if let Some(Halt::Behind(address, _)) = halt {
            inferior.breakpoints.remove(&mut self.pages, address);
        }
        Some(())
    }

    fn digest(&self, process: u32, state: &ThreadState) -> u64 {
        let mut digest = Digest::default();
        // A loop can change what no register shows, as by its messages.
        digest.add(self.tape.map_or(0, |tape| tape.lock().sent()));
        let ThreadState { rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip, rflags, .. } = *state;
        [rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip, rflags & FLAGS].into_iter().for_each(|word| digest.add(word));
        let mut stack = [0; STACK];
        if let Some(inferior) = self.inferiors.get(&process) {
            let size = inferior.view.read(&self.copier, rsp.wrapping_sub(RED_ZONE), &mut stack);
            digest.add_bytes(&stack[..size]);
        }
        digest.value()
    }

    /// A thread has an exception. Returns true if it has to do with where it is to be left.
    pub fn is_halt(&mut self, thread: ThreadId, kind: u64, state: &ThreadState) -> bool {
        let inferior = self.inferiors.get_mut(&thread.process).filter(|_| self.tape.is_some());
        let entry = inferior.and_then(|inferior| inferior.threads.get(thread.thread)).filter(|entry| entry.mode == Mode::Run);
        let Some(halt) = entry.map(|entry| entry.halt) else { return false };
        let Some((next, go_on)) = self.next_halt(thread, (halt, kind), state) else { return false };
        let Some(entry) = self.inferiors.get_mut(&thread.process).and_then(|inferior| inferior.threads.get(thread.thread)) else { return false };
        entry.set(&go_on);
        entry.halt = next;
        // A call that is not counted is no place to be left at.
        if halt != Some(Halt::Left) && next.is_none() && !is_in_library(go_on.rip) {
            cues::reached();
        } else {
            entry.start();
        }
        true
    }

    /// Returns where a thread with an exception is to be left then, and how it goes on. `None`: the
    /// exception has nothing to do with that.
    fn next_halt(&mut self, thread: ThreadId, (halt, kind): (Option<Halt>, u64), state: &ThreadState) -> Option<(Option<Halt>, ThreadState)> {
        let is_entry = kind == KIND_STEP && is_in_library(state.rip);
        // The flags that the program gets back from a call were saved with the one of the steps.
        let r11 = if is_entry { state.r11 & !TRAP_FLAG } else { state.r11 };
        let plain = ThreadState { rflags: state.rflags & !TRAP_FLAG, r11, ..*state };
        let stepping = ThreadState { rflags: state.rflags | TRAP_FLAG, ..*state };
        let at = ThreadState { rip: state.rip.wrapping_sub(1), ..plain };
        let is_step = kind == KIND_STEP;
        let is_at = |address: u64| kind == KIND_BREAKPOINT && at.rip == address;
        match halt {
            Some(Halt::Steps(steps)) if is_entry => self.is_called(thread, steps, &plain),
            Some(Halt::Steps(steps)) if is_step => Some((Some(Halt::Steps(steps - 1)).filter(|_| steps > 1), if steps > 1 { stepping } else { plain })),
            Some(Halt::Behind(address, steps)) if is_at(address) => {
                self.inferiors.get_mut(&thread.process)?.breakpoints.remove(&mut self.pages, address);
                Some((Some(Halt::Steps(steps)), ThreadState { rflags: at.rflags | TRAP_FLAG, ..at }))
            }
            Some(Halt::Place(place)) if is_at(place.address) => {
                let is_early = || place.early.is_some_and(|(left, switch)| left == 0 && self.tape.is_some_and(|tape| tape.lock().has_come_to(switch)));
                let is_there = self.digest(thread.process, &at) == place.digest || is_early();
                let breakpoints = &mut self.inferiors.get_mut(&thread.process)?.breakpoints;
                if is_there {
                    breakpoints.remove(&mut self.pages, place.address);
                    return Some((None, at));
                }
                breakpoints.lift(&self.pages, place.address, true);
                let early = place.early.map(|(left, switch)| (left.saturating_sub(1), switch));
                Some((Some(Halt::Place(Place { is_lifted: true, early, ..place })), ThreadState { rflags: at.rflags | TRAP_FLAG, ..at }))
            }
            Some(Halt::Place(place)) if is_step && place.is_lifted => {
                self.inferiors.get(&thread.process)?.breakpoints.lift(&self.pages, place.address, false);
                Some((Some(Halt::Place(Place { is_lifted: false, ..place })), plain))
            }
            // A loop that makes calls is none that waits: it ends behind the call.
            Some(Halt::Loop(..)) if is_entry => self.is_called(thread, 1, &plain),
            Some(Halt::Loop(address, wanted, left)) if is_step => {
                let is_again = (state.rip, self.digest(thread.process, &plain)) == (address, wanted);
                score::with(|score| score.is_loop = is_again);
                let goes_on = !is_again && left > 0;
                Some((goes_on.then(|| Halt::Loop(address, wanted, left - 1)), if goes_on { stepping } else { plain }))
            }
            Some(Halt::Behind(..)) if is_step => Some((halt, plain)),
            // Other steps are the program's own.
            Some(Halt::Left) if is_step => Some((None, plain)),
            _ => None,
        }
    }

    /// A thread that counts its instructions makes a call of the library's, which may take long and
    /// is not counted. Without a way to stop behind it, the thread counts no more.
    fn is_called(&mut self, thread: ThreadId, steps: u64, plain: &ThreadState) -> Option<(Option<Halt>, ThreadState)> {
        let Debugger { inferiors, copier, pages, .. } = self;
        let inferior = inferiors.get_mut(&thread.process)?;
        let address = library::return_address((&inferior.view, copier), plain);
        let address = address.filter(|address| inferior.insert(copier, pages, *address));
        Some((address.map(|address| Halt::Behind(address, steps)), *plain))
    }
}

impl Entry {
    /// Counts an instruction that the thread has made for gdb, or to write to a watched page, if it
    /// counts its instructions.
    pub fn counts_step(&mut self, kind: u64, state: &ThreadState) {
        if let Some(Halt::Steps(steps)) = &mut self.halt
            && kind == KIND_STEP
            && !is_in_library(state.rip)
        {
            *steps = steps.saturating_sub(1);
        }
    }

    /// Lets the stopped thread go on with a state. One that counts its instructions makes single
    /// steps, or is left here, if gdb stopped it behind the last one.
    pub fn goes_on(&mut self, state: &ThreadState) {
        match self.halt {
            Some(Halt::Steps(0)) => {
                self.halt = None;
                self.set(state);
                return cues::reached();
            }
            Some(Halt::Steps(_)) if !is_in_library(state.rip) => self.set(&ThreadState { rflags: state.rflags | TRAP_FLAG, ..*state }),
            _ => self.set(state),
        };
        self.start();
    }

    /// Takes the single steps from a thread that could run, and does not. Returns false if it is in
    /// the library, or somebody has stopped it: a step may be on its way.
    fn steps_no_more(&self) -> bool {
        if self.thread().waiting().is_ok_and(|waiting| waiting::kind(waiting) == waiting::RUNS) && self.thread().stop().is_ok() {
            let state = self.state().filter(|state| state.fault == 0 && !is_in_library(state.rip));
            let is_set = state.is_some_and(|state| self.set(&ThreadState { rflags: state.rflags & !TRAP_FLAG, ..state }));
            // One that has gone does not step.
            let _ = self.thread().start();
            return is_set;
        }
        false
    }
}

impl Inferior {
    /// A thread gives an exception to the program: it counts its instructions no more. Returns its
    /// state for that.
    pub fn counts_no_more(&mut self, number: u32, state: &ThreadState) -> ThreadState {
        match self.threads.get(number) {
            Some(entry) if matches!(entry.halt, Some(Halt::Steps(_) | Halt::Loop(..))) => {
                entry.halt = None;
                ThreadState { rflags: state.rflags & !TRAP_FLAG, ..*state }
            }
            _ => *state,
        }
    }
}
