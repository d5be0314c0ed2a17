//! A console with many ports: channels of bytes between host and guest, each with a name (section
//! 5.3 of the specification).
//!
//! Bytes of the host stay in the device's buffers until they are consumed, so a host that writes
//! faster than somebody reads waits.

use crate::control::{self, Told};
use crate::memory::{Memory, Shared};
use crate::pci::{Configuration, Function};
use crate::queue::{Queue, SIZE};
use crate::transport::{Layout, Transport};
use crate::Fault;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Largest number of ports. Each gets two messages of the device at once, and as many buffers of
/// control.
pub const MAX_PORTS: usize = 16;
/// Bytes of a buffer for what the host says.
const READ_SIZE: u64 = 4096;
/// Bytes of a buffer for what the guest says.
pub const WRITE_SIZE: usize = 8192;
/// Bytes of a buffer of the control queues: a message and the longest name that is taken.
const CONTROL_SIZE: u64 = 128;

/// The device has ports with numbers and names.
const MANY_PORTS: u64 = 1 << 1;
/// Place of the number of ports in the device's own structure.
const PORT_COUNT: u64 = 4;
/// Numbers of the control queues; each port but the first has two behind these.
const CONTROL_IN: u16 = 2;
const CONTROL_OUT: u16 = 3;

/// Bytes of the host in a buffer, of which some are consumed.
struct Filled {
    buffer: usize,
    done: u64,
    length: u64,
}

/// A port.
pub struct Port<M> {
    number: u32,
    name: Vec<u8>,
    is_open: bool,
    was_open: bool,
    input: Queue<M>,
    output: Queue<M>,
    filled: VecDeque<Filled>,
}

impl<M: Memory> Port<M> {
    /// Returns the name of the port; empty until the device has told it.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns true if the host has closed the port, and all its bytes are read.
    pub fn has_ended(&self) -> bool {
        self.was_open && !self.is_open && self.filled.is_empty()
    }

    /// Returns true if there are bytes of the host to read.
    pub fn is_readable(&self) -> bool {
        !self.filled.is_empty()
    }

    /// Returns the number of bytes of the guest that the device takes now.
    pub fn room(&self) -> usize {
        if self.is_open { self.output.free_count() * WRITE_SIZE } else { 0 }
    }

    /// Returns true if the device takes bytes of the guest now.
    pub fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// Returns the number of buffers with bytes of the guest that the host has not taken.
    pub fn given_count(&self) -> usize {
        self.output.given_count()
    }

    /// Copies the next bytes of the host, and returns their number. They stay.
    pub fn peek(&self, to: &mut [u8]) -> usize {
        let mut count = 0;
        for filled in &self.filled {
            let part = to[count..].len().min((filled.length - filled.done) as usize);
            self.input.copy_out(filled.buffer, filled.done, &mut to[count..count + part]);
            count += part;
            if count == to.len() {
                break;
            }
        }
        count
    }

    /// Takes away the next `count` bytes. Returns true if the device has new buffers.
    fn consume(&mut self, mut count: usize) -> bool {
        let mut has_given = false;
        while let Some(first) = self.filled.front_mut() {
            let part = count.min((first.length - first.done) as usize);
            first.done += part as u64;
            count -= part;
            if first.done < first.length {
                break;
            }
            let buffer = first.buffer;
            self.filled.pop_front();
            self.input.give_to_write(buffer);
            has_given = true;
        }
        has_given
    }

    /// Gives the device as much of `bytes` as it takes.
    fn write(&mut self, bytes: &[u8]) -> usize {
        let mut count = 0;
        for part in bytes.chunks(WRITE_SIZE) {
            let Some(buffer) = self.output.free_buffer() else { break };
            self.output.give_to_read(buffer, part);
            count += part.len();
        }
        count
    }

    /// Takes what the device gave back of the guest's buffers.
    fn collect_output(&mut self) -> Result<(), Fault> {
        for _ in 0..self.output.returned_count()? {
            self.output.take()?;
        }
        Ok(())
    }

    /// Takes what the device gave back.
    fn collect(&mut self) -> Result<(), Fault> {
        self.collect_output()?;
        for _ in 0..self.input.returned_count()? {
            let Some(returned) = self.input.take()? else { break };
            if returned.length == 0 {
                return Err(Fault("the device gave back an empty buffer"));
            }
            self.filled.push_back(Filled { buffer: returned.buffer, done: 0, length: returned.length });
        }
        Ok(())
    }
}

/// A console. The head of this module describes it.
pub struct Console<M> {
    transport: Transport<M>,
    control_in: Queue<M>,
    control_out: Queue<M>,
    ports: Vec<Port<M>>,
}

/// Source of memory for the device, which stays the device's until it is reset.
pub type Source<'a, M> = &'a mut dyn FnMut(u64) -> Option<Shared<M>>;

