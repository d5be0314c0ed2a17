//! A process that a person has started from outside. Its streams are files of ours, so that nothing
//! that it does keeps us waiting; a terminal is one of the server of pipes and terminals, which
//! never waits for anybody at one either.

use super::bytes::{Input, Output};
use super::requests::{Reader, Watcher, Writer, is_gone};
use super::terminal::{HAS_OUTPUT, HAS_ROOM, Terminal};
use super::words::{INPUT, TOLD, place};
use crate::commands::{Commands, DONE};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use nacre_control::exec;
use nacre_nest::SpawnError;
use nacre_proto::file::{read, write};
use nacre_proto::flags::{FILE_NONBLOCK, OWN_POSITION, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM};
use nacre_proto::server::{self, Output as _};
use nacre_proto::{Errno, file, terminal};
use nacre_sys::{OwnedPort, Span, ipc};

/// Nanoseconds after which output is offered again that found no room.
const PAUSE: u64 = 1_000_000;
/// Nanoseconds after which a terminal is looked at again that no process has open.
const LONG_PAUSE: u64 = 20_000_000;

/// A process that a person has started.
pub struct Exec {
    pub command: u64,
    pub pid: u64,
    pub streams: Vec<OwnedPort>,
    pub flags: [u64; 3],
    pub terminal: Option<Terminal>,
    pub input: Input,
    pub output: Output,
    pub readers: VecDeque<Reader>,
    pub writers: VecDeque<Writer>,
    pub watchers: Vec<Watcher>,
    /// Set once the process has ended, and that is on its way.
    pub is_ended: bool,
    /// Set once nobody waits for the answer any more.
    pub is_left: bool,
}

impl Exec {
    pub fn new(command: u64, pid: u64) -> Exec {
        Exec {
            command,
            pid,
            streams: Vec::new(),
            flags: [0; 3],
            terminal: None,
            input: Input::default(),
            output: Output::default(),
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            watchers: Vec::new(),
            is_ended: false,
            is_left: false,
        }
    }

    /// The process could not be started.
    pub fn refuse(&mut self, refusal: &SpawnError) {
        let status = refusal.exit_status().to_le_bytes();
        let contents = [&status[..], format!("{refusal}").as_bytes()].concat();
        self.output.push(exec::REFUSED, &contents[..contents.len().min(exec::MAX_CONTENTS)]);
        self.is_ended = true;
        (self.terminal, self.streams) = (None, Vec::new());
    }

    /// Returns the time after which it is to go on even if nothing happens.
    pub fn patience(&self) -> u64 {
        match &self.terminal {
            _ if self.output.has_frames() => PAUSE,
            Some(terminal) if terminal.is_hung_up => LONG_PAUSE,
            _ => nacre_sys::FOREVER,
        }
    }

    /// Notes what a port is told of: the terminal, or that nobody has the input open any more.
    pub fn notified(&mut self, word: u64, bits: u64, commands: &Commands) {
        match (place(word), &mut self.terminal) {
            (TOLD, Some(terminal)) => terminal.awaited &= !bits,
            (INPUT, None) => self.input.close().into_iter().for_each(|command| commands.end(command, Errno::EPIPE)),
            _ => {}
        }
    }

    pub fn resize(&mut self, text: &[u8]) -> Result<(), Errno> {
        let (rows, columns) = exec::window(text).ok_or(Errno::EINVAL)?;
        let terminal = self.terminal.as_ref().ok_or(Errno::ENOTTY)?;
        terminal::set_window(terminal.master.handle(), rows.into(), columns.into()).map(|_| ())
    }

