//! Registers of the unit (VT-d specification 3.3, chapter 11).

use crate::tables::Depth;
use nacre_virtio::{Fault, Memory};

const CAPABILITIES: u64 = 0x08;
const MORE_CAPABILITIES: u64 = 0x10;
const COMMAND: u64 = 0x18;
const STATUS: u64 = 0x1c;
const TABLES: u64 = 0x20;
const CONTEXT: u64 = 0x28;
const FAULTS: u64 = 0x34;

/// Bits of commands, which the status shows when they are carried out.
const TRANSLATE: u64 = 1 << 31;
const TAKE_TABLES: u64 = 1 << 30;
const FLUSH_BUFFER: u64 = 1 << 27;
/// Bits of the status that a command must repeat.
const STANDING: u64 = 0x96ff_ffff;
/// Bits of the capabilities: the unit has a buffer of writes; depths of tables.
const HAS_BUFFER: u64 = 1 << 4;
const DEPTHS: [(u64, Depth); 2] = [(1 << 10, Depth::Four), (1 << 9, Depth::Three)];
/// Forgets all entries of devices, and all addresses.
const ALL_CONTEXTS: u64 = 1 << 63 | 1 << 61;
const ALL_ADDRESSES: u64 = 1 << 63 | 1 << 60 | 1 << 49 | 1 << 48;
/// A command to forget that is not carried out yet.
const FORGETS: u64 = 1 << 63;
/// The fault register has one, and faults were lost.
const FAULT_WORD: u64 = 1 << 63;
const LOST_FAULTS: u64 = 1;
/// Looks at a register until a command is carried out.
const MAX_LOOKS: u32 = 1_000_000;

/// The registers.
pub struct Registers<M> {
    memory: M,
    size: u64,
    has_buffer: bool,
    /// Offset of the register that forgets addresses.
    forget: u64,
    /// Offset of the first fault, and how many there can be.
    faults: (u64, u64),
}

/// An access that a device was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Slot of the device on the first bus.
    pub slot: u8,
    /// Address of the page that it wanted to reach.
    pub page: u64,
}

impl<M: Memory> Registers<M> {
    /// Registers of so many bytes; and the depth of tables that the unit walks.
    pub fn new(memory: M, size: u64) -> Result<(Registers<M>, Depth), Fault> {
        let capabilities = memory.read(CAPABILITIES, 8);
        let more = memory.read(MORE_CAPABILITIES, 8);
        let depth = DEPTHS.iter().find(|(bit, _)| capabilities & bit != 0).ok_or(Fault("it walks tables of other kinds"))?.1;
        let forget = 16 * (more >> 8 & 0x3ff) + 8;
        let faults = (16 * (capabilities >> 24 & 0x3ff), (capabilities >> 40 & 0xff) + 1);
        if forget + 8 > size || faults.0 + 16 * faults.1 > size {
            return Err(Fault("its registers leave their page"));
        }
        Ok((Registers { memory, size, has_buffer: capabilities & HAS_BUFFER != 0, forget, faults }, depth))
    }

    fn wait(&self, register: u64, width: u64, is_done: impl Fn(u64) -> bool) -> Result<(), Fault> {
        let has_ended = (0..MAX_LOOKS).any(|_| is_done(self.memory.read(register, width)));
        if has_ended { Ok(()) } else { Err(Fault("it does not do what it is told")) }
    }

    /// Gives a command, and waits until the status shows the bit as `shown`.
    fn command(&self, bit: u64, shown: u64) -> Result<(), Fault> {
        self.memory.write(COMMAND, 4, self.memory.read(STATUS, 4) & STANDING | bit);
        self.wait(STATUS, 4, |status| status & bit == shown)
    }

    /// Forgets all that the unit remembers of the tables.
    pub fn forget(&self) -> Result<(), Fault> {
        if self.has_buffer {
            self.command(FLUSH_BUFFER, 0)?;
        }
        self.memory.write(CONTEXT, 8, ALL_CONTEXTS);
        self.wait(CONTEXT, 8, |word| word & FORGETS == 0)?;
        self.memory.write(self.forget, 8, ALL_ADDRESSES);
        self.wait(self.forget, 8, |word| word & FORGETS == 0)
    }

    /// Has the unit judge by the tables whose outermost one lies at `root`, from now on.
    pub fn start(&self, root: u64) -> Result<(), Fault> {
        self.memory.write(TABLES, 8, root);
        self.command(TAKE_TABLES, TAKE_TABLES)?;
        self.forget()?;
        self.command(TRANSLATE, TRANSLATE)
    }

    /// Takes an access that a device was refused, if there was one.
    pub fn take_refused(&self) -> Option<Refused> {
        let (first, count) = self.faults;
        for at in (first..).step_by(16).take(count as usize).take_while(|at| at + 16 <= self.size) {
            let high = self.memory.read(at + 8, 8);
            if high & FAULT_WORD != 0 {
                let refused = Refused { slot: (high >> 3 & 31) as u8, page: self.memory.read(at, 8) & !0xfff };
                self.memory.write(at + 8, 8, FAULT_WORD);
                self.memory.write(FAULTS, 4, LOST_FAULTS);
                return Some(refused);
            }
        }
        None
    }
}
