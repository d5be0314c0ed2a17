//! Tests of the platform: devices on the bus, their lines, and a guest that does anything.

use super::*;
use crate::{HPET_ADDRESS, HPET_IDENTITY};

const MILLISECOND: u64 = 1_000_000;

/// Platform whose interrupt controllers are set up as Linux does: vectors from 0x30.
fn platform() -> Platform {
    let mut platform = Platform::new(0, 1);
    for (port, base, third) in [(0x20, 0x30, 4), (0xa0, 0x38, 2)] {
        platform.write(port, 1, 0x11, 0);
        [base, third, 1, 0].iter().for_each(|word| platform.write(port + 1, 1, *word, 0));
    }
    platform
}

#[test]
fn a_timer_ticks_as_long_as_it_is_acknowledged() {
    let mut platform = platform();
    platform.write(0x43, 1, 0x34, 0);
    platform.write(0x40, 1, 0xa9, 0);
    platform.write(0x40, 1, 0x04, 0);
    let mut now = 0;
    for tick in 1..100 {
        now = platform.next_deadline(now).unwrap();
        assert_eq!(now, (tick * 1193 * 1_000_000_000u64).div_ceil(1_193_182));
        platform.advance(now);
        assert_eq!(platform.acknowledge(0), Some(0x30));
        assert!(!platform.interrupt_pending(0));
        platform.write(0x20, 1, 0x60, now);
    }
    platform.write(0x21, 1, 1, now);
    assert_eq!(platform.next_deadline(now), None, "the line is masked");
    platform.write(0x21, 1, 0, now + 50 * MILLISECOND);
    assert_eq!((platform.acknowledge(0), platform.acknowledge(0)), (Some(0x30), None));
}

#[test]
fn the_clock_interrupts_until_it_is_asked_why() {
    let mut platform = platform();
    let ask = |platform: &mut Platform, now| {
        platform.write(0x70, 1, 0x0c, now);
        platform.read(0x71, 1, now)
    };
    platform.write(0x70, 1, 0x0b, 0);
    platform.write(0x71, 1, 0x12, 0);
    for second in 1..4 {
        let now = platform.next_deadline((second - 1) * 1000 * MILLISECOND).unwrap();
        assert_eq!(now, second * 1000 * MILLISECOND);
        platform.advance(now);
        assert_eq!((platform.acknowledge(0), platform.interrupt_pending(0)), (Some(0x38), false));
        [0xa0, 0x20].iter().for_each(|port| platform.write(*port, 1, 0x20, now));
        assert_eq!(platform.next_deadline(now), None, "its line is still up");
        assert_eq!(ask(&mut platform, now) & 0x90, 0x90);
    }
    platform.write(0xa1, 1, 1, 3000 * MILLISECOND);
    assert_eq!(platform.next_deadline(3000 * MILLISECOND), None, "the line is masked");
    platform.write(0xa1, 1, 0, 5000 * MILLISECOND);
    assert_eq!(platform.acknowledge(0), Some(0x38));
}

#[test]
fn event_timers_take_the_lines_of_the_old_ones() {
    let mut platform = platform();
    assert_eq!(platform.read_memory(0, HPET_ADDRESS, 4, 0), None);
    platform.add_hpet();
    assert_eq!(platform.read_memory(0, HPET_ADDRESS, 4, 0), Some(u64::from(HPET_IDENTITY)));
    // The old timer and the clock interrupt each second, and are cut off.
    for (port, value) in [(0x43, 0x34), (0x40, 0), (0x40, 0), (0x70, 0x0b), (0x71, 0x12)] {
        platform.write(port, 1, value, 0);
    }
    for (offset, value) in [(0x100, 4), (0x108, 200_000), (0x120, 4), (0x128, 300_000), (0x10, 3)] {
        platform.write_memory(0, HPET_ADDRESS + offset, 8, value, 0);
    }
    for (time, vector) in [(2, 0x30), (3, 0x38)] {
        assert_eq!(platform.next_deadline(0), Some(time * MILLISECOND));
        platform.advance(time * MILLISECOND);
        assert_eq!(platform.acknowledge(0), Some(vector));
        [0xa0, 0x20].iter().for_each(|port| platform.write(*port, 1, 0x20, time * MILLISECOND));
    }
    assert_eq!(platform.next_deadline(3 * MILLISECOND), None);
    platform.advance(9000 * MILLISECOND);
    assert_eq!(platform.acknowledge(0), None);
    let copy = Platform::restore(&platform.state()).unwrap();
    assert_eq!(copy.state(), platform.state());
    platform.write_memory(0, HPET_ADDRESS + 0x10, 8, 1, 9000 * MILLISECOND);
    assert_eq!(platform.acknowledge(0), Some(0x38), "the clock has its line again");
}

