//! Lists of our processes, for people. Each process's library is asked what its threads wait for
//! and how much memory it has; one that does not answer in time is listed without that.

use crate::commands::DONE;
use crate::manager::Manager;
use crate::threads;
use alloc::format;
use alloc::vec::Vec;
use nacre_control::record::{PLACE, figures};
use nacre_control::{Command, Record};
use nacre_nest::attending;
use nacre_proto::flags::ASK_THREADS;
use nacre_proto::{Errno, memory};
use nacre_sys::FOREVER;

/// Nanoseconds for which a list waits for answers.
const PATIENCE: u64 = 1_000_000_000;
/// Nanoseconds that count as passed with each event.
const EVENT: u64 = 100_000;
/// Maximum of letters of a command that people read.
const MAX_SHOWN: usize = 200;

/// Lists that wait for answers of libraries.
#[derive(Default)]
pub struct Lists {
    commands: Vec<Command>,
    /// Nanoseconds for which they have waited, as far as they know.
    waited: u64,
}

impl Lists {
    /// Time after which they are to go on even if nothing happens.
    pub fn patience(&self) -> u64 {
        if self.commands.is_empty() { FOREVER } else { PATIENCE }
    }

    /// Counts time that has passed; 0 stands for an event.
    pub fn passed(&mut self, nanoseconds: u64) {
        self.waited = self.waited.saturating_add(nanoseconds.max(EVENT));
    }
}

impl Manager {
    /// Time after which something is to go on even if nothing happens.
    pub(crate) fn patience(&self) -> u64 {
        self.execs.patience().min(self.lists.patience())
    }

    /// Answers a command for a list when all processes have told about themselves.
    pub(crate) fn list_later(&mut self, command: Command) {
        for body in self.bodies.values_mut() {
            body.visits.ask(ASK_THREADS);
            body.visit();
        }
        self.lists.waited = 0;
        self.lists.commands.push(command);
    }

    /// Answers lists for which all have been asked.
    pub(crate) fn lists_go_on(&mut self) {
        if self.lists.commands.is_empty() || self.lists.waited < PATIENCE && self.bodies.values().any(|body| body.visits.is_awaited()) {
            return;
        }
        for command in core::mem::take(&mut self.lists.commands) {
            let number = command.number;
            let over = match self.send_list(number) {
                Ok(()) => self.commands.seats.post(command).map(|_| DONE),
                Err(errno) => Some(errno),
            };
            if let Some(result) = over {
                self.commands.end(number, result);
            }
        }
    }

    /// Our part of the list: we, and each process.
    fn send_list(&self, number: u64) -> Result<(), Errno> {
        let used = memory::status(self.pool.handle()).ok().map(|status| status.used);
        let own = Record { path: PLACE, kind: "monitor", name: b"process", memory: used, time: attending::time(), figures: &figures([("processes", self.bodies.len() as u64)]), ..Record::default() };
        let mut lines = own.line();
        for (pid, body) in &self.bodies {
            let Ok(process) = self.world.process(*pid) else { continue };
            let (path, state) = (format!("{PLACE}/{pid}"), [self.letter(*pid, process)]);
            let name = shown(&process.command).unwrap_or(process.name.clone());
            let state = core::str::from_utf8(&state).unwrap_or("?");
            let told = body.visits.told.as_ref();
            let waits = match told.map(|(_, lines)| threads::read(lines)) {
                _ if process.has_ended() => Vec::new(),
                Some(all) if !all.is_empty() => all,
                _ => Vec::from([(*pid, threads::described(self.waiting(*pid), ""))]),
            };
            lines.extend(Record { path: &path, kind: "process", name: &name, state, memory: told.map(|told| told.0), time: Some(self.time_of(*pid)), waits: &waits, ..Record::default() }.line());
        }
        self.commands.outside()?.answer(number, &lines)
    }
}

/// The words of a command with spaces between them, cut to what people read.
fn shown(command: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    let mut line = words.join(&b' ');
    line.truncate(MAX_SHOWN);
    (!line.is_empty()).then_some(line)
}
