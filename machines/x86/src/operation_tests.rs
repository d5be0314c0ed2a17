//! Tests of the decoder.

use super::*;

const AT_RBX: Address = Address { segment: 3, base: Some(3), index: None, displacement: 0, is_relative: false, width: 8 };

fn long(code: &[u8]) -> (Action, Address, u8) {
    let found = decode_operation(code, Mode::Long).unwrap();
    assert_eq!(usize::from(found.length), code.len());
    (found.action, found.address, found.width)
}

#[test]
fn moves_are_decoded() {
    assert_eq!(long(&[0x8b, 0x03]), (Action::Load { register: 0, to: 4, signed: false }, AT_RBX, 4));
    assert_eq!(long(&[0x48, 0x89, 0x0b]), (Action::Store(Operand::Register(1)), AT_RBX, 8));
    assert_eq!(long(&[0xc7, 0x03, 1, 2, 3, 0x84]), (Action::Store(Operand::Number(0xffff_ffff_8403_0201)), AT_RBX, 4));
    assert_eq!(long(&[0x66, 0xc7, 0x03, 1, 2]), (Action::Store(Operand::Number(0x201)), AT_RBX, 2));
    assert_eq!(long(&[0x0f, 0xb6, 0x13]), (Action::Load { register: 2, to: 4, signed: false }, AT_RBX, 1));
    assert_eq!(long(&[0x4c, 0x0f, 0xbf, 0x03]), (Action::Load { register: 8, to: 8, signed: true }, AT_RBX, 2));
    assert_eq!(long(&[0x48, 0x63, 0x03]), (Action::Load { register: 0, to: 8, signed: true }, AT_RBX, 4));
    let (action, address, width) = long(&[0x48, 0xa3, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!((action, address.displacement, width), (Action::Store(Operand::Register(0)), 0x0102_0304_0506_0708, 8));
}

#[test]
fn arithmetic_is_decoded() {
    assert_eq!(long(&[0x81, 0x0b, 0, 1, 0, 0]), (Action::Compute(1, Operand::Number(0x100)), AT_RBX, 4));
    assert_eq!(long(&[0x83, 0x3b, 0xff]), (Action::Compute(7, Operand::Number(u64::MAX)), AT_RBX, 4));
    assert_eq!(long(&[0x22, 0x0b]), (Action::ComputeRegister(4, 1), AT_RBX, 1));
    assert_eq!(long(&[0xf0, 0x87, 0x0b]), (Action::Exchange(1), AT_RBX, 4));
    assert_eq!(long(&[0xf7, 0x03, 1, 0, 0, 0]), (Action::Test(Operand::Number(1)), AT_RBX, 4));
    assert_eq!(long(&[0xf6, 0x1b]), (Action::Single(3), AT_RBX, 1));
    assert_eq!(long(&[0xff, 0x0b]), (Action::Single(1), AT_RBX, 4));
}

#[test]
fn exchanges_and_bits_are_decoded() {
    assert_eq!(long(&[0xf0, 0x0f, 0xb1, 0x0b]), (Action::CompareExchange(1), AT_RBX, 4));
    assert_eq!(long(&[0x0f, 0xc7, 0x0b]), (Action::CompareExchangePair, AT_RBX, 8));
    assert_eq!(long(&[0x48, 0x0f, 0xc7, 0x0b]), (Action::CompareExchangePair, AT_RBX, 16));
    assert_eq!(long(&[0xc0, 0x2b, 9]), (Action::Shift(5, Operand::Number(9)), AT_RBX, 1));
    assert_eq!(long(&[0x0f, 0xac, 0x0b, 3]), (Action::DoubleShift { is_right: true, register: 1, count: Operand::Number(3) }, AT_RBX, 4));
    assert_eq!(long(&[0x66, 0x69, 0x0b, 1, 2]), (Action::Multiply(1, Operand::Number(0x201)), AT_RBX, 2));
    assert_eq!(long(&[0x66, 0x0f, 0xc1, 0x0b]), (Action::ExchangeAdd(1), AT_RBX, 2));
    assert_eq!(long(&[0x4c, 0x0f, 0xb3, 0x03]), (Action::Bit(2, Operand::Register(8)), AT_RBX, 8));
    assert_eq!(long(&[0x0f, 0xba, 0x3b, 9]), (Action::Bit(3, Operand::Number(9)), AT_RBX, 4));
    assert_eq!(long(&[0x48, 0x0f, 0xc3, 0x0b]), (Action::Store(Operand::Register(1)), AT_RBX, 8));
}

#[test]
fn addresses_are_decoded() {
    let address = |code: &[u8]| long(code).1;
    let none = Address { base: None, ..AT_RBX };
    assert_eq!(address(&[0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff]), Address { displacement: -16i64 as u64, is_relative: true, ..none });
    assert_eq!(address(&[0x8b, 0x04, 0x25, 0, 0x10, 0x5f, 0xff]), Address { displacement: 0xffff_ffff_ff5f_1000, ..none });
    assert_eq!(address(&[0x42, 0x8b, 0x44, 0xa3, 8]), Address { index: Some((12, 2)), displacement: 8, ..AT_RBX });
    assert_eq!(address(&[0x8b, 0x45, 0x10]), Address { base: Some(5), segment: 2, displacement: 16, ..AT_RBX });
    assert_eq!(address(&[0x65, 0x67, 0x8b, 0x03]), Address { segment: 5, width: 4, ..AT_RBX });
    let half = decode_operation(&[0x8b, 0x46, 0xfe], Mode::Half).unwrap();
    assert_eq!(half.address, Address { base: Some(5), index: None, segment: 2, displacement: u64::MAX - 1, is_relative: false, width: 2 });
}

#[test]
fn strings_repeat_and_others_do_not() {
    let repeats = |code: &[u8]| decode_operation(code, Mode::Long).map(|found| (found.action, found.repeats, found.width));
    assert_eq!(repeats(&[0xf3, 0x48, 0xab]), Some((Action::StoreString, true, 8)));
    assert_eq!(repeats(&[0xf3, 0x6f]), Some((Action::OutString, true, 4)));
    assert_eq!(repeats(&[0xa4]), Some((Action::MoveString, false, 1)));
    assert_eq!(repeats(&[0xf3, 0x8b, 0x03]).map(|found| found.1), Some(false));
}

#[test]
fn what_has_no_memory_or_no_end_is_refused() {
    let vectors = [&[0x0f, 0x6f, 0xc1][..], &[0xf2, 0x0f, 0x6f, 0x03], &[0x0f, 0x58, 0x03], &[0x0f, 0x38, 0x2a, 0x03], &[0x66, 0x0f, 0x38]];
    let others = [&[0x0f, 0xba, 0x1b, 1][..], &[0x0f, 0xc7, 0x03], &[0x0f, 0x58, 0x0b], &[0x66, 0x0f, 0xc3, 0x0b], &[0x0f, 0xba, 0x23]];
    let plain = [&[0x8b, 0xc3][..], &[0x8b], &[], &[0x66; 20], &[0xf4], &[0x0f, 0x05], &[0xf6, 0x23], &[0xc7, 3, 1]];
    for code in plain.into_iter().chain(vectors).chain(others) {
        assert_eq!(decode_operation(code, Mode::Long), None, "{code:x?}");
    }
}

/// Address and length of an `invlpg`, with registers and segments that tell which they are.
fn invalidated(code: &[u8], mode: Mode) -> Option<(u64, u8)> {
    let (address, length) = decode_invalidate(code, mode)?;
    let registers = core::array::from_fn(|number| 0x1000 * (1 + number as u64));
    let bases = [0, 0x200_0000, 0x300_0000, 0x400_0000, 7 << 32, 9 << 32];
    Some((address.linear(mode, &registers, 0x10_0000, &bases), length))
}

#[test]
fn each_form_of_an_invalidation_has_its_address_and_length() {
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
        assert_eq!(invalidated(code, Mode::Long), Some((wanted, length)), "{code:x?}");
    }
    let narrow: [(&[u8], Mode, u64, u8); 5] = [
        (&[0x0f, 0x01, 0x38], Mode::Word, 0x400_1000, 3),
        (&[0x0f, 0x01, 0x3d, 0, 0, 0, 0xc0], Mode::Word, 0xc400_0000, 7),
        (&[0x0f, 0x01, 0x7d, 4], Mode::Word, 0x300_6004, 4),
        (&[0x65, 0x0f, 0x01, 0x38], Mode::Word, 0x1000, 4),
        (&[0x0f, 0x01, 0x38], Mode::Half, 0x400_b000, 3),
    ];
    for (code, mode, wanted, length) in narrow {
        assert_eq!(invalidated(code, mode), Some((wanted, length)), "{code:x?} {mode:?}");
    }
}

#[test]
fn other_instructions_and_ends_are_no_invalidations() {
    for code in [&[][..], &[0x0f], &[0x0f, 0x01], &[0x0f, 0x01, 0xf8], &[0x0f, 0x01, 0x30], &[0xf0, 0x0f, 0x01, 0x38], &[0x0f, 0x01, 0x7b], &[0x0f, 0x01, 0x3c], &[0x66; 20]] {
        for mode in [Mode::Half, Mode::Word, Mode::Long] {
            // 16-bit code has another form there.
            assert!(invalidated(code, mode).is_none() || mode == Mode::Half, "{code:x?}");
        }
    }
}
