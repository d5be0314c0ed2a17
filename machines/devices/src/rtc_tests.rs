//! Tests of the clock: time in both forms, settings, and its three interrupts.

use super::*;

/// 2026-11-25 17:19:30, a Wednesday.
const TIME: u64 = 1_795_627_170;

fn register(rtc: &mut Rtc, index: u8, now: u64) -> u8 {
    rtc.write(0x70, 0x80 | index, now);
    rtc.read(0x71, now)
}

fn set(rtc: &mut Rtc, index: u8, value: u8, now: u64) {
    rtc.write(0x70, index, now);
    rtc.write(0x71, value, now);
}

#[test]
fn the_time_is_told_in_both_forms() {
    let mut rtc = Rtc::new(TIME);
    let time = FIELDS.map(|index| register(&mut rtc, index, 31 * SECOND));
    assert_eq!(time, [0x01, 0x20, 0x17, 4, 0x25, 0x11, 0x26, 0x20]);
    set(&mut rtc, STATUS_B, BINARY, 0);
    let time = FIELDS.map(|index| register(&mut rtc, index, 0));
    assert_eq!(time, [30, 19, 0x85, 4, 25, 11, 26, 20]);
}

#[test]
fn an_update_is_told_of_before_it_happens() {
    let mut rtc = Rtc::new(TIME);
    let registers = [STATUS_A, STATUS_B, STATUS_C, STATUS_D];
    let status = registers.map(|index| register(&mut rtc, index, 0));
    assert_eq!(status, [0x26, 2, 0, 0x80]);
    let times = [SECOND - UPDATE_TIME - 1, SECOND - UPDATE_TIME, SECOND - 1, SECOND];
    assert_eq!(times.map(|now| register(&mut rtc, STATUS_A, now)), [0x26, 0xa6, 0xa6, 0x26]);
    set(&mut rtc, STATUS_B, SET, SECOND);
    assert_eq!(register(&mut rtc, STATUS_A, 2 * SECOND - 1), 0x26, "time stands still");
}

/// Sets a clock's register B, and returns the times and events of its next interrupts.
fn interrupts(rtc: &mut Rtc, status: u8, count: usize) -> Vec<(u64, u8)> {
    set(rtc, STATUS_B, status | HOURS_24, 0);
    let mut now = 0;
    let next = |_| {
        now = rtc.next_deadline(now).unwrap();
        assert!(!rtc.advance(now - 1) && rtc.advance(now));
        assert_eq!(rtc.next_deadline(now), None, "the line is up");
        let events = register(rtc, STATUS_C, now);
        assert!(!rtc.interrupt());
        (now, events)
    };
    (0..count).map(next).collect()
}

#[test]
fn each_update_interrupts() {
    let mut rtc = Rtc::new(TIME);
    set(&mut rtc, STATUS_A, 0x20, 0);
    let expected = [(SECOND, 0x90), (2 * SECOND, 0x90), (3 * SECOND, 0x90)];
    set(&mut rtc, 1, 0x7f, 0);
    assert_eq!(interrupts(&mut rtc, UPDATE, 3), expected);
    set(&mut rtc, STATUS_B, SET | UPDATE, 3 * SECOND);
    assert_eq!((register(&mut rtc, STATUS_B, 9 * SECOND), rtc.next_deadline(9 * SECOND)), (SET, None));
}

#[test]
fn an_alarm_comes_at_its_time_every_day() {
    let mut rtc = Rtc::new(TIME);
    set(&mut rtc, STATUS_A, 0x20, 0);
    [(1, 0x05), (3, 0x20), (5, 0x17)].iter().for_each(|(index, value)| set(&mut rtc, *index, *value, 0));
    let day = DAY as u64 * SECOND;
    assert_eq!(interrupts(&mut rtc, ALARM, 2), [(35 * SECOND, 0xb0), (35 * SECOND + day, 0xb0)]);
    let mut rtc = Rtc::new(TIME);
    set(&mut rtc, STATUS_A, 0x20, 0);
    [(1, 0xff), (3, 0x20), (5, 0xc0)].iter().for_each(|(index, value)| set(&mut rtc, *index, *value, 0));
    let times: Vec<u64> = interrupts(&mut rtc, ALARM, 61).iter().map(|(time, _)| time / SECOND).collect();
    assert_eq!((times[0], times[59], times[60]), (30, 89, 3630));
    set(&mut rtc, 5, 0x7f, times[60] * SECOND);
    assert_eq!(rtc.next_deadline(times[60] * SECOND), None, "no day has this hour");
}

#[test]
fn an_alarm_may_count_hours_to_twelve() {
    let mut rtc = Rtc::new(TIME);
    [(1, 0x30), (3, 0x19), (5, 0x86)].iter().for_each(|(index, value)| set(&mut rtc, *index, *value, 0));
    set(&mut rtc, STATUS_B, ALARM, 0);
    assert_eq!(rtc.next_deadline(0), Some(3600 * SECOND), "half past six in the evening is an hour away");
}

