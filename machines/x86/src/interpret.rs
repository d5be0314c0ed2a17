//! A small interpreter: carries out one instruction whose memory is a device's, or that moves
//! strings between memory and ports.

use crate::arithmetic::{compute, extend, mask, single, test};
use crate::shifts::{double_shift, holds, multiply, shift};
use crate::operation::{Action, Mode, Operand, Operation, decode_operation, in_segment};
use crate::vector::{Vector, VectorMove};
use crate::walk::{Access, Paging, WalkError, walk};
use nacre_machine_memory::GuestMemory;

const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RBX: usize = 3;
const RSI: usize = 6;
const RDI: usize = 7;
const ES: usize = 0;
/// Flag: strings go downwards.
const DOWN: u64 = 1 << 10;
const CARRY: u64 = 1;
const ZERO: u64 = 1 << 6;
/// Numbers of arithmetic.
const ADD: u8 = 0;
const COMPARE: u8 = 7;
const PAGE: u64 = 0x1000;
/// Elements of a string that are moved at once. The instruction goes on when it is made again.
const ELEMENTS: u64 = 1024;

/// Memory and ports that the instruction reaches. Addresses are guest-physical.
pub trait Bus {
    /// Returns the memory in which page tables lie.
    fn memory(&self) -> &dyn GuestMemory;
    /// Reads 1, 2, 4 or 8 bytes of memory or a device; all ones where nothing is.
    fn read(&mut self, address: u64, width: u8) -> u64;
    /// Writes 1, 2, 4 or 8 bytes.
    fn write(&mut self, address: u64, width: u8, value: u64);
    /// Reads a port: 1, 2 or 4 bytes.
    fn port_in(&mut self, port: u16, width: u8) -> u32;
    /// Writes a port.
    fn port_out(&mut self, port: u16, width: u8, value: u32);
    /// Returns a register of MMX or SSE.
    fn vector(&mut self, register: Vector) -> u128;
    /// Sets a register of MMX or SSE.
    fn set_vector(&mut self, register: Vector, value: u128);
}

/// Registers of the processor, as far as the interpreter reads and writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// General registers, in the order of their encoding.
    pub registers: [u64; 16],
    /// Address of the instruction.
    pub rip: u64,
    /// Flags.
    pub flags: u64,
    /// Bases of the segments ES CS SS DS FS GS.
    pub bases: [u64; 6],
    /// Registers that decide on a walk of page tables.
    pub paging: Paging,
    /// Width of the code.
    pub mode: Mode,
    /// True if the processor is in user mode.
    pub user: bool,
}

/// Exception that the instruction makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// Instruction that the interpreter does not know.
    Undefined,
    /// Address that is none.
    Protection,
    /// Page fault: address and error code.
    Page(u64, u32),
}

/// Carries out the instruction at the start of `code`. An exception leaves the state as it was, but
/// for what a string has moved before.
pub fn interpret(state: &mut State, code: &[u8], bus: &mut dyn Bus) -> Result<(), Exception> {
    let operation = decode_operation(code, state.mode).ok_or(Exception::Undefined)?;
    let next = state.rip.wrapping_add(u64::from(operation.length));
    let mut machine = Machine { state, bus, operation, next };
    let is_over = match operation.action {
        Action::MoveString | Action::StoreString | Action::LoadString | Action::InString | Action::OutString => machine.string()?,
        _ => {
            machine.plain()?;
            true
        }
    };
    if is_over {
        state.rip = if state.mode == Mode::Long { next } else { next & mask(4) };
    }
    Ok(())
}

struct Machine<'a> {
    state: &'a mut State,
    bus: &'a mut dyn Bus,
    operation: Operation,
    next: u64,
}

