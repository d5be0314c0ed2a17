//! Arithmetic of x86 instructions, with their flags.

/// Flag: carry.
pub const CARRY: u64 = 1;
/// Flag: even number of bits in the lowest byte.
pub const PARITY: u64 = 1 << 2;
/// Flag: carry out of the lowest four bits.
pub const ADJUST: u64 = 1 << 4;
/// Flag: result zero.
pub const ZERO: u64 = 1 << 6;
/// Flag: result negative.
pub const SIGN: u64 = 1 << 7;
/// Flag: signed result cut off.
pub const OVERFLOW: u64 = 1 << 11;
const ALL: u64 = CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW;

/// Returns the bits of a width of 1, 2, 4 or 8 bytes.
pub fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(width.clamp(1, 8)))
}

/// Extends the sign of a value of so many bytes.
pub fn extend(value: u64, width: u8) -> u64 {
    let unused = 64 - 8 * u32::from(width.clamp(1, 8));
    ((value << unused) as i64 >> unused) as u64
}

/// Returns the bit if it is set, else 0.
pub fn flag(bit: u64, is_set: bool) -> u64 {
    if is_set { bit } else { 0 }
}

/// Returns the flags that follow from a result alone.
pub fn of_result(result: u64, width: u8) -> u64 {
    let is_negative = result >> (8 * width - 1) & 1 != 0;
    flag(ZERO, result == 0) | flag(SIGN, is_negative) | flag(PARITY, (result as u8).count_ones().is_multiple_of(2))
}

fn sum(left: u64, right: u64, carry: u64, width: u8) -> (u64, u64) {
    let wide = u128::from(left) + u128::from(right) + u128::from(carry);
    let result = wide as u64 & mask(width);
    let overflows = (left ^ result) & (right ^ result) & sign(width) != 0;
    (result, of_result(result, width) | flag(CARRY, wide > u128::from(mask(width))) | flag(OVERFLOW, overflows) | (left ^ right ^ result) & ADJUST)
}

fn difference(left: u64, right: u64, borrow: u64, width: u8) -> (u64, u64) {
    let result = left.wrapping_sub(right).wrapping_sub(borrow) & mask(width);
    let borrows = u128::from(left) < u128::from(right) + u128::from(borrow);
    let overflows = (left ^ right) & (left ^ result) & sign(width) != 0;
    (result, of_result(result, width) | flag(CARRY, borrows) | flag(OVERFLOW, overflows) | (left ^ right ^ result) & ADJUST)
}

fn sign(width: u8) -> u64 {
    1 << (8 * width.clamp(1, 8) - 1)
}

/// ADD OR ADC SBB AND SUB XOR CMP, by number, on values of a width. Returns the result, `None` of
/// CMP, and the flags register.
pub fn compute(number: u8, left: u64, right: u64, width: u8, flags: u64) -> (Option<u64>, u64) {
    let (left, right, carry) = (left & mask(width), right & mask(width), flags & CARRY);
    let logical = |result: u64| (result, of_result(result, width));
    let (result, set) = match number & 7 {
        0 => sum(left, right, 0, width),
        1 => logical(left | right),
        2 => sum(left, right, carry, width),
        3 => difference(left, right, carry, width),
        4 => logical(left & right),
        6 => logical(left ^ right),
        _ => difference(left, right, 0, width),
    };
    ((number & 7 != 7).then_some(result), flags & !ALL | set)
}

/// TEST. Returns the flags register.
pub fn test(left: u64, right: u64, width: u8, flags: u64) -> u64 {
    compute(4, left, right, width, flags).1
}

