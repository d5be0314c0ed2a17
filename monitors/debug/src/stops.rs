//! Exceptions of what is debugged: those that are a breakpoint's or a step's stop everything, and
//! all others are the program's.

use crate::breakpoints::BREAK;
use crate::copier::Copier;
use crate::counter;
use crate::debugger::{self, Debugger};
use crate::events;
use crate::inferior::{Inferior, Keeper};
use crate::library::{self, is_in_library};
use crate::score;
use crate::threads::{Entry, Mode, TRAP_FLAG};
use crate::writes::Raised;
use alloc::vec::Vec;
use nacre_abi::Code;
use nacre_abi::fault::{self, KIND_BREAKPOINT, KIND_MEMORY};
use nacre_abi::message::THREAD_ENDED;
use nacre_abi::state::ThreadState;
use nacre_gdb::{Reason, Stop, ThreadId};
use nacre_nest::host::{Exception, KILLED, reflected};
use nacre_proto::{Errno, Event, Request, ServerEndpoint, parent, server};
use nacre_sys::ipc::Message;
use nacre_sys::{FOREVER, OwnedReference};

/// Kind of the exception behind one instruction.
pub const KIND_STEP: u64 = 1;
/// Signal of breakpoints and steps.
pub const TRAP: u8 = 5;

/// Receives exceptions at a set of ports, for as long as this program runs.
pub fn receive(set: usize) {
    let Ok(mut endpoint) = ServerEndpoint::new(ThreadState::SIZE as usize) else {
        nacre_rt::report!("no memory for the thread that receives exceptions");
        return;
    };
    loop {
        match endpoint.next(set as u64, FOREVER) {
            Ok(Event::Exception(mut request)) => exception(&mut request),
            Ok(Event::Fault(mut request)) => request.answer(fault::REFUSE, [0; 6]),
            Ok(Event::Request(mut request)) => request.refuse(nacre_proto::Errno::ENOSYS),
            Ok(Event::Notification { word, bits }) if bits & THREAD_ENDED != 0 => lost(word),
            Ok(Event::Notification { .. }) => {}
            Err(status) if matches!(status.code(), Some(Code::TimedOut | Code::Interrupted)) => {}
            Err(_) => return,
        }
    }
}

/// A thread of a process was destroyed, or all of it: the process has ended.
fn lost(word: u64) {
    let parent = debugger::with(|state| {
        let process = state.debugger.process_of(word)?;
        // It lives on elsewhere.
        let inferior = state.debugger.inferiors.get(&process).filter(|inferior| !inferior.is_replaced)?;
        let is_managed = !inferior.is_offspring;
        let parent = is_managed.then(|| OwnedReference::copy_of(inferior.parent.handle(), nacre_abi::rights::REFERENCE_USE).ok()).flatten();
        state.ended(process, KILLED);
        parent
    });
    if let Some(parent) = parent.flatten() {
        // Its manager would have been told in our place.
        let _ = parent::exit(parent.handle(), KILLED);
    }
}

fn exception(request: &mut Request<'_>) {
    let (word, exception) = (request.word(), Exception::from_words(request.words()));
    score::with(|score| score.is_handed_on = false);
    let is_stopped = debugger::with(|state| {
        let process = state.debugger.process_of(word);
        process.into_iter().for_each(|process| state.debugger.hold(process));
        let Ok(thread) = stop(request) else { return false };
        let stop = process.and_then(|process| state.debugger.taken(process, &thread, &exception));
        if let Some(stop) = stop {
            state.debugger.stop_all();
            state.stopped(stop);
        }
        state.settle();
        true
    });
    if is_stopped != Some(true) {
        request.answer(fault::STOP, [0; 6]);
    }
}

/// Stops the thread that has an exception: it waits for what follows so that its state can be set.
fn stop(request: &mut Request<'_>) -> Result<OwnedReference, Errno> {
    let thread = request.keep(0)?;
    let reply = request.detach()?;
    server::answer(reply, &Message::new(fault::STOP, [0; 6]))?;
    Ok(thread)
}

