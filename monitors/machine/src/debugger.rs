//! The debugger's other end: a session with a gdb outside, about the processors of the guest. Each
//! processor is a thread for gdb.
//!
//! A processor that is to stop parks: its thread waits at its seat, and its frame has all of its
//! state. gdb is told of a stop, and asks, when all processors have parked.
//!
//! Locks are taken in this order: the state here, seats.

use crate::board::BOARD;
use crate::debugged::{Debugged, Mode, TRAP};
use crate::guest::Memory;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_gdb::{Reason, Session, Stop};
use nacre_machine_devices::Outcome;
use nacre_nest::interpose::stage::write_all;
use nacre_nest::{Services, gdb_line};
use nacre_rt::thread;
use nacre_sys::lock::Lock;
use nacre_sys::{FOREVER, Frame, Reference};

/// Bytes from gdb that are kept until all processors have parked for the first time.
const MAX_EARLY: usize = 1 << 16;
/// Status of a machine that gdb kills: that of SIGKILL in a shell.
const KILLED: u8 = 137;
/// Status of a machine that ends with a sentence.
const FAILED: u8 = 125;

/// The session, and what it is about.
struct State {
    debugged: Debugged,
    session: Session,
    line: Reference,
    early: Vec<u8>,
}

static STATE: Lock<Option<State>> = Lock::new(None);
/// A processor has something to look at here before it enters its guest.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Starts a session over the line to gdb. All processors park before their first instruction.
pub fn begin(services: &Services, frames: &[Frame], memory: Memory) -> Result<(), String> {
    let line = gdb_line::open(services).map_err(gdb_line::refusal)?.leak();
    *STATE.lock() = Some(State { debugged: Debugged::new(frames, memory), session: Session::default(), line, early: Vec::new() });
    IS_WANTED.store(true, Ordering::SeqCst);
    // It reads for as long as this program runs.
    let started = thread::spawn(|line| gdb_line::read(Reference(line as u64), feed), line.0 as usize);
    started.map(drop).map_err(gdb_line::refusal)
}

/// Takes bytes of the line.
fn feed(bytes: &[u8]) {
    let mut found = STATE.lock();
    let Some(state) = found.as_mut() else { return };
    // Before a processor is called that then looks.
    IS_WANTED.store(true, Ordering::SeqCst);
    if state.early.len() + bytes.len() <= MAX_EARLY {
        state.early.extend_from_slice(bytes);
    }
    state.settle();
    let is_killed = state.debugged.is_killed;
    drop(found);
    if is_killed {
        BOARD.end(Ok(Some(Outcome::Exit(KILLED))));
    }
}

impl State {
    /// Tells of a stop, and answers what has come, once processors are where they are to be.
    fn settle(&mut self) {
        let is_settled = self.debugged.is_settled();
        if let Some(stop) = self.debugged.stop.take_if(|_| is_settled) {
            let told = self.session.stopped(stop, &mut self.debugged);
            write_all(self.line, &told);
        }
        // A gdb that has just come finds a machine that has stopped.
        if !is_settled && !self.session.is_connected() && self.early.contains(&b'$') {
            self.debugged.stop_all();
        } else if is_settled || self.debugged.is_running() {
            let bytes = core::mem::take(&mut self.early);
            let answer = self.session.feed(&bytes, &mut self.debugged);
            write_all(self.line, &answer);
        }
        IS_WANTED.store(self.debugged.wants_looks(), Ordering::SeqCst);
    }
}

/// Looks whether a processor is to go on, which has just looked at its seat. Waits until then, or
/// until the machine is over. Returns true if it is to go on for one instruction.
pub fn pause(processor: usize) -> bool {
    if !IS_WANTED.load(Ordering::SeqCst) {
        return false;
    }
    BOARD.show_own(processor);
    loop {
        let mut found = STATE.lock();
        let Some(state) = found.as_mut() else { return false };
        let mode = state.debugged.look(processor);
        if mode != Mode::Stopped || BOARD.is_over() {
            return mode == Mode::Step;
        }
        state.settle();
        drop(found);
        BOARD.seat(processor).wait(FOREVER);
        BOARD.seat(processor).look();
    }
}

/// Returns true if the instruction that a processor was left for, HLT, is gdb's. All processors
/// stop then.
pub fn has_broken(processor: usize) -> bool {
    let mut found = STATE.lock();
    let Some(state) = found.as_mut() else { return false };
    let is_ours = state.debugged.is_breakpoint(processor);
    if is_ours {
        IS_WANTED.store(true, Ordering::SeqCst);
        state.debugged.stop_at(processor, TRAP, Reason::Breakpoint);
    }
    is_ours
}

/// A processor that was to make one instruction has made it: all stop.
pub fn has_stepped(processor: usize) {
    if let Some(state) = STATE.lock().as_mut() {
        IS_WANTED.store(true, Ordering::SeqCst);
        state.debugged.stop_at(processor, TRAP, Reason::Signal);
    }
}

/// Tells gdb how the machine has ended, and ends the session: processors and memory are about to
/// go.
pub fn end(end: &Result<Option<Outcome>, String>) {
    let status = match end {
        Ok(Some(Outcome::Exit(status))) => *status,
        Ok(Some(Outcome::PowerOff) | None) => 0,
        Ok(Some(Outcome::Reset)) | Err(_) => FAILED,
    };
    if let Some(State { mut debugged, mut session, line, .. }) = STATE.lock().take() {
        let told = session.stopped(Stop::Exited(Debugged::PROCESS, status), &mut debugged);
        write_all(line, &told);
    }
}
