//! A local APIC: requests, priorities and the timer of one processor, by its page of memory
//! (xAPIC) and by model-specific registers (x2APIC). Manual: AMD's volume 2, chapter 16.
//!
//! A fixed interrupt is *requested*, then *in service* from its acknowledgement on until the end of
//! interrupt. One of a level-triggered line is told to the I/O APIC at its end.

use crate::lapic_state::{Action, LOCALS, LocalApicState, Message, Refused, Signal, VERSION};
use crate::{BadState, check_version};

/// Address of the page after power-on.
const BASE: u64 = 0xfee0_0000;
/// Bits of the base register: first processor, x2APIC, on.
const FIRST: u64 = 1 << 8;
const X2: u64 = 1 << 10;
const ON: u64 = 1 << 11;
const BASE_WRITABLE: u64 = ON | X2 | ADDRESS;
const ADDRESS: u64 = 0xff_ffff_f000;

/// Registers by their number: the offset in the page, by 16.
mod register {
    pub const ID: u8 = 0x02;
    pub const VERSION: u8 = 0x03;
    pub const TASK_PRIORITY: u8 = 0x08;
    pub const PROCESSOR_PRIORITY: u8 = 0x0a;
    pub const END: u8 = 0x0b;
    pub const LOGICAL: u8 = 0x0d;
    pub const FORMAT: u8 = 0x0e;
    pub const SPURIOUS: u8 = 0x0f;
    pub const IN_SERVICE: u8 = 0x10;
    pub const LEVEL: u8 = 0x18;
    pub const REQUESTED: u8 = 0x20;
    pub const ERROR: u8 = 0x28;
    pub const COMMAND: u8 = 0x30;
    pub const COMMAND_HIGH: u8 = 0x31;
    pub const LOCAL: u8 = 0x32;
    pub const INITIAL: u8 = 0x38;
    pub const CURRENT: u8 = 0x39;
    pub const DIVIDE: u8 = 0x3e;
    pub const SELF: u8 = 0x3f;
}

pub(crate) const TIMER: usize = 0;
const PIN_0: usize = 3;
/// Writable bits of each local vector.
const LOCAL_BITS: [u32; LOCALS] = [0x700ff, 0x107ff, 0x107ff, 0x1a7ff, 0x1a7ff, 0x100ff];
pub(crate) const MASKED: u32 = 1 << 16;
const EXTERNAL: u32 = 7 << 8;
/// Version 0x14 with six local vectors.
const VERSION_VALUE: u32 = 0x0005_0014;
/// Bit of the spurious vector's register: the APIC works.
const ENABLED: u32 = 1 << 8;
/// Illegal vector, sent and received; illegal register.
const BAD_SENT: u32 = 1 << 5;
const BAD_RECEIVED: u32 = 1 << 6;
const BAD_REGISTER: u32 = 1 << 7;
/// Modes of the timer.
pub(crate) const PERIODIC: u32 = 1 << 17;
pub(crate) const BY_COUNTER: u32 = 2 << 17;

/// A local APIC.
#[derive(Clone, Debug)]
pub struct LocalApic {
    pub(crate) state: LocalApicState,
    news: bool,
}

const RESET: u8 = 1;
const START: u8 = 2;
const NON_MASKABLE: u8 = 4;

/// The most urgent vector of a set.
fn highest(set: &[u32; 8]) -> Option<u8> {
    let word = set.iter().rposition(|word| *word != 0)?;
    Some((word as u32 * 32 + 31 - set[word].leading_zeros()) as u8)
}

fn bit(set: &[u32; 8], vector: u8) -> bool {
    set[usize::from(vector / 32)] >> (vector % 32) & 1 != 0
}

fn set_bit(set: &mut [u32; 8], vector: u8, value: bool) {
    let (word, bit) = (&mut set[usize::from(vector / 32)], 1 << (vector % 32));
    *word = if value { *word | bit } else { *word & !bit };
}

impl LocalApic {
    /// Makes the APIC of a processor that is turned on. The first runs, and takes interrupts of the
    /// legacy controllers, as firmware leaves it; the others wait for a start.
    pub fn new(id: u8) -> Self {
        let is_first = id == 0;
        let state = LocalApicState {
            version: VERSION,
            id,
            base: BASE | ON | if is_first { FIRST } else { 0 },
            requested: [0; 8],
            in_service: [0; 8],
            level: [0; 8],
            task_priority: 0,
            spurious: 0xff,
            logical: 0,
            format: u32::MAX,
            local: [MASKED; LOCALS],
            errors: [0; 2],
            command: 0,
            initial: 0,
            divide: 0,
            ends: 0,
            counter: 0,
            waits: !is_first,
            signals: 0,
            start: 0,
        };
        let mut apic = LocalApic { state, news: false };
        if is_first {
            apic.state.local[PIN_0] = EXTERNAL;
        }
        apic
    }

