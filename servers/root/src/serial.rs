//! A serial line: a 16550 with its FIFO, and the queue of bytes that are to go out.
//!
//! Sending is pushed along from wherever the server is: as long as the line takes bytes they are
//! written sixteen at a time, then its interrupt (or, for a line without one, a look a little
//! later) goes on. Nothing ever waits for the line.

use alloc::collections::VecDeque;

/// The I/O ports that a line needs.
pub trait Ports {
    /// Reads a port.
    fn read(&mut self, port: u16) -> u8;
    /// Writes a port.
    fn write(&mut self, port: u16, value: u8);
    /// Writes bytes to one port, one after the other.
    fn write_bytes(&mut self, port: u16, bytes: &[u8]);
}

/// Registers, counted from the line's first port.
mod register {
    pub const DATA: u16 = 0;
    pub const INTERRUPTS: u16 = 1;
    /// Read: which interrupt; written: control of the FIFO.
    pub const FIFO: u16 = 2;
    pub const FORMAT: u16 = 3;
    pub const MODEM: u16 = 4;
    pub const STATUS: u16 = 5;
}

/// Bits of the interrupt register.
const ON_DATA: u8 = 1;
const ON_EMPTY: u8 = 2;
/// Bits of the status register.
const HAS_DATA: u8 = 1;
const IS_EMPTY: u8 = 0x20;
const HAS_SENT: u8 = 0x40;
/// Status of a line that is not there.
const ABSENT: u8 = 0xff;
/// Bytes that the FIFO holds, and how many there are when it asks for them at once.
const FIFO_SIZE: usize = 16;
const TRIGGER: usize = 14;
/// Maximum number of FIFOs that are filled at a time.
const BURSTS: usize = 64;

/// A line.
pub struct Serial {
    base: u16,
    /// Set if the line's interrupt is used.
    has_interrupt: bool,
    takes_input: bool,
    enabled: u8,
    /// Set if somebody else takes what is to go out.
    is_carried: bool,
    queue: VecDeque<u8>,
}

impl Serial {
    /// The line whose first port is `base`. Without `has_interrupt` it is for output alone.
    pub fn new(base: u16, has_interrupt: bool) -> Serial {
        Serial { base, has_interrupt, takes_input: has_interrupt, enabled: 0, is_carried: false, queue: VecDeque::new() }
    }

    /// Sets the line up: 115200 baud, 8 bits, FIFOs on and empty, an interrupt at 14 bytes of the
    /// 16 (or after a pause).
    pub fn start(&mut self, ports: &mut impl Ports) {
        let values = [
            (register::INTERRUPTS, 0),
            (register::FORMAT, 0x80),
            (register::DATA, 1),
            (register::INTERRUPTS, 0),
            (register::FORMAT, 3),
            (register::FIFO, 0xc7),
            // Terminal ready, request to send, and the output that lets the interrupt through.
            (register::MODEM, 0x0b),
        ];
        for (register, value) in values {
            ports.write(self.base + register, value);
        }
        self.enable(ports, if self.has_interrupt { ON_DATA } else { 0 });
    }

    fn enable(&mut self, ports: &mut impl Ports, interrupts: u8) {
        if self.enabled != interrupts {
            self.enabled = interrupts;
            ports.write(self.base + register::INTERRUPTS, interrupts);
        }
    }

    /// Leaves what is to go out to somebody else, or takes it again.
    pub fn be_carried(&mut self, is_carried: bool) {
        self.is_carried = is_carried;
    }

    /// Returns the bytes that are to go out, to append to.
    pub fn queue(&mut self) -> &mut VecDeque<u8> {
        &mut self.queue
    }

    /// Returns the number of bytes that have not gone out.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if everything has left the line itself too. A host that reads slowly leaves
    /// bytes in the FIFO, and they end with the machine.
    pub fn is_quiet(&self, ports: &mut impl Ports) -> bool {
        self.queue.is_empty() && ports.read(self.base + register::STATUS) & HAS_SENT != 0
    }

    /// Returns true if somebody has to call [`push`](Self::push) again without an interrupt.
    pub fn wants_push(&self) -> bool {
        !self.has_interrupt && !self.is_carried && !self.queue.is_empty()
    }

    /// Sends what the line takes now.
    pub fn push(&mut self, ports: &mut impl Ports) {
        if self.is_carried {
            return;
        }
        for _ in 0..BURSTS {
            if self.queue.is_empty() {
                return self.enable(ports, self.enabled & !ON_EMPTY);
            }
            match ports.read(self.base + register::STATUS) {
                ABSENT => self.queue.clear(),
                status if status & IS_EMPTY == 0 => break,
                _ => self.send_burst(ports),
            }
        }
        if self.has_interrupt && !self.queue.is_empty() {
            // The interrupt comes at once if the line is empty already, but only when the bit
            // changes.
            self.enable(ports, self.enabled & !ON_EMPTY);
            self.enable(ports, self.enabled | ON_EMPTY);
        }
    }