    /// Types what has come, and takes what is on the screen, as far as there is room.
    pub fn move_terminal(&mut self) {
        let Some(terminal) = &mut self.terminal else { return };
        terminal.is_hung_up = false;
        while terminal.may_have(HAS_ROOM) && self.input.has_bytes() {
            match file::write(terminal.master.handle(), OWN_POSITION, self.input.look(exec::MAX_TEXT)) {
                Ok(reply) if reply.count > 0 => self.input.consume(reply.count as usize),
                _ => terminal.wait_for(POLLOUT, HAS_ROOM),
            }
        }
        while terminal.may_have(HAS_OUTPUT) && self.output.room() > 0 && !self.is_ended {
            match terminal.read(self.output.room()) {
                Some(bytes) => self.output.push(exec::OUTPUT, &bytes),
                None => terminal.wait_for(POLLIN, HAS_OUTPUT),
            }
        }
    }

    /// The process has ended. What it has written last comes before that.
    pub fn end(&mut self, status: u64, commands: &Commands) {
        if core::mem::replace(&mut self.is_ended, true) {
            return;
        }
        while let Some(bytes) = self.terminal.as_ref().and_then(|terminal| terminal.read(exec::MAX_CONTENTS)) {
            self.output.push(exec::OUTPUT, &bytes);
        }
        self.output.push(exec::ENDED, &(status as u32).to_le_bytes());
        self.close(commands);
    }

    /// Sends what there is. If nobody waits for it any more, all is dropped.
    pub fn send(&mut self, commands: &Commands) {
        while let Some(frame) = self.output.first() {
            match commands.answer_whole(self.command, frame) {
                Ok(()) => self.output.sent(),
                Err(Errno::EAGAIN) => return,
                Err(_) => {
                    self.is_left = true;
                    self.output.clear();
                }
            }
        }
    }

    /// Returns true if nothing is left to do, and says so to who has asked.
    pub fn is_over(&self, commands: &Commands) -> bool {
        let is_over = self.is_ended && !self.output.has_frames();
        if is_over && !self.is_left {
            commands.end(self.command, DONE);
        }
        is_over
    }

    pub fn events(&self, place: usize) -> u64 {
        match place {
            INPUT if self.input.is_readable() => POLLIN | POLLRDNORM,
            INPUT => 0,
            _ if self.output.room() > 0 => POLLOUT | POLLWRNORM,
            _ => 0,
        }
    }

    /// Answers all that have waited long enough.
    pub fn settle(&mut self, commands: &Commands) {
        while self.input.is_readable() && let Some(first) = self.readers.pop_front() {
            let bytes = self.input.look(first.size);
            let count = bytes.len();
            // What does not arrive is there for the next reader.
            if !is_gone(&first.reply) && (read::Output { count: count as u64 }).send(first.reply, Span::from(bytes)).is_ok() {
                self.input.consume(count);
            }
        }
        while self.writers.front().is_some_and(|first| self.output.has_room(first.data.len()))
            && let Some(first) = self.writers.pop_front()
        {
            let count = first.data.len() as u64;
            if !is_gone(&first.reply) && (write::Output { count }).send(first.reply, Span::EMPTY).is_ok() {
                self.output.push(first.kind, &first.data);
            }
        }
        self.input.done().into_iter().for_each(|command| commands.end(command, DONE));
        let watchers = core::mem::take(&mut self.watchers);
        for watcher in watchers {
            if self.events(watcher.place) & watcher.events == 0 {
                self.watchers.push(watcher);
            } else {
                // One that has gone need not hear of it.
                let _ = ipc::notify(watcher.port.handle(), watcher.bits);
            }
        }
    }

    /// Ends all requests: the process has ended.
    pub fn close(&mut self, commands: &Commands) {
        self.input.close().into_iter().for_each(|command| commands.end(command, Errno::EPIPE));
        for reader in self.readers.drain(..) {
            let _ = read::Output { count: 0 }.send(reader.reply, Span::EMPTY);
        }
        for writer in self.writers.drain(..) {
            let _ = server::refuse(writer.reply, Errno::EPIPE);
        }
        for watcher in self.watchers.drain(..) {
            let _ = ipc::notify(watcher.port.handle(), watcher.bits);
        }
        self.streams.clear();
    }

    pub fn is_nonblocking(&self, place: usize) -> bool {
        self.flags.get(place).is_some_and(|flags| flags & FILE_NONBLOCK != 0)
    }
}
