//! Instructions that reach memory where devices are: the forms that compilers and systems use for
//! it. Manual: AMD's volume 3.

use crate::MAX_LENGTH;
use crate::arithmetic::mask;
use crate::vector::{VectorMove, vector_move};

/// Width of code: of addresses and operands that no prefix changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 16 bits, as in real mode.
    Half,
    /// 32 bits.
    Word,
    /// 64-bit mode.
    Long,
}

/// Address in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Number of the segment register, in the order of their encoding: ES CS SS DS FS GS.
    pub segment: u8,
    /// Base register.
    pub base: Option<u8>,
    /// Index register, and the shift of its value.
    pub index: Option<(u8, u8)>,
    /// Displacement, with its sign.
    pub displacement: u64,
    /// True if the address is relative to the next instruction.
    pub is_relative: bool,
    /// Width in bytes: 2, 4 or 8.
    pub width: u8,
}

impl Address {
    /// Returns the linear address, with the values of the general registers, the address of the
    /// next instruction, and the bases of the segments in the order of their encoding.
    pub fn linear(&self, mode: Mode, registers: &[u64; 16], next: u64, bases: &[u64; 6]) -> u64 {
        let register = |number: u8| registers[usize::from(number & 15)];
        let base = self.base.map_or(if self.is_relative { next } else { 0 }, register);
        let index = self.index.map_or(0, |(number, shift)| register(number) << (shift & 3));
        let offset = base.wrapping_add(index).wrapping_add(self.displacement) & mask(self.width);
        in_segment(mode, offset, bases, usize::from(self.segment))
    }
}

/// Returns the linear address of an offset in a segment. In 64-bit mode only FS and GS have bases.
pub fn in_segment(mode: Mode, offset: u64, bases: &[u64; 6], segment: usize) -> u64 {
    let base = bases[segment % bases.len()];
    match mode {
        Mode::Long if segment < 4 => offset,
        Mode::Long => offset.wrapping_add(base),
        Mode::Half | Mode::Word => offset.wrapping_add(base) & mask(4),
    }
}

/// Register CL, which counts steps of shifts.
const COUNT: Operand = Operand::Register(1);

/// Second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// General register by number; of byte instructions see `has_high_bytes`.
    Register(u8),
    /// Number in the instruction, with its sign.
    Number(u64),
}

/// Action of an instruction with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Register takes memory's value; the register's width in bytes, and whether the sign extends.
    Load {
        /// Register.
        register: u8,
        /// Width of the register.
        to: u8,
        /// True if the sign extends.
        signed: bool,
    },
    /// Memory takes the value.
    Store(Operand),
    /// ADD OR ADC SBB AND SUB XOR CMP, by number, on memory.
    Compute(u8, Operand),
    /// ADD and its like on a register, with memory as the second operand.
    ComputeRegister(u8, u8),
    /// TEST.
    Test(Operand),
    /// Memory and register change places.
    Exchange(u8),
    /// INC, DEC, NOT, NEG, by number.
    Single(u8),
    /// CMPXCHG with a register.
    CompareExchange(u8),
    /// CMPXCHG8B and CMPXCHG16B: memory of 8 or 16 bytes, whatever the width of registers.
    CompareExchangePair,
    /// XADD with a register.
    ExchangeAdd(u8),
    /// BT BTS BTR BTC, by number, of the bit that the operand names. Registers lead to any bit
    /// around the address.
    Bit(u8, Operand),
    /// ROL ROR RCL RCR SHL SHR SAL SAR, by number, and the count.
    Shift(u8, Operand),
    /// SHLD and SHRD.
    DoubleShift {
        /// True of SHRD.
        is_right: bool,
        /// Register that fills in.
        register: u8,
        /// Number of steps.
        count: Operand,
    },
    /// IMUL of memory and an operand, into a register.
    Multiply(u8, Operand),
    /// SETcc, with the condition's number.
    Set(u8),
    /// CMOVcc: the condition's number, and the register.
    LoadIf(u8, u8),
    /// Move of a register of MMX or SSE.
    Vector(VectorMove),
    /// `movs`
    MoveString,
    /// `stos`
    StoreString,
    /// `lods`
    LoadString,
    /// `ins`
    InString,
    /// `outs`
    OutString,
}

/// Decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Action.
    pub action: Action,
    /// Address of the memory operand; of string instructions that of the source.
    pub address: Address,
    /// Width of the memory operand: 1, 2, 4 or 8 bytes, of vectors and CMPXCHG16B 16.
    pub width: u8,
    /// Length of the instruction.
    pub length: u8,
    /// True if the instruction repeats.
    pub repeats: bool,
    /// True if registers 4 to 7 of byte instructions are AH, CH, DH and BH.
    pub has_high_bytes: bool,
}

