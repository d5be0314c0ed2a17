//! Tests of the interval timer.

use super::*;

const MILLISECOND: u64 = 1_000_000;

/// Timer whose channel has a mode and a count, given at time 0.
fn pit(channel: u8, mode: u8, count: u16) -> Pit {
    let mut pit = Pit::new();
    load(&mut pit, channel, mode, count, 0);
    pit
}

fn load(pit: &mut Pit, channel: u8, mode: u8, count: u16, now: u64) {
    pit.write(0x43, channel << 6 | 0x30 | mode << 1, now);
    count.to_le_bytes().iter().for_each(|byte| pit.write(0x40 + u16::from(channel), *byte, now));
}

fn count(pit: &mut Pit, channel: u8, now: u64) -> u16 {
    pit.write(0x43, channel << 6, now);
    u16::from_le_bytes([0, 0].map(|_: u8| pit.read(0x40 + u16::from(channel), now)))
}

#[test]
fn a_rate_has_an_edge_each_period() {
    // 1193 ticks last 999,847 nanoseconds and a fraction.
    let mut pit = pit(0, 2, 1193);
    assert_eq!((pit.next_edge(0), pit.take_edge(999_847)), (Some(999_848), false));
    assert!(pit.take_edge(999_848) && !pit.take_edge(999_849));
    assert_eq!(pit.next_edge(MILLISECOND), Some(1_999_695));
}

#[test]
fn edges_that_were_missed_are_told_as_one() {
    for mode in [2, 3] {
        let mut pit = pit(0, mode, 1193);
        assert!(pit.take_edge(3600 * 1000 * MILLISECOND));
        assert!(!pit.take_edge(3600 * 1000 * MILLISECOND));
        let next = pit.next_edge(0).unwrap();
        assert!(next > 3600 * 1000 * MILLISECOND && next < 3601 * 1000 * MILLISECOND);
    }
}

#[test]
fn a_count_that_ends_has_one_edge() {
    for (mode, last) in [(0, 999_848), (4, 1_000_686)] {
        let mut pit = pit(0, mode, 1193);
        assert_eq!(pit.next_edge(0), Some(last), "mode {mode}");
        assert!(!pit.take_edge(last - 1) && pit.take_edge(last));
        assert!(pit.next_edge(last).is_none() && !pit.take_edge(100 * last));
    }
}

#[test]
fn a_channel_without_a_count_never_fires() {
    let mut pit = Pit::new();
    assert!(pit.next_edge(0).is_none() && !pit.take_edge(u64::MAX));
    pit.write(0x43, 0x34, 0);
    pit.write(0x40, 1, 0);
    assert!(pit.next_edge(0).is_none() && !pit.take_edge(u64::MAX));
    pit.write(0x40, 0, 7);
    assert_eq!(pit.next_edge(0), Some(200_312), "239 rounds have one together");
    assert!(pit.take_edge(u64::MAX));
    let _ = pit.next_edge(u64::MAX);
}

#[test]
fn counters_count_down() {
    let mut rate = pit(0, 2, 1000);
    assert_eq!([0, 838, 839, 838_000].map(|now| count(&mut rate, 0, now)), [1000, 1000, 999, 1]);
    let mut square = pit(0, 3, 1000);
    assert_eq!([839, 419_100].map(|now| count(&mut square, 0, now)), [998, 1000]);
    let mut once = pit(0, 0, 0);
    assert_eq!([0, 839, 54_926_240].map(|now| count(&mut once, 0, now)), [0, 0xffff, 0xffff]);
}

#[test]
fn the_speed_of_a_processor_is_measured_by_channel_2() {
    // Linux: gate on, speaker off, mode 0, 10 ms; then it polls the output.
    let mut pit = Pit::new();
    pit.write(0x61, 1, 0);
    load(&mut pit, 2, 0, 11932, 0);
    assert_eq!(pit.read(0x61, 9 * MILLISECOND) & 0x23, 1);
    assert_eq!(pit.read(0x61, 11 * MILLISECOND) & 0x23, 0x21);
    // Quick way: the high byte falls by one each 256 ticks.
    load(&mut pit, 2, 0, 0xffff, 0);
    let high = |pit: &mut Pit, now| [0, 0].map(|_: u8| pit.read(0x42, now))[1];
    assert_eq!([1000, 215_000, 430_000].map(|now| high(&mut pit, now)), [0xff, 0xfe, 0xfd]);
}

