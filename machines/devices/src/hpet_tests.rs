//! Tests of the event timers: the counter, matches, and what a guest may write.

use super::*;

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

fn at(offset: u64) -> u64 {
    HPET_ADDRESS + offset
}

/// Timers whose counter runs from time 0 on.
fn running() -> Hpet {
    let mut hpet = Hpet::default();
    assert!(hpet.write(at(CONFIGURATION), 4, RUNS, 0));
    hpet
}

fn set(hpet: &mut Hpet, timer: u64, configuration: u64, now: u64) {
    hpet.write(at(FIRST_TIMER + timer * TIMER_SIZE), 4, configuration | (FIRST_INPUT as u64) << 9, now);
}

fn compare(hpet: &mut Hpet, timer: u64, value: u64, now: u64) {
    hpet.write(at(FIRST_TIMER + timer * TIMER_SIZE + COMPARATOR), 8, value, now);
}

#[test]
fn the_counter_runs_when_it_is_told_to() {
    let mut hpet = Hpet::default();
    assert_eq!(hpet.read(at(CAPABILITIES), 8, 0), Some(10_000_000 << 32 | 0x8086_a201));
    assert_eq!(hpet.read(at(4), 4, 0), Some(10_000_000));
    hpet.write(at(COUNTER), 8, 0xffff_fff0, 3 * SECOND);
    hpet.write(at(CONFIGURATION), 8, RUNS, 3 * SECOND);
    hpet.write(at(COUNTER), 8, 0, 3 * SECOND);
    assert_eq!(hpet.read(at(COUNTER), 8, 3 * SECOND + 329), Some(0x1_0000_0010));
    assert_eq!((hpet.read(at(COUNTER), 4, 3 * SECOND + 320), hpet.read(at(COUNTER + 4), 4, 3 * SECOND + 320)), (Some(0x10), Some(1)));
    hpet.write(at(CONFIGURATION), 4, 0, 4 * SECOND);
    assert_eq!(hpet.read(at(COUNTER), 8, 9 * SECOND), Some(0xffff_fff0 + 100_000_000));
    assert_eq!((hpet.read(at(SIZE), 4, 0), hpet.read(HPET_ADDRESS - 4, 4, 0), hpet.write(at(SIZE), 4, 0, 0)), (None, None, false));
    assert_eq!((hpet.read(at(COUNTER), 1, 0), hpet.read(at(COUNTER + 2), 4, 0)), (Some(u64::MAX), Some(u64::MAX)));
}

#[test]
fn a_timer_matches_once() {
    let mut hpet = running();
    set(&mut hpet, 2, INTERRUPTS, 0);
    assert_eq!(hpet.next_deadline(0), None, "the counter would have to start over");
    compare(&mut hpet, 2, 500_000, 0);
    assert_eq!(hpet.next_deadline(0), Some(5 * MILLISECOND));
    assert_eq!((hpet.take_edges(5 * MILLISECOND - 1), hpet.take_edges(5 * MILLISECOND)), (0, 4));
    assert_eq!((hpet.take_edges(6 * MILLISECOND), hpet.next_deadline(6 * MILLISECOND)), (0, None));
    set(&mut hpet, 2, INTERRUPTS | NARROW, 6 * MILLISECOND);
    assert_eq!(hpet.next_deadline(6 * MILLISECOND), Some(5 * MILLISECOND + (TICK << 32)), "32 bits come again");
    set(&mut hpet, 2, 0, 6 * MILLISECOND);
    assert_eq!(hpet.next_deadline(6 * MILLISECOND), None);
}

#[test]
fn a_periodic_timer_goes_on_and_does_not_come_too_often() {
    for (period, told) in [(1_000_000, 1_000_000), (15_000, 30_000), (1, MIN_PERIOD)] {
        let mut hpet = running();
        set(&mut hpet, 0, INTERRUPTS | PERIODIC | SETS_VALUE | NARROW, 0);
        compare(&mut hpet, 0, 50, 0);
        compare(&mut hpet, 0, period, 0);
        for number in 0..5 {
            let now = hpet.next_deadline(0).unwrap();
            assert_eq!((now, hpet.take_edges(now)), ((50 + number * told) * TICK, 1), "{period}");
        }
        assert_eq!((hpet.take_edges(100 * SECOND), hpet.take_edges(100 * SECOND)), (1, 0), "missed ones are one");
    }
    let mut hpet = running();
    set(&mut hpet, 0, INTERRUPTS | PERIODIC, 0);
    compare(&mut hpet, 0, 0, 0);
    assert_eq!((hpet.take_edges(9 * SECOND), hpet.next_deadline(9 * SECOND)), (0, None));
}

#[test]
fn a_level_stays_until_the_guest_clears_it() {
    let mut hpet = running();
    set(&mut hpet, 1, INTERRUPTS | LEVEL, 0);
    hpet.write(at(FIRST_TIMER + TIMER_SIZE), 4, INTERRUPTS | LEVEL | 22 << 9, 0);
    compare(&mut hpet, 1, 100, 0);
    assert_eq!((hpet.take_edges(1000), hpet.level(22), hpet.level(20)), (0, true, false));
    assert_eq!((hpet.read(at(STATUS), 4, 1000), hpet.next_deadline(1000)), (Some(2), None));
    hpet.write(at(STATUS), 4, 5, 1000);
    assert!(hpet.level(22));
    hpet.write(at(STATUS), 4, 2, 1000);
    assert!(!hpet.level(22));
}

#[test]
fn timers_have_the_inputs_that_they_can_have() {
    let mut hpet = Hpet::default();
    hpet.write(at(FIRST_TIMER), 8, u64::MAX, 0);
    let expected = 0x00f0_0000 << 32 | 1 << 4 | 1 << 5 | WRITABLE | 20 << 9;
    assert_eq!((hpet.read(at(FIRST_TIMER), 8, 0), hpet.input(0)), (Some(expected), 20));
    hpet.write(at(FIRST_TIMER), 8, 23 << 9, 0);
    assert_eq!((hpet.input(0), hpet.input(9)), (23, 20));
}

#[test]
fn the_state_goes_out_and_in() {
    let mut hpet = running();
    set(&mut hpet, 0, INTERRUPTS, 0);
    compare(&mut hpet, 0, 500, 0);
    let mut copy = Hpet::restore(&hpet.state()).unwrap();
    assert_eq!((copy.take_edges(5000), copy.state() == hpet.state()), (1, false));
    let state = hpet.state();
    let mut timers = state.timers;
    timers[1].configuration = 19 << 9;
    let lies = [
        HpetState { version: 2, ..state }, HpetState { configuration: 4, ..state }, HpetState { status: 8, ..state },
        HpetState { edges: 8, ..state }, HpetState { start: 1, ..state }, HpetState { timers, ..state },
    ];
    assert!(lies.iter().all(|lie| Hpet::restore(lie).is_err()));
}

#[test]
fn no_value_overflows() {
    for value in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, 0xffff_ffff] {
        let mut hpet = Hpet::default();
        for (step, now) in [0, 5, u64::MAX / 2, u64::MAX - 1, u64::MAX, 3].into_iter().enumerate() {
            for offset in (0..0x180).step_by(4) {
                hpet.write(at(offset), if offset % 8 == 0 && step % 2 == 0 { 8 } else { 4 }, value >> step, now);
                let _ = (hpet.read(at(offset), 8, now), hpet.take_edges(now), hpet.next_deadline(now));
            }
            assert!(hpet.next_deadline(now).is_none_or(|at| at >= now));
            Hpet::restore(&hpet.state()).unwrap();
        }
    }
}
