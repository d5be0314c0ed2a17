//! A network card (number 1): frames of Ethernet, one a buffer, without any work that a card can
//! take over (section 5.1 of the specification).

use crate::memory::{Memory, Shared};
use crate::pci::{Configuration, Function};
use crate::queue::Queue;
use crate::transport::{Layout, Transport};
use crate::Fault;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes before each frame, which say what the card is to do with it: nothing.
const HEAD: usize = 12;
/// Bytes of a buffer.
const BUFFER: u64 = 2048;
/// Largest frame in bytes, and the smallest: two addresses and a kind.
pub const MAX_FRAME: usize = 1514;
const MIN_FRAME: usize = 14;
/// The card tells its address.
const HAS_ADDRESS: u64 = 1 << 5;
/// Numbers of the queues.
const INPUT: u16 = 0;
const OUTPUT: u16 = 1;

/// A network card. The head of this module describes it.
pub struct Network<M> {
    transport: Transport<M>,
    input: Queue<M>,
    output: Queue<M>,
    address: [u8; 6],
    /// Buffers were given to the card that it was not told of.
    has_given: [bool; 2],
}

impl<M: Memory> Network<M> {
    /// Starts the card, whose registers `registers` makes reachable by the number of their BAR.
    /// `take` takes memory that stays the card's until it is reset.
    pub fn start(
        space: &mut impl Configuration, function: Function, registers: impl FnOnce(u8) -> Option<(M, u64)>, mut take: impl FnMut(u64) -> Option<Shared<M>>,
    ) -> Result<Network<M>, Fault> {
        let (layout, bar) = Layout::read(space, function)?;
        let (registers, size) = registers(bar).ok_or(Fault("its registers cannot be mapped"))?;
        let transport = Transport::new(registers, size, layout)?;
        transport.begin(HAS_ADDRESS)?;
        let mut queue = |number: u16| {
            let memory = take(Queue::<M>::memory_size(BUFFER)).ok_or(Fault("there is no memory for its buffers"))?;
            transport.queue(number, memory, BUFFER)
        };
        let (input, output) = (queue(INPUT)?, queue(OUTPUT)?);
        output.be_quiet();
        let [a, b, c, d] = transport.own(0).to_le_bytes();
        let [e, f, ..] = transport.own(4).to_le_bytes();
        let mut card = Network { transport, input, output, address: [a, b, c, d, e, f], has_given: [false; 2] };
        card.transport.run();
        while let Some(buffer) = card.input.free_buffer() {
            card.input.give_to_write(buffer);
        }
        card.has_given[0] = true;
        card.flush();
        Ok(card)
    }

    /// The address of the card.
    pub fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Takes the card's interrupt: its line goes down.
    pub fn take_interrupt(&self) {
        self.transport.take_interrupt();
    }

    /// Takes the next frame that has come; `None`: there is none. The card has its buffer back at
    /// the next [`Network::flush`].
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let Some(returned) = self.input.take()? else { return Ok(None) };
        let length = (returned.length as usize).saturating_sub(HEAD);
        if length < MIN_FRAME {
            return Err(Fault("the card gave back a frame without addresses"));
        }
        let mut frame = vec![0; length];
        self.input.copy_out(returned.buffer, HEAD as u64, &mut frame);
        self.input.give_to_write(returned.buffer);
        self.has_given[0] = true;
        Ok(Some(frame))
    }

    /// Gives the card a frame to send at the next [`Network::flush`]. Returns false if it takes
    /// none now. A frame of another size than frames have goes nowhere.
    pub fn send(&mut self, frame: &[u8]) -> Result<bool, Fault> {
        if !(MIN_FRAME..=MAX_FRAME).contains(&frame.len()) {
            return Ok(true);
        }
        for _ in 0..self.output.returned_count()? {
            self.output.take()?;
        }
        let Some(buffer) = self.output.free_buffer() else { return Ok(false) };
        let mut bytes = vec![0; HEAD];
        bytes.extend(frame);
        self.output.give_to_read(buffer, &bytes);
        self.has_given[1] = true;
        Ok(true)
    }

    /// Tells the card of all buffers that it was given.
    pub fn flush(&mut self) {
        let [input, output] = core::mem::take(&mut self.has_given);
        if input {
            self.transport.notify(&self.input);
        }
        if output {
            self.transport.notify(&self.output);
        }
    }

    /// Takes the card out of use: it reads and writes no memory any more.
    pub fn stop(&mut self) {
        let _ = self.transport.reset();
    }
}
