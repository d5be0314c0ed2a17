//! All APICs of a machine: which processors a message goes to, and which page of memory is whose.

use crate::ioapic::{IO_APIC_ADDRESS, IoApic, IoApicState};
use crate::lapic::LocalApic;
use crate::lapic_state::{Action, LocalApicState, Message, Refused, Signal};
use crate::{BadState, check_version};

/// Version of [`ApicsState`].
const VERSION: u32 = 1;
/// Processors that a machine can have.
pub const MAX_PROCESSORS: usize = 16;
/// Model-specific register with the base of the processor's APIC.
const BASE_REGISTER: u32 = 0x1b;

/// State of all APICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApicsState {
    /// Version of this struct.
    pub version: u32,
    /// Number of processors.
    pub processors: u32,
    /// Local APICs; those beyond the number of processors do not count.
    pub local: [LocalApicState; MAX_PROCESSORS],
    /// The I/O APIC.
    pub io: IoApicState,
}

/// All APICs.
#[derive(Clone, Debug)]
pub struct Apics {
    local: [LocalApic; MAX_PROCESSORS],
    count: usize,
    io: IoApic,
}

impl Apics {
    /// Makes those of so many processors, from 1 to `MAX_PROCESSORS`.
    pub fn new(processors: usize) -> Self {
        let local = core::array::from_fn(|number| LocalApic::new(number as u8));
        Apics { local, count: processors.clamp(1, MAX_PROCESSORS), io: IoApic::new() }
    }

    /// Returns the whole state.
    pub fn state(&self) -> ApicsState {
        let local = core::array::from_fn(|number| self.local[number].state());
        ApicsState { version: VERSION, processors: self.count as u32, local, io: self.io.state() }
    }

    /// Makes APICs from a saved state.
    pub fn restore(state: &ApicsState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the APICs")?;
        let mut apics = Apics::new(state.processors as usize);
        if apics.count != state.processors as usize {
            return Err(BadState("number of processors"));
        }
        for (number, (apic, saved)) in apics.local.iter_mut().zip(&state.local).enumerate() {
            if usize::from(saved.id) != number {
                return Err(BadState("number of a local APIC"));
            }
            *apic = LocalApic::restore(saved)?;
        }
        apics.io = IoApic::restore(&state.io)?;
        Ok(apics)
    }

    /// Returns the number of processors.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The APIC of a processor, whose number is taken modulo the number of processors.
    pub fn local(&self, processor: usize) -> &LocalApic {
        &self.local[processor % self.count]
    }

    fn local_mut(&mut self, processor: usize) -> &mut LocalApic {
        &mut self.local[processor % self.count]
    }

    /// Returns true if something has come for a processor since this was last asked.
    pub fn take_news(&mut self, processor: usize) -> bool {
        self.local_mut(processor).take_news()
    }

    /// Takes the first signal that waits for a processor.
    pub fn take_signal(&mut self, processor: usize) -> Option<Signal> {
        self.local_mut(processor).take_signal()
    }

    /// Takes the pending vector of a processor into service.
    pub fn acknowledge(&mut self, processor: usize) -> Option<u8> {
        self.local_mut(processor).acknowledge()
    }

    /// Sets the task priority of a processor as a write of CR8 does.
    pub fn set_task_class(&mut self, processor: usize, class: u8) {
        self.local_mut(processor).set_task_class(class);
    }

    /// Sets the level of an input of the I/O APIC.
    pub fn set_input(&mut self, input: usize, level: bool) {
        let local = &mut self.local[..self.count];
        self.io.set_input(input, level, |message| deliver(local, 0, &message));
    }

    /// Returns true if an edge at an input changes nothing.
    pub fn is_masked(&self, input: usize) -> bool {
        self.io.is_masked(input)
    }

    /// Lets timers go off.
    pub fn advance(&mut self, now: u64) {
        self.local[..self.count].iter_mut().for_each(|apic| apic.advance(now));
    }

