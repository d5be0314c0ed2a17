//! Moves between memory and registers of MMX and SSE, and the registers themselves as FXSAVE writes
//! them. Manual: AMD's volumes 4 and 5; volume 2, 11.4.4.

/// Bytes that FXSAVE writes.
pub const FPU_SIZE: usize = 512;

/// Offsets in those bytes: status word, used registers, registers of the FPU and of SSE, each in 16
/// bytes.
const STATUS: usize = 2;
const USED: usize = 4;
const STACK: usize = 32;
const VECTORS: usize = 160;
/// Bits of the status word that say which register is the top of the stack, in its second byte.
const TOP: u8 = 0x38;

/// Prefix that chooses among the instructions of an opcode; 0 stands for none.
const NONE: u8 = 0;
const WIDE: u8 = 0x66;
const DOUBLE: u8 = 0xf2;
const SINGLE: u8 = 0xf3;

/// Register of MMX or SSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vector {
    /// `mm0` to `mm7`.
    Mmx(u8),
    /// `xmm0` to `xmm15`.
    Xmm(u8),
}

/// Move between memory and a part of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorMove {
    /// Register.
    pub register: Vector,
    /// True if memory takes the value.
    pub stores: bool,
    /// First bit of the register's part: 0 or 64.
    pub shift: u8,
    /// True if a load keeps the rest of the register, else it clears that.
    pub keeps: bool,
}

/// Instruction of an opcode and a prefix.
struct Form {
    opcode: u8,
    prefix: u8,
    /// Bytes of the memory operand; 0 is 4, or 8 with REX.W.
    width: u8,
    stores: bool,
    is_mmx: bool,
    shift: u8,
    keeps: bool,
}

const fn load(opcode: u8, prefix: u8, width: u8) -> Form {
    Form { opcode, prefix, width, stores: false, is_mmx: false, shift: 0, keeps: false }
}

const fn store(opcode: u8, prefix: u8, width: u8) -> Form {
    Form { stores: true, ..load(opcode, prefix, width) }
}

/// Form of a half of a register.
const fn half(form: Form, shift: u8) -> Form {
    Form { shift, keeps: true, ..form }
}

const fn mmx(form: Form) -> Form {
    Form { is_mmx: true, ..form }
}

/// Instructions behind the opcode 0x0f.
const FORMS: &[Form] = &[
    // MOVUPS, MOVUPD, MOVSS, MOVSD
    load(0x10, NONE, 16),
    load(0x10, WIDE, 16),
    load(0x10, SINGLE, 4),
    load(0x10, DOUBLE, 8),
    store(0x11, NONE, 16),
    store(0x11, WIDE, 16),
    store(0x11, SINGLE, 4),
    store(0x11, DOUBLE, 8),
    // MOVLPS, MOVLPD, MOVHPS, MOVHPD
    half(load(0x12, NONE, 8), 0),
    half(load(0x12, WIDE, 8), 0),
    half(store(0x13, NONE, 8), 0),
    half(store(0x13, WIDE, 8), 0),
    half(load(0x16, NONE, 8), 64),
    half(load(0x16, WIDE, 8), 64),
    half(store(0x17, NONE, 8), 64),
    half(store(0x17, WIDE, 8), 64),
    // MOVAPS, MOVAPD, MOVNTPS, MOVNTPD
    load(0x28, NONE, 16),
    load(0x28, WIDE, 16),
    store(0x29, NONE, 16),
    store(0x29, WIDE, 16),
    store(0x2b, NONE, 16),
    store(0x2b, WIDE, 16),
    // MOVD, MOVQ, MOVDQA, MOVDQU
    mmx(load(0x6e, NONE, 0)),
    load(0x6e, WIDE, 0),
    mmx(load(0x6f, NONE, 8)),
    load(0x6f, WIDE, 16),
    load(0x6f, SINGLE, 16),
    mmx(store(0x7e, NONE, 0)),
    store(0x7e, WIDE, 0),
    load(0x7e, SINGLE, 8),
    mmx(store(0x7f, NONE, 8)),
    store(0x7f, WIDE, 16),
    store(0x7f, SINGLE, 16),
    store(0xd6, WIDE, 8),
    // MOVNTQ, MOVNTDQ, LDDQU
    mmx(store(0xe7, NONE, 8)),
    store(0xe7, WIDE, 16),
    load(0xf0, DOUBLE, 16),
];