impl Machine<'_> {
    /// Linear address of the memory operand.
    fn address(&self) -> u64 {
        let State { mode, registers, bases, .. } = &self.state;
        self.operation.address.linear(*mode, registers, self.next, bases)
    }

    /// Linear address of an offset in a segment.
    fn linear(&self, offset: u64, segment: usize) -> u64 {
        in_segment(self.state.mode, offset, &self.state.bases, segment)
    }

    fn physical(&self, linear: u64, write: bool) -> Result<u64, Exception> {
        let access = Access { write, user: self.state.user, fetch: false };
        match walk(self.bus.memory(), &self.state.paging, linear, access) {
            Ok(found) => Ok(found.address),
            Err(WalkError::PageFault(code)) => Err(Exception::Page(linear, code)),
            Err(WalkError::NotCanonical) => Err(Exception::Protection),
        }
    }

    /// Guest-physical address of each byte, if the access crosses a page; else of the first.
    fn places(&self, linear: u64, width: u8, write: bool) -> Result<([u64; 8], bool), Exception> {
        let is_split = linear % PAGE + u64::from(width) > PAGE;
        let mut places = [0; 8];
        let count = if is_split { usize::from(width) } else { 1 };
        for (number, place) in places.iter_mut().take(count).enumerate() {
            *place = self.physical(linear.wrapping_add(number as u64), write)?;
        }
        Ok((places, is_split))
    }

    fn read(&mut self, linear: u64) -> Result<u64, Exception> {
        self.read_wide(linear, self.operation.width)
    }

    fn read_wide(&mut self, linear: u64, width: u8) -> Result<u64, Exception> {
        let (places, is_split) = self.places(linear, width, false)?;
        if !is_split {
            return Ok(self.bus.read(places[0], width) & mask(width));
        }
        let bytes = places.iter().take(usize::from(width)).enumerate();
        Ok(bytes.fold(0, |value, (number, place)| value | (self.bus.read(*place, 1) & 0xff) << (8 * number)))
    }

    fn write(&mut self, linear: u64, value: u64) -> Result<(), Exception> {
        self.write_wide(linear, self.operation.width, value)
    }

    fn write_wide(&mut self, linear: u64, width: u8, value: u64) -> Result<(), Exception> {
        let (places, is_split) = self.places(linear, width, true)?;
        if !is_split {
            self.bus.write(places[0], width, value & mask(width));
            return Ok(());
        }
        for (number, place) in places.iter().take(usize::from(width)).enumerate() {
            self.bus.write(*place, 1, value >> (8 * number) & 0xff);
        }
        Ok(())
    }

    /// Number and shift of a register of a width.
    fn part(&self, register: u8, width: u8) -> (usize, u32) {
        let is_high = width == 1 && self.operation.has_high_bytes && matches!(register, 4..=7);
        if is_high { (usize::from(register - 4), 8) } else { (usize::from(register & 15), 0) }
    }

    fn register(&self, register: u8, width: u8) -> u64 {
        let (number, shift) = self.part(register, width);
        self.state.registers[number] >> shift & mask(width)
    }

    fn set_register(&mut self, register: u8, width: u8, value: u64) {
        let (number, shift) = self.part(register, width);
        let place = &mut self.state.registers[number];
        // 32 bits clear the upper half.
        let kept = if width >= 4 { 0 } else { *place & !(mask(width) << shift) };
        *place = kept | (value & mask(width)) << shift;
    }

    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.register(register, self.operation.width),
            Operand::Number(number) => number & mask(self.operation.width),
        }
    }

    /// Carries out an instruction that moves no string.
    fn plain(&mut self) -> Result<(), Exception> {
        let (address, width, flags) = (self.address(), self.operation.width, self.state.flags);
        match self.operation.action {
            Action::Load { register, to, signed } => {
                let value = self.read(address)?;
                self.set_register(register, to, if signed { extend(value, width) } else { value });
            }
            Action::Store(operand) => self.write(address, self.operand(operand))?,
            Action::Compute(number, operand) => {
                let (result, flags) = compute(number, self.read(address)?, self.operand(operand), width, flags);
                if let Some(result) = result {
                    self.write(address, result)?;
                }
                self.state.flags = flags;
            }
            Action::ComputeRegister(number, register) => {
                let (result, flags) = compute(number, self.register(register, width), self.read(address)?, width, flags);
                if let Some(result) = result {
                    self.set_register(register, width, result);
                }
                self.state.flags = flags;
            }
            Action::Test(operand) => self.state.flags = test(self.read(address)?, self.operand(operand), width, flags),
            Action::Exchange(register) => {
                let value = self.read(address)?;
                self.write(address, self.register(register, width))?;
                self.set_register(register, width, value);
            }
            Action::Single(number) => {
                let (result, flags) = single(number, self.read(address)?, width, flags);
                self.write(address, result)?;
                self.state.flags = flags;
            }
            Action::Bit(number, operand) => self.bit(number, operand)?,
            Action::CompareExchange(register) => {
                let value = self.read(address)?;
                let old = self.register(RAX as u8, width);
                // Memory is written in both cases.
                self.write(address, if value == old { self.register(register, width) } else { value })?;
                if value != old {
                    self.set_register(RAX as u8, width, value);
                }
                self.state.flags = compute(COMPARE, old, value, width, flags).1;
            }
            Action::CompareExchangePair => self.compare_pair(address)?,
            Action::ExchangeAdd(register) => {
                let value = self.read(address)?;
                let (result, flags) = compute(ADD, value, self.register(register, width), width, flags);
                self.write(address, result.unwrap_or(value))?;
                self.set_register(register, width, value);
                self.state.flags = flags;
            }
            Action::Vector(operands) => self.vector(address, operands)?,
            _ => return self.shift_or_condition(address),
        }
        Ok(())
    }

    /// Carries out a shift, a product, or an instruction with a condition.
    fn shift_or_condition(&mut self, address: u64) -> Result<(), Exception> {
        let (width, flags) = (self.operation.width, self.state.flags);
        match self.operation.action {
            Action::Shift(number, count) => {
                let (result, flags) = shift(number, self.read(address)?, self.operand(count) as u8, width, flags);
                self.write(address, result)?;
                self.state.flags = flags;
            }
            Action::DoubleShift { is_right, register, count } => {
                let (filler, count) = (self.register(register, width), self.operand(count) as u8);
                let (result, flags) = double_shift(is_right, self.read(address)?, filler, count, width, flags);
                self.write(address, result)?;
                self.state.flags = flags;
            }
            Action::Multiply(register, operand) => {
                let (result, flags) = multiply(self.read(address)?, self.operand(operand), width, flags);
                self.set_register(register, width, result);
                self.state.flags = flags;
            }
            Action::Set(condition) => self.write(address, u64::from(holds(condition, flags)))?,
            Action::LoadIf(condition, register) => {
                // Memory is read, and the upper half cleared, whatever the condition is.
                let value = self.read(address)?;
                let kept = self.register(register, width);
                self.set_register(register, width, if holds(condition, flags) { value } else { kept });
            }
            _ => return Err(Exception::Undefined),
        }
        Ok(())
    }

    /// BT, BTS, BTR and BTC. A register's value is a number of bits from the address on, with its
    /// sign; of a number in the instruction, the bits of one operand count.
    fn bit(&mut self, number: u8, operand: Operand) -> Result<(), Exception> {
        let width = self.operation.width;
        let bits = 8 * u64::from(width);
        if let Operand::Register(register) = operand {
            let distance = extend(self.register(register, width), width) as i64;
            let operands = distance.div_euclid(bits as i64) as u64;
            let place = &mut self.operation.address.displacement;
            *place = place.wrapping_add(operands.wrapping_mul(u64::from(width)));
        }
        let address = self.address();
        let bit = 1u64 << (self.operand(operand) % bits);
        let value = self.read(address)?;
        match number & 3 {
            0 => {}
            1 => self.write(address, value | bit)?,
            2 => self.write(address, value & !bit)?,
            _ => self.write(address, value ^ bit)?,
        }
        self.state.flags = self.state.flags & !CARRY | if value & bit != 0 { CARRY } else { 0 };
        Ok(())
    }

    /// CMPXCHG8B and CMPXCHG16B: EDX:EAX is what memory may have, and ECX:EBX what it then gets, or
    /// the 64-bit registers. Of 16 bytes, which have to lie at a multiple of that, each half is an
    /// access.
    fn compare_pair(&mut self, address: u64) -> Result<(), Exception> {
        let (is_wide, half) = (self.operation.width == 16, self.operation.width / 2);
        if is_wide && !address.is_multiple_of(16) {
            return Err(Exception::Protection);
        }
        let pair = |high: usize, low: usize| u128::from(self.state.registers[high] & mask(half)) << (8 * half) | u128::from(self.state.registers[low] & mask(half));
        let (old, new) = (pair(RDX, RAX), pair(RCX, RBX));
        let high = address.wrapping_add(8);
        let mut value = u128::from(self.read_wide(address, 8)?);
        if is_wide {
            value |= u128::from(self.read_wide(high, 8)?) << 64;
        }
        let written = if value == old { new } else { value };
        self.write_wide(address, 8, written as u64)?;
        if is_wide {
            self.write_wide(high, 8, (written >> 64) as u64)?;
        }
        if value == old {
            self.state.flags |= ZERO;
        } else {
            self.state.flags &= !ZERO;
            self.set_register(RAX as u8, half, value as u64);
            self.set_register(RDX as u8, half, (value >> (8 * half)) as u64);
        }
        Ok(())
    }

    /// Moves a register of MMX or SSE. One of 16 bytes goes by halves.
    fn vector(&mut self, address: u64, operands: VectorMove) -> Result<(), Exception> {
        let VectorMove { register, stores, shift, keeps } = operands;
        let (size, high) = (self.operation.width.min(8), address.wrapping_add(8));
        let is_wide = self.operation.width > 8;
        if is_wide {
            // A page that is not there is told before the other half is moved.
            self.places(address, 8, stores)?;
            self.places(high, 8, stores)?;
        }
        if stores {
            let value = self.bus.vector(register) >> shift;
            self.write_wide(address, size, value as u64)?;
            return if is_wide { self.write_wide(high, 8, (value >> 64) as u64) } else { Ok(()) };
        }
        let low = u128::from(self.read_wide(address, size)?);
        let value = if is_wide { u128::from(self.read_wide(high, 8)?) << 64 | low } else { low } << shift;
        let kept = if keeps { self.bus.vector(register) & !(u128::from(mask(size)) << shift) } else { 0 };
        self.bus.set_vector(register, kept | value);
        Ok(())
    }

    /// Moves elements of a string. Returns true if no more are left.
    fn string(&mut self) -> Result<bool, Exception> {
        if !self.operation.repeats {
            return self.element().map(|()| true);
        }
        let width = self.operation.address.width;
        for _ in 0..ELEMENTS {
            let left = self.state.registers[RCX] & mask(width);
            if left == 0 {
                return Ok(true);
            }
            self.element()?;
            self.set_index(RCX, left.wrapping_sub(1));
        }
        Ok(self.state.registers[RCX] & mask(width) == 0)
    }

    /// Sets a register that counts or points, in the width of addresses.
    fn set_index(&mut self, number: usize, value: u64) {
        let width = self.operation.address.width;
        let kept = if width >= 4 { 0 } else { self.state.registers[number] & !mask(width) };
        self.state.registers[number] = kept | value & mask(width);
    }

    fn step(&mut self, number: usize) {
        let width = u64::from(self.operation.width);
        let step = if self.state.flags & DOWN != 0 { width.wrapping_neg() } else { width };
        self.set_index(number, self.state.registers[number].wrapping_add(step));
    }

    /// Moves one element.
    fn element(&mut self) -> Result<(), Exception> {
        let width = self.operation.width;
        let target = self.linear(self.state.registers[RDI] & mask(self.operation.address.width), ES);
        let (source, port) = (self.address(), self.state.registers[RDX] as u16);
        let value = match self.operation.action {
            Action::MoveString | Action::LoadString | Action::OutString => self.read(source)?,
            Action::InString => {
                // A page that is not there is told before the port is read.
                self.places(target, width, true)?;
                u64::from(self.bus.port_in(port, width))
            }
            _ => self.state.registers[RAX],
        };
        match self.operation.action {
            Action::LoadString => self.set_register(RAX as u8, width, value),
            Action::OutString => self.bus.port_out(port, width, value as u32),
            _ => self.write(target, value)?,
        }
        if matches!(self.operation.action, Action::MoveString | Action::LoadString | Action::OutString) {
            self.step(RSI);
        }
        if matches!(self.operation.action, Action::MoveString | Action::StoreString | Action::InString) {
            self.step(RDI);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "interpret_tests.rs"]
mod tests;
