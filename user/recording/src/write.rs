//! Writing recordings.

use crate::{Answer, END, Exchange, Given, MAGIC, MESSAGE, START, Start, TIME, VERSION};
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

/// Appends a message.
pub fn message(exchange: &Exchange, into: &mut Vec<u8>) {
    into.push(MESSAGE);
    number(exchange.port, into);
    number(exchange.label.into(), into);
    into.extend(exchange.digest.to_le_bytes());
    match &exchange.answer {
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

/// Appends a look at the processor's counter.
pub fn time(ticks: u64, into: &mut Vec<u8>) {
    into.push(TIME);
    number(ticks, into);
}

/// Appends the end.
pub fn end(status: u64, into: &mut Vec<u8>) {
    into.push(END);
    number(status, into);
}
