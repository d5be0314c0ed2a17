//! Output about messages: lines on the standard error, a table at the end, a file of trace events,
//! or nothing.

use crate::counts::{Counts, OTHERS};
use crate::filter::Filter;
use crate::json::{self, Event};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_nest::interpose::stage::write_all;
use nacre_nest::interpose::text::{self, MessageDirection};
use nacre_proto::flags::{CLOCK_MONOTONIC, SERVICE_CLOCK};
use nacre_proto::{clock, describe, file, parent};
use nacre_sys::clock::ticks;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference};

/// Number of a process where nobody numbers them.
const ALONE: u64 = 1;
/// Maximum of bytes of one message.
const PIECE: usize = 65536;

/// Trace events, on their way into a file.
pub struct Events {
    file: OwnedReference,
    path: Vec<u8>,
    clock: Clock,
    text: String,
    /// Name of the first process, and its number.
    program: String,
    first: u64,
}

impl Events {
    /// Events of `program`, written to `file`, which has this path.
    pub fn new(file: OwnedReference, path: &[u8], program: &str) -> Events {
        Events { file, path: path.to_vec(), clock: Clock::start(), text: String::with_capacity(PIECE), program: String::from(program), first: 0 }
    }

    /// Says which number the first process has; only once.
    fn begin(&mut self, pid: u64) {
        if self.first == 0 {
            self.first = pid;
            json::open(&self.program, pid, &mut self.text);
        }
    }

    fn flush(&mut self) {
        write_all(self.file.handle(), self.text.as_bytes());
        self.text.clear();
    }

    fn add(&mut self, done: &Done<'_>) {
        self.begin(ALONE);
        // Operations that are no messages carry their name in their text.
        let mut name = String::new();
        match done.message.split_once('(') {
            Some((first, _)) if done.label == OTHERS => name.push_str(first),
            _ => text::name(done.label, &mut name),
        }
        let start = self.clock.nanoseconds(done.started);
        let event = Event {
            name: &name,
            category: describe(done.label).map_or("unknown", |operation| operation.protocol),
            start,
            duration: self.clock.nanoseconds(done.ended).saturating_sub(start),
            pid: if done.pid == 0 { self.first } else { done.pid },
            worker: done.worker,
            message: done.message,
            answer: done.answer,
        };
        json::event(&event, &mut self.text);
        if self.text.len() > PIECE - 8192 {
            self.flush();
        }
    }

    fn close(&mut self) {
        self.begin(ALONE);
        json::close(&mut self.text);
        self.flush();
        // If nobody can hand the file out, it is there all the same.
        let _ = file::hand_out(self.file.handle(), &self.path[..]);
    }
}

/// Turns ticks into nanoseconds. How long a tick is, is measured between the start and the first
/// use.
struct Clock {
    service: Option<OwnedReference>,
    started: (u64, u64),
    /// Nanoseconds in 2^32 ticks; 0: not known yet.
    rate: u64,
}

impl Clock {
    fn start() -> Clock {
        let service = parent::find(Reference::PARENT, SERVICE_CLOCK).ok().map(|reply| reply.found);
        let mut clock = Clock { service, started: (0, 0), rate: 0 };
        clock.started = (ticks(), clock.read().unwrap_or(0));
        clock
    }

    fn read(&self) -> Option<u64> {
        let time = clock::read(self.service.as_ref()?.handle(), CLOCK_MONOTONIC).ok()?;
        time.seconds.checked_mul(1_000_000_000)?.checked_add(time.nanoseconds)
    }

    /// Without a clock, or without time between, a tick counts as a nanosecond.
    fn measure(&self) -> u64 {
        let passed = ticks().wrapping_sub(self.started.0);
        let nanoseconds = self.read().unwrap_or(0).saturating_sub(self.started.1);
        match (u128::from(nanoseconds) << 32) / u128::from(passed.max(1)) {
            0 => 1 << 32,
            rate => rate.min(u128::from(u64::MAX)) as u64,
        }
    }

    fn nanoseconds(&mut self, ticks: u64) -> u64 {
        if self.rate == 0 {
            self.rate = self.measure();
        }
        let passed = ticks.saturating_sub(self.started.0);
        ((u128::from(passed) * u128::from(self.rate)) >> 32) as u64
    }
}

/// Destination of the output.
pub enum Sink {
    /// Stream that gets a line for each message. If it is a file of ours, its path.
    Lines(OwnedReference, Option<Vec<u8>>),
    /// Counted; the table goes to the stream.
    Counts(Box<Lock<Counts>>, OwnedReference),
    /// File that gets an event for each message.
    Events(Lock<Events>),
    /// Output is dropped.
    Nothing,
}