/// Action on a thread with an exception.
pub enum Verdict {
    /// The thread goes on with this state.
    GoOn(ThreadState),
    /// The thread goes on to a breakpoint at this address, where its step ends.
    GoOnTo(ThreadState, u64),
    /// The exception is the program's.
    HandOn,
    /// All stop.
    Stop(ThreadState, u8, Reason),
}

impl Debugger {
    /// A thread has an exception, and is stopped. The stop that this makes, if it makes one.
    fn taken(&mut self, process: u32, thread: &OwnedReference, exception: &Exception) -> Option<Stop> {
        let Debugger { inferiors, copier, .. } = self;
        let inferior = inferiors.get_mut(&process)?;
        inferior.threads.find(&inferior.view, thread.handle())?.is_ours = true;
        inferior.threads.number((&inferior.view, copier));
        let entry = inferior.threads.find(&inferior.view, thread.handle())?;
        let (number, state) = (entry.number, entry.state()?);
        if core::mem::take(&mut entry.is_late) && inferior.goes_on_alone(copier, number, exception, &state) {
            return None;
        }
        if self.is_halt(ThreadId { process, thread: number }, exception.kind, &state) {
            return None;
        }
        let Debugger { inferiors, .. } = self;
        let inferior = inferiors.get_mut(&process)?;
        inferior.threads.get(number)?.counts_step(exception.kind, &state);
        if inferior.holds_exception(number, exception, &state) {
            return None;
        }
        let has_breakpoint = exception.kind == KIND_BREAKPOINT && inferior.breakpoints.has(state.rip.wrapping_sub(1));
        if has_breakpoint
            && let Some(done) = self.at_gate(ThreadId { process, thread: number }, &events::before(&state))
        {
            return done;
        }
        let (awaited_touch, is_behind_message) = self.rewinder.awaits();
        let Debugger { inferiors, copier, pages, .. } = self;
        let inferior = inferiors.get_mut(&process)?;
        let mut raised = Raised { thread: number, exception, state, awaited_touch, is_behind_message };
        let verdict = inferior.judge_live_write((copier, pages), &mut raised);
        let (verdict, state) = (verdict.or_else(|| inferior.judge_write((copier, pages), &mut raised)), raised.state);
        if let Some(verdict) = verdict.or_else(|| inferior.judge_signal((copier, pages), &raised)) {
            return self.carry_out(ThreadId { process, thread: number }, verdict, exception, &state, has_breakpoint);
        }
        let memory = (&inferior.view, &self.copier);
        let entry = inferior.threads.get(number)?;
        let is_own = matches!(inferior.keeper, Keeper::Own(_));
        let told = self.tape.and_then(|tape| {
            let mut code = [0; counter::LONGEST];
            let size = memory.0.read(memory.1, state.rip, &mut code);
            counter::read(exception, &state, &code[..size], || tape.lock().ticks())
        });
        let verdict = match told {
            Some(state) => has_read_counter(entry, state),
            None => judge(memory, entry, (inferior.is_attached, is_own, has_breakpoint), exception, state),
        };
        self.carry_out(ThreadId { process, thread: number }, verdict, exception, &state, has_breakpoint)
    }

    /// Does what was decided about a thread with an exception.
    fn carry_out(&mut self, thread: ThreadId, verdict: Verdict, exception: &Exception, state: &ThreadState, has_breakpoint: bool) -> Option<Stop> {
        let Debugger { inferiors, copier, pages, .. } = self;
        let inferior = inferiors.get_mut(&thread.process)?;
        let number = thread.thread;
        let entry = inferior.threads.get(number)?;
        match verdict {
            Verdict::GoOn(state) => entry.goes_on(&state),
            Verdict::GoOnTo(state, address) => {
                entry.set(&state);
                let is_there = entry.awaited.is_some() || inferior.insert(copier, pages, address);
                let entry = inferior.threads.get(number)?;
                entry.awaited = entry.awaited.or(is_there.then_some(address));
                entry.start();
            }
            Verdict::HandOn => {
                let ended = inferior.hand_on((number, self.tape.is_some()), exception, state);
                self.ended.extend(ended.map(|status| (thread.process, status)));
            }
            Verdict::Stop(state, signal, reason) => {
                entry.set(&state);
                entry.mode = Mode::Run;
                if signal != TRAP || exception.kind == KIND_BREAKPOINT && !has_breakpoint {
                    entry.pending.get_or_insert(*exception);
                }
                return self.stops(thread, &state, signal, reason);
            }
        }
        None
    }

