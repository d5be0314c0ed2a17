//! Writes a recording.

use crate::manifest::MANIFEST;
use crate::turn::{self, Turn};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_nest::Services;
use nacre_nest::clock::Clock;
use nacre_nest::command::{FAILED, complain, create};
use nacre_nest::interpose::InterposedRequest;
use nacre_proto::file;
use nacre_proto::flags::OWN_POSITION;
use nacre_recording::{Answer, Digest, Loss, Start, Switch};
use nacre_sys::OwnedReference;

/// Bytes that are kept before they are written, and that one message carries.
const PART: usize = MAX_BYTES as usize;

/// A recording that is written.
pub struct Recorder {
    file: OwnedReference,
    clock: Clock,
    path: String,
    kept: Vec<u8>,
    digest: Digest,
    /// Number of messages so far.
    messages: usize,
    /// Messages for whose answers threads were left.
    late: BTreeSet<usize>,
    has_ended: bool,
    /// Random bytes that the program finds.
    pub random: [u8; 16],
    told: BTreeSet<&'static str>,
}

impl Recorder {
    /// Begins a recording in a file.
    pub fn new(services: &Services, path: &[u8], start: &Start) -> Result<Recorder, String> {
        let clock = Clock::find().map_err(|errno| format!("cannot find the clock: {errno}"))?;
        let file = create(services, path)?;
        let (path, kept) = (String::from_utf8_lossy(path).into_owned(), nacre_recording::begin(start));
        Ok(Recorder { file, clock, path, kept, digest: Digest::default(), messages: 0, late: BTreeSet::new(), has_ended: false, random: start.random, told: BTreeSet::new() })
    }

    /// Returns the number of messages so far.
    pub fn sent(&self) -> u64 {
        self.messages as u64
    }

    /// A request of the program's is to be sent on.
    pub fn asked(&mut self, letter: &InterposedRequest<'_, u32>) -> Turn {
        self.messages += 1;
        turn::asked(self.messages - 1, letter, &mut self.digest)
    }

    /// The program wants what cannot be recorded: people are told, once.
    pub fn refuses(&mut self, what: &'static str) {
        if !what.is_empty() && self.told.insert(what) {
            complain(MANIFEST.name, &format!("the program {what}, which cannot be recorded: it is refused"));
        }
    }

    /// A request has been answered.
    pub fn answered(&mut self, turn: &Turn, answer: Answer) {
        if self.has_ended {
            return;
        }
        if self.late.remove(&turn.number) {
            nacre_recording::late(turn.number, &answer, &mut self.kept);
        } else {
            nacre_recording::message(&turn::exchange(turn, answer), &mut self.kept);
        }
        self.write_much();
    }

    /// Another thread runs, or is about to. With the message for whose answer the one before was
    /// left.
    pub fn switches_to(&mut self, switch: Switch, turn: Option<&Turn>) {
        if self.has_ended {
            return;
        }
        self.late.extend(turn.map(|turn| turn.number));
        let exchange = turn.map(|turn| turn::exchange(turn, Answer::Never));
        nacre_recording::switch(switch, exchange.as_ref(), &mut self.kept);
        self.write_much();
    }

    /// A signal that a message has sent ended a process.
    pub fn lost(&mut self, turn: &Turn, process: u32) {
        if !self.has_ended {
            nacre_recording::loss(Loss { message: turn.number, process: process.into() }, &mut self.kept);
        }
    }

    /// The program reads the processor's counter: it counts nanoseconds.
    pub fn ticks(&mut self) -> u64 {
        let ticks = self.clock.now();
        nacre_recording::time(ticks, &mut self.kept);
        self.write_much();
        ticks
    }

    fn write_much(&mut self) {
        if self.kept.len() >= PART {
            self.write();
        }
    }

    /// The program has ended.
    pub fn ended(&mut self, status: u64) {
        if !self.has_ended {
            self.has_ended = true;
            nacre_recording::end(status, &mut self.kept);
            self.write();
        }
    }

    fn write(&mut self) {
        let mut rest = &self.kept[..];
        while !rest.is_empty() {
            match file::write(self.file.handle(), OWN_POSITION, &rest[..rest.len().min(PART)]) {
                Ok(reply) if reply.count > 0 => rest = &rest[rest.len().min(reply.count as usize)..],
                _ => {
                    complain(MANIFEST.name, &format!("cannot write {}: the recording is not whole", self.path));
                    nacre_rt::exit(FAILED);
                }
            }
        }
        self.kept.clear();
    }
}
