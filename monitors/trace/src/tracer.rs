//! Interposer of `trace`: lets all messages pass, and records them.

use crate::beside;
use crate::manifest::MANIFEST;
use crate::record::{Done, Record};
use crate::sender::Sender;
use crate::tracks::Track;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::convert::Infallible;
use nacre_abi::Status;
use nacre_abi::object::TargetType;
use nacre_control::{Command, Follower};
use nacre_nest::host::Exception;
use nacre_nest::interpose::text::MessageDirection;
use nacre_nest::interpose::{Arrival, InterposedRequest, ReferenceRule, InterposedReply, ProxyInfo, Interposer, report_exception, report_killed};
use nacre_proto::{Errno, parent, process, sender};
use nacre_sys::{OwnedReference, Reference};
use nacre_sys::ipc::Received;

/// The tracer.
pub struct Tracer {
    /// Destination of messages.
    pub record: Record,
    /// Name of the program, in messages about it.
    pub name: String,
    /// The tracer has no program of its own, and stands beside those that somebody looks at.
    pub is_beside: bool,
}

/// Part of a request that is kept until its answer comes.
pub struct Asked {
    label: u32,
    /// Sender, as far as it is known.
    from: Sender,
    /// Track of the message, in a file of events.
    track: Option<Track>,
    started: u64,
    text: String,
}

/// Every port has a proxy, tagged with the process that it belongs to; nothing else can have one.
fn passage(arrival: Arrival, pid: u64) -> ReferenceRule<u64, Infallible> {
    if arrival.kind == TargetType::Port as u64 { ReferenceRule::Proxy(pid) } else { ReferenceRule::Plain }
}

impl Tracer {
    fn request_text(&self, letter: &InterposedRequest<'_, u64>, words: [u64; 6]) -> String {
        if !self.record.wants_text_of(letter.label) {
            return String::new();
        }
        let half = MessageDirection { label: letter.label, words, bytes: &letter.bytes(), references: letter.names() };
        self.record.request(letter.seen.outward, letter.seen.number, &half)
    }

    fn reply_text(&self, label: u32, returned: &Result<InterposedReply<'_>, Status>) -> String {
        match returned {
            _ if !self.record.wants_text_of(label) => String::new(),
            Ok(returned) => {
                let half = MessageDirection { label: returned.label, words: returned.words, bytes: &returned.bytes(), references: returned.names };
                self.record.reply(label, &half)
            }
            // The answer to an exit ends the program instead.
            Err(_) if label == parent::exit::LABEL => String::from("?"),
            Err(status) => format!("({status:?})"),
        }
    }
}

impl Follower for Tracer {
    fn begin(&self, command: &Command, news: OwnedReference) -> Option<Result<(), Errno>> {
        let begun = self.record.attached.begin(command, news)?;
        if self.is_beside && begun.is_ok() {
            beside::attach();
        }
        Some(begun)
    }

    fn take(&self) -> Option<(u64, Vec<u8>)> {
        self.record.attached.take()
    }

    fn current(&self) -> Option<u64> {
        self.record.attached.current()
    }

    fn end(&self, number: u64) {
        let is_current = self.current() == Some(number);
        self.record.attached.end(number);
        if self.is_beside && is_current {
            beside::detach();
        }
    }
}

impl Interposer for Tracer {
    /// Number of the process that a port belongs to; 0 is the first one.
    type Tag = u64;
    type Asked = Asked;
    type Proof = Infallible;
    const ATTENUATES: bool = false;

    fn monitor(&self) -> &'static str {
        MANIFEST.name
    }

    fn follower(&self) -> Option<&dyn Follower> {
        Some(self)
    }

    fn attends(&self) -> bool {
        !self.is_beside
    }

    fn tag_of(&self, pid: u64) -> u64 {
        pid
    }

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

    fn is_process(&self, _: Reference, pid: u64) {
        self.record.begin(pid);
    }

    fn sent(&self, seen: &ProxyInfo<u64>, arrival: Arrival) -> ReferenceRule<u64, Infallible> {
        passage(arrival, seen.tag)
    }

    #[inline]
    fn request(&self, letter: &mut InterposedRequest<'_, u64>) -> Result<Asked, Errno> {
        if self.record.wants_text() && matches!(letter.label, process::name_set::LABEL | process::renew::LABEL) {
            self.record.name(letter.seen.tag, &letter.bytes());
        }
        // What comes from outside tells a thread of somebody else.
        let (words, thread) = if letter.seen.outward || !self.record.wants_text() { (letter.words, 0) } else { sender::split(letter.label, letter.words) };
        let from = Sender::new(letter.seen.tag, thread);
        let text = self.request_text(letter, words);
        if letter.label == parent::exit::LABEL && letter.is_parent && self.record.wants_text_of(letter.label) {
            self.record.note(from, &text, "?");
        }
        let track = self.record.enter(from);
        let started = self.record.time();
        Ok(Asked { label: letter.label, from, track, started, text })
    }

    fn returned(&self, asked: &mut Asked, reply: &Received, arrival: Arrival) -> ReferenceRule<u64, Infallible> {
        // The port of a new process is that process's parent.
        passage(arrival, if asked.label == process::create::LABEL { reply.words[0] } else { asked.from.pid })
    }

    #[inline]
    fn answered(&self, _: usize, asked: Asked, returned: &Result<InterposedReply<'_>, Status>) {
        let failed = returned.as_ref().map_or(true, |returned| returned.label != 0);
        let answer = self.reply_text(asked.label, returned);
        let ended = self.record.time();
        self.record.done(&Done { track: asked.track, from: asked.from, label: asked.label, failed, started: asked.started, ended, message: &asked.text, answer: &answer });
    }

    fn notified(&self, _: usize, seen: &ProxyInfo<u64>, _: Reference, bits: u64) -> bool {
        if self.record.wants_notifications() {
            self.record.notification(Sender::new(seen.tag, 0), &format!("notify(#{}, {bits:#x})", seen.number));
        }
        true
    }

    fn exception(&self, _: usize, exception: &Exception) -> u64 {
        let Exception { kind, error, address, instruction } = exception;
        let text = format!("exception({kind}, error={error:#x}, address={address:#x}, instruction={instruction:#x})");
        self.record.note(Sender::FIRST, &text, &format!("signal {}", exception.signal()));
        report_exception(&self.name, exception);
        exception.exit_status()
    }

    fn killed(&self, _: usize) -> u64 {
        self.record.note(Sender::FIRST, "thread_ended(#0)", "signal 9");
        report_killed(&self.name)
    }

    fn signalled(&self, signal: u64) {
        self.record.note(Sender::FIRST, "ended(#0)", &format!("signal {signal}"));
    }

    fn ended(&self) {
        self.record.finish();
    }
}
