//! The console: three serial lines, what the program reads and writes through them, and who waits
//! for that.
//!
//! The first line is the program's input and output, the third its errors, the second carries
//! messages out and control in. A program that writes faster than a line takes is answered later;
//! one that reads before there is something, too.

use crate::files::Files;
use crate::hardware::{IoPorts, monotonic};
use crate::input::{Control, ControlLines, Input};
use crate::messages::{Item, Messages};
use crate::serial::{InterruptCauses, Serial};
use crate::table::Key;
use crate::terminal::{Signal, Terminal};
use crate::tree::open;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use nacre_abi::environment::INTERRUPTS;
use nacre_proto::file::{read, write};
use nacre_proto::flags::{POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM, TERMINAL_ATTENTION, TERMINAL_WINDOW};
use nacre_proto::Errno;
use nacre_proto::server::{Output, refuse};
use nacre_sys::{OwnedReference, Port, Reference, Span, Status, io};

const LINES: Reference = Reference(INTERRUPTS);
/// Interrupt lines of the first and second serial line, and their bits in a notification.
const FIRST: (u64, u64) = (4, 1);
const SECOND: (u64, u64) = (3, 2);
/// A writer waits when more bytes than this are queued, until fewer are.
const FULL: usize = 32 << 10;
/// Writes fail when even more are queued, by programs with many threads.
const OVERFULL: usize = 1 << 20;
/// Maximum number of requests of a line in one interrupt. A line that goes on is out of order.
const MAX_ASKED: u32 = 10_000;
/// Nanoseconds between looks at a line without an interrupt while it does not take bytes.
const LOOK: u64 = 2_000_000;
/// Bytes of a file that are queued at a time.
const PART: usize = 4096;
/// Maximum number of clients that attend the terminal one over the other, and of clients that watch
/// the streams.
const MAX_ATTENDANTS: usize = 16;
const MAX_WATCHERS: usize = 256;
/// Maximum number of readers, and of writers, that wait. Where one more comes, the oldest of the
/// account with the most gives way.
const MAX_WAITING: usize = 1024;
/// Maximum number of commands that come at once.
const MAX_COMMANDS: usize = 64;

/// Somebody who waits for input.
struct Reader {
    reply: OwnedReference,
    account: Key,
    limit: usize,
    deadline: Option<u64>,
}

/// Somebody whose bytes are queued.
struct Writer {
    reply: OwnedReference,
    account: Key,
    count: u64,
    is_error: bool,
}

/// The console.
pub struct Console {
    /// Input of the program.
    pub input: Input,
    /// Records and messages for the host.
    pub messages: Messages,
    /// Commands of the host that have just come.
    pub commands: Vec<Control>,
    lines: [Serial; 3],
    is_one_output: bool,
    control: ControlLines,
    readers: VecDeque<Reader>,
    writers: Vec<Writer>,
    attendants: Vec<Told>,
    watchers: Vec<(Told, Access, Key)>,
}

/// The place of the one that gives way to another, by the accounts of all, the oldest first: the
/// first of the account that has the most.
fn giving_way(accounts: impl Iterator<Item = Key> + Clone) -> Option<usize> {
    let mut held = BTreeMap::new();
    accounts.clone().for_each(|account| *held.entry(account).or_insert(0u32) += 1);
    let (greedy, _) = held.into_iter().max_by_key(|(_, held)| *held)?;
    accounts.into_iter().position(|account| account == greedy)
}

/// Somebody who is told of events, by these bits.
struct Told {
    events: u64,
    bits: u64,
    port: OwnedReference,
}

impl Told {
    fn is_gone(&self) -> bool {
        self.port.is_null().unwrap_or(true)
    }

    fn tell(&self) {
        // One that has gone need not hear of it.
        let _ = nacre_sys::ipc::notify(self.port.handle(), self.bits);
    }
}

/// Access of an open stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Access mode of the flags of `open`: for reading, for writing, for both.
    pub mode: u64,
    /// Set if the stream is that of errors.
    pub is_error: bool,
}

impl Console {
    /// A console with this input, whose errors go where its output goes if it has one output; its
    /// lines are set up, and their interrupts go to `port`.
    pub fn start(input: Input, is_one_output: bool, port: Port) -> Result<Console, Status> {
        let mut lines = [Serial::new(0x3f8, true), Serial::new(0x2f8, true), Serial::new(0x3e8, false)];
        for line in &mut lines {
            line.start(&mut IoPorts);
        }
        for (number, bit) in [FIRST, SECOND] {
            io::interrupt_bind(LINES, number, port, bit)?;
        }
        Ok(Console {
            input,
            messages: Messages::default(),
            commands: Vec::new(),
            lines,
            is_one_output,
            control: ControlLines::default(),
            readers: VecDeque::new(),
            writers: Vec::new(),
            attendants: Vec::new(),
            watchers: Vec::new(),
        })
    }