    /// Returns the time at which the next timer goes off.
    pub fn next_deadline(&self) -> Option<u64> {
        self.local[..self.count].iter().filter_map(LocalApic::next_deadline).min()
    }

    /// Reads memory of an APIC, as a processor sees it; `None`: the address is none of theirs.
    /// Accesses other than to 32 aligned bits read 0.
    pub fn read(&mut self, processor: usize, address: u64, width: u8, now: u64) -> Option<u64> {
        let offset = address & 0xfff;
        let is_whole = offset.is_multiple_of(4) && matches!(width, 4 | 8);
        if self.local(processor).has_address(address) {
            let is_register = is_whole && offset.is_multiple_of(16);
            return Some(if is_register { self.local_mut(processor).read_page(offset, now).into() } else { 0 });
        }
        (address & !0xfff == IO_APIC_ADDRESS).then(|| if is_whole { self.io.read(offset).into() } else { 0 })
    }

    /// Writes memory of an APIC. Returns false if the address is none of theirs.
    pub fn write(&mut self, processor: usize, address: u64, width: u8, value: u64, now: u64) -> bool {
        let offset = address & 0xfff;
        let is_whole = offset.is_multiple_of(16) && matches!(width, 4 | 8);
        if self.local(processor).has_address(address) {
            if is_whole {
                let action = self.local_mut(processor).write_page(offset, value as u32, now);
                self.carry_out(processor, action);
            }
            return true;
        }
        if address & !0xfff == IO_APIC_ADDRESS {
            if is_whole {
                let local = &mut self.local[..self.count];
                self.io.write(offset, value as u32, |message| deliver(local, 0, &message));
            }
            return true;
        }
        false
    }

    /// Reads a model-specific register; `None`: it is none of an APIC's.
    pub fn read_register(&mut self, processor: usize, number: u32, now: u64) -> Option<Result<u64, Refused>> {
        match number {
            BASE_REGISTER => Some(Ok(self.local(processor).base())),
            0x800..0x900 => Some(self.local_mut(processor).read_register(number, now)),
            _ => None,
        }
    }

    /// Writes a model-specific register; `None`: it is none of an APIC's.
    pub fn write_register(&mut self, processor: usize, number: u32, value: u64, now: u64) -> Option<Result<(), Refused>> {
        match number {
            BASE_REGISTER => Some(self.local_mut(processor).set_base(value)),
            0x800..0x900 => {
                let result = self.local_mut(processor).write_register(number, value, now);
                Some(result.map(|action| self.carry_out(processor, action)))
            }
            _ => None,
        }
    }

    /// Lets the timer of a processor go off when its counter has this value, which is at time `at`.
    pub fn set_counter(&mut self, processor: usize, value: u64, at: u64) {
        self.local_mut(processor).set_counter(value, at);
    }

    fn carry_out(&mut self, from: usize, action: Action) {
        let local = &mut self.local[..self.count];
        match action {
            Action::None => {}
            Action::Send(message) => _ = deliver(local, from % local.len(), &message),
            Action::End(vector) => self.io.end(vector, |message| deliver(local, from % local.len(), &message)),
        }
    }
}

/// Gives a message to the processors that it names. Returns false if none takes it.
fn deliver(local: &mut [LocalApic], from: usize, message: &Message) -> bool {
    const LOWEST_PRIORITY: u8 = 1;
    let is_meant = |number: usize, apic: &LocalApic| match message.shorthand {
        0 => apic.is_named(message.destination, message.is_logical),
        1 => number == from,
        2 => true,
        _ => number != from,
    };
    let mut is_taken = false;
    for (number, apic) in local.iter_mut().enumerate() {
        if is_meant(number, apic) && apic.receive(message) {
            is_taken = true;
            if message.mode == LOWEST_PRIORITY {
                break;
            }
        }
    }
    is_taken
}
