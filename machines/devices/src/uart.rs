//! Serial line 16550A, whose other end is a program: input goes in by `receive`, output comes out
//! by `take_output`. It sends without delay while `output` has room.

use crate::{BadState, ByteQueue, check_version};

/// Version of [`UartState`].
const VERSION: u32 = 1;
/// Bytes of input that wait for the guest.
pub const INPUT_SIZE: usize = 16;
/// Bytes of output that wait for the machine's owner.
pub const OUTPUT_SIZE: usize = 512;

/// Interrupt enable register.
const ENABLE_INPUT: u8 = 1;
const ENABLE_READY: u8 = 2;
const ENABLE_ERROR: u8 = 4;
const ENABLE_MODEM: u8 = 8;
/// Line control register: the first two ports are the divisor.
const DIVISOR: u8 = 0x80;
/// Modem control register.
const OUT_2: u8 = 8;
const LOOPBACK: u8 = 0x10;
/// Line status register.
const HAS_INPUT: u8 = 1;
const OVERRUN: u8 = 2;
const IS_EMPTY: u8 = 0x60;
/// FIFO control register.
const FIFO: u8 = 1;
const CLEAR_INPUT: u8 = 2;
/// Modem status register while a terminal is there: carrier, ready, clear to send.
const CONNECTED: u8 = 0xb0;
/// Ring indicator, whose change is told only when it falls.
const RING: u8 = 0x40;
/// Interrupt identification register.
const NO_INTERRUPT: u8 = 1;
const MODEM_CHANGE: u8 = 0;
const READY: u8 = 2;
const INPUT: u8 = 4;
const LINE_ERROR: u8 = 6;
const INPUT_WAITS: u8 = 0xc;

/// State of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UartState {
    /// Version of this struct.
    pub version: u32,
    /// Input that the guest has not read.
    pub input: ByteQueue<INPUT_SIZE>,
    /// Output that nobody has taken.
    pub output: ByteQueue<OUTPUT_SIZE>,
    /// Divisor of the clock. Any speed is the same here.
    pub divisor: u16,
    /// Interrupt enable register.
    pub enabled: u8,
    /// FIFO control register.
    pub fifo: u8,
    /// Line control register.
    pub line: u8,
    /// Modem control register.
    pub modem: u8,
    /// Scratch register.
    pub scratch: u8,
    /// Changes of the modem's lines since the guest looked.
    pub changes: u8,
    /// True if a byte was lost since the guest looked.
    pub overrun: bool,
    /// True if the guest has not been told that it may send.
    pub ready_pending: bool,
}

/// Serial line.
#[derive(Clone, Debug)]
pub struct Uart {
    state: UartState,
}

impl Uart {
    /// Makes a line as it is after reset.
    pub fn new() -> Self {
        let (input, output) = (ByteQueue::new(), ByteQueue::new());
        let state = UartState {
            version: VERSION,
            input,
            output,
            divisor: 12,
            enabled: 0,
            fifo: 0,
            line: 0,
            modem: 0,
            scratch: 0,
            changes: 0,
            overrun: false,
            ready_pending: false,
        };
        Uart { state }
    }

    /// Returns the whole state.
    pub fn state(&self) -> UartState {
        self.state
    }

    /// Makes a line from a saved state.
    pub fn restore(state: &UartState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the serial line")?;
        if !state.input.is_valid() || !state.output.is_valid() {
            return Err(BadState("a queue of the serial line"));
        }
        Ok(Uart { state: *state })
    }

    /// Takes input, and returns how many bytes fit. In loopback the line is cut.
    pub fn receive(&mut self, bytes: &[u8]) -> usize {
        let is_cut = self.is_loopback();
        bytes.iter().take_while(|byte| !is_cut && self.take_input(**byte)).count()
    }

    /// Moves output into `into`, and returns how many bytes.
    pub fn take_output(&mut self, into: &mut [u8]) -> usize {
        let was_full = self.state.output.is_full();
        let mut count = 0;
        for place in into {
            let Some(byte) = self.state.output.pop() else { break };
            *place = byte;
            count += 1;
        }
        self.state.ready_pending |= was_full && count > 0;
        count
    }

    /// Returns the number of bytes of output that wait.
    pub fn output_len(&self) -> usize {
        self.state.output.len()
    }

    /// Returns the level of the interrupt line. The guest's `OUT 2` lets it through to the PC.
    pub fn interrupt(&self) -> bool {
        let is_connected = self.state.modem & (OUT_2 | LOOPBACK) == OUT_2;
        is_connected && self.identify() != NO_INTERRUPT
    }

