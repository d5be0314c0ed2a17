//! Output about messages: lines on the standard error, a table at the end, a file of trace events,
//! or nothing.

use crate::attached::Attached;
use crate::clock::{Clock, Stamp, took};
use crate::counts::{Counts, OTHERS};
use crate::events::Events;
use crate::filter::Filter;
use crate::sender::Sender;
use crate::tracks::Track;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_nest::interpose::stage::write_all;
use nacre_nest::interpose::text::{self, MessageDirection};
use nacre_proto::file;
use nacre_sys::OwnedReference;
use nacre_sys::clock::ticks;
use nacre_sys::lock::Lock;

/// Destination of the output.
pub enum Sink {
    /// Stream that gets a line for each message.
    Lines(Lines),
    /// Counted; the table goes to the stream.
    Counts(Box<Lock<Counts>>, OwnedReference),
    /// File that gets an event for each message.
    Events(Lock<Events>),
    /// Output is dropped.
    Nothing,
}

/// Lines about messages.
pub struct Lines {
    /// Stream that gets them.
    pub stream: OwnedReference,
    /// Path of the stream, if it is a file of ours.
    pub path: Option<Vec<u8>>,
    /// Time before each line.
    pub stamp: Option<Stamp>,
    /// Each line ends with the time that its answer took.
    pub tells_duration: bool,
    /// The clock, if a line has a time, and the time of the line before.
    pub clock: Lock<Option<(Clock, u64)>>,
}

impl Lines {
    /// Lines in a stream.
    pub fn new(stream: OwnedReference, path: Option<Vec<u8>>, (stamp, tells_duration): (Option<Stamp>, bool)) -> Lines {
        let has_times = stamp.is_some() || tells_duration;
        Lines { stream, path, stamp, tells_duration, clock: Lock::new(has_times.then(|| (Clock::start(), 0))) }
    }

    fn show(&self, done: &Done<'_>) {
        let from = done.from.text();
        let (mut before, mut behind) = (String::new(), String::new());
        if let Some((clock, last)) = &mut *self.clock.lock() {
            let now = clock.since_1970(done.started);
            before = self.stamp.map_or(before, |stamp| stamp.text(now, *last));
            *last = now;
            if self.tells_duration {
                behind = took(clock.nanoseconds(done.ended).saturating_sub(clock.nanoseconds(done.started)));
            }
        }
        let line = [&from, &before, done.message, " = ", done.answer, &behind, "\n"].concat();
        write_all(self.stream.handle(), line.as_bytes());
    }
}

/// A message that has been answered.
pub struct Done<'a> {
    /// Track that the message has had. `None`: it was no message that waited for an answer.
    pub track: Option<Track>,
    /// Sender, as far as it is known.
    pub from: Sender,
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
    /// Person who looks from outside.
    pub attached: Attached,
}

impl Record {
    /// Shows the messages of `filter` in `sink`, at most `data_limit` bytes of each piece of data.
    pub fn new(sink: Sink, data_limit: usize, filter: Filter) -> Record {
        Record { sink, data_limit, filter, attached: Attached::default() }
    }

    /// The first process has this number.
    pub fn begin(&self, pid: u64) {
        if let Sink::Events(events) = &self.sink {
            events.lock().begin(pid);
        }
    }

    /// A message is under way: the track that it has until it is done.
    pub fn enter(&self, from: Sender) -> Option<Track> {
        if let Sink::Events(events) = &self.sink { Some(events.lock().enter(from)) } else { None }
    }

    /// A process says what it is called: its name, and behind a zero the words of its command.
    pub fn name(&self, pid: u64, said: &[u8]) {
        if let Sink::Events(events) = &self.sink {
            let (name, words) = said.split_at(said.iter().position(|byte| *byte == 0).unwrap_or(said.len()));
            let words: Vec<&[u8]> = words.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
            let name = if words.is_empty() { name.to_vec() } else { words.join(&b' ') };
            events.lock().name(pid, &String::from_utf8_lossy(&name));
        }
    }

    /// Returns true if messages have to be shown as text.
    #[inline]
    pub fn wants_text(&self) -> bool {
        self.shows_text() || self.attached.is_there()
    }

    /// Returns true if the sink shows messages as text.
    #[inline]
    fn shows_text(&self) -> bool {
        matches!(self.sink, Sink::Lines(_) | Sink::Events(_))
    }

    /// Returns true if messages of this operation have to be shown as text.
    #[inline]
    pub fn wants_text_of(&self, label: u32) -> bool {
        self.shows_text() && self.filter.shows(label) || self.attached.wants_text_of(label)
    }

    /// Returns true if notifications have to be shown as text.
    pub fn wants_notifications(&self) -> bool {
        self.shows_text() && self.filter.shows_others() || self.attached.is_there()
    }

    /// The time-stamp, if anybody wants it.
    #[inline]
    pub fn time(&self) -> u64 {
        if matches!(self.sink, Sink::Nothing) && !self.attached.is_there() { 0 } else { ticks() }
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
        self.attached.show(done);
        self.put(done);
    }

    /// Gives the sink what it shows of a message.
    fn put(&self, done: &Done<'_>) {
        if done.label != OTHERS && !(self.filter.shows(done.label) && self.filter.shows_answer(done.failed)) {
            if let Sink::Events(events) = &self.sink {
                events.lock().leave(done.from, done.track);
            }
            return;
        }
        match &self.sink {
            Sink::Lines(lines) => lines.show(done),
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
            && self.filter.shows_answer(failed)
        {
            counts.lock().count(label, failed, ticks().wrapping_sub(started));
        }
    }

    /// Something of a process that is no message, as text.
    pub fn note(&self, from: Sender, message: &str, answer: &str) {
        if self.wants_text() {
            self.done(&self.noted(from, message, answer));
        }
    }

    /// A notification, as text. Unlike other notes, the filter may hide it.
    pub fn notification(&self, from: Sender, message: &str) {
        let done = self.noted(from, message, "0");
        self.attached.show(&done);
        if self.filter.shows_others() {
            self.put(&done);
        }
    }

    fn noted<'a>(&self, from: Sender, message: &'a str, answer: &'a str) -> Done<'a> {
        let time = self.time();
        Done { track: None, from, label: OTHERS, failed: false, started: time, ended: time, message, answer }
    }

    /// The child has ended: what is shown at the end.
    pub fn finish(&self) {
        let name = |label, into: &mut String| if label == OTHERS { into.push_str("(others)") } else { text::name(label, into) };
        match &self.sink {
            Sink::Counts(counts, stream) => write_all(stream.handle(), counts.lock().table(name).as_bytes()),
            Sink::Events(events) => events.lock().close(),
            // If nobody can hand the file out, it is there all the same.
            Sink::Lines(Lines { stream, path: Some(path), .. }) => drop(file::hand_out(stream.handle(), &path[..])),
            Sink::Lines(_) | Sink::Nothing => {}
        }
    }
}
