//! Shifts, rotates, products and conditions of x86 instructions, with their flags. Manual: AMD's
//! volume 3. Flags that it leaves undefined are cleared, or have the value that one step gives.

use crate::arithmetic::{ADJUST, CARRY, OVERFLOW, PARITY, SIGN, ZERO, extend, flag, mask, of_result};

/// Returns the number of steps that a count stands for.
fn steps(count: u8, width: u8) -> u32 {
    u32::from(count) & if width == 8 { 63 } else { 31 }
}

/// ROL ROR RCL RCR SHL SHR SAL SAR, by number, on a value of a width. Returns the result and the
/// flags register.
pub fn shift(number: u8, value: u64, count: u8, width: u8, flags: u64) -> (u64, u64) {
    let (count, value) = (steps(count, width), value & mask(width));
    if count == 0 {
        return (value, flags);
    }
    match number & 7 {
        number @ 0..=3 => rotate(number, value, count, width, flags),
        5 => with_result(value >> count, value >> (count - 1) & 1, top(value, width), width, flags),
        7 => {
            let wide = extend(value, width) as i64;
            with_result((wide >> count) as u64 & mask(width), (wide >> (count - 1)) as u64 & 1, 0, width, flags)
        }
        _ => {
            let wide = u128::from(value) << count;
            let (result, carry) = (wide as u64 & mask(width), (wide >> (8 * width)) as u64 & 1);
            with_result(result, carry, top(result, width) ^ carry, width, flags)
        }
    }
}

/// Returns a result, and the flags register that follows from it, a carry and an overflow.
fn with_result(result: u64, carry: u64, overflow: u64, width: u8, flags: u64) -> (u64, u64) {
    let kept = flags & !(CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW);
    (result, kept | of_result(result, width) | flag(CARRY, carry != 0) | flag(OVERFLOW, overflow != 0))
}

fn top(value: u64, width: u8) -> u64 {
    value >> (8 * width - 1) & 1
}

/// Rotates a value to the left or right, with the carry in between or without.
fn rotate(number: u8, value: u64, count: u32, width: u8, flags: u64) -> (u64, u64) {
    let (bits, with_carry, is_right) = (8 * u32::from(width), number & 2 != 0, number & 1 != 0);
    let (size, wide) = if with_carry { (bits + 1, u128::from(value) | u128::from(flags & CARRY) << bits) } else { (bits, u128::from(value)) };
    let turns = count % size;
    let left = if is_right { (size - turns) % size } else { turns };
    // Bits beyond the size come in at the other end.
    let turned = (wide << left | wide >> (size - left)) & ((1 << size) - 1);
    let result = turned as u64 & mask(width);
    let carry = match (with_carry, is_right) {
        (true, _) => (turned >> bits) as u64 & 1,
        (false, true) => top(result, width),
        (false, false) => result & 1,
    };
    let overflow = top(result, width) ^ if is_right { result >> (bits - 2) & 1 } else { carry };
    (result, flags & !(CARRY | OVERFLOW) | flag(CARRY, carry != 0) | flag(OVERFLOW, overflow != 0))
}

/// SHLD and SHRD: shifts a value of a width, and fills it from another one. Returns the result and
/// the flags register.
pub fn double_shift(is_right: bool, value: u64, filler: u64, count: u8, width: u8, flags: u64) -> (u64, u64) {
    let (count, bits) = (steps(count, width), 8 * u32::from(width));
    let (value, filler) = (value & mask(width), filler & mask(width));
    if count == 0 {
        return (value, flags);
    }
    let (result, carry) = if is_right {
        ((u128::from(filler) << bits | u128::from(value)) >> count, value >> (count - 1) & 1)
    } else {
        let wide = u128::from(value) << bits | u128::from(filler);
        ((wide << count) >> bits, if count > bits { 0 } else { value >> (bits - count) & 1 })
    };
    let result = result as u64 & mask(width);
    with_result(result, carry, top(result ^ value, width), width, flags)
}

/// IMUL of two values of a width. Returns the low half of the product and the flags register.
pub fn multiply(left: u64, right: u64, width: u8, flags: u64) -> (u64, u64) {
    let signed = |value: u64| i128::from(extend(value, width) as i64);
    let product = signed(left) * signed(right);
    let result = product as u64 & mask(width);
    let is_cut = u64::from(signed(result) != product);
    with_result(result, is_cut, is_cut, width, flags)
}