#[test]
fn input_and_output_interrupt() {
    let mut platform = platform();
    platform.write(0x3fc, 1, 0x0b, 0);
    platform.write(0x3f9, 1, 3, 0);
    assert_eq!(platform.acknowledge(0), Some(0x34));
    assert_eq!(platform.read(0x3fa, 1, 0), 2);
    platform.write(0x20, 1, 0x64, 0);
    platform.write(0x3f8, 1, u32::from(b'!'), 0);
    let mut output = [0; 8];
    assert_eq!((platform.line_with_output(), platform.take_output(0, &mut output), output[0]), (Some(0), 1, b'!'));
    assert_eq!(platform.read(0x3fa, 1, 0), 2);
    assert_eq!((platform.receive(b"x"), platform.interrupt_pending(0)), (1, true));
    assert_eq!(platform.read(0x3f8, 1, 0), u32::from(b'x'));
}

#[test]
fn lines_have_their_own_ports_and_two_share_an_interrupt() {
    let mut platform = platform();
    for (port, line, vector) in [(0x2f8, 1, 0x33), (0x3e8, 2, 0x34)] {
        platform.write(port + 4, 1, 0x0b, 0);
        platform.write(port + 1, 1, 2, 0);
        assert_eq!(platform.acknowledge(0), Some(vector));
        platform.write(0x20, 1, 0x60 | vector as u32 & 7, 0);
        platform.write(port, 1, u32::from(b'?'), 0);
        assert_eq!((platform.line_with_output(), platform.take_output(line, &mut [0; 8])), (Some(line), 1));
    }
    assert_eq!((platform.line_with_output(), platform.take_output(3, &mut [0; 8])), (None, 0));
}

#[test]
fn wide_accesses_reach_byte_devices_in_order() {
    let mut platform = platform();
    platform.write(0x70, 2, 0x5a0f, 0);
    assert_eq!(platform.read(0x71, 1, 0), 0x5a);
    platform.write(0x604, 2, 0x2000, 0);
    assert_eq!(platform.outcome(), Some(Outcome::PowerOff));
    let mut other = Platform::new(0, 1);
    other.write(0xf4, 4, 0x1234_5603, 0);
    assert_eq!((other.outcome(), other.unknown_count()), (Some(Outcome::Exit(3)), 3));
}

#[test]
fn there_is_no_pci_but_a_reset() {
    let mut platform = platform();
    platform.write(0xcf8, 4, 0x8000_0000, 0);
    assert_eq!((platform.read(0xcf8, 4, 0), platform.read(0xcfc, 2, 0)), (u32::MAX, u32::MAX));
    assert_eq!((platform.unknown_count(), platform.outcome()), (0, None));
    platform.write(0xcf9, 1, 6, 0);
    assert_eq!(platform.outcome(), Some(Outcome::Reset));
}

#[test]
fn ports_without_a_device_read_all_ones_and_count() {
    let mut platform = Platform::new(0, 1);
    assert_eq!([1, 2, 4].map(|width| platform.read(0x1f0, width, 0)), [0xff, 0xffff, u32::MAX]);
    assert_eq!(platform.read(0xffff, 4, 0), u32::MAX);
    assert_eq!(platform.unknown_count(), 11);
}

#[test]
fn ranges_of_devices_are_in_order() {
    assert!(RANGES.iter().all(|range| range.first <= range.last));
    assert_eq!(device_of(0xcf9, 1), Some(Device::Control));
    assert_eq!(device_of(0xcf8, 1), Some(Device::NoPci));
    assert_eq!(device_of(0xcf9, 2), Some(Device::NoPci));
}

/// Random accesses: nothing panics, and a platform that goes out and in half way ends as one that
/// did not.
#[test]
fn anything_a_guest_does_is_harmless_and_repeatable() {
    let mut seed = 1u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let (mut platform, mut now) = (Platform::new(0, 1), 0u64);
    for step in 0..200_000 {
        let range = &RANGES[next() as usize % RANGES.len()];
        let port = range.first + next() as u16 % (range.last - range.first + 2);
        let (width, value) = ([1, 1, 2, 4][next() as usize % 4], next() as u32);
        now += next() % 2_000_000;
        match next() % 8 {
            0..4 => platform.write(port, width, value, now),
            4..6 => _ = platform.read(port, width, now),
            6 => _ = (platform.receive(&[1, 2, 3]), platform.take_output(1, &mut [0; 9])),
            _ => _ = (platform.acknowledge(0), platform.next_deadline(now)),
        }
        if step % 1000 == 0 {
            let state = platform.state();
            platform = Platform::restore(&state).unwrap();
            assert_eq!(platform.state(), state);
        }
    }
}