/// INC DEC NOT NEG, by number. Returns the result and the flags register.
pub fn single(number: u8, value: u64, width: u8, flags: u64) -> (u64, u64) {
    let value = value & mask(width);
    let kept = |set: u64| flags & !(ALL & !CARRY) | set & !CARRY;
    match number & 3 {
        0 => {
            let (result, set) = sum(value, 1, 0, width);
            (result, kept(set))
        }
        1 => {
            let (result, set) = difference(value, 1, 0, width);
            (result, kept(set))
        }
        2 => (!value & mask(width), flags),
        _ => {
            let (result, set) = difference(0, value, 0, width);
            (result, flags & !ALL | set)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: [u64; 14] = [
        0, 1, 2, 0x0f, 0x10, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fff_ffff, 0x8000_0000, i64::MAX as u64, u64::MAX,
    ];

    /// Every pair of numbers, with every width and carry.
    fn all(mut judge: impl FnMut(u64, u64, u64, u8)) {
        for (left, right) in SOME.iter().flat_map(|left| SOME.iter().map(move |right| (*left, *right))) {
            for (width, carry) in [1, 2, 4, 8].into_iter().flat_map(|width| [(width, 0), (width, 1)]) {
                judge(left & mask(width), right & mask(width), carry, width);
            }
        }
    }

    fn signed(value: u64, width: u8) -> i128 {
        i128::from(extend(value, width) as i64)
    }

    /// Flags of a sum or difference, told by the numbers and not by their bits.
    fn expected(wide: i128, signed_wide: i128, nibble: i32, width: u8) -> u64 {
        let result = wide as u64 & mask(width);
        let flags = [
            (CARRY, wide < 0 || wide > i128::from(mask(width))),
            (PARITY, (0..8).filter(|bit| result >> bit & 1 != 0).count() % 2 == 0),
            (ADJUST, !(0..16).contains(&nibble)),
            (ZERO, result == 0),
            (SIGN, signed(result, width) < 0),
            (OVERFLOW, signed_wide != signed(result, width)),
        ];
        flags.iter().filter(|(_, is_set)| *is_set).map(|(bit, _)| bit).sum()
    }

    #[test]
    fn sums_and_differences_have_the_flags_of_their_numbers() {
        all(|left, right, carry, width| {
            let (wide_left, wide_right) = (i128::from(left), i128::from(right));
            let nibbles = ((left & 15) as i32, (right & 15) as i32);
            for (number, sign, carry) in [(0, 1, 0), (2, 1, carry), (3, -1, carry), (5, -1, 0), (7, -1, 0)] {
                let extra = sign * i128::from(carry);
                let flags = expected(
                    wide_left + sign * wide_right + extra,
                    signed(left, width) + sign * signed(right, width) + extra,
                    nibbles.0 + sign as i32 * (nibbles.1 + carry as i32),
                    width,
                );
                let result = (number != 7).then_some((wide_left + sign * wide_right + extra) as u64 & mask(width));
                assert_eq!(compute(number, left, right, width, carry | 1 << 9), (result, flags | 1 << 9), "{number} {left:#x} {right:#x} {carry}");
            }
        });
    }

    #[test]
    fn logic_clears_carry_and_overflow() {
        assert_eq!(compute(1, 0xf0, 0x0f, 1, ALL), (Some(0xff), PARITY | SIGN));
        assert_eq!(compute(4, 0xf0, 0x0f, 2, ALL), (Some(0), PARITY | ZERO));
        assert_eq!(compute(6, 0x8000_0000, 1, 4, ALL), (Some(0x8000_0001), SIGN));
        assert_eq!(test(1 << 63, u64::MAX, 8, CARRY), SIGN | PARITY);
    }

    #[test]
    fn one_more_and_one_less_keep_the_carry() {
        assert_eq!(single(0, 0xff, 1, CARRY), (0, CARRY | PARITY | ADJUST | ZERO));
        assert_eq!(single(1, 0, 2, 0), (0xffff, PARITY | ADJUST | SIGN));
        assert_eq!(single(2, 0, 4, ALL), (0xffff_ffff, ALL));
        assert_eq!(single(3, 1, 8, 0), (u64::MAX, CARRY | PARITY | ADJUST | SIGN));
        assert_eq!(single(3, 0, 8, ALL), (0, PARITY | ZERO));
    }
}
