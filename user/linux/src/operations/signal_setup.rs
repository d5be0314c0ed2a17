//! Signals that the manager is to send here, and masks of calls that wait.

use crate::abi::errno::Errno;
use crate::abi::signal_info::{LAST, bit};
use crate::abi::signal_numbers::{ALWAYS, HANDLER_DEFAULT, HANDLER_IGNORE, SIGSEGV};
use crate::process::Process;
use crate::state::signals::dispositions::Fate;
use core::sync::atomic::{AtomicBool, Ordering};

/// Signals of faults: `SIGILL SIGTRAP SIGBUS SIGFPE SIGSEGV`.
const FAULTS: u64 = bit(4) | bit(5) | bit(7) | bit(8) | bit(SIGSEGV);

/// People were told that handlers do not run.
static TOLD: AtomicBool = AtomicBool::new(false);

/// After a fork or `execve`: signals come as they did before.
pub fn take_up_signals(process: &mut Process) -> Result<(), Errno> {
    if process.memory.is_lazy() {
        process.need_exceptions()?;
    }
    if !process.attends() && !process.timers.is_armed() {
        return Ok(());
    }
    process.need_agent()?;
    process.look_again();
    let handled = (1..=LAST).any(|signal| FAULTS & bit(signal) != 0 && process.signals.fate(signal) == Fate::Handled);
    if handled { process.need_exceptions() } else { Ok(()) }
}

/// A handler needs somebody who hears of what it is for.
pub fn prepare_handler(process: &mut Process, signal: u64, handler: u64) {
    if handler == HANDLER_DEFAULT || handler == HANDLER_IGNORE {
        return;
    }
    let (prepared, what) = match FAULTS & bit(signal) {
        0 if process.is_managed() => (process.need_agent().map(drop), "signals that others send"),
        0 => return,
        _ => (process.need_exceptions(), "faults"),
    };
    if prepared.is_err() && !TOLD.swap(true, Ordering::Relaxed) {
        process.report(format_args!("sigaction: no handler for {what} will run, since the parent tells of none"));
    }
}

/// A debugger sees the signals that come: the manager sends them here, ignored ones too.
pub fn show_signals(process: &mut Process) {
    if process.is_managed() && process.agent.is_none() {
        // Without memory for it the manager carries signals out.
        let _ = process.need_agent();
    }
    let fresh = process.signals.ignored() & !process.signals.heard;
    if fresh != 0 {
        process.signals.heard |= fresh;
        process.tell_dispositions();
    }
}

/// Another mask until the call ends; a handler that the call is interrupted for runs with it, and
/// returns to the mask before.
pub fn mask_for_call(process: &mut Process, mask: u64) {
    let thread = process.me();
    thread.saved_mask = Some(thread.mask);
    thread.mask = mask & !ALWAYS;
    process.look_again();
}

/// The end of such a call, if no signal interrupted it.
pub fn unmask_after_call(process: &mut Process) {
    if !process.is_interrupted()
        && let Some(mask) = process.me().saved_mask.take()
    {
        process.set_mask(mask);
    }
}