/// Returns true if a condition holds: one of the 16 of conditional instructions, by number.
pub fn holds(number: u8, flags: u64) -> bool {
    let is_set = |bit: u64| flags & bit != 0;
    let is_less = is_set(SIGN) != is_set(OVERFLOW);
    let found = match number >> 1 & 7 {
        0 => is_set(OVERFLOW),
        1 => is_set(CARRY),
        2 => is_set(ZERO),
        3 => is_set(CARRY) || is_set(ZERO),
        4 => is_set(SIGN),
        5 => is_set(PARITY),
        6 => is_less,
        _ => is_set(ZERO) || is_less,
    };
    found != (number & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const WIDTHS: [u8; 4] = [1, 2, 4, 8];
    const SOME: [u64; 6] = [0, 1, 0x80, 0x8765_4321_0fed_cba9, 1 << 63, u64::MAX];

    /// One step of a shift or rotate, bit by bit: the result and the carry.
    fn step(number: u8, value: u64, carry: u64, width: u8) -> (u64, u64) {
        let (low, high) = (value & 1, top(value, width));
        let left = value << 1 & mask(width);
        let right = |filler: u64| value >> 1 | filler << (8 * width - 1);
        match number {
            0 => (left | high, high),
            1 => (right(low), low),
            2 => (left | carry, high),
            3 => (right(carry), low),
            5 => (right(0), low),
            7 => (right(high), low),
            _ => (left, high),
        }
    }

    #[test]
    fn many_steps_are_one_after_the_other() {
        for (value, width) in SOME.into_iter().flat_map(|value| WIDTHS.map(|width| (value, width))) {
            for (number, carry, count) in (0..8u8).flat_map(|number| (0..2).flat_map(move |carry| (0..=255).map(move |count| (number, carry, count)))) {
                let mut expected = (value & mask(width), carry);
                (0..steps(count, width)).for_each(|_| expected = step(number, expected.0, expected.1, width));
                let (result, flags) = shift(number, value, count, width, 1 << 9 | carry);
                assert_eq!((result, flags & CARRY, flags & 1 << 9), (expected.0, expected.1, 1 << 9), "{number} {value:#x} {count} {width}");
            }
        }
    }

    #[test]
    fn one_step_tells_of_a_change_of_sign() {
        let overflow = |number, value| shift(number, value, 1, 1, 0).1 & OVERFLOW != 0;
        // By number: a value that changes its sign, and one that does not. SAR never does.
        for (number, changes, stays) in [(0, 0x40, 0xc0), (1, 1, 0x81), (2, 0x40, 0xc0), (3, 0x80, 0x40), (4, 0x40, 0xc0), (5, 0x80, 0x7f)] {
            assert!(overflow(number, changes) && !overflow(number, stays), "{number}");
        }
        assert!(!overflow(7, 0x80));
        assert_eq!(shift(4, 0x80, 1, 1, SIGN).1, CARRY | ZERO | PARITY | OVERFLOW);
        assert_eq!(shift(0, 0, 8, 1, ZERO | SIGN), (0, ZERO | SIGN), "a rotation keeps the others");
    }

    #[test]
    fn two_values_are_shifted_as_one() {
        assert_eq!(double_shift(false, 0x1234_5678, 0x9abc_def0, 8, 4, 0), (0x3456_789a, PARITY));
        assert_eq!(double_shift(true, 0x1234_5678, 0x9abc_def0, 4, 4, 0), (0x0123_4567, CARRY));
        assert_eq!(double_shift(false, 1, 1 << 63, 63, 8, 0).0, 1 << 63 | 1 << 62);
        assert_eq!(double_shift(true, 5, 6, 64, 8, ZERO), (5, ZERO));
        for count in 0..=255 {
            WIDTHS[1..].iter().for_each(|width| _ = [true, false].map(|is_right| double_shift(is_right, u64::MAX, 7, count, *width, 0)));
        }
    }

    #[test]
    fn products_tell_that_they_were_cut() {
        assert_eq!(multiply(u64::MAX, 5, 8, 0).0, -5i64 as u64);
        assert_eq!(multiply(0x8000, 0xffff, 2, 0).1 & (CARRY | OVERFLOW), CARRY | OVERFLOW);
        assert_eq!(multiply(0x100, 0x7f, 2, CARRY).1 & (CARRY | OVERFLOW), 0);
        assert_eq!(multiply(1 << 63, 1 << 63, 8, 0).0, 0);
    }

    #[test]
    fn conditions_come_in_pairs() {
        for flags in [0, CARRY, ZERO, SIGN, OVERFLOW, PARITY, SIGN | OVERFLOW] {
            let held: BTreeSet<u8> = (0..16).filter(|number| holds(*number, flags)).collect();
            assert!((0..8).all(|pair| held.contains(&(2 * pair)) != held.contains(&(2 * pair + 1))));
        }
        assert!(holds(6, CARRY) && holds(12, SIGN) && holds(13, SIGN | OVERFLOW) && holds(14, ZERO) && holds(10, PARITY));
    }
}