#[test]
fn periods_come_at_the_rate_that_is_asked_for_and_not_too_often() {
    for (rate, number) in [(15, 2), (6, 1024), (4, 4096), (3, 4096), (2, 128), (1, 256)] {
        let mut rtc = Rtc::new(TIME);
        set(&mut rtc, STATUS_A, 0x20 | rate, 0);
        let times = interrupts(&mut rtc, PERIOD, number);
        assert_eq!((times[number - 1].0, times[0].1 & 0xc0), (SECOND, 0xc0), "{rate}");
    }
    for status in [0x20, 0x76] {
        let mut rtc = Rtc::new(TIME);
        set(&mut rtc, STATUS_A, status, 0);
        set(&mut rtc, STATUS_B, PERIOD, 0);
        assert_eq!((rtc.next_deadline(0), rtc.advance(9 * SECOND)), (None, false), "{status:#x}");
    }
}

#[test]
fn events_are_told_to_who_asks_for_no_interrupt() {
    let mut rtc = Rtc::new(TIME);
    assert_eq!((rtc.next_deadline(0), rtc.advance(5 * SECOND)), (None, false));
    assert_eq!(register(&mut rtc, STATUS_C, 5 * SECOND), PERIOD | UPDATE);
    assert_eq!(register(&mut rtc, STATUS_C, 5 * SECOND), 0);
    set(&mut rtc, STATUS_B, UPDATE, 5 * SECOND);
    assert!(rtc.advance(7 * SECOND) && Rtc::restore(&rtc.state()).unwrap().interrupt());
}

#[test]
fn the_guest_sets_the_time() {
    let mut rtc = Rtc::new(TIME);
    set(&mut rtc, STATUS_B, SET | HOURS_24, 0);
    let time = [0x59, 0x59, 0x23, 0, 0x31, 0x12, 0x99, 0x19];
    FIELDS.iter().zip(time).for_each(|(index, value)| set(&mut rtc, *index, value, 5 * SECOND));
    assert_eq!(register(&mut rtc, 0, 9 * SECOND), 0x59, "time stands still");
    set(&mut rtc, STATUS_B, HOURS_24, 10 * SECOND);
    let time = FIELDS.map(|index| register(&mut rtc, index, 11 * SECOND));
    assert_eq!(time, [0, 0, 0, 7, 1, 1, 0, 0x20]);
    set(&mut rtc, 4, 0x12, 11 * SECOND);
    assert_eq!(register(&mut rtc, 4, 11 * SECOND), 0x12);
}

#[test]
fn nonsense_is_a_time_too() {
    let mut rtc = Rtc::new(u64::MAX);
    for value in [0xff, 0x80, 0x7f, 0] {
        for status in [SET, SET | BINARY, 0, BINARY | HOURS_24] {
            set(&mut rtc, STATUS_B, status, u64::MAX);
            FIELDS.iter().for_each(|index| set(&mut rtc, *index, value, u64::MAX));
            set(&mut rtc, STATUS_B, status | EVENTS, u64::MAX - 1);
            let _ = (rtc.next_deadline(u64::MAX), rtc.advance(u64::MAX));
            let _ = FIELDS.map(|index| register(&mut rtc, index, 0));
        }
    }
}

#[test]
fn memory_is_kept_with_the_state() {
    let mut rtc = Rtc::new(TIME);
    set(&mut rtc, 0x0f, 0x0a, 0);
    let mut copy = Rtc::restore(&rtc.state()).unwrap();
    assert_eq!(register(&mut copy, 0x0f, 0), 0x0a);
    assert!(Rtc::restore(&RtcState { index: 128, ..copy.state() }).is_err());
    let state = copy.state();
    let lies = [
        RtcState { offset: i64::MAX, ..state }, RtcState { offset: i64::MIN, ..state }, RtcState { version: 1, ..state },
        RtcState { status_a: 0xa6, ..state }, RtcState { status_c: 0x80, ..state },
    ];
    assert!(lies.iter().all(|lie| Rtc::restore(lie).is_err()));
}

#[test]
fn the_calendar_goes_on_where_the_machine_stood_still() {
    let mut rtc = Rtc::new(86_400);
    // The guest's own time, which is not the machine's, is later by as much.
    set(&mut rtc, 0x32, 0x20, 0);
    let before = [4, 2, 0].map(|index| register(&mut rtc, index, 5 * SECOND));
    rtc.move_calendar(3_600 + 120);
    let after = [4, 2, 0].map(|index| register(&mut rtc, index, 5 * SECOND));
    assert_eq!((before, after), ([0, 0, 5], [1, 2, 5]));
    assert_eq!(register(&mut rtc, 0x32, 5 * SECOND), 0x20);
    for seconds in [i64::MAX, i64::MIN, i64::MIN, i64::MAX] {
        rtc.move_calendar(seconds);
        let state = rtc.state();
        assert_eq!(Rtc::restore(&state).map(|clock| clock.state()), Ok(state));
    }
}