    /// Returns the whole state.
    pub fn state(&self) -> LocalApicState {
        self.state
    }

    /// Makes an APIC from a saved state.
    pub fn restore(state: &LocalApicState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of a local APIC")?;
        if state.base & ON == 0 && state.base & X2 != 0 {
            return Err(BadState("mode of a local APIC"));
        }
        Ok(LocalApic { state: *state, news: true })
    }

    fn is_x2(&self) -> bool {
        self.state.base & X2 != 0
    }

    fn is_enabled(&self) -> bool {
        self.state.base & ON != 0 && self.state.spurious & ENABLED != 0
    }

    /// Returns the number of the processor.
    pub fn id(&self) -> u8 {
        self.state.id
    }

    /// Returns true if an address of memory is in the APIC's page.
    pub fn has_address(&self, address: u64) -> bool {
        self.state.base & (ON | X2) == ON && address & !0xfff == self.state.base & ADDRESS
    }

    /// Returns true if something has come since this was last asked.
    pub fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.news)
    }

    // Registers.

    /// Returns the base register.
    pub fn base(&self) -> u64 {
        self.state.base
    }

    /// Writes the base register.
    pub fn set_base(&mut self, value: u64) -> Result<(), Refused> {
        if value & !(BASE_WRITABLE | FIRST) != 0 || value & (ON | X2) == X2 {
            return Err(Refused);
        }
        let was = self.state.base & (ON | X2);
        // Back from x2APIC only by way of off.
        if was == ON | X2 && value & (ON | X2) == ON || was == 0 && value & X2 != 0 {
            return Err(Refused);
        }
        if value & ON == 0 && was != 0 {
            let (waits, signals, start) = (self.state.waits, self.state.signals, self.state.start);
            let fresh = LocalApic::new(self.state.id).state;
            self.state = LocalApicState { waits, signals, start, ..fresh };
        }
        self.state.base = value & BASE_WRITABLE | self.state.base & FIRST;
        Ok(())
    }

    /// Reads 32 bits of the page; registers that do not exist read 0.
    pub fn read_page(&mut self, offset: u64, now: u64) -> u32 {
        let number = (offset >> 4) as u8;
        match number {
            register::ID => u32::from(self.state.id) << 24,
            register::LOGICAL => self.state.logical,
            register::FORMAT => self.state.format,
            register::COMMAND => self.state.command as u32,
            register::COMMAND_HIGH => (self.state.command >> 32) as u32,
            _ => self.read(number, now).unwrap_or_else(|| self.bad(BAD_REGISTER)),
        }
    }

    /// Writes 32 bits of the page.
    pub fn write_page(&mut self, offset: u64, value: u32, now: u64) -> Action {
        let number = (offset >> 4) as u8;
        match number {
            register::LOGICAL => self.state.logical = value & 0xff00_0000,
            register::FORMAT => self.state.format = value | 0x0fff_ffff,
            register::COMMAND_HIGH => self.state.command = self.state.command & 0xffff_ffff | u64::from(value & 0xff00_0000) << 32,
            register::COMMAND => {
                let destination = (self.state.command >> 56) as u32;
                return self.command(self.state.command & !0xffff_ffff | u64::from(value), destination);
            }
            register::SELF => _ = self.bad(BAD_REGISTER),
            _ => return self.write(number, value, now),
        }
        Action::None
    }

    /// Reads a model-specific register from 0x800 on.
    pub fn read_register(&mut self, number: u32, now: u64) -> Result<u64, Refused> {
        if !self.is_x2() || !(0x800..0x840).contains(&number) {
            return Err(Refused);
        }
        match (number - 0x800) as u8 {
            register::ID => Ok(u64::from(self.state.id)),
            register::LOGICAL => Ok(u64::from(self.x2_logical())),
            register::COMMAND => Ok(self.state.command),
            register::COMMAND_HIGH | register::FORMAT | register::END | register::SELF => Err(Refused),
            number => self.read(number, now).map(u64::from).ok_or(Refused),
        }
    }

    /// Writes a model-specific register from 0x800 on.
    pub fn write_register(&mut self, number: u32, value: u64, now: u64) -> Result<Action, Refused> {
        if !self.is_x2() || !(0x800..0x840).contains(&number) {
            return Err(Refused);
        }
        match (number - 0x800) as u8 {
            register::COMMAND => Ok(self.command(value, (value >> 32) as u32)),
            _ if value >> 32 != 0 => Err(Refused),
            register::END | register::ERROR if value != 0 => Err(Refused),
            register::SELF => {
                let _ = self.request(value as u8, false);
                Ok(Action::None)
            }
            register::ID | register::VERSION | register::PROCESSOR_PRIORITY | register::LOGICAL | register::FORMAT => Err(Refused),
            register::IN_SERVICE..register::ERROR | register::COMMAND_HIGH | register::CURRENT => Err(Refused),
            number => Ok(self.write(number, value as u32, now)),
        }
    }

    fn x2_logical(&self) -> u32 {
        u32::from(self.state.id >> 4) << 16 | 1 << (self.state.id & 15)
    }

    /// Reads a register that both ways have.
    fn read(&mut self, number: u8, now: u64) -> Option<u32> {
        let state = &self.state;
        let word = |first: u8| usize::from(number - first);
        Some(match number {
            register::VERSION => VERSION_VALUE,
            register::TASK_PRIORITY => u32::from(state.task_priority),
            register::PROCESSOR_PRIORITY => u32::from(self.processor_priority()),
            register::END => 0,
            register::SPURIOUS => state.spurious,
            register::IN_SERVICE..register::LEVEL => state.in_service[word(register::IN_SERVICE)],
            register::LEVEL..register::REQUESTED => state.level[word(register::LEVEL)],
            register::REQUESTED..register::ERROR => state.requested[word(register::REQUESTED)],
            register::ERROR => state.errors[0],
            register::LOCAL..register::INITIAL => state.local[word(register::LOCAL)],
            register::INITIAL => state.initial,
            register::CURRENT => self.current(now),
            register::DIVIDE => state.divide,
            _ => return None,
        })
    }

    /// Writes a register that both ways have.
    fn write(&mut self, number: u8, value: u32, now: u64) -> Action {
        match number {
            register::TASK_PRIORITY => self.state.task_priority = value as u8,
            register::END => return self.end(),
            register::SPURIOUS => self.set_spurious(value),
            register::ERROR => self.state.errors = [self.state.errors[1], 0],
            register::LOCAL..register::INITIAL => self.set_local(usize::from(number - register::LOCAL), value),
            register::INITIAL => self.set_initial(value, now),
            register::DIVIDE => self.set_divide(value, now),
            register::ID | register::VERSION | register::PROCESSOR_PRIORITY | register::CURRENT => {}
            _ => _ = self.bad(BAD_REGISTER),
        }
        Action::None
    }

    /// Notes an error.
    fn bad(&mut self, error: u32) -> u32 {
        self.state.errors[1] |= error;
        let local = self.state.local[LOCALS - 1];
        if local & MASKED == 0 && local as u8 >= 16 {
            let _ = self.request(local as u8, false);
        }
        0
    }

    fn set_spurious(&mut self, value: u32) {
        self.state.spurious = value & 0x3ff;
        if value & ENABLED == 0 {
            self.state.local.iter_mut().for_each(|local| *local |= MASKED);
        }
    }

    fn set_local(&mut self, index: usize, value: u32) {
        let old = self.state.local[index];
        let masked = if self.state.spurious & ENABLED == 0 && index != PIN_0 { MASKED } else { 0 };
        self.state.local[index] = value & LOCAL_BITS[index] | masked;
        if index == TIMER && (old ^ value) & (PERIODIC | BY_COUNTER) != 0 {
            (self.state.ends, self.state.counter, self.state.initial) = (0, 0, 0);
        }
    }

    fn command(&mut self, value: u64, destination: u32) -> Action {
        self.state.command = value & 0xffff_ffff_000c_cfff;
        let mode = (value >> 8 & 7) as u8;
        let is_deassert = mode == 5 && value >> 14 & 1 == 0 && value >> 15 & 1 == 1;
        let vector = value as u8;
        if matches!(mode, 0 | 1) && vector < 16 {
            self.bad(BAD_SENT);
            return Action::None;
        }
        if is_deassert || matches!(mode, 2 | 3 | 7) {
            return Action::None;
        }
        Action::Send(Message { vector, mode, destination, is_logical: value >> 11 & 1 != 0, shorthand: (value >> 18 & 3) as u8, is_level: false })
    }

    /// Returns true if a destination names this processor.
    pub fn is_named(&self, destination: u32, is_logical: bool) -> bool {
        if self.state.base & ON == 0 {
            return false;
        }
        let is_all = destination == if self.is_x2() { u32::MAX } else { 0xff };
        match (is_logical, self.is_x2()) {
            (false, _) => is_all || destination == u32::from(self.state.id),
            (true, true) => is_all || destination >> 16 == u32::from(self.state.id >> 4) && destination & self.x2_logical() & 0xffff != 0,
            (true, false) => self.is_named_by_page(destination),
        }
    }

    fn is_named_by_page(&self, destination: u32) -> bool {
        let (name, destination) = (self.state.logical >> 24, destination & 0xff);
        if self.state.format >> 28 == 0xf {
            return name & destination != 0;
        }
        let is_cluster = destination >> 4 == name >> 4 || destination >> 4 == 0xf;
        is_cluster && name & destination & 0xf != 0
    }

    // Interrupts.

    /// Takes a message; it is for this processor. Returns false if it is an interrupt that the APIC
    /// refuses.
    pub fn receive(&mut self, message: &Message) -> bool {
        match message.mode {
            0 | 1 => return self.request(message.vector, message.is_level),
            4 => self.signal(NON_MASKABLE),
            5 => {
                self.reset();
                self.signal(RESET);
            }
            6 if self.state.waits => {
                self.state.waits = false;
                self.state.start = message.vector;
                self.signal(START);
            }
            _ => {}
        }
        true
    }

    fn signal(&mut self, signal: u8) {
        self.state.signals |= signal;
        self.news = true;
    }

    /// Everything but number, base and signals becomes as after power-on; the processor waits.
    fn reset(&mut self) {
        let LocalApicState { id, base, .. } = self.state;
        let fresh = LocalApic::new(id).state;
        self.state = LocalApicState { base, waits: true, signals: 0, ..fresh };
    }

    /// Takes the first signal that waits.
    pub fn take_signal(&mut self) -> Option<Signal> {
        let signals = self.state.signals;
        let first = signals & signals.wrapping_neg();
        self.state.signals &= !first;
        match first {
            RESET => Some(Signal::Reset),
            START => Some(Signal::Start(self.state.start)),
            NON_MASKABLE => Some(Signal::NonMaskable),
            _ => None,
        }
    }

    /// Returns true if a reset waits. It comes before whatever the processor does.
    pub fn has_reset(&self) -> bool {
        self.state.signals & RESET != 0
    }

    /// Returns true if a signal waits.
    pub fn has_signal(&self) -> bool {
        self.state.signals != 0
    }

    /// Returns true if the processor waits for a start.
    pub fn waits(&self) -> bool {
        self.state.waits
    }

    /// Requests an interrupt. Returns false if the APIC is off, or there is no such interrupt.
    pub(crate) fn request(&mut self, vector: u8, is_level: bool) -> bool {
        if !self.is_enabled() {
            return false;
        }
        if vector < 16 {
            self.state.errors[1] |= BAD_RECEIVED;
            return false;
        }
        set_bit(&mut self.state.level, vector, is_level);
        self.news |= !bit(&self.state.requested, vector);
        set_bit(&mut self.state.requested, vector, true);
        true
    }

    fn processor_priority(&self) -> u8 {
        let served = highest(&self.state.in_service).unwrap_or(0);
        if self.state.task_priority >> 4 >= served >> 4 { self.state.task_priority } else { served & 0xf0 }
    }

    /// Returns the task priority's class, as register CR8 has it.
    pub fn task_class(&self) -> u8 {
        self.state.task_priority >> 4
    }

    /// Sets the task priority as a write of CR8 does.
    pub fn set_task_class(&mut self, class: u8) {
        if class & 15 != self.task_class() {
            self.state.task_priority = (class & 15) << 4;
        }
    }

    /// Returns the vector that the processor would take now.
    pub fn pending(&self) -> Option<u8> {
        let vector = highest(&self.state.requested)?;
        (self.is_enabled() && vector >> 4 > self.processor_priority() >> 4).then_some(vector)
    }

    /// Returns true if the processor takes interrupts of the legacy controllers.
    pub fn takes_legacy(&self) -> bool {
        self.state.base & ON == 0 || self.state.local[PIN_0] & (MASKED | 0x700) == EXTERNAL
    }

    /// Takes the pending vector into service.
    pub fn acknowledge(&mut self) -> Option<u8> {
        let vector = self.pending()?;
        set_bit(&mut self.state.requested, vector, false);
        set_bit(&mut self.state.in_service, vector, true);
        Some(vector)
    }

    fn end(&mut self) -> Action {
        let Some(vector) = highest(&self.state.in_service) else { return Action::None };
        set_bit(&mut self.state.in_service, vector, false);
        if bit(&self.state.level, vector) { Action::End(vector) } else { Action::None }
    }
}

#[cfg(test)]
#[path = "lapic_tests.rs"]
mod tests;
