//! Accesses of a guest that the processor does not complete: to addresses where no memory is, and
//! of strings to ports. A small interpreter carries them out on the devices.

use crate::board::BOARD;
use crate::exits::{self, PortAccess};
use crate::guest::Memory;
use nacre_abi::frame::word;
use nacre_machine_load::GuestMemory;
use nacre_machine_x86::{Bus, Exception, Mode, Paging, State, Vector, Vectors, fetch, interpret};
use nacre_sys::{Frame, fpu};

/// Long and 32-bit code, in a code segment's first word.
const LONG: u64 = 1 << 25;
const WORD: u64 = 1 << 26;
const CODE: usize = word::SEGMENTS + 2;

/// Error of an instruction that nobody here knows.
pub struct Unknown;

/// Memory and devices as one processor reaches them.
struct Reach {
    memory: Memory,
    number: usize,
}

impl Bus for Reach {
    fn memory(&self) -> &dyn GuestMemory {
        &self.memory
    }

    fn read(&mut self, address: u64, width: u8) -> u64 {
        let mut bytes = [0; 8];
        if self.memory.read(address, &mut bytes[..usize::from(width.min(8))]).is_ok() {
            return u64::from_le_bytes(bytes);
        }
        BOARD.with(self.number, |devices, now| devices.read(self.number, address, width, now)).unwrap_or(u64::MAX)
    }

    fn write(&mut self, address: u64, width: u8, value: u64) {
        if self.memory.write(address, &value.to_le_bytes()[..usize::from(width.min(8))]).is_err() {
            BOARD.with(self.number, |devices, now| devices.write(self.number, address, width, value, now));
        }
    }

    fn port_in(&mut self, port: u16, width: u8) -> u32 {
        BOARD.with(self.number, |devices, now| devices.read_port(PortAccess { port, width, reads: true, is_string: false }, now)).unwrap_or(u32::MAX)
    }

    fn port_out(&mut self, port: u16, width: u8, value: u32) {
        BOARD.with(self.number, |devices, now| devices.write_port(PortAccess { port, width, reads: false, is_string: false }, value, now));
    }

    // The guest's vectors are those of its processor's thread, which is the caller.
    fn vector(&mut self, register: Vector) -> u128 {
        Vectors(fpu::save()).get(register)
    }

    fn set_vector(&mut self, register: Vector, value: u128) {
        let mut vectors = Vectors(fpu::save());
        vectors.set(register, value);
        fpu::restore(&vectors.0);
    }
}

/// Registers that decide on a walk of the guest's page tables.
pub fn paging(frame: &Frame) -> Paging {
    Paging { cr0: frame.get(word::CR0), cr3: frame.get(word::CR3), cr4: frame.get(word::CR4), efer: frame.get(word::EFER) }
}

/// Width of the code that a processor runs.
fn mode(frame: &Frame) -> Mode {
    match frame.get(CODE) {
        code if code & LONG != 0 => Mode::Long,
        code if code & WORD != 0 => Mode::Word,
        _ => Mode::Half,
    }
}

/// Linear address of the instruction that a processor stands at.
pub fn linear(frame: &Frame) -> u64 {
    let base = if mode(frame) == Mode::Long { 0 } else { frame.get(CODE + 1) };
    base.wrapping_add(frame.get(word::RIP))
}

/// Registers of a processor, for what is carried out here.
pub fn state(frame: &Frame) -> State {
    State {
        registers: core::array::from_fn(|number| frame.get(word::REGISTERS + number)),
        rip: frame.get(word::RIP),
        flags: frame.get(word::RFLAGS),
        bases: core::array::from_fn(|number| frame.get(word::SEGMENTS + 2 * number + 1)),
        paging: paging(frame),
        mode: mode(frame),
        user: frame.get(word::PRIVILEGE) == 3,
    }
}

/// Carries out the instruction that a processor stands at.
pub fn carry_out(frame: &Frame, memory: Memory, number: usize) -> Result<(), Unknown> {
    let mut state = state(frame);
    let code = fetch(&memory, &state.paging, linear(frame), state.user).map_err(|_| Unknown)?;
    let result = interpret(&mut state, code.bytes(), &mut Reach { memory, number });
    // A string may have moved in part.
    state.registers.iter().enumerate().for_each(|(number, value)| frame.set(word::REGISTERS + number, *value));
    match result {
        Ok(()) => {
            frame.set(word::RIP, state.rip);
            frame.set(word::RFLAGS, state.flags);
            frame.set(word::SHADOW, 0);
        }
        Err(Exception::Undefined) => return Err(Unknown),
        Err(Exception::Protection) => frame.set(word::INJECT, exits::exception(exits::PROTECTION)),
        Err(Exception::Page(address, code)) => {
            frame.set(word::CR2, address);
            frame.set(word::INJECT, exits::exception(exits::PAGE) | u64::from(code) << 32);
        }
    }
    Ok(())
}
