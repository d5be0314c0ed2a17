//! A network card (number 1): frames of Ethernet, one a buffer, without any work that a card can
//! take over (section 5.1 of the specification).

use crate::memory::{Memory, Shared};
use crate::pci::{Configuration, Function};
use crate::queue::{MAX_SIZE, Queue, Returned};
use crate::transport::{Layout, Transport};
use crate::Fault;

/// Bytes before each frame, which say what the card is to do with it: nothing.
const HEAD: usize = 12;
/// Bytes of a buffer.
const BUFFER: u64 = 2048;
/// Buffers of a queue: a whole window of a connection fits into them.
const COUNT: usize = MAX_SIZE;
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
    /// The next frame that has come.
    arrived: Option<Returned>,
    /// The card was asked for no interrupts.
    is_quiet: bool,
}

impl<M: Memory> Network<M> {
    /// Bytes of memory that the card shares with the driver.
    pub const MEMORY: u64 = 2 * Queue::<M>::memory_size(COUNT, BUFFER);

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
            let memory = take(Queue::<M>::memory_size(COUNT, BUFFER)).ok_or(Fault("there is no memory for its buffers"))?;
            transport.queue(number, memory, (COUNT, BUFFER))
        };
        let (input, output) = (queue(INPUT)?, queue(OUTPUT)?);
        output.be_quiet();
        let [a, b, c, d] = transport.own(0).to_le_bytes();
        let [e, f, ..] = transport.own(4).to_le_bytes();
        let mut card = Network { transport, input, output, address: [a, b, c, d, e, f], has_given: [false; 2], arrived: None, is_quiet: false };
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

    /// Takes the card's interrupt: its line goes down. There is no other one for frames before
    /// [`Network::next_size`] has said that there is none. Returns false if it was another
    /// device's.
    pub fn take_interrupt(&mut self) -> bool {
        let is_own = self.transport.take_interrupt();
        if is_own && !self.is_quiet {
            self.is_quiet = true;
            self.input.be_quiet();
        }
        is_own
    }

    /// Returns the bytes of the next frame that has come, [`MAX_FRAME`] at most; `None`: there is
    /// none, and an interrupt tells of the next. Of a larger frame the end is cut off.
    pub fn next_size(&mut self) -> Result<Option<usize>, Fault> {
        if self.arrived.is_none() {
            self.arrived = self.input.take()?;
        }
        if self.arrived.is_none() && core::mem::take(&mut self.is_quiet) {
            self.input.be_loud();
            self.arrived = self.input.take()?;
        }
        let Some(returned) = self.arrived else { return Ok(None) };
        let length = (returned.length as usize).saturating_sub(HEAD).min(MAX_FRAME);
        if length < MIN_FRAME {
            return Err(Fault("the card gave back a frame without addresses"));
        }
        Ok(Some(length))
    }

    /// Takes the frame of which [`Network::next_size`] has told, as far as it fits into `to`. The
    /// card has its buffer back at the next [`Network::flush`].
    pub fn take(&mut self, to: &mut [u8]) {
        let Some(returned) = self.arrived.take() else { return };
        self.input.copy_out(returned.buffer, HEAD as u64, to);
        self.input.give_to_write(returned.buffer);
        self.has_given[0] = true;
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
        // Before it stands what stood there from the start: zeros.
        self.output.give_to_read_from(buffer, HEAD as u64, frame);
        self.has_given[1] = true;
        Ok(true)
    }

    /// Tells the card of all buffers that it was given.
    pub fn flush(&mut self) {
        let [input, output] = core::mem::take(&mut self.has_given);
        if input {
            self.notify(&self.input);
        }
        if output {
            self.notify(&self.output);
        }
    }

    /// Tells the card that a queue has more buffers, unless it looks by itself.
    fn notify(&self, queue: &Queue<M>) {
        if queue.wants_notification() {
            self.transport.notify(queue);
        }
    }

    /// Takes the card out of use: it reads and writes no memory any more.
    pub fn stop(&mut self) {
        let _ = self.transport.reset();
    }
}
