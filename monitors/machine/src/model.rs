//! The processor's model: what CPUID says, model-specific registers, KVM's clock, and the lengths
//! of instructions.

use crate::access::paging;
use crate::board::BOARD;
use crate::clock::Clock;
use crate::guest::Memory;
use core::arch::x86_64::__cpuid;
use nacre_abi::frame::word;
use nacre_machine_devices::Apics;
use nacre_machine_load::GuestMemory;
use nacre_machine_x86::{
    Code, GeneralProtection, Host, Instruction, Model, MsrAction, Msrs, Processor, cpuid, decode, fetch, time_info, wall_clock,
};
use nacre_sys::Frame;

/// Model-specific register with the counter's value at which the timer goes off.
const DEADLINE: u32 = 0x6e0;
/// Long bit of a code segment's attributes.
const LONG: u64 = 1 << 9;

/// A processor's model and the registers that no control block has.
pub struct Registers {
    model: Model,
    msrs: Msrs,
    memory: Memory,
    clock: Clock,
    frequency: u64,
    number: usize,
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
    /// Makes those of a processor with KVM's clock, and maybe with process identities.
    pub fn new(number: usize, memory: Memory, clock: Clock, pcid: bool) -> Registers {
        let frequency = clock.frequency();
        let model = Model { host: host(), apic: Some(number as u8), invariant_tsc: true, pcid, kvm_clock: Some(frequency) };
        Registers { model, msrs: Msrs::new(false, true), memory, clock, frequency, number }
    }

    /// CPUID.
    pub fn identify(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        cpuid(leaf, subleaf, &self.model)
    }

    fn processor(&self, frame: &Frame) -> Processor {
        let tsc = self.clock.ticks().wrapping_add(self.clock.difference(frame));
        Processor { cr0: frame.get(word::CR0), efer: frame.get(word::EFER), tsc }
    }

    /// Does something with the APICs, unless they do not have it. The time was asked for before.
    fn apic<T>(&self, act: impl FnOnce(&mut Apics, usize, u64) -> Option<T>) -> Option<T> {
        BOARD.with_last_time(self.number, |devices, now| act(devices.platform.apics(), self.number, now)).flatten()
    }

    /// Time at which the guest's counter, which is `now` now, has a value.
    fn time_of(&self, frame: &Frame, value: u64, now: u64) -> u64 {
        let ticks = now.wrapping_sub(self.clock.difference(frame));
        // One more, since nanoseconds are rounded down.
        self.clock.nanoseconds(ticks.saturating_add(value.saturating_sub(now))).saturating_add(1)
    }

    /// RDMSR.
    pub fn read(&mut self, frame: &Frame, number: u32) -> Result<u64, GeneralProtection> {
        let processor = self.processor(frame);
        match self.apic(|apics, own, now| if number == DEADLINE { Some(Ok(apics.local(own).counter())) } else { apics.read_register(own, number, now) }) {
            Some(result) => result.map_err(|_| GeneralProtection),
            None => self.msrs.read(number, &processor),
        }
    }

    /// WRMSR.
    pub fn write(&mut self, frame: &Frame, number: u32, value: u64) -> Result<(), GeneralProtection> {
        let processor = self.processor(frame);
        let at = self.time_of(frame, value, processor.tsc);
        let by_apic = self.apic(|apics, own, now| if number == DEADLINE { Some(Ok(apics.set_counter(own, value, at))) } else { apics.write_register(own, number, value, now) });
        if let Some(result) = by_apic {
            return result.map_err(|_| GeneralProtection);
        }
        match self.msrs.write(number, value, &processor)? {
            MsrAction::None | MsrAction::SystemTime(None) => {}
            MsrAction::SetEfer(value) => frame.set(word::EFER, value),
            MsrAction::SetPat(value) => frame.set(word::PAT, value),
            MsrAction::SetTsc(value) => self.clock.set_counter(frame, value),
            MsrAction::SystemTime(Some(at)) => self.show_time(frame, at),
            MsrAction::WallClock(at) => self.show(at, &wall_clock(2, self.clock.start_of_machine())),
        }
        Ok(())
    }

    /// Shows the guest how to read the time by its counter, once: the counter never changes.
    fn show_time(&mut self, frame: &Frame, at: u64) {
        let tsc = self.clock.ticks();
        let info = time_info(2, tsc.wrapping_add(self.clock.difference(frame)), self.clock.nanoseconds(tsc), &nacre_machine_x86::Clock::new(self.frequency));
        self.show(at, &info);
    }

    fn show(&mut self, at: u64, bytes: &[u8]) {
        // What the guest wants outside of its memory is lost.
        let _ = self.memory.write(at, bytes);
    }

    /// Code that the guest stands at, and whether it is 64-bit code.
    pub fn code(&self, frame: &Frame) -> Option<(Code, bool)> {
        const CODE: usize = word::SEGMENTS + 2;
        let is_long = frame.get(CODE) >> 16 & LONG != 0;
        let base = if is_long { 0 } else { frame.get(CODE + 1) };
        let code = fetch(&self.memory, &paging(frame), base.wrapping_add(frame.get(word::RIP)), frame.get(word::PRIVILEGE) == 3).ok()?;
        Some((code, is_long))
    }

    /// The instruction that the guest stands at, if it is one of those that leave it.
    pub fn instruction(&self, frame: &Frame) -> Option<Instruction> {
        let (code, is_long) = self.code(frame)?;
        decode(code.bytes(), is_long)
    }
}