/// Returns the move of an opcode behind 0x0f, with the width of its memory operand. `register` is
/// the number that the instruction has, `is_long` its bit REX.W.
pub fn vector_move(opcode: u8, prefix: u8, register: u8, is_long: bool) -> Option<(VectorMove, u8)> {
    let form = FORMS.iter().find(|form| form.opcode == opcode && form.prefix == prefix)?;
    let register = if form.is_mmx { Vector::Mmx(register & 7) } else { Vector::Xmm(register & 15) };
    let width = match form.width {
        0 if is_long => 8,
        0 => 4,
        width => width,
    };
    Some((VectorMove { register, stores: form.stores, shift: form.shift, keeps: form.keeps }, width))
}

/// Registers of the FPU and of SSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors(pub [u8; FPU_SIZE]);

impl Vectors {
    fn place(register: Vector) -> (usize, usize) {
        match register {
            Vector::Mmx(number) => (STACK + 16 * usize::from(number & 7), 8),
            Vector::Xmm(number) => (VECTORS + 16 * usize::from(number & 15), 16),
        }
    }

    /// Lets the registers of MMX be those of the FPU, as each instruction of MMX does: all are
    /// used, and the first is the top.
    fn begin_mmx(&mut self) {
        let top = usize::from((self.0[STATUS + 1] & TOP) >> 3);
        self.0[STACK..VECTORS].rotate_right(16 * top);
        self.0[STATUS + 1] &= !TOP;
        self.0[USED] = 0xff;
    }

    /// Returns a register's value. One of MMX has 64 bits.
    pub fn get(&mut self, register: Vector) -> u128 {
        if let Vector::Mmx(_) = register {
            self.begin_mmx();
        }
        let (at, size) = Self::place(register);
        self.0[at..at + size].iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte))
    }

    /// Sets a register.
    pub fn set(&mut self, register: Vector, value: u128) {
        let (at, size) = Self::place(register);
        if let Vector::Mmx(_) = register {
            self.begin_mmx();
            // Exponent and sign of the register of the FPU.
            self.0[at + 8..at + 10].fill(0xff);
        }
        self.0[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_found_once() {
        for form in FORMS {
            let same = |other: &&Form| (other.opcode, other.prefix) == (form.opcode, form.prefix);
            assert_eq!(FORMS.iter().filter(same).count(), 1, "{:#x}", form.opcode);
        }
        let moved = |register, stores| VectorMove { register, stores, shift: 0, keeps: false };
        assert_eq!(vector_move(0x6e, NONE, 9, false), Some((moved(Vector::Mmx(1), false), 4)));
        assert_eq!(vector_move(0x7e, WIDE, 9, true), Some((moved(Vector::Xmm(9), true), 8)));
        assert_eq!((vector_move(0x58, NONE, 0, false), vector_move(0x12, SINGLE, 0, false)), (None, None));
    }

    #[test]
    fn registers_have_their_places() {
        let mut vectors = Vectors([0; FPU_SIZE]);
        vectors.set(Vector::Xmm(15), 0x0102 << 112 | 3);
        assert_eq!((vectors.0[400], vectors.0[415], vectors.get(Vector::Xmm(15))), (3, 1, 0x0102 << 112 | 3));
        assert_eq!(vectors.0[USED], 0, "registers of SSE are their own");
    }

    #[test]
    fn registers_of_mmx_do_not_move_with_the_stack() {
        let mut vectors = Vectors([0; FPU_SIZE]);
        // With the top at 5, the first place is that of register 5.
        (vectors.0[STATUS + 1], vectors.0[STACK], vectors.0[STACK + 16]) = (5 << 3 | 1, 55, 66);
        assert_eq!([5, 6, 0].map(|number| vectors.get(Vector::Mmx(number))), [55, 66, 0]);
        vectors.set(Vector::Mmx(0), u128::MAX);
        assert_eq!((vectors.0[STATUS + 1], vectors.0[USED], vectors.get(Vector::Mmx(0))), (1, 0xff, u64::MAX.into()));
        assert_eq!(vectors.0[STACK..STACK + 16], [[255; 10].as_slice(), &[0; 6]].concat());
    }
}
