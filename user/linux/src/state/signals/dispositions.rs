//! Dispositions: the action of the program for each signal.

use crate::abi::signal_info::{LAST, bit};
use crate::abi::signal_numbers::{ALWAYS, HANDLER_DEFAULT, HANDLER_IGNORE, IGNORED, SA_NODEFER, SA_RESETHAND, STOPS};
use crate::state::signals::pending::Pending;

/// Action for a signal: the words of the kernel's `struct sigaction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Address of the handler, or default, or ignore.
    pub handler: u64,
    /// The `SA_` flags.
    pub flags: u64,
    /// Return address of the handler.
    pub restorer: u64,
    /// Signals that are blocked besides while the handler runs.
    pub mask: u64,
}

impl Action {
    /// Returns the signals that are blocked while the handler runs for `signal`.
    pub fn blocked(&self, signal: u64) -> u64 {
        (self.mask | if self.flags & SA_NODEFER == 0 { bit(signal) } else { 0 }) & !ALWAYS
    }
}

/// Effect of a signal that a thread takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Ignored: the signal has no effect.
    Ignored,
    /// The process ends.
    Ends,
    /// The process stops.
    Stops,
    /// Handled: the program's handler is entered.
    Handled,
}

/// The process's signals.
pub struct Signals {
    actions: [Action; LAST as usize],
    /// Pending signals that any thread may take.
    pub pending: Pending,
    /// A signal has stopped the process.
    pub is_stopped: bool,
    /// Signals that were blocked since a disposition changed.
    pub blocked: u64,
    /// Signals that were ignored and blocked: those wait, so the manager must not drop them.
    pub heard: u64,
}

impl Signals {
    /// Everything default.
    pub const fn new() -> Signals {
        let action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
        Signals { actions: [action; LAST as usize], pending: Pending::new(), is_stopped: false, blocked: 0, heard: 0 }
    }

    /// Returns the action for a signal.
    pub fn action(&self, signal: u64) -> Action {
        self.actions.get(signal as usize - 1).copied().unwrap_or_default()
    }

    /// Sets the action for a signal.
    pub fn set_action(&mut self, signal: u64, action: Action) {
        if let Some(place) = self.actions.get_mut(signal as usize - 1) {
            *place = action;
            self.blocked = 0;
        }
    }

    /// Returns the effect of a signal.
    pub fn fate(&self, signal: u64) -> Fate {
        let handler = if bit(signal) & ALWAYS != 0 { HANDLER_DEFAULT } else { self.action(signal).handler };
        match handler {
            HANDLER_IGNORE => Fate::Ignored,
            HANDLER_DEFAULT if bit(signal) & IGNORED != 0 => Fate::Ignored,
            HANDLER_DEFAULT if bit(signal) & STOPS != 0 => Fate::Stops,
            HANDLER_DEFAULT => Fate::Ends,
            _ => Fate::Handled,
        }
    }

    /// A bit for each signal that the program wants to take no effect.
    pub fn ignored(&self) -> u64 {
        (1..=LAST).filter(|signal| self.action(*signal).handler == HANDLER_IGNORE).map(bit).sum()
    }

    /// A bit for each signal that the program handles.
    pub fn handled(&self) -> u64 {
        (1..=LAST).filter(|signal| self.action(*signal).handler > HANDLER_IGNORE).map(bit).sum()
    }

    /// Returns true if the program handles any signal.
    pub fn has_handlers(&self) -> bool {
        self.actions.iter().any(|action| action.handler > HANDLER_IGNORE)
    }

    /// The handler was entered.
    pub fn was_entered(&mut self, signal: u64) {
        let action = self.action(signal);
        if action.flags & SA_RESETHAND != 0 {
            self.set_action(signal, Action { handler: HANDLER_DEFAULT, ..action });
        }
    }
}