#[test]
fn a_low_gate_holds_the_count() {
    let mut pit = Pit::new();
    load(&mut pit, 2, 0, 1000, 0);
    assert_eq!(count(&mut pit, 2, MILLISECOND), 1000);
    pit.write(0x61, 1, MILLISECOND);
    pit.write(0x61, 0, MILLISECOND + 100_000);
    assert_eq!(count(&mut pit, 2, 9 * MILLISECOND), 1000 - 119);
    pit.write(0x61, 1, 9 * MILLISECOND);
    assert_eq!(pit.read(0x61, 9 * MILLISECOND + 700_000) & 0x20, 0);
    assert_eq!(pit.read(0x61, 9 * MILLISECOND + 800_000) & 0x20, 0x20);
}

#[test]
fn a_rising_gate_triggers_one_shot() {
    let mut pit = Pit::new();
    load(&mut pit, 2, 1, 1000, 0);
    assert_eq!(pit.read(0x61, 5 * MILLISECOND) & 0x20, 0x20);
    pit.write(0x61, 1, 5 * MILLISECOND);
    assert_eq!(pit.read(0x61, 5 * MILLISECOND) & 0x20, 0);
    assert_eq!(pit.read(0x61, 6 * MILLISECOND) & 0x20, 0x20);
}

#[test]
fn latches_hold_until_they_are_read() {
    let mut pit = pit(0, 2, 1000);
    pit.write(0x43, 0xc2, 839);
    assert_eq!(pit.read(0x40, MILLISECOND), 0xb4, "output high, both bytes, mode 2");
    assert_eq!([0, 0].map(|_: u8| pit.read(0x40, MILLISECOND)), 999u16.to_le_bytes());
    pit.write(0x43, 0x34, 0);
    pit.write(0x43, 0xe2, 0);
    assert_eq!(pit.read(0x40, 0), 0xf4, "no count yet");
}

#[test]
fn single_bytes_and_decimal_counts_are_taken() {
    let mut pit = Pit::new();
    pit.write(0x43, 0x15, 0);
    pit.write(0x40, 100, 0);
    assert_eq!((pit.read(0x40, 0), pit.state().channels[0].is_decimal), (100, true));
    pit.write(0x43, 0x2e, 0);
    pit.write(0x40, 2, 0);
    assert_eq!((pit.read(0x40, 0), pit.state().channels[0].mode), (2, 3));
}

#[test]
fn a_guest_that_asks_for_a_storm_of_edges_gets_no_more_than_5000_a_second() {
    for (mode, count) in [(2, 2), (3, 2), (2, 238), (3, 11)] {
        let mut pit = pit(0, mode, count);
        let (mut now, mut edges) = (0, 0);
        while now < 1_000 * MILLISECOND {
            edges += u32::from(pit.take_edge(now));
            now = pit.next_edge(now).unwrap();
        }
        assert!((2500..=5000).contains(&edges), "mode {mode}, count {count}: {edges}");
    }
}

#[test]
fn each_edge_is_a_rise_of_the_output() {
    let counts = |mode| if matches!(mode, 2 | 3) { 239..249 } else { 2..12 };
    for (mode, count) in (0..6).flat_map(|mode| counts(mode).map(move |count| (mode, count))) {
        let mut pit = Pit::new();
        pit.write(0x61, 1, 0);
        load(&mut pit, 2, mode, count, 0);
        // Modes 1 and 5 begin with a rising gate.
        pit.write(0x61, 0, 0);
        pit.write(0x61, 1, 0);
        let channel = pit.state().channels[2];
        let mut rises = 0;
        for tick in 1..3 * u64::from(count) + 20 {
            let [before, now] = [tick - 1, tick].map(time_of);
            rises += u64::from(channel.output(now) && !channel.output(before));
            assert_eq!(channel.edges(now), rises, "mode {mode}, count {count}, tick {tick}");
        }
    }
}

#[test]
fn any_state_is_refused_or_harmless() {
    let state = pit(0, 2, 1000).state();
    let mut pit = Pit::restore(&state).unwrap();
    assert!(pit.take_edge(MILLISECOND));
    let spoil = |change: &dyn Fn(&mut PitState)| {
        let mut state = state;
        change(&mut state);
        Pit::restore(&state)
    };
    assert!(spoil(&|state| state.version = 0).is_err());
    assert!(spoil(&|state| state.channels[1].count = 0).is_err());
    assert!(spoil(&|state| state.channels[2].mode = 6).is_err());
    let mut far = spoil(&|state| {
        state.channels[0].start = u64::MAX;
        state.channels[0].edges_told = u64::MAX;
    }).unwrap();
    assert!(far.next_edge(0).is_none() && !far.take_edge(u64::MAX));
}