/// Reader of an instruction's bytes, with its prefixes.
struct Reader<'a> {
    code: &'a [u8],
    at: usize,
    mode: Mode,
    rex: u8,
    has_operand_prefix: bool,
    has_address_prefix: bool,
    segment: Option<u8>,
    /// Last of the two prefixes that repeat strings and choose among other instructions; 0 if none.
    repeat: u8,
    has_lock: bool,
}

/// Decodes `invlpg` in code of this width: its operand, and its length. `None`: it is another
/// instruction, has no operand in memory, has a lock prefix, or goes on behind the end of `code`.
pub fn decode_invalidate(code: &[u8], mode: Mode) -> Option<(Address, u8)> {
    let mut reader = Reader::new(code, mode);
    let opcode = [reader.prefixes()?, reader.byte()?];
    if opcode != [0x0f, 0x01] || reader.has_lock {
        return None;
    }
    let (register, address) = reader.operands()?;
    (register & 7 == 7).then_some((address, reader.at as u8))
}

/// Decodes an instruction. `None`: it is none of those that are known, has no operand in memory, or
/// goes on behind the end of `code`.
pub fn decode_operation(code: &[u8], mode: Mode) -> Option<Operation> {
    let mut reader = Reader::new(code, mode);
    let opcode = reader.prefixes()?;
    let (action, address, width) = reader.action(opcode)?;
    let is_string = matches!(opcode, 0xa4..=0xa5 | 0xaa..=0xad | 0x6c..=0x6f);
    Some(Operation { action, address, width, length: reader.at as u8, repeats: reader.repeat != 0 && is_string, has_high_bytes: reader.rex == 0 })
}

