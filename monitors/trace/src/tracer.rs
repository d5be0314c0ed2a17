//! What the tracer does with the messages that pass through it: it lets all of them pass, and says so.

use crate::record::{Done, Record};
use alloc::format;
use alloc::string::String;
use core::convert::Infallible;
use nacre_abi::Status;
use nacre_abi::object::TargetType;
use nacre_nest::host::Exception;
use nacre_nest::interpose::text::Half;
use nacre_nest::interpose::{Arrival, Letter, Passage, Returned, Seen, Watch, report_exception, report_killed};
use nacre_proto::{Errno, parent};
use nacre_sys::ipc::Received;

/// The tracer.
pub struct Tracer {
    /// Where messages are shown.
    pub record: Record,
    /// Of the program, in what is said of it.
    pub name: String,
}

/// What is remembered of a message until its answer comes.
pub struct Asked {
    label: u32,
    started: u64,
    text: String,
}

/// Every port has a proxy; nothing else can have one.
fn passage(arrival: Arrival) -> Passage<(), Infallible> {
    if arrival.kind == TargetType::Port as u64 { Passage::Proxy(()) } else { Passage::Plain }
}

impl Tracer {
    fn request_text(&self, letter: &Letter<'_, ()>) -> String {
        if !self.record.wants_text() {
            return String::new();
        }
        let half = Half { label: letter.label, words: letter.words, bytes: &letter.bytes(), references: letter.names() };
        self.record.request(letter.seen.outward, letter.seen.number, &half)
    }

    fn reply_text(&self, label: u32, returned: &Result<Returned<'_>, Status>) -> String {
        match returned {
            _ if !self.record.wants_text() => String::new(),
            Ok(returned) => {
                let half = Half { label: returned.label, words: returned.words, bytes: &returned.bytes(), references: returned.names };
                self.record.reply(label, &half)
            }
            // Whoever answers an end ends the program instead.
            Err(_) if label == parent::exit::LABEL => String::from("?"),
            Err(status) => format!("({status:?})"),
        }
    }
}

impl Watch for Tracer {
    type Tag = ();
    type Asked = Asked;
    type Proof = Infallible;
    const ATTENUATES: bool = false;

    #[inline]
    fn lets_words_pass(&self) -> bool {
        !self.record.wants_text()
    }

    #[inline]
    fn time(&self) -> u64 {
        self.record.time()
    }

    #[inline]
    fn words_done(&self, label: u32, failed: bool, started: u64) {
        self.record.count(label, failed, started);
    }

    fn sent(&self, _: &Seen<()>, arrival: Arrival) -> Passage<(), Infallible> {
        passage(arrival)
    }

    #[inline]
    fn request(&self, letter: &mut Letter<'_, ()>) -> Result<Asked, Errno> {
        let started = self.record.time();
        let text = self.request_text(letter);
        if letter.label == parent::exit::LABEL && letter.is_parent {
            self.record.note(letter.worker, &text, "?");
        }
        Ok(Asked { label: letter.label, started, text })
    }

    fn returned(&self, _: &mut Asked, _: &Received, arrival: Arrival) -> Passage<(), Infallible> {
        passage(arrival)
    }

    #[inline]
    fn answered(&self, worker: usize, asked: Asked, returned: &Result<Returned<'_>, Status>) {
        let failed = returned.as_ref().map_or(true, |returned| returned.label != 0);
        let answer = self.reply_text(asked.label, returned);
        let ended = self.record.time();
        self.record.done(&Done { worker, label: asked.label, failed, started: asked.started, ended, message: &asked.text, answer: &answer });
    }

    fn notified(&self, worker: usize, seen: &Seen<()>, bits: u64) -> bool {
        self.record.note(worker, &format!("notify(#{}, {bits:#x})", seen.number), "0");
        true
    }

    fn exception(&self, worker: usize, exception: &Exception) -> u64 {
        let Exception { kind, error, address, instruction } = exception;
        let text = format!("exception({kind}, error={error:#x}, address={address:#x}, instruction={instruction:#x})");
        self.record.note(worker, &text, &format!("signal {}", exception.signal()));
        report_exception(&self.name, exception);
        exception.exit_status()
    }

    fn killed(&self, worker: usize) -> u64 {
        self.record.note(worker, "thread_ended(#0)", "signal 9");
        report_killed(&self.name)
    }

    fn signalled(&self, signal: u64) {
        self.record.note(0, "ended(#0)", &format!("signal {signal}"));
    }

    fn ended(&self) {
        self.record.finish();
    }
}
