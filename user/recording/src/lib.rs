//! What crossed the boundary of a program, as a file: see the README.
//!
//! The file begins with [`MAGIC`] and a [`VERSION`]. Records follow, each behind a byte that says
//! which. Numbers are written in groups of seven bits, the lowest first, with the highest bit set
//! in all bytes but the last.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod digest;
mod read;
mod write;

use alloc::vec::Vec;
pub use digest::Digest;
pub use read::{Fault, read};
pub use write::{begin, end, late, loss, message, switch, time};

/// First bytes of each recording.
pub const MAGIC: &[u8; 8] = b"NacreRec";
/// Version of the format.
pub const VERSION: u64 = 4;
/// Maximum size of a recording that is read.
pub const MAX_SIZE: usize = 256 << 20;
/// Maximum number of words of a command or of an environment.
pub const MAX_WORDS: u64 = 65_536;
/// Maximum number of bytes of an answer.
pub const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of references of an answer.
pub const MAX_REFERENCES: u64 = 8;
/// Maximum number of threads that a program makes.
pub const MAX_THREADS: u64 = 65_536;

/// Bytes before records.
const START: u8 = b'S';
const MESSAGE: u8 = b'M';
const LATE: u8 = b'L';
const LEAVE: u8 = b'W';
const TIMED_OUT: u8 = b'O';
const RUN: u8 = b'R';
const NOTIFY: u8 = b'N';
const TIME: u8 = b'T';
const LOSS: u8 = b'K';
const END: u8 = b'E';

/// Start of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Start {
    /// Words of the command.
    pub command: Vec<Vec<u8>>,
    /// Digest of the environment.
    pub environment: u64,
    /// Random bytes that the program finds.
    pub random: [u8; 16],
}

/// Answer to a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The answer came.
    Given {
        /// Label of the answer.
        label: u32,
        /// Words of the answer.
        words: [u64; 6],
        /// Bytes of the answer.
        bytes: Vec<u8>,
        /// References of the answer: the numbers that ports have from now on, and the types of all
        /// else.
        references: Vec<Given>,
    },
    /// Status of a message without an answer.
    Failed(u64),
    /// The program ended before the answer.
    Never,
}

/// Reference of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// A port, which has this number.
    Port(u64),
    /// An object of this type.
    Object(u64),
}

/// A message and its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// Number of the port that it was sent to.
    pub port: u64,
    /// Label of the message.
    pub label: u32,
    /// Digest of all messages and answers up to this message.
    pub digest: u64,
    /// The answer.
    pub answer: Answer,
}

/// A step in the course of a program's threads, of which one runs at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// The thread that ran waits for another one of the program.
    Waits,
    /// The thread that ran has yielded.
    Yields,
    /// The thread that ran awaits the answer to the message with this number.
    Calls(usize),
    /// The thread that ran has made so many instructions since it began to.
    Steps(u64),
    /// The thread that ran is at this address, with registers and a stack of this digest.
    At(u64, u64),
    /// The answer to the message with this number comes.
    Answered(usize),
    /// The time that a thread waits for something has passed.
    TimedOut(u64),
    /// The program's port with this number is notified with these bits.
    Notified(u64, u64),
    /// A thread runs, until the next of the first four.
    Runs(u64),
}

/// A look of the program's at the processor's counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeRead {
    /// Number of messages before it.
    pub after: usize,
    /// Value of the counter.
    pub ticks: u64,
}

/// Numbers of messages that were sent, and of looks at the counter, so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Before {
    /// Number of messages.
    pub messages: usize,
    /// Number of looks.
    pub looks: usize,
}

/// The end of a process by a signal that another one, or itself, has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    /// Number of the message by which the signal was sent.
    pub message: usize,
    /// Number of the process.
    pub process: u64,
}

/// A recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// Start of the program.
    pub start: Start,
    /// Messages, in the order in which they were sent.
    pub exchanges: Vec<Exchange>,
    /// Course of the threads. The first one runs from the start.
    pub switches: Vec<Switch>,
    /// Numbers of what came before each of these steps.
    pub before: Vec<Before>,
    /// Looks at the counter, in their order.
    pub times: Vec<TimeRead>,
    /// Processes that signals have ended.
    pub losses: Vec<Loss>,
    /// Status with which the program ended.
    pub status: u64,
}