    /// Takes what the lines have after an interrupt. What a terminal tells of it.
    pub fn interrupted(&mut self, bits: u64) -> u64 {
        let mut events = 0;
        for (index, (number, bit)) in [FIRST, SECOND].into_iter().enumerate() {
            if bits & bit != 0 {
                // Acknowledged first: the line interrupts by edges, and one that came between
                // looking and acknowledging would be lost.
                let _ = io::interrupt_acknowledge(LINES, number);
                events |= self.serve_line(index);
            }
        }
        events
    }

    /// Does what a line asks for until it asks for nothing: only then does it interrupt again.
    fn serve_line(&mut self, index: usize) -> u64 {
        let mut events = 0;
        for _ in 0..MAX_ASKED {
            match self.lines[index].asks(&mut IoPorts) {
                InterruptCauses::Nothing => break,
                InterruptCauses::Push => self.lines[index].push(&mut IoPorts),
                InterruptCauses::Take(count) => {
                    for _ in 0..count {
                        let byte = self.lines[index].take(&mut IoPorts);
                        events |= self.arrived(index, byte);
                    }
                }
                InterruptCauses::TakeAll => {
                    while let Some(byte) = self.lines[index].receive(&mut IoPorts) {
                        events |= self.arrived(index, byte);
                    }
                }
            }
            self.lines[0].take_input(&mut IoPorts, self.input.has_room());
        }
        events
    }

    fn arrived(&mut self, index: usize, byte: u8) -> u64 {
        if index == 0 {
            return self.input.feed(byte, self.lines[0].queue()).map_or(0, Signal::event);
        }
        match self.control.feed(byte) {
            Some(Control::End(count)) => self.input.end(count),
            Some(Control::Resize(rows, columns)) => return self.resize(rows, columns),
            Some(Control::Interrupt) => return Signal::Interrupt.event(),
            Some(command @ (Control::Command(_) | Control::Cancel(_))) if self.commands.len() < MAX_COMMANDS => self.commands.push(command),
            Some(Control::Command(command)) => self.messages.done(command.number, Errno::EAGAIN),
            Some(Control::Cancel(_)) => {}
            None => {}
        }
        0
    }

    /// A byte as if it were typed: what the terminal tells of it.
    pub fn type_byte(&mut self, byte: u8) -> u64 {
        self.arrived(0, byte)
    }

    /// The terminal has this size: what it tells of that.
    pub fn resize(&mut self, rows: u16, columns: u16) -> u64 {
        match self.input.terminal() {
            Some(terminal) if terminal.window != (rows, columns) => {
                terminal.window = (rows, columns);
                TERMINAL_WINDOW
            }
            _ => 0,
        }
    }

    /// Makes `port` hear of these events of the terminal from now on.
    pub fn attend(&mut self, events: u64, port: OwnedReference) {
        self.attendants.retain(|attendant| !attendant.is_gone());
        if self.attendants.len() >= MAX_ATTENDANTS {
            self.attendants.remove(0);
        }
        self.attendants.push(Told { events, bits: u64::MAX, port });
        self.find_attention();
    }

    /// The key of those who attend in any mode is theirs while there are any.
    fn find_attention(&mut self) {
        let has_attention = self.attendants.iter().any(|attendant| attendant.events & TERMINAL_ATTENTION != 0);
        if let Some(terminal) = self.input.terminal() {
            terminal.has_attention = has_attention;
        }
    }

    /// Tells of each event the last one who asked for it; those that nobody hears of are left.
    pub fn tell(&mut self, events: u64) -> u64 {
        self.attendants.retain(|attendant| !attendant.is_gone());
        self.find_attention();
        self.attendants.iter().rev().fold(events, |left, attendant| {
            if left & attendant.events != 0 {
                let _ = nacre_sys::ipc::notify(attendant.port.handle(), left & attendant.events);
            }
            left & !attendant.events
        })
    }

