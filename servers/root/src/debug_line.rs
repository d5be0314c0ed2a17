//! The fourth serial line, by which a debugger outside reaches a monitor inside: the device
//! `/dev/gdb`. It is there only on machines that have the line, and carries bytes as they come.

use crate::hardware::IoPorts;
use crate::serial::{InterruptCauses, Ports, Serial};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_abi::environment::INTERRUPTS;
use nacre_proto::Errno;
use nacre_proto::file::{read, write};
use nacre_proto::flags::{POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM};
use nacre_proto::server::{Output, refuse};
use nacre_sys::{OwnedReference, Port, Reference, Span, io, ipc};

const LINES: Reference = Reference(INTERRUPTS);
/// First I/O port of the line.
const BASE: u16 = 0x2e8;
/// Offset of the register that keeps any byte, by which a line shows that it is there.
const SCRATCH: u16 = 7;
/// Interrupt line, and its bit in a notification. The usual one of a fourth line is that of the
/// second, too.
const LINE: (u64, u64) = (5, 4);
/// A writer waits while more bytes than this are queued.
const FULL: usize = 32 << 10;
/// Bytes that wait to be read before the line stops being listened to.
const ENOUGH: usize = 64 << 10;
/// Maximum number of requests of the line in one interrupt.
const MAX_ASKED: u32 = 10_000;
/// Maximum number of readers, and of writers, that wait.
const MAX_WAITING: usize = 16;

/// The line.
pub struct DebugLine {
    line: Serial,
    input: VecDeque<u8>,
    readers: VecDeque<(OwnedReference, usize)>,
    writers: VecDeque<(OwnedReference, u64)>,
    watchers: Vec<Watcher>,
}

/// A port that is told once of events.
struct Watcher {
    events: u64,
    bits: u64,
    port: OwnedReference,
}

/// Returns true if the machine has the line.
pub fn is_there() -> bool {
    is_line(&mut IoPorts)
}

fn is_line(ports: &mut impl Ports) -> bool {
    [0x5a, 0xa5].into_iter().all(|value| {
        ports.write(BASE + SCRATCH, value);
        ports.read(BASE + SCRATCH) == value
    })
}

impl DebugLine {
    /// Sets up the line, whose interrupts go to `port`. `None` on a machine without it.
    pub fn start(port: Port) -> Option<DebugLine> {
        if !is_there() {
            return None;
        }
        let mut line = Serial::new(BASE, true);
        line.start(&mut IoPorts);
        io::interrupt_bind(LINES, LINE.0, port, LINE.1).ok()?;
        Some(DebugLine { line, input: VecDeque::new(), readers: VecDeque::new(), writers: VecDeque::new(), watchers: Vec::new() })
    }

    /// Takes what the line has after an interrupt.
    pub fn interrupted(&mut self, bits: u64) {
        if bits & LINE.1 == 0 {
            return;
        }
        // Acknowledged first: the line interrupts by edges.
        let _ = io::interrupt_acknowledge(LINES, LINE.0);
        for _ in 0..MAX_ASKED {
            match self.line.asks(&mut IoPorts) {
                InterruptCauses::Nothing => return,
                InterruptCauses::Push => self.line.push(&mut IoPorts),
                InterruptCauses::Take(count) => {
                    for _ in 0..count {
                        let byte = self.line.take(&mut IoPorts);
                        self.input.push_back(byte);
                    }
                }
                InterruptCauses::TakeAll => {
                    while let Some(byte) = self.line.receive(&mut IoPorts) {
                        self.input.push_back(byte);
                    }
                }
            }
            self.line.take_input(&mut IoPorts, self.input.len() < ENOUGH);
        }
    }

    /// Answers a reader when there is something to read.
    pub fn read_later(&mut self, reply: OwnedReference, limit: usize) {
        self.readers.retain(|(reply, _)| !reply.is_null().unwrap_or(true));
        if self.readers.len() >= MAX_WAITING {
            let _ = refuse(reply, Errno::EAGAIN);
            return;
        }
        self.readers.push_back((reply, limit));
        self.settle();
    }

    /// Queues bytes, and answers their writer when there is room again.
    pub fn write(&mut self, reply: OwnedReference, bytes: &[u8]) {
        self.writers.retain(|(reply, _)| !reply.is_null().unwrap_or(true));
        if self.writers.len() >= MAX_WAITING {
            let _ = refuse(reply, Errno::EAGAIN);
            return;
        }
        self.line.queue().extend(bytes);
        self.writers.push_back((reply, bytes.len() as u64));
        self.line.push(&mut IoPorts);
        self.settle();
    }

    /// Events that are there for whoever has the line.
    pub fn events(&mut self) -> u64 {
        let readable = if self.input.is_empty() { 0 } else { POLLIN | POLLRDNORM };
        let writable = if self.line.pending() <= FULL { POLLOUT | POLLWRNORM } else { 0 };
        readable | writable
    }

    /// Notifies a port, once, when one of the events is there. One of too many is told at once.
    pub fn watch(&mut self, events: u64, bits: u64, port: OwnedReference) {
        self.watchers.retain(|watcher| !watcher.port.is_null().unwrap_or(true));
        if self.watchers.len() >= MAX_WAITING {
            self.watchers.remove(0).tell();
        }
        self.watchers.push(Watcher { events, bits, port });
    }

    /// Answers everybody who has waited long enough.
    pub fn settle(&mut self) {
        while self.line.pending() <= FULL
            && let Some((reply, count)) = self.writers.pop_front()
        {
            let _ = write::Output { count }.send(reply, Span::EMPTY);
        }
        while !self.input.is_empty()
            && let Some((reply, limit)) = self.readers.pop_front()
        {
            let bytes: Vec<u8> = self.input.iter().take(limit).copied().collect();
            // What does not arrive is there for the next reader.
            if (read::Output { count: bytes.len() as u64 }).send(reply, Span::from(&bytes[..])).is_ok() {
                self.input.drain(..bytes.len());
            }
        }
        self.line.take_input(&mut IoPorts, self.input.len() < ENOUGH);
        let events = self.events();
        for watcher in self.watchers.extract_if(.., |watcher| watcher.events & events != 0) {
            watcher.tell();
        }
    }

    /// Returns true if everything has gone out.
    pub fn is_quiet(&self) -> bool {
        self.line.is_quiet(&mut IoPorts)
    }

    /// Returns the number of bytes that are queued.
    pub fn pending(&self) -> usize {
        self.line.pending()
    }
}

impl Watcher {
    fn tell(&self) {
        // Who has gone is not told.
        let _ = ipc::notify(self.port.handle(), self.bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place where a line is, or none.
    struct Fake(Option<u8>);

    impl Ports for Fake {
        fn read(&mut self, _: u16) -> u8 {
            self.0.unwrap_or(0xff)
        }

        fn write(&mut self, port: u16, value: u8) {
            assert_eq!(port, 0x2ef);
            self.0 = self.0.map(|_| value);
        }

        fn write_bytes(&mut self, _: u16, _: &[u8]) {}
    }

    #[test]
    fn a_line_keeps_a_byte_and_an_empty_place_does_not() {
        assert!(is_line(&mut Fake(Some(0))));
        assert!(!is_line(&mut Fake(None)));
    }
}
