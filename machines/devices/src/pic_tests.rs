//! Tests of the interrupt controllers.

use super::*;

/// Controllers as Linux initializes them: vectors 0x30 and 0x38, nothing masked.
fn pic() -> Pic {
    let mut pic = Pic::new();
    for (port, base, third) in [(0x20, 0x30, 4), (0xa0, 0x38, 2)] {
        pic.write(port, 0x11);
        [base, third, 1].iter().for_each(|word| pic.write(port + 1, *word));
        pic.write(port + 1, 0);
    }
    pic
}

fn pulse(pic: &mut Pic, line: u8) {
    pic.set_line(line, true);
    pic.set_line(line, false);
}

#[test]
fn an_edge_is_one_interrupt() {
    let mut pic = pic();
    pic.set_line(4, true);
    assert!(pic.pending());
    assert_eq!(pic.acknowledge(), 0x34);
    pic.write(0x20, 0x20);
    assert!(!pic.pending(), "the line is still high, and has not risen again");
    pic.set_line(4, false);
    pulse(&mut pic, 4);
    assert!(pic.pending(), "an edge is kept after the line fell");
}

#[test]
fn a_level_lasts_as_long_as_its_line() {
    let mut pic = pic();
    pic.write(0x4d0, 0xff);
    assert_eq!(pic.read(0x4d0), 0xf8, "the timer's line is always edge-triggered");
    pic.set_line(5, true);
    assert_eq!(pic.acknowledge(), 0x35);
    pic.write(0x20, 0x65);
    assert!(pic.pending());
    pic.set_line(5, false);
    assert!(!pic.pending());
}

#[test]
fn the_more_urgent_line_interrupts_the_other() {
    let mut pic = pic();
    pulse(&mut pic, 4);
    pulse(&mut pic, 6);
    assert_eq!(pic.acknowledge(), 0x34);
    assert!(!pic.pending(), "line 6 waits for the end of 4");
    pulse(&mut pic, 1);
    assert_eq!(pic.acknowledge(), 0x31);
    pic.write(0x20, 0x0b);
    assert_eq!(pic.read(0x20), 0x12);
    pic.write(0x20, 0x20);
    pic.write(0x20, 0x0a);
    assert_eq!(pic.read(0x20), 0x40);
    assert!(!pic.pending());
    pic.write(0x20, 0x64);
    assert_eq!(pic.acknowledge(), 0x36);
}

#[test]
fn the_second_chip_interrupts_through_the_first() {
    let mut pic = pic();
    pulse(&mut pic, 14);
    pulse(&mut pic, 8);
    assert_eq!(pic.acknowledge(), 0x38);
    assert!(!pic.pending());
    pic.write(0xa0, 0x20);
    assert!(!pic.pending(), "line 2 of the first chip is in service");
    pic.write(0x20, 0x62);
    assert_eq!(pic.acknowledge(), 0x3e);
}

#[test]
fn a_masked_request_waits() {
    let mut pic = pic();
    pic.write(0x21, 0xff);
    assert_eq!(pic.read(0x21), 0xff);
    pulse(&mut pic, 0);
    assert!(!pic.pending() && pic.is_masked(0) && !pic.is_masked(8));
    pic.write(0x21, 0xfe);
    assert_eq!((pic.pending(), pic.acknowledge()), (true, 0x30));
}

#[test]
fn a_request_that_has_gone_is_spurious() {
    let mut pic = pic();
    assert_eq!(pic.acknowledge(), 0x37);
    assert_eq!(pic.state().chips[0].in_service, 0);
    pulse(&mut pic, 9);
    pic.write(0xa1, 0xff);
    assert!(!pic.pending(), "the first chip's request goes with the second's");
}

#[test]
fn automatic_ends_leave_nothing_in_service_and_lose_nothing() {
    let mut pic = pic();
    pic.write(0xa0, 0x11);
    [0x38, 2, 3, 0].iter().for_each(|word| pic.write(0xa1, *word));
    pulse(&mut pic, 10);
    pulse(&mut pic, 11);
    assert_eq!(pic.acknowledge(), 0x3a);
    assert_eq!(pic.state().chips[1].in_service, 0);
    pic.write(0x20, 0x62);
    assert_eq!((pic.pending(), pic.acknowledge()), (true, 0x3b));
}

#[test]
fn priorities_rotate() {
    let mut pic = pic();
    pulse(&mut pic, 3);
    pic.acknowledge();
    pic.write(0x20, 0xa0);
    pulse(&mut pic, 3);
    pulse(&mut pic, 7);
    assert_eq!(pic.acknowledge(), 0x37, "line 3 has the lowest priority now");
    pic.write(0x20, 0xe7);
    pic.write(0x20, 0xc6);
    assert_eq!(pic.state().chips[0].highest, 7);
}

#[test]
fn a_poll_acknowledges() {
    let mut pic = pic();
    pulse(&mut pic, 1);
    pic.write(0x20, 0x0c);
    assert_eq!(pic.read(0x20), 0x81);
    pic.write(0x20, 0x0c);
    assert_eq!(pic.read(0x20), 0);
}

#[test]
fn initialization_forgets_edges_and_keeps_levels() {
    let mut pic = pic();
    pic.write(0x4d0, 0x20);
    pic.set_line(4, true);
    pic.set_line(5, true);
    pic.write(0x20, 0x11);
    assert_eq!(pic.state().chips[0].requested, 0x20);
    pic.set_line(4, true);
    assert_eq!(pic.state().chips[0].requested, 0x20);
}

#[test]
fn a_state_goes_out_and_in_and_a_wrong_one_is_refused() {
    let mut pic = pic();
    pulse(&mut pic, 12);
    let state = pic.state();
    let mut copy = Pic::restore(&state).unwrap();
    assert_eq!((copy.acknowledge(), copy.state() == state), (0x3c, false));
    let spoil = |change: &dyn Fn(&mut PicState)| {
        let mut state = state;
        change(&mut state);
        Pic::restore(&state).is_err()
    };
    assert!(spoil(&|state| state.version = 2));
    assert!(spoil(&|state| state.chips[1].highest = 8));
    assert!(spoil(&|state| state.chips[0].next_word = 5));
}