/// A message that has been answered.
pub struct Done<'a> {
    /// Worker that carried the message.
    pub worker: usize,
    /// Number of the process that its port belongs to; 0 is the first one.
    pub pid: u64,
    /// Label of the message.
    pub label: u32,
    /// Set if the answer was an error.
    pub failed: bool,
    /// Time-stamp at its arrival.
    pub started: u64,
    /// Time-stamp at its answer.
    pub ended: u64,
    /// The message as text, if text is wanted.
    pub message: &'a str,
    /// The answer as text, if text is wanted.
    pub answer: &'a str,
}

/// A sink, and how much it shows.
pub struct Record {
    sink: Sink,
    data_limit: usize,
    filter: Filter,
}

impl Record {
    /// Shows the messages of `filter` in `sink`, at most `data_limit` bytes of each piece of data.
    pub fn new(sink: Sink, data_limit: usize, filter: Filter) -> Record {
        Record { sink, data_limit, filter }
    }

    /// The first process has this number.
    pub fn begin(&self, pid: u64) {
        if let Sink::Events(events) = &self.sink {
            events.lock().begin(pid);
        }
    }

    /// Returns true if messages have to be shown as text.
    #[inline]
    pub fn wants_text(&self) -> bool {
        matches!(self.sink, Sink::Lines(..) | Sink::Events(_))
    }

    /// Returns true if messages of this operation have to be shown as text.
    #[inline]
    pub fn wants_text_of(&self, label: u32) -> bool {
        self.wants_text() && self.filter.shows(label)
    }

    /// Returns true if notifications have to be shown as text.
    pub fn wants_notifications(&self) -> bool {
        self.wants_text() && self.filter.shows_others()
    }

    /// The time-stamp, if anybody wants it.
    #[inline]
    pub fn time(&self) -> u64 {
        if matches!(self.sink, Sink::Nothing) { 0 } else { ticks() }
    }

    /// A request as text.
    pub fn request(&self, outward: bool, number: u64, half: &MessageDirection<'_>) -> String {
        let mut text = String::from(if outward { "<- " } else { "" });
        text::request(number, half, self.data_limit, &mut text);
        text
    }

    /// A reply as text.
    pub fn reply(&self, label: u32, half: &MessageDirection<'_>) -> String {
        let mut text = String::new();
        text::reply(label, half, self.data_limit, &mut text);
        text
    }

    /// A message has been answered.
    pub fn done(&self, done: &Done<'_>) {
        if done.label != OTHERS && !self.filter.shows(done.label) {
            return;
        }
        match &self.sink {
            Sink::Lines(stream, _) => {
                let from = if done.pid == 0 { String::new() } else { format!("[pid {}] ", done.pid) };
                let line = [&from, done.message, " = ", done.answer, "\n"].concat();
                write_all(stream.handle(), line.as_bytes());
            }
            Sink::Counts(counts, _) => counts.lock().count(done.label, done.failed, done.ended.wrapping_sub(done.started)),
            Sink::Events(events) => events.lock().add(done),
            Sink::Nothing => {}
        }
    }

    /// A message has been answered of which nobody wants text.
    #[inline]
    pub fn count(&self, label: u32, failed: bool, started: u64) {
        if let Sink::Counts(counts, _) = &self.sink
            && self.filter.shows(label)
        {
            counts.lock().count(label, failed, ticks().wrapping_sub(started));
        }
    }

    /// Something that is no message, as text: which worker tells it, and of which process.
    pub fn note(&self, (worker, pid): (usize, u64), message: &str, answer: &str) {
        if self.wants_text() {
            let time = self.time();
            self.done(&Done { worker, pid, label: OTHERS, failed: false, started: time, ended: time, message, answer });
        }
    }

    /// The child has ended: what is shown at the end.
    pub fn finish(&self) {
        let name = |label, into: &mut String| if label == OTHERS { into.push_str("(others)") } else { text::name(label, into) };
        match &self.sink {
            Sink::Counts(counts, stream) => write_all(stream.handle(), counts.lock().table(name).as_bytes()),
            Sink::Events(events) => events.lock().close(),
            // If nobody can hand the file out, it is there all the same.
            Sink::Lines(file, Some(path)) => drop(file::hand_out(file.handle(), &path[..])),
            Sink::Lines(_, None) | Sink::Nothing => {}
        }
    }
}
