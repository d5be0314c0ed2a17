//! The definition block of a machine, in ACPI's byte code: how it is turned off, its PCI bus, and
//! its identity.
//! Specification: ACPI 6.5, chapter 20.

use crate::generation::IDENTITY;
use alloc::vec::Vec;

/// Sleep type that turns the machine off.
const OFF: u8 = 5;
/// Slots of a PCI bus, pins of a slot.
const SLOTS: u32 = 32;
const PINS: u8 = 4;
/// Interrupt lines of even and of odd slots, of all their pins.
const LINES: [u8; 2] = [10, 11];

/// Returns the body of the DSDT.
pub fn definitions() -> Vec<u8> {
    let off = name(b"_S5_", &package(&[number(OFF.into()), number(OFF.into()), number(0), number(0)]));
    let bus = [
        // PNP0A03, as the specification compresses it.
        name(b"_HID", &[0x0c, 0x41, 0xd0, 0x0a, 0x03]),
        name(b"_UID", &number(0)),
        name(b"_BBN", &number(0)),
        name(b"_CRS", &buffer(&bus_resources())),
        name(b"_PRT", &package(&routes())),
    ];
    let device = sized(&[0x5b, 0x82], &[&b"PCI0"[..], &bus.concat()].concat());
    let scope = sized(&[0x10], &[&b"\\_SB_"[..], &device, &generation()].concat());
    [off, scope, generation_event()].concat()
}

/// Device that has the machine's identity at an address, whose halves `ADDR` tells. It is known by
/// either compatible name.
fn generation() -> Vec<u8> {
    let body = [
        name(b"_HID", &string("NACR0001")),
        name(b"_CID", &package(&[string("VM_Gen_Counter"), string("VMGENCTR")])),
        name(b"_DDN", &string("VM_Gen_Counter")),
        name(b"ADDR", &package(&[number(IDENTITY as u32), number((IDENTITY >> 32) as u32)])),
    ];
    sized(&[0x5b, 0x82], &[&b"VGEN"[..], &body.concat()].concat())
}

/// Method of the first general event, which tells that device's driver of it.
fn generation_event() -> Vec<u8> {
    const CHANGED: u8 = 0x80;
    let notify = [&[0x86][..], b"\\\x2e_SB_VGEN", &number(CHANGED.into())].concat();
    let method = sized(&[0x14], &[&b"_E00"[..], &[0], &notify].concat());
    sized(&[0x10], &[&b"\\_GPE"[..], &method].concat())
}

/// An object with the length of its body in front.
fn sized(operator: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(operator);
    // The length counts its own bytes.
    let length = |own: usize| body.len() + own;
    match body.len() {
        0..=0x3e => bytes.push(length(1) as u8),
        0x3f..=0xffd => bytes.extend_from_slice(&[0x40 | (length(2) & 15) as u8, (length(2) >> 4) as u8]),
        _ => bytes.extend_from_slice(&[0x80 | (length(3) & 15) as u8, (length(3) >> 4) as u8, (length(3) >> 12) as u8]),
    }
    bytes.extend_from_slice(body);
    bytes
}

fn name(name: &[u8; 4], value: &[u8]) -> Vec<u8> {
    [&[8][..], name, value].concat()
}

fn number(value: u32) -> Vec<u8> {
    match value {
        0 | 1 => Vec::from([value as u8]),
        2..=0xff => Vec::from([0x0a, value as u8]),
        _ => [&[0x0c][..], &value.to_le_bytes()].concat(),
    }
}

fn string(text: &str) -> Vec<u8> {
    [&[0x0d][..], text.as_bytes(), &[0]].concat()
}

/// A package of at most 255 elements.
fn package(elements: &[Vec<u8>]) -> Vec<u8> {
    sized(&[0x12], &[&[elements.len() as u8][..], &elements.concat()].concat())
}

fn buffer(bytes: &[u8]) -> Vec<u8> {
    sized(&[0x11], &[number(bytes.len() as u32), Vec::from(bytes)].concat())
}

/// Lines that the pins of each slot are wired to.
fn routes() -> Vec<Vec<u8>> {
    let pins = (0..SLOTS).flat_map(|slot| (0..PINS).map(move |pin| (slot, pin)));
    pins.map(|(slot, pin)| {
        let line = LINES[slot as usize % 2];
        package(&[number(slot << 16 | 0xffff), number(pin.into()), number(0), number(line.into())])
    })
    .collect()
}

/// Ranges of bus numbers (16 bits), ports (16 bits) and memory (32 bits) of the bus, and the ports
/// of its configuration.
fn bus_resources() -> Vec<u8> {
    let words = |kind: u8, flags: u8, first: u16, last: u16| {
        let numbers = [0, first, last, 0, (last - first).wrapping_add(1)];
        [&[0x88, 13, 0, kind, 0x0c, flags][..], &numbers.map(u16::to_le_bytes).concat()].concat()
    };
    let (first, last) = (0xc000_0000u32, 0xfebf_ffffu32);
    let memory = [0, first, last, 0, last - first + 1].map(u32::to_le_bytes).concat();
    [
        words(2, 0, 0, 0xff),
        Vec::from([0x47, 1, 0xf8, 0x0c, 0xf8, 0x0c, 1, 8]),
        words(1, 3, 0, 0xcf7),
        words(1, 3, 0xd00, 0xffff),
        [&[0x87, 23, 0, 0, 0x0c, 1][..], &memory].concat(),
        Vec::from([0x79, 0]),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_themselves() {
        assert_eq!(sized(&[0x12], &[0; 0x3e])[1], 0x3f);
        assert_eq!(sized(&[0x12], &[0; 0x3f])[1..3], [0x41, 4]);
        assert_eq!(sized(&[0x12], &[0; 0xffe])[1..4], [0x81, 0, 1]);
    }

    #[test]
    fn all_pins_of_a_slot_have_one_line() {
        let routes = routes();
        assert_eq!(routes.len(), 128);
        assert_eq!(routes[4], [0x12, 11, 4, 0x0c, 0xff, 0xff, 1, 0, 0, 0, 0x0a, 11]);
        assert!(routes.iter().enumerate().all(|(index, route)| route.last() == Some(&LINES[index / 4 % 2])));
    }

    #[test]
    fn the_identity_has_an_address_and_an_event() {
        let device = generation();
        assert_eq!(device[..2], [0x5b, 0x82]);
        assert_eq!(usize::from(device[2] & 15) | usize::from(device[3]) << 4, device.len() - 2);
        // ADDR: a package of two numbers.
        assert!(device.ends_with(b"\x08ADDR\x12\x08\x02\x0c\x00\xf0\x0e\x00\x00"));
        assert_eq!(generation_event(), b"\x10\x1a\\_GPE\x14\x13_E00\x00\x86\\\x2e_SB_VGEN\x0a\x80");
    }
}