    /// Reads register 0 to 7.
    pub fn read(&mut self, register: u8) -> u8 {
        let has_divisor = self.state.line & DIVISOR != 0;
        match register {
            0 if has_divisor => self.state.divisor as u8,
            1 if has_divisor => (self.state.divisor >> 8) as u8,
            0 => self.state.input.pop().unwrap_or(0),
            1 => self.state.enabled,
            2 => self.read_identification(),
            3 => self.state.line,
            4 => self.state.modem,
            5 => self.read_line_status(),
            6 => self.read_modem_status(),
            7 => self.state.scratch,
            _ => 0xff,
        }
    }

    /// Writes register 0 to 7.
    pub fn write(&mut self, register: u8, value: u8) {
        let has_divisor = self.state.line & DIVISOR != 0;
        let [low, high] = self.state.divisor.to_le_bytes();
        match register {
            0 if has_divisor => self.state.divisor = u16::from_le_bytes([value, high]),
            1 if has_divisor => self.state.divisor = u16::from_le_bytes([low, value]),
            0 => self.send(value),
            1 => self.enable(value),
            2 => self.control_fifo(value),
            3 => self.state.line = value,
            4 => self.control_modem(value),
            7 => self.state.scratch = value,
            _ => {}
        }
    }

    fn is_loopback(&self) -> bool {
        self.state.modem & LOOPBACK != 0
    }

    fn has_fifo(&self) -> bool {
        self.state.fifo & FIFO != 0
    }

    /// Returns false if there is no room for a byte of input.
    fn take_input(&mut self, byte: u8) -> bool {
        let has_room = self.has_fifo() || self.state.input.is_empty();
        has_room && self.state.input.push(byte)
    }

    fn can_send(&self) -> bool {
        self.is_loopback() || !self.state.output.is_full()
    }

    /// Sends a byte. A guest that does not wait for room loses it.
    fn send(&mut self, byte: u8) {
        if self.is_loopback() {
            self.state.overrun |= !self.take_input(byte);
        } else {
            self.state.output.push(byte);
        }
        self.state.ready_pending = self.can_send();
    }

    fn enable(&mut self, value: u8) {
        let is_new = value & !self.state.enabled & ENABLE_READY != 0;
        self.state.enabled = value & 0xf;
        self.state.ready_pending |= is_new && self.can_send();
    }

    /// Sets the FIFO control register. The output has no FIFO of its own that could be cleared.
    fn control_fifo(&mut self, value: u8) {
        if value & CLEAR_INPUT != 0 || (value ^ self.state.fifo) & FIFO != 0 {
            self.state.input.clear();
        }
        self.state.fifo = if value & FIFO != 0 { value & 0xc9 } else { 0 };
    }

    fn control_modem(&mut self, value: u8) {
        let before = self.modem_lines();
        self.state.modem = value & 0x1f;
        let (after, changed) = (self.modem_lines(), before ^ self.modem_lines());
        let told = changed & !(after & RING);
        self.state.changes |= told >> 4;
    }

    /// Returns the modem's lines: in loopback those that the guest sets itself.
    fn modem_lines(&self) -> u8 {
        if !self.is_loopback() {
            return CONNECTED;
        }
        let modem = self.state.modem;
        (modem & 0xc) << 4 | (modem & 1) << 5 | (modem & 2) << 3
    }

    fn read_modem_status(&mut self) -> u8 {
        self.modem_lines() | core::mem::take(&mut self.state.changes)
    }

    fn read_line_status(&mut self) -> u8 {
        let has_input = if self.state.input.is_empty() { 0 } else { HAS_INPUT };
        let is_empty = if self.can_send() { IS_EMPTY } else { 0 };
        let overrun = if core::mem::take(&mut self.state.overrun) { OVERRUN } else { 0 };
        has_input | is_empty | overrun
    }

    /// Returns the most urgent interrupt.
    fn identify(&self) -> u8 {
        let state = &self.state;
        let is_enabled = |bit| state.enabled & bit != 0;
        match () {
            () if is_enabled(ENABLE_ERROR) && state.overrun => LINE_ERROR,
            () if is_enabled(ENABLE_INPUT) && !state.input.is_empty() => self.input_interrupt(),
            () if is_enabled(ENABLE_READY) && state.ready_pending => READY,
            () if is_enabled(ENABLE_MODEM) && state.changes != 0 => MODEM_CHANGE,
            () => NO_INTERRUPT,
        }
    }

    /// Returns the interrupt of input: fewer bytes than the guest wants are reported as waiting.
    fn input_interrupt(&self) -> u8 {
        let wanted = [1, 4, 8, 14][usize::from(self.state.fifo >> 6)];
        let is_short = self.has_fifo() && self.state.input.len() < wanted;
        if is_short { INPUT_WAITS } else { INPUT }
    }

    /// Reads the interrupt identification register, which acknowledges `READY`.
    fn read_identification(&mut self) -> u8 {
        let interrupt = self.identify();
        if interrupt == READY {
            self.state.ready_pending = false;
        }
        interrupt | if self.has_fifo() { 0xc0 } else { 0 }
    }
}

impl Default for Uart {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "uart_tests.rs"]
mod tests;
