//! Writing recordings.

use crate::{Answer, END, Exchange, Given, LATE, LEAVE, LOSS, Loss, MAGIC, MESSAGE, NOTIFY, RUN, START, Start, Switch, TIME, TIMED_OUT, VERSION};
use alloc::vec::Vec;

fn number(mut number: u64, into: &mut Vec<u8>) {
    while number > 0x7f {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn text(bytes: &[u8], into: &mut Vec<u8>) {
    number(bytes.len() as u64, into);
    into.extend(bytes);
}

/// Returns the first bytes of a recording.
pub fn begin(start: &Start) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    number(VERSION, &mut bytes);
    bytes.push(START);
    number(start.command.len() as u64, &mut bytes);
    start.command.iter().for_each(|word| text(word, &mut bytes));
    bytes.extend(start.environment.to_le_bytes());
    bytes.extend(start.random);
    bytes
}

fn sent(exchange: &Exchange, into: &mut Vec<u8>) {
    number(exchange.port, into);
    number(exchange.label.into(), into);
    into.extend(exchange.digest.to_le_bytes());
}

fn outcome(answer: &Answer, into: &mut Vec<u8>) {
    match answer {
        // Whose answer has not come has none in the file.
        Answer::Never => {}
        Answer::Failed(status) => {
            into.push(1);
            number(*status, into);
        }
        Answer::Given { label, words, bytes, references } => {
            into.push(0);
            number((*label).into(), into);
            words.iter().for_each(|word| number(*word, into));
            text(bytes, into);
            number(references.len() as u64, into);
            for given in references {
                let (kind, value) = match given {
                    Given::Port(number) => (0, *number),
                    Given::Object(kind) => (1, *kind),
                };
                into.push(kind);
                number(value, into);
            }
        }
    }
}

/// Appends a message and its answer, which has come.
pub fn message(exchange: &Exchange, into: &mut Vec<u8>) {
    into.push(MESSAGE);
    sent(exchange, into);
    outcome(&exchange.answer, into);
}

/// Appends an answer for which the thread that awaits it was left.
pub fn late(exchange: usize, answer: &Answer, into: &mut Vec<u8>) {
    into.push(LATE);
    number(exchange as u64, into);
    outcome(answer, into);
}

/// Appends a step of the threads' course: of [`Switch::Calls`] with the message, which has no
/// answer yet; [`Switch::Answered`] is [`late`]'s.
pub fn switch(switch: Switch, exchange: Option<&Exchange>, into: &mut Vec<u8>) {
    match switch {
        Switch::Waits => into.extend([LEAVE, 0]),
        Switch::Yields => into.extend([LEAVE, 1]),
        Switch::Calls(_) => {
            into.extend([LEAVE, 2]);
            exchange.into_iter().for_each(|exchange| sent(exchange, into));
        }
        Switch::Steps(steps) => {
            into.extend([LEAVE, 3]);
            number(steps, into);
        }
        Switch::At(address, digest) => {
            into.extend([LEAVE, 4]);
            number(address, into);
            into.extend(digest.to_le_bytes());
        }
        Switch::Answered(_) => {}
        Switch::Notified(port, bits) => {
            into.push(NOTIFY);
            number(port, into);
            number(bits, into);
        }
        Switch::TimedOut(thread) => {
            into.push(TIMED_OUT);
            number(thread, into);
        }
        Switch::Runs(thread) => {
            into.push(RUN);
            number(thread, into);
        }
    }
}

/// Appends a look at the processor's counter.
pub fn time(ticks: u64, into: &mut Vec<u8>) {
    into.push(TIME);
    number(ticks, into);
}

/// Appends the end of a process by the signal that a message has sent.
pub fn loss(loss: Loss, into: &mut Vec<u8>) {
    into.push(LOSS);
    number(loss.message as u64, into);
    number(loss.process, into);
}

/// Appends the end.
pub fn end(status: u64, into: &mut Vec<u8>) {
    into.push(END);
    number(status, into);
}
