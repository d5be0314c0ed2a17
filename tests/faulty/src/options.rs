//! The command line: `faulty [--refuse K | --kill K | --kill-after K] [--count N] [--of CLASS] [--] PROGRAM [ARGUMENTS]`.

use nacre_nest::command::{Given, Stop, number, option};
use nacre_proto::PROTOCOLS;

/// Text of `-h`.
pub const HELP: &str = "\
Usage: faulty [--refuse K | --kill K | --kill-after K] [--count N] [--of CLASS] [--] PROGRAM [ARGUMENTS]

Runs PROGRAM, which meets a failure at its K-th message.

  --refuse K      answer that message with ENOMEM
  --kill K        end the program before that message arrives
  --kill-after K  end the program when that message was answered
  --count N       refuse so many messages (1); 0: all from the K-th on
  --of CLASS      count some messages alone: heap, memory, or a protocol's name
  -h              show this
";

/// Failure that the program meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Its message is answered with `ENOMEM`.
    Refuse,
    /// It ends before its message arrives.
    Kill,
    /// It ends when its message was answered.
    KillAfter,
}

/// Messages that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// All.
    Any,
    /// Segments that the program takes from the pool that its parent gives it.
    Heap,
    /// All that asks for memory.
    Memory,
    /// Those of the protocol with this number.
    Protocol(u32),
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// The failure.
    pub failure: Failure,
    /// Number of the first message that fails, from 1.
    pub first: u64,
    /// Number of messages that fail; 0: all that follow.
    pub count: u64,
    /// Messages that count.
    pub class: Class,
    /// The program and its arguments; at least one.
    pub command: &'a [&'a [u8]],
}

fn class(name: &[u8]) -> Option<Class> {
    match name {
        b"heap" => Some(Class::Heap),
        b"memory" => Some(Class::Memory),
        _ => PROTOCOLS.iter().find(|protocol| protocol.name.as_bytes() == name).map(|protocol| Class::Protocol(protocol.number)),
    }
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut options = Options { failure: Failure::Refuse, first: u64::MAX, count: 1, class: Class::Any, command: &[] };
    while let Some(Given { name, value }) = option(&mut arguments, &[b"--refuse", b"--kill", b"--kill-after", b"--count", b"--of"], &[])? {
        let given = || number(value).ok_or(Stop::Value(name));
        match name {
            b"--refuse" => (options.failure, options.first) = (Failure::Refuse, given()?),
            b"--kill" => (options.failure, options.first) = (Failure::Kill, given()?),
            b"--kill-after" => (options.failure, options.first) = (Failure::KillAfter, given()?),
            b"--count" => options.count = given()?,
            _ => options.class = class(value).ok_or(Stop::Value(name))?,
        }
    }
    if arguments.is_empty() { Err(Stop::NoProgram) } else { Ok(Options { command: arguments, ..options }) }
}
