//! Frames that come in parts, or while the card can take none.

use super::*;
use crate::arrivals::{Purpose, purpose};

/// A wire, and sockets of datagrams on both machines. Each knows the other's address.
fn acquainted() -> (Wire, u64, u64) {
    let mut wire = Wire::new(16);
    let server = wire.socket(0, SOCK_DGRAM, 53, InternetName::ANY);
    let client = wire.socket(1, SOCK_DGRAM, 40_000, InternetName::ANY);
    wire.hub(1).connect(client, &name(SOCK_DGRAM, address(1), 53), [0; 3]).unwrap();
    wire.send(1, client, b"first").unwrap();
    wire.run(5);
    assert_eq!(wire.receive(0, server), Ok(Some(b"first".to_vec())));
    (wire, server, client)
}

/// Sends a datagram and returns its frames.
fn frames(wire: &mut Wire, client: u64, size: usize) -> alloc::vec::Vec<alloc::vec::Vec<u8>> {
    wire.send(1, client, &alloc::vec![7; size]).unwrap();
    let Machine { hub, stack } = &mut wire.machines[1];
    stack.turn(hub, &BTreeSet::new(), wire.now);
    stack.leaving().drain(..).collect()
}

fn turn(wire: &mut Wire) {
    let Machine { hub, stack } = &mut wire.machines[0];
    stack.turn(hub, &BTreeSet::new(), wire.now);
}

fn arrive(wire: &mut Wire, frame: &[u8]) {
    let Machine { hub, stack } = &mut wire.machines[0];
    stack.arrive(hub, frame);
}

fn own(number: u8) -> crate::arrivals::Own {
    crate::arrivals::Own { four: address(number), six: None }
}

#[test]
fn the_last_part_of_a_datagram_may_come_in_a_later_turn() {
    let (mut wire, server, client) = acquainted();
    let all = frames(&mut wire, client, 9000);
    let (last, first) = all.split_last().unwrap();
    assert!(first.len() > 3);
    first.iter().for_each(|frame| arrive(&mut wire, frame));
    turn(&mut wire);
    assert_eq!(wire.receive(0, server), Ok(None));
    arrive(&mut wire, last);
    turn(&mut wire);
    assert_eq!(wire.receive(0, server).unwrap().map(|data| data.len()), Some(9000));
}

#[test]
fn a_datagram_that_comes_while_the_card_is_full_is_taken_later() {
    let (mut wire, server, client) = acquainted();
    let all = frames(&mut wire, client, 5);
    wire.machines[0].stack.leaving().resize(256, alloc::vec![0; 60]);
    all.iter().for_each(|frame| arrive(&mut wire, frame));
    turn(&mut wire);
    assert_eq!(wire.receive(0, server), Ok(None));
    assert!(wire.machines[0].stack.has_arrived());
    wire.machines[0].stack.leaving().clear();
    turn(&mut wire);
    assert_eq!(wire.receive(0, server).unwrap().map(|data| data.len()), Some(5));
}

/// A frame with a question for a connection, of a packet with this word of flags and offset.
fn question(parts: u16) -> alloc::vec::Vec<u8> {
    let mut frame = alloc::vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9, 9, 8, 0];
    frame.extend([0x45, 0, 0, 40, 0, 0]);
    frame.extend(parts.to_be_bytes());
    frame.extend([64, 6, 0, 0]);
    frame.extend([address(77), address(1)].concat());
    frame.extend([100, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0]);
    fill_sums(&mut frame);
    frame
}

#[test]
fn segments_in_parts_are_dropped() {
    assert!(matches!(purpose(&question(0x4000), own(1)), Some(Purpose::Segment { asks: true, .. })));
    // The first part, one between, and the last one.
    for parts in [0x2000, 0x2005, 5] {
        assert_eq!(purpose(&question(parts), own(1)), Some(Purpose::TooEarly));
        assert_eq!(purpose(&question(parts), own(2)), None, "it is for another machine");
    }
    let mut wire = Wire::new(16);
    let listener = wire.socket(0, SOCK_STREAM, 80, InternetName::ANY);
    wire.hub(0).listen(listener, 8, [0; 3]).unwrap();
    arrive(&mut wire, &question(0x2000));
    assert_eq!((wire.machines[0].stack.connections(), wire.machines[0].stack.has_arrived()), (0, false));
    arrive(&mut wire, &question(0));
    assert_eq!((wire.machines[0].stack.connections(), wire.machines[0].stack.has_arrived()), (1, true));
}
