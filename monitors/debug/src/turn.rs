//! Messages as recordings have them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_nest::interpose::{InterposedReply, InterposedRequest, Name};
use nacre_proto::{PROTOCOLS, dataspace, memory, segment};
use nacre_recording::{Answer, Digest, Exchange, Given, Switch};
use nacre_sys::Status;

/// Exit status after a replay that differed from its recording.
pub const DIVERGED: i32 = 117;

/// A message that was sent on, or is answered from the recording.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Number of the message, from 0 on.
    pub number: usize,
    /// Number of the port that it was sent to.
    pub port: u64,
    /// Label of the message.
    pub label: u32,
    /// Digest up to it.
    pub digest: u64,
    /// First word of the message.
    pub word: u64,
}

/// Returns true if a message is about memory of the program's own, which a replay has to have, too.
/// How much memory there is anyone can have changed since then.
pub fn is_about_memory(label: u32) -> bool {
    label != memory::status::LABEL && [memory::NUMBER, segment::NUMBER, dataspace::NUMBER].contains(&(label >> 16))
}

/// Returns the name of an operation, for people.
pub fn name(label: u32) -> String {
    let operation = PROTOCOLS.iter().flat_map(|protocol| protocol.operations).find(|operation| operation.label == label);
    operation.map_or_else(|| format!("message {label:#x}"), |operation| format!("{}.{}", operation.protocol, operation.name))
}

/// Adds a request to a digest; returns what is kept of it.
pub fn asked(number: usize, letter: &InterposedRequest<'_, u32>, digest: &mut Digest) -> Turn {
    let (port, label) = (letter.seen.number, letter.label);
    digest.add(port);
    digest.add(label.into());
    letter.words.iter().for_each(|word| digest.add(*word));
    digest.add_bytes(&letter.bytes());
    for given in letter.names().iter().filter_map(given) {
        let (kind, value) = match given {
            Given::Port(number) => (0, number),
            Given::Object(kind) => (1, kind),
        };
        digest.add(kind);
        digest.add(value);
    }
    Turn { number, port, label, digest: digest.value(), word: letter.words[0] }
}

fn given(name: &Name) -> Option<Given> {
    match name {
        Name::Proxy(number) => Some(Given::Port(*number)),
        Name::Kind(kind) => Some(Given::Object(*kind)),
        Name::Nothing => None,
    }
}

/// Returns an answer as recordings have it.
pub fn answer(returned: &Result<InterposedReply<'_>, Status>) -> Answer {
    match returned {
        Ok(reply) => {
            let references: Vec<Given> = reply.names.iter().filter_map(given).collect();
            Answer::Given { label: reply.label, words: reply.words, bytes: reply.bytes(), references }
        }
        Err(status) => Answer::Failed(status.0),
    }
}

/// Returns what a recording has of a message.
pub fn exchange(turn: &Turn, answer: Answer) -> Exchange {
    Exchange { port: turn.port, label: turn.label, digest: turn.digest, answer }
}

/// A switch as the end of a sentence.
pub fn does(switch: Switch) -> String {
    match switch {
        Switch::Waits => "it waits for another thread".into(),
        Switch::Yields => "it yields".into(),
        Switch::Calls(message) => format!("it waits for the answer to message {}", message + 1),
        Switch::Steps(steps) => format!("it is left after {steps} instructions"),
        Switch::At(address, _) => format!("it is left at {address:#x}"),
        Switch::Answered(message) => format!("message {} is answered", message + 1),
        Switch::Notified(port, _) => format!("port {port} is notified"),
        Switch::TimedOut(number) => format!("the wait of thread {} ends", number + 1),
        Switch::Runs(number) => format!("thread {} runs", number + 1),
    }
}