    /// A thread has stopped for gdb to see.
    fn stops(&mut self, thread: ThreadId, state: &ThreadState, signal: u8, reason: Reason) -> Option<Stop> {
        let inferior = self.inferiors.get_mut(&thread.process)?;
        let entry = inferior.threads.get(thread.thread)?;
        let (awaited, returns) = (entry.awaited.take(), entry.returns.take());
        if let Some(address) = awaited {
            inferior.breakpoints.remove(&mut self.pages, address);
        }
        if inferior.first_stop == Some(state.rip) {
            return self.arrives(thread, state);
        }
        entry.returned = returns.filter(|_| awaited == Some(state.rip));
        let reason = match (entry.returned, reason) {
            (_, Reason::Change(address)) => Reason::Change(address),
            (returned, reason) => returned.map_or(reason, Reason::CallEnds),
        };
        let shown = inferior.shown_for(&self.copier, thread.thread);
        Some(Stop::Thread(ThreadId { thread: shown, ..thread }, signal, reason))
    }
}

/// Decides what follows an instruction that reads the counter, which we have carried out.
fn has_read_counter(entry: &mut Entry, state: ThreadState) -> Verdict {
    match entry.mode {
        Mode::Step => Verdict::Stop(ThreadState { rflags: state.rflags & !TRAP_FLAG, ..state }, TRAP, Reason::Signal),
        _ => Verdict::GoOn(state),
    }
}

/// Decides what an exception of a thread means.
fn judge(memory: (&crate::view::View, &crate::copier::Copier), entry: &mut Entry, (is_attached, is_own, has_breakpoint): (bool, bool, bool), exception: &Exception, state: ThreadState) -> Verdict {
    let plain = ThreadState { rflags: state.rflags & !TRAP_FLAG, ..state };
    match exception.kind {
        KIND_BREAKPOINT if has_breakpoint => {
            let at = ThreadState { rip: state.rip - 1, ..plain };
            let is_step = entry.awaited == Some(at.rip);
            Verdict::Stop(at, TRAP, if is_step { Reason::Signal } else { Reason::Breakpoint })
        }
        KIND_STEP if entry.mode != Mode::Run => stepped(memory, entry, plain),
        _ if !is_attached => Verdict::HandOn,
        KIND_STEP | KIND_BREAKPOINT => Verdict::Stop(plain, TRAP, Reason::Signal),
        _ if is_in_library(state.rip) || reflected(exception, state).is_some() && !is_own => Verdict::HandOn,
        // The library makes a signal of it, which it shows.
        _ if is_own && state.foreign_entry != 0 => Verdict::HandOn,
        _ => Verdict::Stop(plain, exception.signal() as u8, Reason::Signal),
    }
}

/// A thread has made an instruction that we wanted to see.
fn stepped(memory: (&crate::view::View, &crate::copier::Copier), entry: &mut Entry, state: ThreadState) -> Verdict {
    let mode = core::mem::replace(&mut entry.mode, Mode::Run);
    match mode {
        _ if is_in_library(state.rip) => {
            entry.mode = Mode::Step;
            // The flags that the program gets back were saved with the one that made it step.
            let state = ThreadState { r11: state.r11 & !TRAP_FLAG, ..state };
            // It is at the entry, or in the middle of a call.
            let next = library::frame(memory, &state).map(|frame| frame.rip);
            match next.or_else(|| library::return_address(memory, &state)) {
                Some(address) => Verdict::GoOnTo(state, address),
                None => Verdict::GoOn(state),
            }
        }
        _ => Verdict::Stop(state, TRAP, Reason::Signal),
    }
}

