//! The command line: `faulty [--refuse K | --kill K | --kill-after K] [--count N] [--of CLASS] [--]
//! PROGRAM [ARGUMENTS]`.

use nacre_manifest::{Choice, Manifest, Programs, Value};
use nacre_nest::command::{Given, Stop, number};
use nacre_proto::PROTOCOLS;

/// Manifest of this test program.
pub const MANIFEST: Manifest = Manifest {
    name: "faulty",
    summary: "Runs PROGRAM, which meets a failure at its K-th message.",
    programs: Programs::One,
    options: &[
        Choice::new("--refuse", Value::Text("K"), "answer that message with ENOMEM"),
        Choice::new("--kill", Value::Text("K"), "end the program before that message arrives"),
        Choice::new("--kill-after", Value::Text("K"), "end the program when that message was answered"),
        Choice::new("--count", Value::Text("N"), "refuse so many messages (1); 0: all from the K-th on"),
        Choice::new("--of", Value::Text("CLASS"), "count some messages alone: heap, memory, or a protocol's name"),
    ],
    notes: "",
    hands_on: "All messages that do not fail.",
};

/// Failure that the program meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// `ENOMEM` in answer to its message.
    Refuse,
    /// End of the program before its message arrives.
    Kill,
    /// End of the program when its message was answered.
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
    /// Messages of the protocol with this number.
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
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut arguments)? {
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
