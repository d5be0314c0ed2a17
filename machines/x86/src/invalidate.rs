//! The operand of `invlpg` in 64-bit code: the only instruction that exits and names memory, on
//! processors that do not tell the address.

use crate::MAX_LENGTH;

/// Operand in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operand {
    /// Number of the base register, if there is one.
    pub base: Option<u8>,
    /// Number of the index register, and the shift of its value.
    pub index: Option<(u8, u8)>,
    /// Displacement.
    pub displacement: i32,
    /// True if the address counts from the next instruction.
    pub is_relative: bool,
    /// True if the address has 32 bits.
    pub is_short: bool,
    /// True if it counts from the base of `fs` or `gs`, which only the prefix tells.
    pub segment: Option<Segment>,
}

/// Segment with a base in 64-bit mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// `fs`
    Fs,
    /// `gs`
    Gs,
}

impl Operand {
    /// Returns the linear address, with the values of the general registers, the address of the
    /// next instruction, and the bases of `fs` and `gs`.
    pub fn address(&self, register: impl Fn(u8) -> u64, next: u64, bases: [u64; 2]) -> u64 {
        let base = self.base.map_or(0, &register);
        let index = self.index.map_or(0, |(number, shift)| register(number) << shift);
        let start = if self.is_relative { next } else { 0 };
        let offset = start.wrapping_add(base).wrapping_add(index).wrapping_add(self.displacement as i64 as u64);
        let offset = if self.is_short { offset & 0xffff_ffff } else { offset };
        let base = self.segment.map_or(0, |segment| bases[segment as usize]);
        base.wrapping_add(offset)
    }
}

/// Reads `invlpg` at the start of 64-bit code: its operand and its length.
///
/// Returns `None` for other instructions, for a register operand, and for one with a lock prefix or
/// behind the end of `code`.
pub fn decode_invalidate(code: &[u8]) -> Option<(Operand, u8)> {
    let code = &code[..code.len().min(MAX_LENGTH)];
    let (mut operand, mut rex, mut at) = (Operand::default(), 0, 0);
    loop {
        match *code.get(at)? {
            byte @ 0x40..=0x4f => rex = byte,
            0xf0 => return None,
            byte @ (0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf2 | 0xf3) => {
                rex = 0;
                match byte {
                    0x64 => operand.segment = Some(Segment::Fs),
                    0x65 => operand.segment = Some(Segment::Gs),
                    0x67 => operand.is_short = true,
                    _ => {}
                }
            }
            _ => break,
        }
        at += 1;
    }
    let [0x0f, 0x01, form] = *code.get(at..at + 3)? else { return None };
    if form >> 3 & 7 != 7 || form >> 6 == 3 {
        return None;
    }
    let length = at + 3 + operand.read(code.get(at + 3..)?, form, rex)?;
    Some((operand, u8::try_from(length).ok()?))
}

impl Operand {
    /// Reads what follows the byte `form`; how many bytes.
    fn read(&mut self, rest: &[u8], form: u8, rex: u8) -> Option<usize> {
        let (mode, low) = (form >> 6, form & 7);
        let mut used = 0;
        let mut base = Some(low | (rex & 1) << 3);
        if low == 4 {
            let scaled = *rest.first()?;
            used = 1;
            base = Some(scaled & 7 | (rex & 1) << 3);
            let index = scaled >> 3 & 7 | (rex & 2) << 2;
            self.index = (index != 4).then_some((index, scaled >> 6));
            if scaled & 7 == 5 && mode == 0 {
                base = None;
            }
        } else if low == 5 && mode == 0 {
            (base, self.is_relative) = (None, true);
        }
        self.base = base;
        let size = match (mode, base) {
            (0, None) | (2, _) => 4,
            (1, _) => 1,
            _ => 0,
        };
        let bytes = rest.get(used..used + size)?;
        self.displacement = match *bytes {
            [byte] => i32::from(byte as i8),
            [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
            _ => 0,
        };
        Some(used + size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(code: &[u8]) -> Option<(u64, u8)> {
        let (operand, length) = decode_invalidate(code)?;
        Some((operand.address(|number| 0x1000 * (1 + u64::from(number)), 0x10_0000, [7 << 32, 9 << 32]), length))
    }

    #[test]
    fn each_form_has_its_address_and_length() {
        let forms: [(&[u8], u64, u8); 10] = [
            (&[0x0f, 0x01, 0x38], 0x1000, 3),
            (&[0x41, 0x0f, 0x01, 0x3f], 0x1_0000, 4),
            (&[0x0f, 0x01, 0x7b, 0xfe], 0x3ffe, 4),
            (&[0x0f, 0x01, 0xbb, 0, 1, 0, 0], 0x4100, 7),
            (&[0x0f, 0x01, 0x3d, 0xfc, 0xff, 0xff, 0xff], 0xf_fffc, 7),
            (&[0x0f, 0x01, 0x3c, 0x25, 0, 0, 0, 0x80], 0xffff_ffff_8000_0000, 8),
            (&[0x0f, 0x01, 0x3c, 0x88], 0x1000 + 0x2000 * 4, 4),
            (&[0x43, 0x0f, 0x01, 0x7c, 0x65, 0x10], 0xe000 + 0xd000 * 2 + 0x10, 6),
            (&[0x65, 0x0f, 0x01, 0x38], 0x9_0000_1000, 4),
            (&[0x67, 0x0f, 0x01, 0x3c, 0x25, 0, 0, 0, 0x80], 0x8000_0000, 9),
        ];
        for (code, wanted, length) in forms {
            assert_eq!(address(code), Some((wanted, length)), "{code:x?}");
        }
    }

    #[test]
    fn other_instructions_and_ends_are_none() {
        for code in [&[][..], &[0x0f], &[0x0f, 0x01], &[0x0f, 0x01, 0xf8], &[0x0f, 0x01, 0x30], &[0xf0, 0x0f, 0x01, 0x38], &[0x0f, 0x01, 0x7b], &[0x0f, 0x01, 0x3c], &[0x66; 20]] {
            assert_eq!(decode_invalidate(code), None, "{code:x?}");
        }
    }
}
