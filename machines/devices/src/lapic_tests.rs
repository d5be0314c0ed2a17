//! Tests of the local APIC, with others and the I/O APIC beside it.

use super::*;
use crate::{Apics, ApicsState, MAX_PROCESSORS};

const ENABLE: (u64, u32) = (0xf0, 0x1ff);

fn write(apics: &mut Apics, processor: usize, offset: u64, value: u32) {
    assert!(apics.write(processor, 0xfee0_0000 + offset, 4, value.into(), 0));
}

fn read(apics: &mut Apics, processor: usize, offset: u64) -> u64 {
    apics.read(processor, 0xfee0_0000 + offset, 4, 0).unwrap()
}

fn enabled(processors: usize) -> Apics {
    let mut apics = Apics::new(processors);
    (0..processors).for_each(|number| write(&mut apics, number, ENABLE.0, ENABLE.1));
    apics
}

fn io(apics: &mut Apics, register: u32, value: u32) {
    assert!(apics.write(0, 0xfec0_0000, 4, register.into(), 0) && apics.write(0, 0xfec0_0010, 4, value.into(), 0));
}

#[test]
fn higher_classes_come_first_and_hold_others_back() {
    let mut apics = enabled(1);
    for vector in [0x31, 0x42, 0x45] {
        write(&mut apics, 0, 0x300, 0x4_0000 | vector);
    }
    assert_eq!(apics.acknowledge(0), Some(0x45));
    assert_eq!(apics.acknowledge(0), None, "the same class waits");
    assert_eq!((read(&mut apics, 0, 0x120), read(&mut apics, 0, 0x220), read(&mut apics, 0, 0xa0)), (0x20, 4, 0x40));
    write(&mut apics, 0, 0xb0, 0);
    assert_eq!(apics.acknowledge(0), Some(0x42));
    write(&mut apics, 0, 0xb0, 0);
    write(&mut apics, 0, 0x80, 0x30);
    assert_eq!(apics.local(0).pending(), None, "the task has the class of 0x31");
    apics.set_task_class(0, 2);
    assert_eq!(apics.acknowledge(0), Some(0x31));
}

#[test]
fn processors_are_reset_and_started_by_others() {
    let mut apics = enabled(3);
    write(&mut apics, 0, 0x310, 1 << 24);
    write(&mut apics, 0, 0x300, 0x4500);
    assert_eq!(apics.take_signal(1), Some(Signal::Reset));
    write(&mut apics, 0, 0x300, 0x4609);
    write(&mut apics, 0, 0x300, 0x4608);
    assert_eq!((apics.take_signal(1), apics.take_signal(1)), (Some(Signal::Start(9)), None));
    assert!(apics.take_news(1) && !apics.local(1).waits() && apics.local(2).waits());
    write(&mut apics, 0, 0x300, 0xc_4400);
    assert_eq!([0, 1, 2].map(|number| apics.take_signal(number)), [None, Some(Signal::NonMaskable), Some(Signal::NonMaskable)]);
}

#[test]
fn destinations_are_physical_flat_or_clusters() {
    let mut apics = enabled(3);
    let send = |apics: &mut Apics, command: u32, destination: u32| {
        write(apics, 0, 0x310, destination << 24);
        write(apics, 0, 0x300, command);
        [0, 1, 2].map(|number| apics.acknowledge(number).inspect(|_| write(apics, number, 0xb0, 0)).is_some())
    };
    for number in 0..3 {
        write(&mut apics, number, 0xd0, 0x0100_0000 << number);
    }
    assert_eq!(send(&mut apics, 0x4040, 2), [false, false, true]);
    assert_eq!(send(&mut apics, 0x4040, 0xff), [true; 3]);
    assert_eq!(send(&mut apics, 0x4840, 5), [true, false, true]);
    assert_eq!(send(&mut apics, 0x4940, 6), [false, true, false], "one alone, by priority");
    for number in 0..3 {
        write(&mut apics, number, 0xe0, 0x0fff_ffff);
        write(&mut apics, number, 0xd0, 0x1100_0000 + (number as u32) * 0x1000_0000);
    }
    assert_eq!(send(&mut apics, 0x4840, 0x21), [false, true, false]);
    assert_eq!(send(&mut apics, 0x4840, 0xf1), [true; 3]);
}

#[test]
fn the_timer_goes_off_once_again_and_by_the_counter() {
    let mut apic = LocalApic::new(0);
    apic.write_page(ENABLE.0, ENABLE.1, 0);
    apic.write_page(0x3e0, 0xb, 0);
    apic.write_page(0x320, 0x50, 0);
    apic.write_page(0x380, 1_000_000, 0);
    assert_eq!((apic.next_deadline(), apic.read_page(0x390, 400_000)), (Some(1_000_000), 600_000));
    apic.advance(1_000_000);
    assert_eq!((apic.acknowledge(), apic.next_deadline()), (Some(0x50), None));
    apic.write_page(0xb0, 0, 0);
    apic.write_page(0x320, PERIODIC | 0x51, 0);
    apic.write_page(0x380, 500_000, 0);
    apic.advance(1_700_000);
    assert_eq!((apic.acknowledge(), apic.next_deadline()), (Some(0x51), Some(2_000_000)));
    apic.write_page(0xb0, 0, 0);
    apic.write_page(0x320, BY_COUNTER | 0x52, 0);
    assert_eq!(apic.next_deadline(), None);
    apic.set_counter(77, 3_000_000);
    assert_eq!((apic.counter(), apic.next_deadline()), (77, Some(3_000_000)));
    apic.advance(3_000_000);
    assert_eq!((apic.acknowledge(), apic.counter()), (Some(0x52), 0));
}

