//! The processor's model: what CPUID says, model-specific registers, KVM's clock, and the lengths
//! of instructions.

use crate::clock::Clock;
use crate::guest::Memory;
use core::arch::x86_64::__cpuid;
use nacre_abi::frame::word;
use nacre_machine_load::GuestMemory;
use nacre_machine_x86::{
    GeneralProtection, Host, Instruction, Model, MsrAction, Msrs, Paging, Processor, cpuid, decode, fetch, time_info, wall_clock,
};
use nacre_sys::Frame;

/// Long bit of a code segment's attributes.
const LONG: u64 = 1 << 9;

/// A processor's model and the registers that no control block has.
pub struct Registers {
    model: Model,
    msrs: Msrs,
    memory: Memory,
    clock: Clock,
    frequency: u64,
}

/// Features of the processor that we run on.
fn host() -> Host {
    let (basic, extended, sizes) = (__cpuid(1), __cpuid(0x8000_0001), __cpuid(0x8000_0008));
    Host {
        leaf_1_ecx: basic.ecx,
        leaf_1_edx: basic.edx,
        extended_ecx: extended.ecx,
        extended_edx: extended.edx,
        physical_bits: sizes.eax as u8,
    }
}

impl Registers {
    /// Makes those of a processor with KVM's clock.
    pub fn new(memory: Memory, clock: Clock) -> Registers {
        let frequency = clock.frequency();
        let model = Model { host: host(), apic: false, invariant_tsc: true, kvm_clock: Some(frequency) };
        Registers { model, msrs: Msrs::new(false, true), memory, clock, frequency }
    }

    /// CPUID.
    pub fn identify(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        cpuid(leaf, subleaf, &self.model)
    }

    fn processor(&self, frame: &Frame) -> Processor {
        let tsc = self.clock.ticks().wrapping_add(frame.get(word::TIME_OFFSET));
        Processor { cr0: frame.get(word::CR0), efer: frame.get(word::EFER), tsc }
    }

    /// RDMSR.
    pub fn read(&mut self, frame: &Frame, number: u32) -> Result<u64, GeneralProtection> {
        let processor = self.processor(frame);
        self.msrs.read(number, &processor)
    }

    /// WRMSR.
    pub fn write(&mut self, frame: &Frame, number: u32, value: u64) -> Result<(), GeneralProtection> {
        let processor = self.processor(frame);
        match self.msrs.write(number, value, &processor)? {
            MsrAction::None | MsrAction::SystemTime(None) => {}
            MsrAction::SetEfer(value) => frame.set(word::EFER, value),
            MsrAction::SetPat(value) => frame.set(word::PAT, value),
            MsrAction::SetTsc(value) => frame.set(word::TIME_OFFSET, value.wrapping_sub(self.clock.ticks())),
            MsrAction::SystemTime(Some(at)) => self.show_time(frame, at),
            MsrAction::WallClock(at) => self.show(at, &wall_clock(2, self.clock.start_of_machine())),
        }
        Ok(())
    }

    /// Shows the guest how to read the time by its counter, once: the counter never changes.
    fn show_time(&mut self, frame: &Frame, at: u64) {
        let tsc = self.clock.ticks();
        let info = time_info(2, tsc.wrapping_add(frame.get(word::TIME_OFFSET)), self.clock.nanoseconds(tsc), &nacre_machine_x86::Clock::new(self.frequency));
        self.show(at, &info);
    }

    fn show(&mut self, at: u64, bytes: &[u8]) {
        // What the guest wants outside of its memory is lost.
        let _ = self.memory.write(at, bytes);
    }

    /// The instruction that the guest stands at, if it is one of those that leave it.
    pub fn instruction(&self, frame: &Frame) -> Option<Instruction> {
        const CODE: usize = word::SEGMENTS + 2;
        let paging = Paging { cr0: frame.get(word::CR0), cr3: frame.get(word::CR3), cr4: frame.get(word::CR4), efer: frame.get(word::EFER) };
        let is_long = frame.get(CODE) >> 16 & LONG != 0;
        let base = if is_long { 0 } else { frame.get(CODE + 1) };
        let code = fetch(&self.memory, &paging, base.wrapping_add(frame.get(word::RIP)), frame.get(word::PRIVILEGE) == 3).ok()?;
        decode(code.bytes(), is_long)
    }
}