impl<M: Memory> Console<M> {
    /// Starts the device `function`, whose registers `map` makes reachable by the number of their
    /// BAR, and says that the driver is there.
    pub fn start(space: &mut impl Configuration, function: Function, map: impl FnOnce(u8) -> Option<(M, u64)>, source: Source<'_, M>) -> Result<Console<M>, Fault> {
        let (layout, bar) = Layout::read(space, function)?;
        let (registers, size) = map(bar).ok_or(Fault("the registers cannot be reached"))?;
        let transport = Transport::new(registers, size, layout)?;
        transport.begin(MANY_PORTS)?;
        let mut queue = |number: u16, size: u64| {
            let memory = source(Queue::<M>::memory_size(SIZE, size)).ok_or(Fault("there is no memory for the device"))?;
            transport.queue(number, memory, (SIZE, size))
        };
        let (control_in, control_out) = (queue(CONTROL_IN, CONTROL_SIZE)?, queue(CONTROL_OUT, CONTROL_SIZE)?);
        let count = transport.own(PORT_COUNT).saturating_sub(1).min(MAX_PORTS as u32);
        let mut ports = Vec::new();
        for number in 1..=count {
            let first = CONTROL_OUT + 2 * number as u16 - 1;
            let (input, output) = (queue(first, READ_SIZE)?, queue(first + 1, WRITE_SIZE as u64)?);
            ports.push(Port { number, name: Vec::new(), is_open: false, was_open: false, input, output, filled: VecDeque::new() });
        }
        let mut console = Console { transport, control_in, control_out, ports };
        console.run()?;
        Ok(console)
    }

    fn run(&mut self) -> Result<(), Fault> {
        self.transport.run();
        while let Some(buffer) = self.control_in.free_buffer() {
            self.control_in.give_to_write(buffer);
        }
        self.transport.notify(&self.control_in);
        self.say(control::device_ready())
    }

    fn say(&mut self, message: [u8; control::SIZE]) -> Result<(), Fault> {
        for _ in 0..self.control_out.returned_count()? {
            self.control_out.take()?;
        }
        let buffer = self.control_out.free_buffer().ok_or(Fault("the device takes no control messages"))?;
        self.control_out.give_to_read(buffer, &message);
        self.transport.notify(&self.control_out);
        Ok(())
    }

    /// The ports, in the order of their numbers.
    pub fn ports(&self) -> &[Port<M>] {
        &self.ports
    }

    /// Does what the device asks for: called after each of its interrupts.
    pub fn process(&mut self) -> Result<(), Fault> {
        self.transport.take_interrupt();
        let mut added = Vec::new();
        for _ in 0..self.control_in.returned_count()? {
            let Some(returned) = self.control_in.take()? else { break };
            let mut bytes = [0; CONTROL_SIZE as usize];
            let bytes = &mut bytes[..returned.length as usize];
            self.control_in.copy_out(returned.buffer, 0, bytes);
            self.control_in.give_to_write(returned.buffer);
            if let Some((number, told)) = control::decode(bytes) {
                self.told(number, told, &mut added);
            }
        }
        self.transport.notify(&self.control_in);
        // Only now, since the device answers each at once, and has all buffers for that.
        added.into_iter().try_for_each(|number| self.take_port(number))?;
        self.ports.iter_mut().try_for_each(Port::collect)
    }

    fn told(&mut self, number: u32, told: Told, added: &mut Vec<u32>) {
        let Some(port) = self.ports.iter_mut().find(|port| port.number == number) else { return };
        match told {
            Told::Added => added.push(number),
            Told::Removed => port.is_open = false,
            Told::Open(is_open) => {
                port.was_open |= is_open;
                port.is_open = is_open;
            }
            Told::Name(name) if port.name.is_empty() => port.name = name,
            Told::Name(_) => {}
        }
    }

    /// Takes a port that the device has added: the host's bytes may come from now on.
    fn take_port(&mut self, number: u32) -> Result<(), Fault> {
        self.say(control::port_ready(number, true))?;
        if let Some(port) = self.ports.iter_mut().find(|port| port.number == number) {
            // A port that is added once more has its buffers, or holds bytes in them.
            while port.filled.is_empty() && let Some(buffer) = port.input.free_buffer() {
                port.input.give_to_write(buffer);
            }
            self.transport.notify(&port.input);
        }
        self.say(control::port_open(number))
    }

    /// Takes away the next `count` bytes of the host at a port.
    pub fn consume(&mut self, port: usize, count: usize) {
        if let Some(port) = self.ports.get_mut(port)
            && port.consume(count)
        {
            self.transport.notify(&port.input);
        }
    }

    /// Gives the host as much of `bytes` as there is room for; returns how much that was.
    pub fn write(&mut self, port: usize, bytes: &[u8]) -> usize {
        let Some(port) = self.ports.get_mut(port) else { return 0 };
        let count = port.write(bytes);
        if count > 0 {
            self.transport.notify(&port.output);
        }
        count
    }

    /// Takes the buffers of a port that the host has taken: there is room for more.
    pub fn collect_output(&mut self, port: usize) -> Result<(), Fault> {
        self.ports.get_mut(port).map_or(Ok(()), Port::collect_output)
    }

    /// Asks for no interrupts when the host has taken what was written to a port, or asks for them
    /// again. What the host took before that may have caused none.
    pub fn be_quiet(&self, port: usize, is_quiet: bool) {
        let Some(port) = self.ports.get(port) else { return };
        if is_quiet { port.output.be_quiet() } else { port.output.be_loud() }
    }

    /// Takes the device out of use: it reads and writes no memory any more.
    pub fn stop(&mut self) {
        // A device that cannot even be reset keeps its memory for good.
        let _ = self.transport.reset();
        self.ports.iter_mut().for_each(|port| port.is_open = false);
    }
}