#[test]
fn a_level_interrupts_again_until_it_is_gone() {
    let mut apics = enabled(2);
    io(&mut apics, 0x10 + 2 * 10 + 1, 1 << 24);
    io(&mut apics, 0x10 + 2 * 10, 0x8060);
    apics.set_input(10, true);
    assert_eq!((apics.acknowledge(1), apics.acknowledge(1)), (Some(0x60), None));
    apics.set_input(10, true);
    assert_eq!(apics.local(1).pending(), None);
    write(&mut apics, 1, 0xb0, 0);
    assert_eq!(apics.acknowledge(1), Some(0x60), "the level is still there");
    apics.set_input(10, false);
    write(&mut apics, 1, 0xb0, 0);
    assert_eq!(apics.local(1).pending(), None);
    io(&mut apics, 0x10 + 2 * 4, 0x61);
    [true, true, false, true].iter().for_each(|level| apics.set_input(4, *level));
    assert_eq!((apics.acknowledge(0), apics.acknowledge(0)), (Some(0x61), None));
}

#[test]
fn a_level_that_no_processor_takes_comes_again_when_one_does() {
    let mut apics = enabled(2);
    // No such processor, no such vector, an APIC that is off.
    for (destination, vector) in [(7 << 24, 0x60), (1 << 24, 0x0f), (1 << 24, 0x60)] {
        write(&mut apics, 1, ENABLE.0, if vector == 0x60 && destination >> 24 == 1 { 0xff } else { ENABLE.1 });
        apics.set_input(10, false);
        io(&mut apics, 0x10 + 2 * 10 + 1, destination);
        io(&mut apics, 0x10 + 2 * 10, 0x8000 | vector);
        apics.set_input(10, true);
        assert_eq!(apics.local(1).pending(), None);
        assert_eq!(apics.state().io.entries[10] & 0x4000, 0, "nobody is waited for");
    }
    write(&mut apics, 1, ENABLE.0, ENABLE.1);
    apics.set_input(10, true);
    apics.set_input(10, true);
    assert_eq!((apics.acknowledge(1), apics.acknowledge(1)), (Some(0x60), None));
    assert_ne!(apics.state().io.entries[10] & 0x4000, 0);
}

#[test]
fn registers_take_the_place_of_the_page() {
    let mut apics = enabled(2);
    assert_eq!(apics.read_register(1, 0x802, 0), Some(Err(Refused)));
    let base = apics.read_register(1, 0x1b, 0).unwrap().unwrap();
    assert_eq!(base, 0xfee0_0800);
    assert_eq!(apics.write_register(1, 0x1b, base | X2, 0), Some(Ok(())));
    assert_eq!(apics.read(1, 0xfee0_0020, 4, 0), None);
    assert_eq!([0x802, 0x80d].map(|number| apics.read_register(1, number, 0)), [Some(Ok(1)), Some(Ok(2))]);
    assert_eq!(apics.write_register(1, 0x830, 0x4040, 0), Some(Ok(())));
    assert_eq!(apics.acknowledge(0), Some(0x40));
    assert_eq!(apics.write_register(1, 0x83f, 0x41, 0), Some(Ok(())));
    assert_eq!(apics.acknowledge(1), Some(0x41));
    for (number, value) in [(0x80b, 1), (0x802, 0), (0x80e, 0), (0x810, 0), (0x8ff, 0), (0x808, 1 << 32), (0x1b, base)] {
        assert_eq!(apics.write_register(1, number, value, 0), Some(Err(Refused)), "{number:#x}");
    }
    assert_eq!(apics.write_register(1, 0x1b, 0xfee0_0000, 0), Some(Ok(())));
    assert!(!apics.local(1).is_named(1, false));
}

#[test]
fn states_go_out_and_in_and_lies_are_refused() {
    let mut apics = enabled(2);
    write(&mut apics, 0, 0x300, 0xc_4045);
    let state = apics.state();
    assert_eq!(Apics::restore(&state).unwrap().state(), state);
    let lies = [
        ApicsState { version: 0, ..state },
        ApicsState { processors: 0, ..state },
        ApicsState { processors: 1 + MAX_PROCESSORS as u32, ..state },
        ApicsState { local: [state.local[1]; MAX_PROCESSORS], ..state },
    ];
    assert!(lies.iter().all(|lie| Apics::restore(lie).is_err()));
}
