//! `/dev/pts`: the folder of pseudo-terminals. What is in it is opened by its name, as [`pair`](crate::pair) does.

use crate::descriptors::S_IFCHR;
use crate::process::Process;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::channel;

/// Numbers are below this.
const MOST: u64 = 256;

/// The path of a terminal; without a number, of what makes new ones.
pub fn path(number: Option<u64>) -> String {
    number.map_or_else(|| String::from("/dev/pts/ptmx"), |number| format!("/dev/pts/{number}"))
}

impl Process {
    /// Whether there are pseudo-terminals at all.
    pub fn has_terminals(&mut self) -> bool {
        self.services.channels().is_ok()
    }

    /// Whether there is one with this number.
    pub fn has_terminal(&mut self, number: u64) -> bool {
        self.services.channels().is_ok_and(|channels| channel::terminal_facts(channels, number).is_ok())
    }

    /// The names of all, each with its mode.
    pub fn terminal_names(&mut self) -> Vec<(String, u64)> {
        let numbers: Vec<u64> = (0..MOST).filter(|number| self.has_terminal(*number)).collect();
        let mode = u64::from(S_IFCHR);
        numbers.into_iter().map(|number| (format!("{number}"), mode | 0o620)).chain([(String::from("ptmx"), mode | 0o666)]).collect()
    }
}
