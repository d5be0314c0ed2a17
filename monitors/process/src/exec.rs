//! Processes that a person has started from outside: their input, output and end.

pub mod bytes;
pub mod process;
pub mod requests;
pub mod terminal;
pub mod words;

use alloc::collections::BTreeMap;
use process::Exec;

/// Maximum number of such processes.
const MAX_EXECS: usize = 32;

/// All of them, by numbers of ours.
#[derive(Default)]
pub struct Execs {
    /// The processes.
    pub all: BTreeMap<u64, Exec>,
    last: u64,
}

impl Execs {
    /// The process that a command has started.
    pub fn of_command(&mut self, command: u64) -> Option<&mut Exec> {
        self.all.values_mut().find(|exec| exec.command == command)
    }

    /// A number for one more; `None`: there are too many.
    pub fn fresh_number(&mut self) -> Option<u64> {
        if self.all.len() >= MAX_EXECS {
            return None;
        }
        self.last += 1;
        Some(self.last)
    }

    /// Returns the time after which some are to go on even if nothing happens.
    pub fn patience(&self) -> u64 {
        self.all.values().map(Exec::patience).min().unwrap_or(nacre_sys::FOREVER)
    }
}
