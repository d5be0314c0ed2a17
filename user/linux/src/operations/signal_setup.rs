//! Signals that the manager is to send here, and masks of calls that wait.

use crate::abi::errno::Errno;
use crate::abi::signal_info::{LAST, bit};
use crate::abi::signal_numbers::{ALWAYS, HANDLER_DEFAULT, HANDLER_IGNORE, SIGSEGV};
use crate::process::Process;
use crate::state::signals::dispositions::Fate;

/// Signals of faults: `SIGILL SIGTRAP SIGBUS SIGFPE SIGSEGV`.
const FAULTS: u64 = bit(4) | bit(5) | bit(7) | bit(8) | bit(SIGSEGV);

impl Process {
    /// After a fork or `execve`: signals come as they did before.
    pub fn take_up_signals(&mut self) -> Result<(), Errno> {
        if self.memory.is_lazy() {
            self.need_exceptions()?;
        }
        if !self.attends() && !self.timers.is_armed() {
            return Ok(());
        }
        self.need_agent()?;
        self.look_again();
        let handled = (1..=LAST).any(|signal| FAULTS & bit(signal) != 0 && self.signals.fate(signal) == Fate::Handled);
        if handled { self.need_exceptions() } else { Ok(()) }
    }

    /// A handler needs somebody who hears of what it is for.
    pub fn prepare_handler(&mut self, signal: u64, handler: u64) {
        if handler == HANDLER_DEFAULT || handler == HANDLER_IGNORE {
            return;
        }
        let prepared = match FAULTS & bit(signal) {
            0 if self.is_managed() => self.need_agent().map(drop),
            0 => Ok(()),
            _ => self.need_exceptions(),
        };
        if prepared.is_err() {
            self.report(format_args!("sigaction: a handler for faults: the parent does not hand over exceptions"));
        }
    }

    /// Another mask until the call ends; a handler that the call is interrupted for runs with it, and returns to the mask before.
    pub fn mask_for_call(&mut self, mask: u64) {
        let thread = self.me();
        thread.saved_mask = Some(thread.mask);
        thread.mask = mask & !ALWAYS;
        self.look_again();
    }

    /// The end of such a call, if no signal interrupted it.
    pub fn unmask_after_call(&mut self) {
        if !self.is_interrupted()
            && let Some(mask) = self.me().saved_mask.take()
        {
            self.set_mask(mask);
        }
    }
}