    /// Notifies a port, once, when the events are there for somebody who reads or writes as
    /// `is_error` says.
    pub fn watch(&mut self, events: u64, bits: u64, port: OwnedReference, (access, account): (Access, Key)) {
        if self.watchers.len() >= MAX_WATCHERS {
            let place = giving_way(self.watchers.iter().map(|(_, _, account)| *account)).unwrap_or(0);
            let (oldest, ..) = self.watchers.remove(place);
            oldest.tell();
        }
        self.watchers.push((Told { events, bits, port }, access, account));
    }

    /// Events of a stream that is open so.
    pub fn events(&mut self, access: Access) -> u64 {
        let readable = if self.is_readable() { POLLIN | POLLRDNORM } else { 0 };
        let ended = if self.input.is_ended() { POLLHUP } else { 0 };
        let writable = if self.is_full(access.is_error) { 0 } else { POLLOUT | POLLWRNORM };
        match access.mode {
            0 => readable | ended,
            open::WRITE_ONLY => writable,
            _ => readable | writable,
        }
    }

    fn settle_watchers(&mut self) {
        let mut index = 0;
        while let Some((told, access, _)) = self.watchers.get(index) {
            let (wanted, access) = (told.events | POLLHUP, *access);
            if self.events(access) & wanted == 0 {
                index += 1;
                continue;
            }
            let (told, ..) = self.watchers.remove(index);
            told.tell();
        }
    }

    /// Returns what the program's output line is to send. With `is_carried` the line leaves it to
    /// whoever has it from here.
    pub fn output(&mut self, is_carried: bool) -> &mut VecDeque<u8> {
        self.lines[0].be_carried(is_carried);
        self.lines[0].queue()
    }

    /// Sends what the lines take.
    pub fn push(&mut self) {
        for line in &mut self.lines {
            if line.pending() > 0 {
                line.push(&mut IoPorts);
            }
        }
    }

    /// Moves messages and parts of files to their line as there is room.
    pub fn push_messages(&mut self, files: &mut Files) {
        while self.lines[1].pending() < PART {
            let Some(item) = self.messages.items.front_mut() else { break };
            let finished = match item {
                Item::Bytes(bytes) => {
                    self.lines[1].queue().extend(bytes.iter());
                    true
                }
                Item::File { node, size, done } => {
                    let bytes = file_part(files, *node, *done, *size);
                    *done += bytes.len() as u64;
                    self.lines[1].queue().extend(&bytes);
                    *done >= *size
                }
            };
            if finished && let Some(Item::File { node, .. }) = self.messages.items.pop_front() {
                files.tree.closed(node);
            }
            self.push();
        }
    }

    /// Returns true if everything has gone out.
    pub fn is_quiet(&self) -> bool {
        self.messages.items.is_empty() && self.lines.iter().all(|line| line.is_quiet(&mut IoPorts))
    }

    /// Returns the number of bytes that are queued.
    pub fn pending(&self) -> usize {
        self.lines.iter().map(Serial::pending).sum()
    }

    /// Returns the line of the program's output or errors. Where both end in one place, one line
    /// carries both, in order.
    fn line_for(&self, is_error: bool) -> usize {
        if is_error && !self.is_one_output { 2 } else { 0 }
    }

    /// Returns the terminal behind a stream of output or errors; errors that go elsewhere are on
    /// none.
    pub fn terminal(&mut self, is_error: bool) -> Option<&mut Terminal> {
        if self.line_for(is_error) == 2 { None } else { self.input.terminal() }
    }

    /// Returns true if so much is queued that nothing more is taken of an account. An account
    /// without a waiting writer may write when others have filled the queue.
    pub fn is_overfull(&mut self, is_error: bool, account: Key) -> bool {
        let line = self.line_for(is_error);
        let pending = self.lines[line].pending();
        pending > 2 * OVERFULL || pending > OVERFULL && self.writers.iter().any(|writer| writer.account == account)
    }

    /// Returns true if a writer would have to wait.
    pub fn is_full(&mut self, is_error: bool) -> bool {
        let line = self.line_for(is_error);
        self.lines[line].pending() > FULL
    }

    /// Queues what a program writes and sends what the line takes.
    pub fn write(&mut self, bytes: &[u8], is_error: bool) {
        let line = self.line_for(is_error);
        match self.terminal(is_error) {
            Some(_) => self.input.write(bytes, self.lines[line].queue()),
            None => self.lines[line].queue().extend(bytes),
        }
        self.lines[line].push(&mut IoPorts);
    }