    fn send_burst(&mut self, ports: &mut impl Ports) {
        let (first, second) = self.queue.as_slices();
        let part = if first.is_empty() { second } else { first };
        let count = part.len().min(FIFO_SIZE);
        ports.write_bytes(self.base + register::DATA, &part[..count]);
        self.queue.drain(..count);
    }

    /// Stops or goes on taking input; what arrives meanwhile waits in the line.
    pub fn take_input(&mut self, ports: &mut impl Ports, take: bool) {
        if self.has_interrupt && take != self.takes_input {
            self.takes_input = take;
            self.enable(ports, if take { self.enabled | ON_DATA } else { self.enabled & !ON_DATA });
        }
    }

    /// The next byte that has arrived, if input is taken.
    pub fn receive(&mut self, ports: &mut impl Ports) -> Option<u8> {
        let status = if self.takes_input { ports.read(self.base + register::STATUS) } else { 0 };
        (status & HAS_DATA != 0 && status != ABSENT).then(|| ports.read(self.base + register::DATA))
    }

    /// Returns the cause of the line's interrupt. Looking answers a request that is about sending.
    pub fn asks(&mut self, ports: &mut impl Ports) -> InterruptCauses {
        match ports.read(self.base + register::FIFO) & 0xf {
            4 => InterruptCauses::Take(TRIGGER),
            0xc => InterruptCauses::TakeAll,
            2 => InterruptCauses::Push,
            6 => {
                // Errors are answered by looking at the status; the bytes are taken as they are.
                ports.read(self.base + register::STATUS);
                InterruptCauses::TakeAll
            }
            _ => InterruptCauses::Nothing,
        }
    }

    /// A byte that is known to be there.
    pub fn take(&mut self, ports: &mut impl Ports) -> u8 {
        ports.read(self.base + register::DATA)
    }
}

/// Cause of a line's interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterruptCauses {
    /// Pending interrupts have no cause left.
    Nothing,
    /// Received bytes: at least this many wait.
    Take(usize),
    /// Some bytes are there: [`Serial::receive`] until there are none.
    TakeAll,
    /// The line takes bytes again.
    Push,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A line that takes `room` more bytes.
    struct Fake {
        room: usize,
        sent: Vec<u8>,
        enabled: u8,
        arrived: VecDeque<u8>,
    }

    impl Ports for Fake {
        fn read(&mut self, port: u16) -> u8 {
            match port {
                0x3f8 => self.arrived.pop_front().unwrap(),
                0x3fd => u8::from(!self.arrived.is_empty()) | if self.room > 0 { IS_EMPTY } else { 0 } | if self.room >= FIFO_SIZE { HAS_SENT } else { 0 },
                _ => 1,
            }
        }

        fn write(&mut self, port: u16, value: u8) {
            if port == 0x3f9 {
                self.enabled = value;
            }
        }

        fn write_bytes(&mut self, port: u16, bytes: &[u8]) {
            assert_eq!(port, 0x3f8);
            assert!(bytes.len() <= FIFO_SIZE);
            self.room = self.room.saturating_sub(bytes.len());
            self.sent.extend_from_slice(bytes);
        }
    }

    #[test]
    fn a_line_that_stops_is_gone_on_with_by_its_interrupt() {
        let mut ports = Fake { room: 32, sent: Vec::new(), enabled: 0, arrived: VecDeque::new() };
        let mut line = Serial::new(0x3f8, true);
        line.start(&mut ports);
        line.queue().extend([7; 50]);
        line.push(&mut ports);
        assert_eq!((ports.sent.len(), line.pending(), ports.enabled), (32, 18, ON_DATA | ON_EMPTY));
        ports.room = 99;
        line.push(&mut ports);
        assert_eq!((ports.sent.len(), line.pending(), ports.enabled), (50, 0, ON_DATA));
    }

    #[test]
    fn a_line_is_quiet_once_its_fifo_is_empty() {
        let mut ports = Fake { room: 16, sent: Vec::new(), enabled: 0, arrived: VecDeque::new() };
        let mut line = Serial::new(0x3f8, true);
        line.start(&mut ports);
        assert!(line.is_quiet(&mut ports));
        line.queue().extend([7; 3]);
        assert!(!line.is_quiet(&mut ports));
        line.push(&mut ports);
        assert_eq!((line.pending(), line.is_quiet(&mut ports)), (0, false));
        ports.room = 16;
        assert!(line.is_quiet(&mut ports));
    }

    #[test]
    fn input_waits_while_it_is_not_taken() {
        let mut ports = Fake { room: 0, sent: Vec::new(), enabled: 0, arrived: VecDeque::from([1, 2]) };
        let mut line = Serial::new(0x3f8, true);
        line.start(&mut ports);
        assert_eq!(line.receive(&mut ports), Some(1));
        line.take_input(&mut ports, false);
        assert_eq!((line.receive(&mut ports), ports.enabled), (None, 0));
        line.take_input(&mut ports, true);
        assert_eq!((line.receive(&mut ports), line.receive(&mut ports)), (Some(2), None));
    }
}
