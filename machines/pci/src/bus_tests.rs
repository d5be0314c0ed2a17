//! Tests of the bus: what an operating system does to find and move its devices.

use super::*;

const CARD: Identity = Identity {
    vendor: 0x1af4,
    device: 0x1042,
    subsystem_vendor: 0x1af4,
    subsystem: 2,
    class: 0x01_8000,
    revision: 1,
    has_pin: true,
};

/// Bus with two devices in slots 1 and 2.
fn bus() -> Bus {
    let mut bus = Bus::new();
    let card = Function::new(&CARD).with_bar(0, Bar::Io(0x80)).with_bar(2, Bar::Memory(0x1000));
    let card = card.with_capability(9, &[16, 1, 0]).with_capability(9, &[20, 2, 0]);
    assert_eq!((bus.add(card.clone()), bus.add(card)), (Some(1), Some(2)));
    bus.settle();
    bus
}

fn select(bus: &mut Bus, slot: u32, register: u32) {
    bus.write(0xcf8, 4, ENABLE | slot << 11 | register);
}

fn read(bus: &mut Bus, slot: u32, register: u32, width: u8) -> u32 {
    select(bus, slot, register & 0xfc);
    bus.read(DATA_PORT + (register & 3) as u16, width)
}

fn write(bus: &mut Bus, slot: u32, register: u32, width: u8, value: u32) {
    select(bus, slot, register & 0xfc);
    bus.write(DATA_PORT + (register & 3) as u16, width, value);
}

#[test]
fn a_probe_finds_bridge_and_devices() {
    let mut bus = bus();
    bus.write(0xcfb, 1, 1);
    bus.write(0xcf8, 4, ENABLE);
    assert_eq!(bus.read(0xcf8, 4), ENABLE);
    assert_eq!(read(&mut bus, 0, 8, 4), 0x0600_0000);
    assert_eq!(read(&mut bus, 1, 0, 4), 0x1042_1af4);
    assert_eq!(read(&mut bus, 1, 0x0a, 2), 0x0180);
    assert_eq!(read(&mut bus, 3, 0, 4), u32::MAX);
    bus.write(0xcf8, 4, ENABLE | 1 << 11 | 1 << 8);
    assert_eq!(bus.read(DATA_PORT, 4), u32::MAX, "function 1");
    bus.write(0xcf8, 4, 1 << 11);
    assert_eq!(bus.read(DATA_PORT, 4), u32::MAX, "not enabled");
    assert!(is_configuration_port(0xcf9, 4) && !is_configuration_port(0xcf9, 1));
}

#[test]
fn capabilities_follow_each_other() {
    let mut bus = bus();
    let first = read(&mut bus, 1, 0x34, 1);
    assert_eq!((read(&mut bus, 1, 6, 1) & 0x10, first), (0x10, 0x40));
    assert_eq!(read(&mut bus, 1, first, 4), 0x0110_4809);
    assert_eq!(read(&mut bus, 1, 0x48, 4), 0x0214_0009);
}

#[test]
fn base_addresses_are_sized_and_moved() {
    let mut bus = bus();
    assert_eq!(bus.port_target(0xc07f), Some(Target { slot: 1, bar: 0, offset: 0x7f }));
    assert_eq!(bus.port_target(0xc080), Some(Target { slot: 2, bar: 0, offset: 0 }));
    assert_eq!(bus.memory_target(0xe000_1234).map(|target| target.offset), Some(0x234));
    write(&mut bus, 1, 0x10, 4, u32::MAX);
    assert_eq!(read(&mut bus, 1, 0x10, 4), 0xffff_ff81);
    write(&mut bus, 1, 0x14, 4, u32::MAX);
    assert_eq!(read(&mut bus, 1, 0x14, 4), 0);
    write(&mut bus, 1, 0x18, 4, u32::MAX);
    assert_eq!(read(&mut bus, 1, 0x18, 4), 0xffff_f000);
    write(&mut bus, 1, 0x10, 4, 0x1000);
    assert_eq!(bus.port_target(0x1004).map(|target| (target.slot, target.offset)), Some((1, 4)));
    write(&mut bus, 1, 4, 2, 0);
    assert_eq!((bus.port_target(0x1004), bus.memory_target(0xe000_0000)), (None, None));
}

#[test]
fn pins_are_wired_to_two_lines() {
    let mut bus = bus();
    assert_eq!([1, 2].map(|slot| read(&mut bus, slot, 0x3c, 2)), [0x010b, 0x010a]);
    bus.set_pin(0, true);
    bus.set_pin(99, true);
    assert_eq!(LINES.map(|line| bus.line(line)), [false, false]);
    bus.set_pin(2, true);
    assert_eq!(LINES.map(|line| bus.line(line)), [true, false]);
    assert_eq!(read(&mut bus, 2, 6, 2) & 8, 8);
    write(&mut bus, 2, 4, 2, 0x407);
    assert!(!bus.line(10), "the guest disabled the pin");
    write(&mut bus, 2, 4, 2, 7);
    bus.set_pin(2, false);
    assert!(!bus.line(10));
}

#[test]
fn states_go_to_a_bus_with_the_same_functions() {
    let mut bus = bus();
    write(&mut bus, 1, 0x10, 4, 0x2000);
    bus.set_pin(1, true);
    let state = bus.state();
    let mut other = self::bus();
    assert_eq!((other.set_state(&state), other.state()), (Ok(()), state.clone()));
    let mut wrong = state.clone();
    wrong.functions[1].bases[0] |= 2;
    assert!(other.set_state(&wrong).is_err());
    wrong.functions.pop();
    assert!(other.set_state(&wrong).is_err() && Bus::new().set_state(&state).is_err());
    assert!(other.set_state(&BusState { version: 0, ..state }).is_err());
}

#[test]
fn no_access_is_out_of_bounds() {
    let mut bus = bus();
    for address in (0..0x1_0000u32).step_by(4) {
        bus.write(0xcf8, 4, ENABLE | address);
        for (port, width) in [(0xcf8, 1), (0xcfa, 4), (0xcfb, 2), (0xcfc, 4), (0xcfe, 4), (0xcff, 2)] {
            bus.write(port, width, u32::MAX);
            bus.read(port, width);
        }
    }
    bus.write(0xcfa, 4, u32::MAX);
    assert_eq!(read(&mut bus, 1, 0, 4), 0x1042_1af4);
}