    /// Answers a writer when its line has room again.
    pub fn answer_later(&mut self, reply: OwnedReference, account: Key, count: u64, is_error: bool) {
        if self.writers.len() >= MAX_WAITING {
            let place = giving_way(self.writers.iter().map(|writer| writer.account)).unwrap_or(0);
            // Its bytes are queued, and will go out.
            let writer = self.writers.remove(place);
            let _ = write::Output { count: writer.count }.send(writer.reply, Span::EMPTY);
        }
        self.writers.push(Writer { reply, account, count, is_error });
    }

    /// Answers a reader when there is something to read. One that gives way to it is told `EAGAIN`.
    pub fn read_later(&mut self, reply: OwnedReference, account: Key, limit: usize) {
        if self.readers.len() >= MAX_WAITING {
            let place = giving_way(self.readers.iter().map(|reader| reader.account)).unwrap_or(0);
            self.readers.remove(place).map(|reader| refuse(reader.reply, Errno::EAGAIN));
        }
        let deadline = self.input.patience().map(|patience| monotonic() + patience);
        self.readers.push_back(Reader { reply, account, limit, deadline });
    }

    /// Reads for a program, and listens again if it had stopped.
    pub fn read(&mut self, limit: usize) -> Vec<u8> {
        let bytes = self.input.read(limit);
        self.lines[0].take_input(&mut IoPorts, self.input.has_room());
        bytes
    }

    /// Returns true if a read would be answered at once.
    pub fn is_readable(&self) -> bool {
        self.readers.is_empty() && self.input.is_readable()
    }

    /// Answers everybody who has waited long enough.
    pub fn settle(&mut self) {
        self.settle_writers();
        while let Some(reader) = self.readers.front() {
            // Input is not spent on somebody who has gone.
            if reader.reply.is_null().unwrap_or(true) {
                self.readers.pop_front();
                continue;
            }
            if !self.input.is_readable() && reader.deadline.is_none_or(|deadline| monotonic() < deadline) {
                break;
            }
            let Some(reader) = self.readers.pop_front() else { break };
            let bytes = self.input.look(reader.limit);
            // What does not arrive, since the reader was interrupted just now, is there for the
            // next one.
            if (read::Output { count: bytes.len() as u64 }).send(reader.reply, Span::from(&bytes[..])).is_ok() {
                self.read(reader.limit);
            }
        }
        self.renew_deadline();
        self.settle_watchers();
    }

    /// The time limit between two bytes starts with the first byte.
    fn renew_deadline(&mut self) {
        let patience = self.input.patience();
        if let Some(reader) = self.readers.front_mut().filter(|reader| reader.deadline.is_none()) {
            reader.deadline = patience.map(|patience| monotonic() + patience);
        }
    }

    fn settle_writers(&mut self) {
        let mut index = 0;
        while index < self.writers.len() {
            if self.is_full(self.writers[index].is_error) {
                index += 1;
                continue;
            }
            let writer = self.writers.remove(index);
            let _ = write::Output { count: writer.count }.send(writer.reply, Span::EMPTY);
        }
    }

    /// Returns the time in nanoseconds that an event may be waited for; 0: for ever.
    pub fn patience(&self) -> u64 {
        let look = self.lines[2].wants_push().then_some(LOOK);
        let deadline = self.readers.front().and_then(|reader| reader.deadline);
        let rest = deadline.map(|deadline| deadline.saturating_sub(monotonic()).max(1));
        look.into_iter().chain(rest).min().unwrap_or(0)
    }
}

/// The next part of a file that is handed out. If it was cut off since, zeros stand for the rest:
/// the size was announced.
pub fn file_part(files: &Files, node: crate::table::Key, done: u64, size: u64) -> Vec<u8> {
    let mut bytes = alloc::vec![0; (size - done).min(PART as u64) as usize];
    if let Ok((content, store)) = files.tree.content(node) {
        content.read(store, done, &mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_greediest_gives_way() {
        let place = |accounts: &[u64]| giving_way(accounts.iter().map(|account| Key::from_word(*account)));
        assert_eq!(place(&[1, 2, 2, 1, 2]), Some(1));
        assert_eq!(place(&[3]), Some(0));
        assert_eq!(place(&[]), None);
        // One who fills all that there is takes nobody else's place.
        let (mut waiting, mut others) = (alloc::vec![7, 7, 8], 0);
        for _ in 0..100 {
            waiting.push(7);
            others += usize::from(place(&waiting).map(|place| waiting.remove(place)) == Some(8));
        }
        assert_eq!(others, 0);
    }
}
