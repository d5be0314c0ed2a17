//! The I/O APIC: 24 inputs, each with an entry that says which processors an interrupt goes to.
//!
//! An edge makes one interrupt. A level makes one, and the next when the processor has ended that
//! and the level is still there. One that no processor takes is not waited for: it is made again
//! the next time that its device looks at the level.

use crate::lapic_state::Message;
use crate::{BadState, check_version};

/// Version of [`IoApicState`].
const VERSION: u32 = 1;
/// Number of inputs.
pub const INPUTS: usize = 24;
/// Address of its registers: a page.
pub const IO_APIC_ADDRESS: u64 = 0xfec0_0000;
/// Number of the I/O APIC among the APICs.
pub const IO_APIC_ID: u8 = 16;

const SELECT: u64 = 0x00;
const WINDOW: u64 = 0x10;
const END: u64 = 0x40;
/// Version with a register for ends, and the number of the last input.
const VERSION_VALUE: u32 = 0x20 | (INPUTS as u32 - 1) << 16;
const FIRST_ENTRY: u8 = 0x10;
/// Bits of an entry: level-triggered, masked, waiting for an end.
const LEVEL: u64 = 1 << 15;
const MASKED: u64 = 1 << 16;
const REMOTE: u64 = 1 << 14;
const LOGICAL: u64 = 1 << 11;
const WRITABLE: u64 = 0xff00_0000_0001_afff;

/// State of the I/O APIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoApicState {
    /// Version of this struct.
    pub version: u32,
    /// Number of the register in the window.
    pub select: u8,
    /// Number of the APIC, as written.
    pub id: u32,
    /// Levels of the inputs.
    pub levels: u32,
    /// Entries of the inputs.
    pub entries: [u64; INPUTS],
}

/// An I/O APIC.
#[derive(Clone, Debug)]
pub struct IoApic {
    state: IoApicState,
}

impl IoApic {
    /// Makes an I/O APIC after power-on: all inputs are masked.
    pub fn new() -> Self {
        let id = u32::from(IO_APIC_ID) << 24;
        IoApic { state: IoApicState { version: VERSION, select: 0, id, levels: 0, entries: [MASKED; INPUTS] } }
    }

    /// Returns the whole state.
    pub fn state(&self) -> IoApicState {
        self.state
    }

    /// Makes an I/O APIC from a saved state.
    pub fn restore(state: &IoApicState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the I/O APIC")?;
        if state.entries.iter().any(|entry| entry & !(WRITABLE | REMOTE) != 0) {
            return Err(BadState("an entry of the I/O APIC"));
        }
        Ok(IoApic { state: *state })
    }

    /// Sets the level of an input; `send` takes the interrupt that this makes, and returns false if
    /// no processor does.
    pub fn set_input(&mut self, input: usize, level: bool, send: impl FnMut(Message) -> bool) {
        let Some(bit) = 1u32.checked_shl(input as u32).filter(|_| input < INPUTS) else { return };
        let was = self.state.levels & bit != 0;
        self.state.levels = if level { self.state.levels | bit } else { self.state.levels & !bit };
        let is_level = self.state.entries[input] & LEVEL != 0;
        if level && (is_level || !was) {
            self.fire(input, send);
        }
    }

    /// Returns true if an edge at an input changes nothing.
    pub fn is_masked(&self, input: usize) -> bool {
        self.state.entries.get(input).is_none_or(|entry| entry & MASKED != 0)
    }

    /// Sends the interrupt of an input, if its entry lets it out.
    fn fire(&mut self, input: usize, mut send: impl FnMut(Message) -> bool) {
        let entry = &mut self.state.entries[input];
        let is_level = *entry & LEVEL != 0;
        if *entry & MASKED != 0 || is_level && *entry & REMOTE != 0 {
            return;
        }
        let mode = (*entry >> 8 & 7) as u8;
        let is_taken = send(Message { vector: *entry as u8, mode, destination: (*entry >> 56) as u32, is_logical: *entry & LOGICAL != 0, shorthand: 0, is_level });
        if is_level && mode <= 1 && is_taken {
            *entry |= REMOTE;
        }
    }

    /// Sends the interrupt of a level-triggered input whose level is there.
    fn again(&mut self, input: usize, send: impl FnMut(Message) -> bool) {
        if self.state.entries[input] & LEVEL != 0 && self.state.levels >> input & 1 != 0 {
            self.fire(input, send);
        }
    }

    /// A processor has ended the interrupt of a vector; `send` takes the interrupts that this
    /// makes.
    pub fn end(&mut self, vector: u8, mut send: impl FnMut(Message) -> bool) {
        for input in 0..INPUTS {
            let entry = &mut self.state.entries[input];
            if *entry & REMOTE != 0 && *entry as u8 == vector {
                *entry &= !REMOTE;
                self.again(input, &mut send);
            }
        }
    }

    /// Reads 32 bits of the page.
    pub fn read(&self, offset: u64) -> u32 {
        match offset {
            SELECT => u32::from(self.state.select),
            WINDOW => match self.state.select {
                0 | 2 => self.state.id,
                1 => VERSION_VALUE,
                number => self.entry(number).map_or(0, |(input, shift)| (self.state.entries[input] >> shift) as u32),
            },
            _ => 0,
        }
    }

    /// Input and shift of the half of an entry that a register is.
    fn entry(&self, number: u8) -> Option<(usize, u32)> {
        let half = usize::from(number.checked_sub(FIRST_ENTRY)?);
        (half / 2 < INPUTS).then_some((half / 2, (half as u32 & 1) * 32))
    }

    /// Writes 32 bits of the page; `send` takes the interrupts that this makes.
    pub fn write(&mut self, offset: u64, value: u32, send: impl FnMut(Message) -> bool) {
        match offset {
            SELECT => self.state.select = value as u8,
            WINDOW if self.state.select == 0 => self.state.id = value & 0x0f00_0000,
            WINDOW => self.write_entry(value, send),
            END => self.end(value as u8, send),
            _ => {}
        }
    }

    fn write_entry(&mut self, value: u32, send: impl FnMut(Message) -> bool) {
        let Some((input, shift)) = self.entry(self.state.select) else { return };
        let old = self.state.entries[input];
        let kept = old & !(0xffff_ffff << shift);
        let mut entry = (kept | u64::from(value) << shift) & WRITABLE;
        if entry & LEVEL != 0 {
            entry |= old & REMOTE;
        }
        self.state.entries[input] = entry;
        self.again(input, send);
    }
}

impl Default for IoApic {
    fn default() -> Self {
        Self::new()
    }
}