impl<'a> Reader<'a> {
    fn new(code: &'a [u8], mode: Mode) -> Reader<'a> {
        let code = &code[..code.len().min(MAX_LENGTH)];
        Reader { code, at: 0, mode, rex: 0, has_operand_prefix: false, has_address_prefix: false, segment: None, repeat: 0, has_lock: false }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Reads a number of 1, 2 or 4 bytes (8 in one form alone), and extends its sign.
    fn number(&mut self, width: u8) -> Option<u64> {
        let bytes = self.code.get(self.at..self.at + usize::from(width))?;
        self.at += usize::from(width);
        let value = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let unused = 64 - 8 * u32::from(width);
        Some(((value << unused) as i64 >> unused) as u64)
    }

    /// Reads prefixes; returns the opcode behind them.
    fn prefixes(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            match byte {
                0x66 => self.has_operand_prefix = true,
                0x67 => self.has_address_prefix = true,
                0x26 | 0x2e | 0x36 | 0x3e => self.segment = Some(byte >> 3 & 3),
                0x64 | 0x65 => self.segment = Some(byte - 0x60),
                0xf2 | 0xf3 => self.repeat = byte,
                0xf0 => self.has_lock = true,
                0x40..=0x4f if self.mode == Mode::Long => {
                    self.rex = byte;
                    return self.byte();
                }
                opcode => return Some(opcode),
            }
        }
    }

    /// Width of operands that are no bytes.
    fn operand_width(&self) -> u8 {
        match (self.mode, self.has_operand_prefix) {
            (Mode::Long, _) if self.rex & 8 != 0 => 8,
            (Mode::Half, false) | (Mode::Word | Mode::Long, true) => 2,
            _ => 4,
        }
    }

    fn address_width(&self) -> u8 {
        match (self.mode, self.has_address_prefix) {
            (Mode::Long, false) => 8,
            (Mode::Half, false) | (Mode::Word, true) => 2,
            _ => 4,
        }
    }

    fn width_of(&self, opcode: u8) -> u8 {
        if opcode & 1 == 0 { 1 } else { self.operand_width() }
    }

    fn action(&mut self, opcode: u8) -> Option<(Action, Address, u8)> {
        let width = self.width_of(opcode);
        match opcode {
            0x00..=0x3f if opcode & 7 < 4 => {
                let (register, address) = self.operands()?;
                let number = opcode >> 3;
                let action = if opcode & 2 == 0 { Action::Compute(number, Operand::Register(register)) } else { Action::ComputeRegister(number, register) };
                Some((action, address, width))
            }
            0x0f => self.two_bytes(),
            0x63 if self.mode == Mode::Long => {
                let (register, address) = self.operands()?;
                let to = self.operand_width();
                Some((Action::Load { register, to, signed: true }, address, to.min(4)))
            }
            0x69 | 0x6b => {
                let (register, address) = self.operands()?;
                let number = self.number(if opcode == 0x6b { 1 } else { self.operand_width().min(4) })?;
                Some((Action::Multiply(register, Operand::Number(number)), address, self.operand_width()))
            }
            0x80 | 0x81 | 0x83 => self.with_number(width, if opcode == 0x81 { width.min(4) } else { 1 }, Action::Compute),
            0x84 | 0x85 => self.with_register(width, |register| Action::Test(Operand::Register(register))),
            0x86 | 0x87 => self.with_register(width, Action::Exchange),
            0x88 | 0x89 => self.with_register(width, |register| Action::Store(Operand::Register(register))),
            0x8a | 0x8b => self.with_register(width, |register| Action::Load { register, to: width, signed: false }),
            0xa0..=0xa3 => self.absolute(opcode, width),
            0xc0 | 0xc1 => self.with_number(width, 1, Action::Shift),
            0xd0 | 0xd1 => self.with_register(width, |number| Action::Shift(number & 7, Operand::Number(1))),
            0xd2 | 0xd3 => self.with_register(width, |number| Action::Shift(number & 7, COUNT)),
            0xc6 | 0xc7 => self.with_number(width, width.min(4), |_, number| Action::Store(number)),
            0xf6 | 0xf7 => self.group_three(width),
            0xfe | 0xff => self.group_four(width),
            _ => self.string(opcode, width),
        }
    }

    fn with_register(&mut self, width: u8, action: impl FnOnce(u8) -> Action) -> Option<(Action, Address, u8)> {
        let (register, address) = self.operands()?;
        Some((action(register), address, width))
    }

    fn with_number(&mut self, width: u8, number: u8, action: impl FnOnce(u8, Operand) -> Action) -> Option<(Action, Address, u8)> {
        let (register, address) = self.operands()?;
        let number = self.number(number)?;
        Some((action(register & 7, Operand::Number(number)), address, width))
    }

    /// TEST with a number, NOT and NEG.
    fn group_three(&mut self, width: u8) -> Option<(Action, Address, u8)> {
        let (register, address) = self.operands()?;
        match register & 7 {
            0 | 1 => {
                let number = self.number(width.min(4))?;
                Some((Action::Test(Operand::Number(number)), address, width))
            }
            number @ (2 | 3) => Some((Action::Single(number), address, width)),
            _ => None,
        }
    }

    /// INC and DEC.
    fn group_four(&mut self, width: u8) -> Option<(Action, Address, u8)> {
        let (register, address) = self.operands()?;
        (register & 7 < 2).then_some((Action::Single(register & 7), address, width))
    }

    /// Instructions behind 0x0f.
    fn two_bytes(&mut self) -> Option<(Action, Address, u8)> {
        let opcode = self.byte()?;
        let to = self.operand_width();
        let width = self.width_of(opcode);
        let narrow = if opcode & 1 == 0 { 1 } else { 2 };
        match opcode {
            0x40..=0x4f => self.with_register(to, |register| Action::LoadIf(opcode & 15, register)),
            0x90..=0x9f => self.with_register(1, |_| Action::Set(opcode & 15)),
            0xa4 | 0xac => {
                let (register, address) = self.operands()?;
                let count = Operand::Number(self.number(1)?);
                Some((Action::DoubleShift { is_right: opcode == 0xac, register, count }, address, to))
            }
            0xa5 | 0xad => self.with_register(to, |register| Action::DoubleShift { is_right: opcode == 0xad, register, count: COUNT }),
            0xaf => self.with_register(to, |register| Action::Multiply(register, Operand::Register(register))),
            0xa3 | 0xab | 0xb3 | 0xbb => self.with_register(to, |register| Action::Bit(opcode >> 3 & 3, Operand::Register(register))),
            0xb0 | 0xb1 => self.with_register(width, Action::CompareExchange),
            0xb6 | 0xb7 => self.with_register(narrow, |register| Action::Load { register, to, signed: false }),
            0xba => self.bit_of_number(to),
            0xbe | 0xbf => self.with_register(narrow, |register| Action::Load { register, to, signed: true }),
            0xc0 | 0xc1 => self.with_register(width, Action::ExchangeAdd),
            // MOVNTI has no prefixes.
            0xc3 if to != 2 && self.repeat == 0 => self.with_register(to, |register| Action::Store(Operand::Register(register))),
            0xc7 => {
                let (number, address) = self.operands()?;
                (number & 7 == 1).then_some((Action::CompareExchangePair, address, if self.rex & 8 == 0 { 8 } else { 16 }))
            }
            _ => self.vector(opcode),
        }
    }

    /// BT and its like with a number in the instruction.
    fn bit_of_number(&mut self, width: u8) -> Option<(Action, Address, u8)> {
        let (register, address) = self.operands()?;
        let number = self.number(1)?;
        (register & 4 != 0).then_some((Action::Bit(register & 3, Operand::Number(number)), address, width))
    }

    /// Moves of vectors.
    fn vector(&mut self, opcode: u8) -> Option<(Action, Address, u8)> {
        // MOVNTDQA is the one move of another table.
        let opcode = if opcode == 0x38 && self.byte()? == 0x2a && self.has_operand_prefix { 0x6f } else { opcode };
        let (register, address) = self.operands()?;
        let prefix = match (self.repeat, self.has_operand_prefix) {
            (0, true) => 0x66,
            (repeat, _) => repeat,
        };
        let (action, width) = vector_move(opcode, prefix, register, self.rex & 8 != 0)?;
        Some((Action::Vector(action), address, width))
    }

    /// Moves between RAX and an address in the instruction.
    fn absolute(&mut self, opcode: u8, width: u8) -> Option<(Action, Address, u8)> {
        let address_width = self.address_width();
        let displacement = self.number(address_width)?;
        let address = Address { segment: self.segment.unwrap_or(3), base: None, index: None, displacement, is_relative: false, width: address_width };
        let action = if opcode & 2 == 0 { Action::Load { register: 0, to: width, signed: false } } else { Action::Store(Operand::Register(0)) };
        Some((action, address, width))
    }

    fn string(&mut self, opcode: u8, width: u8) -> Option<(Action, Address, u8)> {
        const SOURCE: u8 = 6;
        let (action, width) = match opcode {
            0xa4 | 0xa5 => (Action::MoveString, width),
            0xaa | 0xab => (Action::StoreString, width),
            0xac | 0xad => (Action::LoadString, width),
            // Ports are at most 32 bits wide.
            0x6c | 0x6d => (Action::InString, width.min(4)),
            0x6e | 0x6f => (Action::OutString, width.min(4)),
            _ => return None,
        };
        let address = Address { segment: self.segment.unwrap_or(3), base: Some(SOURCE), index: None, displacement: 0, is_relative: false, width: self.address_width() };
        Some((action, address, width))
    }

    /// Reads the operands: the register's number and the address. `None`: both are registers.
    fn operands(&mut self) -> Option<(u8, Address)> {
        let byte = self.byte()?;
        let (form, register, memory) = (byte >> 6, byte >> 3 & 7 | (self.rex & 4) << 1, byte & 7);
        if form == 3 {
            return None;
        }
        let width = self.address_width();
        let mut address = Address { segment: 3, base: Some(memory | (self.rex & 1) << 3), index: None, displacement: 0, is_relative: false, width };
        if width == 2 {
            self.half(&mut address, form, memory)?;
        } else {
            if memory == 4 {
                self.scaled(&mut address, form)?;
            } else if memory == 5 && form == 0 {
                address.base = None;
                address.is_relative = self.mode == Mode::Long;
                address.displacement = self.number(4)?;
            }
            if matches!(address.base, Some(4 | 5)) {
                address.segment = 2;
            }
            address.displacement = address.displacement.wrapping_add(match form {
                1 => self.number(1)?,
                2 => self.number(4)?,
                _ => 0,
            });
        }
        address.segment = self.segment.unwrap_or(address.segment);
        Some((register, address))
    }

    /// Reads base, index and scale.
    fn scaled(&mut self, address: &mut Address, form: u8) -> Option<()> {
        let byte = self.byte()?;
        let index = byte >> 3 & 7 | (self.rex & 2) << 2;
        address.index = (index != 4).then_some((index, byte >> 6));
        address.base = Some(byte & 7 | (self.rex & 1) << 3);
        if byte & 7 == 5 && form == 0 {
            address.base = None;
            address.displacement = self.number(4)?;
        }
        Some(())
    }

    /// Fills in an address of 16 bits.
    fn half(&mut self, address: &mut Address, form: u8, memory: u8) -> Option<()> {
        const FORMS: [(u8, Option<u8>); 8] = [(3, Some(6)), (3, Some(7)), (5, Some(6)), (5, Some(7)), (6, None), (7, None), (5, None), (3, None)];
        let (base, index) = FORMS[usize::from(memory)];
        address.base = Some(base);
        address.index = index.map(|index| (index, 0));
        address.segment = if base == 5 { 2 } else { 3 };
        if form == 0 && memory == 6 {
            (address.base, address.segment) = (None, 3);
            address.displacement = self.number(2)?;
        }
        address.displacement = address.displacement.wrapping_add(match form {
            1 => self.number(1)?,
            2 => self.number(2)?,
            _ => 0,
        });
        Some(())
    }
}

#[cfg(test)]
#[path = "operation_tests.rs"]
mod tests;