impl Recording {
    /// Returns for each exchange if it has to be made again. It has to if its label says so, if its
    /// answer brings an object that is no port, such as memory, or if its answer brings a port of
    /// which such an exchange asks. All others are answered from the recording.
    pub fn real(&self, is_real: fn(u32) -> bool) -> Vec<bool> {
        let mut real = Vec::new();
        real.resize(self.exchanges.len(), false);
        let mut ports = alloc::collections::BTreeSet::new();
        for (exchange, real) in self.exchanges.iter().zip(&mut real).rev() {
            let Answer::Given { references, .. } = &exchange.answer else { continue };
            *real = is_real(exchange.label)
                || references.iter().any(|given| match given {
                    Given::Port(number) => ports.contains(number),
                    Given::Object(_) => true,
                });
            if *real {
                ports.insert(exchange.port);
            }
        }
        real
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(references: &[Given]) -> Answer {
        Answer::Given { label: 0, words: [1, 2, 300, 0, 0, 0], bytes: b"hi".to_vec(), references: references.to_vec() }
    }

    fn example() -> Recording {
        let start = Start { command: vec![b"cat".to_vec(), b"x".to_vec()], environment: 0x1234, random: *b"0123456789abcdef" };
        let exchange = |port, answer| Exchange { port, label: 0x1_0002, digest: 0x1122_3344_5566_7788, answer };
        let exchanges = vec![exchange(0, given(&[Given::Port(4)])), exchange(4, given(&[Given::Object(2)])), exchange(9, Answer::Failed(7))];
        let times = vec![TimeRead { after: 0, ticks: 300 }, TimeRead { after: 2, ticks: 301 }];
        Recording { start, exchanges, switches: Vec::new(), before: Vec::new(), times, losses: vec![Loss { message: 1, process: 300 }], status: 258 }
    }

    fn bytes(recording: &Recording) -> Vec<u8> {
        let mut bytes = begin(&recording.start);
        for after in 0..=recording.exchanges.len() {
            recording.times.iter().filter(|one| one.after == after).for_each(|one| time(one.ticks, &mut bytes));
            recording.exchanges.get(after).into_iter().for_each(|exchange| message(exchange, &mut bytes));
            recording.losses.iter().filter(|one| one.message == after).for_each(|one| loss(*one, &mut bytes));
        }
        end(recording.status, &mut bytes);
        bytes
    }

    const GOLDEN: &[u8] = b"NacreRec\x04S\x02\x03cat\x01x\x34\x12\0\0\0\0\0\x000123456789abcdef\
        T\xac\x02\
        M\0\x82\x80\x04\x88\x77\x66\x55\x44\x33\x22\x11\0\0\x01\x02\xac\x02\0\0\0\x02hi\x01\0\x04\
        M\x04\x82\x80\x04\x88\x77\x66\x55\x44\x33\x22\x11\0\0\x01\x02\xac\x02\0\0\0\x02hi\x01\x01\x02\
        K\x01\xac\x02\
        T\xad\x02\
        M\x09\x82\x80\x04\x88\x77\x66\x55\x44\x33\x22\x11\x01\x07\
        E\x82\x02";

    #[test]
    fn a_recording_is_these_bytes() {
        assert_eq!(bytes(&example()), GOLDEN);
        assert_eq!(read(GOLDEN), Ok(example()));
    }

    #[test]
    fn threads_take_turns() {
        let start = Start::default();
        let [first, second, third] = example().exchanges.try_into().unwrap();
        let mut bytes = begin(&start);
        message(&first, &mut bytes);
        switch(Switch::Calls(1), Some(&second), &mut bytes);
        switch(Switch::Runs(1), None, &mut bytes);
        switch(Switch::Calls(2), Some(&Exchange { answer: Answer::Never, ..third.clone() }), &mut bytes);
        late(1, &second.answer, &mut bytes);
        let plain = [Switch::Runs(0), Switch::Yields, Switch::Notified(7, 300), Switch::TimedOut(1), Switch::Runs(1), Switch::Steps(300), Switch::At(0x1234, 5), Switch::Runs(0), Switch::Waits];
        plain.into_iter().for_each(|one| switch(one, None, &mut bytes));
        end(0, &mut bytes);
        let recording = read(&bytes).unwrap();
        assert_eq!(recording.exchanges, [first, second, Exchange { answer: Answer::Never, ..third }]);
        let wanted = [
            Switch::Calls(1),
            Switch::Runs(1),
            Switch::Calls(2),
            Switch::Answered(1),
            Switch::Runs(0),
            Switch::Yields,
            Switch::Notified(7, 300),
            Switch::TimedOut(1),
            Switch::Runs(1),
            Switch::Steps(300),
            Switch::At(0x1234, 5),
            Switch::Runs(0),
            Switch::Waits,
        ];
        assert_eq!(recording.switches, wanted);
        assert_eq!(recording.before.iter().map(|before| before.messages).collect::<Vec<_>>(), [1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
        for size in 0..bytes.len() {
            assert!(read(&bytes[..size]).is_err(), "{size} bytes");
        }
        // A thread is left behind an instruction at least.
        let none = [&begin(&start)[..], b"W\x03\0E\0"].concat();
        assert_eq!(read(&none), Err(Fault::Damaged(none.len() - 4)));
        // A signal that no message has sent.
        let early = [&begin(&start)[..], b"K\0\x07E\0"].concat();
        assert_eq!(read(&early), Err(Fault::Damaged(early.len() - 5)));
        // An answer that nobody awaits, or that has come.
        for number in [0, 1, 3] {
            let mut twice = bytes[..bytes.len() - 2].to_vec();
            late(number, &Answer::Failed(1), &mut twice);
            end(0, &mut twice);
            assert!(matches!(read(&twice), Err(Fault::Damaged(_))), "{number}");
        }
    }

    #[test]
    fn what_is_cut_off_or_changed_is_refused() {
        for size in 0..GOLDEN.len() {
            assert!(read(&GOLDEN[..size]).is_err(), "{size} bytes");
        }
        let with = |at: usize, byte: u8| {
            let mut bytes = GOLDEN.to_vec();
            bytes[at] = byte;
            read(&bytes)
        };
        assert_eq!(with(0, b'n'), Err(Fault::Foreign));
        assert_eq!(with(8, 1), Err(Fault::Version(1)));
        assert_eq!(with(9, b'M'), Err(Fault::Damaged(9)));
        assert_eq!(read(&[GOLDEN, b"E\0"].concat()), Err(Fault::Damaged(GOLDEN.len())));
    }

    #[test]
    fn what_brings_memory_is_made_again_and_what_leads_to_it() {
        let exchange = |port, references: &[Given]| Exchange { port, label: 1, digest: 0, answer: given(references) };
        let exchanges = vec![
            exchange(0, &[Given::Port(1)]),
            exchange(0, &[Given::Port(2)]),
            exchange(1, &[]),
            exchange(1, &[Given::Object(2)]),
            exchange(2, &[Given::Port(3)]),
        ];
        let recording = Recording { exchanges, ..Recording::default() };
        assert_eq!(recording.real(|_| false), [true, false, false, true, false]);
        assert_eq!(recording.real(|label| label == 1), [true; 5]);
    }
}
