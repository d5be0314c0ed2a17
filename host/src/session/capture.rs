//! A session with nobody at it: input from memory, output kept in memory.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::machine::Machine;
use super::ports::User;
use super::{Ending, Limits, Session, Streams};
use crate::failure::Outcome;

/// Maximum of bytes that are kept of a stream. Later bytes are dropped.
const MOST: usize = 64 << 20;

/// Output of a session.
#[derive(Debug)]
pub struct Captured {
    /// The program's status, or how the machine failed.
    pub status: Outcome<i32>,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub errors: Vec<u8>,
    /// Messages of the kernel and of root.
    pub messages: Vec<u8>,
}

/// Runs `machine` to its end.
pub fn capture(machine: &Machine, limits: Limits, input: &[u8]) -> Outcome<Captured> {
    capture_late(machine, limits, input, Duration::ZERO)
}

/// Captures a session, with a reader of its output that pauses for `delay` after the first piece.
pub fn capture_late(machine: &Machine, limits: Limits, input: &[u8], delay: Duration) -> Outcome<Captured> {
    capture_all(machine, limits, input, delay, Vec::new())
}

/// Captures a session whose ports have users.
pub fn capture_ports(machine: &Machine, limits: Limits, ports: Vec<(String, User)>) -> Outcome<Captured> {
    capture_all(machine, limits, b"", Duration::ZERO, ports)
}

fn capture_all(machine: &Machine, limits: Limits, input: &[u8], delay: Duration, ports: Vec<(String, User)>) -> Outcome<Captured> {
    let (output, errors, messages) = (Sink::default(), Sink::default(), Sink::default());
    let streams = Streams {
        input: Box::new(Cursor::new(input.to_vec())),
        output: Box::new(Late { sink: output.clone(), delay: Some(delay) }),
        errors: Box::new(errors.clone()),
        messages: Box::new(messages.clone()),
        is_terminal: false,
        ports,
    };
    let (session, _events) = Session::start(machine, streams, limits)?;
    let status = session.wait().map(Ending::status);
    Ok(Captured { status, output: output.take(), errors: errors.take(), messages: messages.take() })
}

/// Bytes that a thread collects and another takes.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn take(&self) -> Vec<u8> {
        self.0.lock().map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Ok(mut kept) = self.0.lock() {
            let room = MOST.saturating_sub(kept.len());
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that sleeps once, after the first piece.
struct Late {
    sink: Sink,
    delay: Option<Duration>,
}

impl Write for Late {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.sink.write(bytes)?;
        if let Some(delay) = self.delay.take() {
            std::thread::sleep(delay);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
