//! Signals on the way out: a thread takes them, and enters its handlers.

use crate::abi::errno::{EINTR, ERESTART, ERESTART_ALWAYS, ERESTART_SLEEP, ERESTART_UNHANDLED, Errno, negated};
use crate::abi::registers::Frame;
use crate::abi::signal_info::{Info, LAST, SI_KERNEL, SI_USER, bit};
use crate::abi::signal_numbers::{SA_RESTART, SIGSEGV};
use crate::entry::assembly::gate;
use crate::operations::grow_stack;
use crate::operations::signal_frame;
use crate::operations::signal_setup;
use crate::operations::user_faults;
use crate::process::Process;
use crate::process::end::end_by_signal;
use crate::raw::debugger;
use crate::state::signals::dispositions::Fate;
use core::sync::atomic::Ordering;
use nacre_nest::library::REGISTERS_SET;

/// Bytes of the `syscall` instruction.
const CALL_SIZE: u64 = 2;

/// A call that a signal cut off.
#[derive(Clone, Copy)]
struct CutOff {
    reason: Errno,
    number: u64,
}

impl CutOff {
    /// Returns the way in which call `number` was cut off, if its result says so.
    fn of(number: Option<u64>, result: u64) -> Option<CutOff> {
        let reason = Errno(u32::try_from(result.wrapping_neg()).ok()?);
        let known = [ERESTART, ERESTART_ALWAYS, ERESTART_UNHANDLED, ERESTART_SLEEP].contains(&reason);
        number.filter(|_| known).map(|number| CutOff { reason, number })
    }

    /// Returns true if the call is made again after a handler with these flags.
    fn is_made_again(self, flags: u64) -> bool {
        self.reason == ERESTART_ALWAYS || self.reason == ERESTART && flags & SA_RESTART != 0
    }

    fn make_again(self, frame: &mut Frame) {
        frame.next = frame.next.wrapping_sub(CALL_SIZE);
        frame.rax = self.number;
    }
}

/// Delivers signals on the way out of call `number`, or of none if the registers were set
/// otherwise. The frame is whole and has the result.
pub fn after_call(process: &mut Process, frame: &mut Frame, number: Option<u64>) {
    let cut_off = CutOff::of(number, frame.rax);
    if cut_off.is_some() {
        frame.rax = negated(EINTR);
    }
    attend(process, frame, cut_off);
}

/// Delivers signals to a thread that was stopped in the program.
pub fn deliver(process: &mut Process, frame: &mut Frame) {
    if debugger::is_there() {
        signal_setup::show_signals(process);
    }
    attend(process, frame, None);
}

fn attend(process: &mut Process, frame: &mut Frame, mut cut_off: Option<CutOff>) {
    if process.me().awaits_page.is_some() {
        // A signal that ends the wait is taken here, and then the thread touches the page again.
        user_faults::wait(process);
    }
    loop {
        while process.signals.is_stopped {
            wait_continued(process);
        }
        let Some(info) = injected(process).or_else(|| shown(process, frame, &mut cut_off)) else { break };
        if process.me().mask & bit(info.signal) != 0 {
            // The debugger has given another signal, which waits.
            let caller = process.caller;
            let _ = process.post_to(caller, info);
            continue;
        }
        let action = process.signals.action(info.signal);
        match process.signals.fate(info.signal) {
            Fate::Ignored => {}
            Fate::Ends => end_by_signal(process, info.signal),
            Fate::Stops => process.stop(info.signal),
            Fate::Handled => {
                if let Some(call) = cut_off.take().filter(|call| call.is_made_again(action.flags)) {
                    call.make_again(frame);
                }
                process.me().deadline = None;
                enter_handler(process, frame, &info);
            }
        }
    }
    if let Some(mask) = process.me().saved_mask.take() {
        process.me().mask = mask;
    }
    if let Some(call) = cut_off {
        call.make_again(frame);
    }
    process.look_again();
}

/// Waits while the process is stopped.
fn wait_continued(process: &mut Process) {
    let block = process.me().block;
    let seen = block.seen();
    process.me().sleeping = true;
    process.unlocked(|| block.wait(seen, nacre_sys::FOREVER));
    process.me().sleeping = false;
}

/// Takes the signal that a debugger has given the caller.
fn injected(process: &mut Process) -> Option<Info> {
    let place = &process.me().block.injected;
    if place.load(Ordering::Relaxed) == 0 {
        return None;
    }
    given(place.swap(0, Ordering::Relaxed).into())
}

/// Returns a signal that a debugger gives.
fn given(signal: u64) -> Option<Info> {
    (1..=LAST).contains(&signal).then(|| Info::from(signal, SI_USER, 0, 0))
}

/// Takes the next signal, after a debugger has seen it and has not suppressed it.
fn shown(process: &mut Process, frame: &mut Frame, cut_off: &mut Option<CutOff>) -> Option<Info> {
    loop {
        let info = take(process)?;
        if !debugger::sees(info.signal) {
            return Some(info);
        }
        let handler = match process.signals.fate(info.signal) {
            Fate::Handled => process.signals.action(info.signal).handler,
            _ => 0,
        };
        let is_made_again = u64::from(cut_off.is_some());
        // The debugger takes its time, and other threads may go on meanwhile. They let this one
        // alone, which looks at signals behind the gate.
        process.me().sleeping = true;
        let answer = process.unlocked(|| gate(info.signal, &info.words(), handler, frame, is_made_again));
        process.me().sleeping = false;
        if answer & REGISTERS_SET != 0 {
            *cut_off = None;
        }
        match answer & !REGISTERS_SET {
            same if same == info.signal => return Some(info),
            other => {
                if let Some(info) = given(other) {
                    return Some(info);
                }
            }
        }
    }
}

/// Takes the next signal that the caller does not block.
fn take(process: &mut Process) -> Option<Info> {
    let thread = process.me();
    let open = !thread.mask;
    thread.pending.take(open).or_else(|| process.signals.pending.take(open))
}

/// Lets the program go on in its handler. A stack that cannot take the frame is a fault of the
/// program, as on Linux: it can have a handler for that on another stack.
fn enter_handler(process: &mut Process, frame: &mut Frame, info: &Info) {
    let action = process.signals.action(info.signal);
    if process.growth.is_below(frame.stack) {
        grow_stack::grow_stack(process, frame.stack);
    }
    if signal_frame::push(process, frame, info, &action).is_err() {
        if info.signal == SIGSEGV {
            end_by_signal(process, SIGSEGV);
        }
        return process.force(Info::from(SIGSEGV, SI_KERNEL, 0, 0));
    }
    process.signals.was_entered(info.signal);
    let thread = process.me();
    thread.saved_mask = None;
    thread.mask |= action.blocked(info.signal);
}