impl Inferior {
    /// Gives an exception of a stopped thread to who keeps the program beside us. Returns the
    /// status if that is the process's end. `is_alone`: no other thread runs meanwhile.
    pub fn hand_on(&mut self, (number, is_alone): (u32, bool), exception: &Exception, state: &ThreadState) -> Option<u64> {
        if let Keeper::Manager = self.keeper {
            return self.hand_on_to_manager(number, exception, state);
        }
        score::with(|score| score.is_handed_on = true);
        let state = &self.counts_no_more(number, state);
        // Whatever other threads do meanwhile would go there, too. Where one runs at a time, others
        // do nothing, and to stop them would take back their own exceptions.
        let running = if is_alone { Vec::new() } else { self.stop_others(number) };
        let faulted = ThreadState {
            fault: ThreadState::FAULT_EXCEPTION,
            fault_first: exception.kind,
            fault_second: exception.error,
            fault_third: exception.address,
            ..*state
        };
        let given = self.give_over();
        if let Some(entry) = self.threads.get(number) {
            if given {
                entry.set(&faulted);
            }
            // The exception is offered to the keeper by this call, and stays with it.
            entry.start();
        }
        let _ = self.take_over();
        for number in running {
            if let Some(entry) = self.threads.get(number) {
                entry.start();
            }
        }
        None
    }

    /// A thread has an exception that was on its way when gdb went: if it is one of what was taken
    /// away then, the thread goes on. False: it is the program's own.
    fn goes_on_alone(&mut self, copier: &Copier, number: u32, exception: &Exception, state: &ThreadState) -> bool {
        let plain = ThreadState { rflags: state.rflags & !TRAP_FLAG, ..*state };
        let at = state.rip.wrapping_sub(1);
        let mut code = [0];
        let again = match exception.kind {
            KIND_BREAKPOINT if self.view.read(copier, at, &mut code) == 1 && code != [BREAK] => ThreadState { rip: at, ..plain },
            KIND_MEMORY | KIND_STEP => plain,
            _ => return false,
        };
        self.threads.get(number).is_some_and(|entry| {
            entry.set(&again);
            entry.start();
            true
        })
    }

    /// Stops all threads but one; returns those that ran.
    fn stop_others(&mut self, number: u32) -> Vec<u32> {
        let before: Vec<u32> = self.threads.iter().filter(|entry| entry.is_ours).map(|entry| entry.number).collect();
        self.threads.stop(&self.view);
        self.threads.iter().filter(|entry| entry.is_ours && entry.number != number && !before.contains(&entry.number)).map(|entry| entry.number).collect()
    }

    /// Does with an exception what the process manager would.
    fn hand_on_to_manager(&mut self, number: u32, exception: &Exception, state: &ThreadState) -> Option<u64> {
        let entry = self.threads.get(number)?;
        if let Some(state) = reflected(exception, *state) {
            entry.set(&state);
            entry.start();
            return None;
        }
        self.exits(exception.exit_status());
        Some(exception.exit_status())
    }

    /// Takes exceptions back that breakpoints and steps made and that were not received yet: what
    /// made them may be gone when the threads go on.
    pub fn withdraw(&mut self) {
        for entry in self.threads.iter_mut().filter(|entry| entry.is_ours) {
            let Some(state) = entry.state().filter(|state| state.fault == ThreadState::FAULT_EXCEPTION) else { continue };
            let plain = ThreadState { fault: 0, fault_first: 0, fault_second: 0, fault_third: 0, rflags: state.rflags & !TRAP_FLAG, ..state };
            match state.fault_first {
                KIND_BREAKPOINT if self.breakpoints.has(state.rip.wrapping_sub(1)) => drop(entry.set(&ThreadState { rip: state.rip - 1, ..plain })),
                KIND_MEMORY if self.watches.live.is_some() && self.watches.has_page(state.fault_third) => drop(entry.set(&plain)),
                KIND_STEP if matches!(entry.mode, Mode::Step | Mode::Write(_)) => drop(entry.set(&plain)),
                _ => {}
            }
        }
    }
}
