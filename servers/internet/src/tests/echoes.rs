//! Messages of ICMP on the wire.

use super::*;
use nacre_proto::channel::ECHO;

const ASK: [u8; 12] = [8, 0, 0, 0, 0, 0, 0, 7, b'd', b'a', b't', b'a'];

fn socket(wire: &mut Wire, port: u16) -> u64 {
    let key = wire.hub(1).socket(SOCK_DGRAM, 0).unwrap();
    let names = [InternetName::LOOPBACK, InternetName::ANY].map(|address| name(ECHO.into(), address, port));
    wire.hub(1).bind(key, &names[0], &names[1]).unwrap();
    key
}

/// Asks a machine for an echo.
fn ask(wire: &mut Wire, key: u64, to: [u8; 4]) {
    let sending = Sending { to: name(ECHO.into(), to, 64), data: ASK.to_vec(), ..Sending::default() };
    assert_eq!(wire.hub(1).send(key, &sending, &mut alloc::vec::Vec::new()), Ok(Some(ASK.len())));
}

#[test]
fn an_address_without_a_machine_holds_echoes_for_three_seconds() {
    let mut wire = Wire::new(16);
    let key = socket(&mut wire, 77);
    ask(&mut wire, key, address(1));
    wire.run(5);
    assert!(wire.receive(1, key).unwrap().is_some());
    ask(&mut wire, key, address(9));
    wire.run(2900);
    ask(&mut wire, key, address(1));
    wire.run(5);
    assert_eq!(wire.receive(1, key), Ok(None), "it waits behind the other one");
    wire.run(200);
    ask(&mut wire, key, address(1));
    wire.run(5);
    assert!(wire.receive(1, key).unwrap().is_some());
    // A socket that goes does not leave what it could not send.
    ask(&mut wire, key, address(9));
    wire.run(1);
    wire.hub(1).close(key);
    wire.run(3100);
    let key = socket(&mut wire, 78);
    ask(&mut wire, key, address(1));
    wire.run(5);
    assert!(wire.receive(1, key).unwrap().is_some());
}

#[test]
fn a_machine_wakes_in_time_to_drop_what_waits() {
    let mut wire = Wire::new(16);
    let key = socket(&mut wire, 77);
    wire.now = 1_234_567;
    ask(&mut wire, key, address(9));
    let Machine { hub, stack } = &mut wire.machines[1];
    stack.turn(hub, &BTreeSet::new(), wire.now);
    let (began, mut wakes) = (wire.now, 0);
    while let Some(delay) = stack.patience(wire.now) {
        wire.now += delay;
        wakes += 1;
        stack.turn(hub, &BTreeSet::new(), wire.now);
        assert!(wakes < 8, "it has nothing to do any more");
    }
    assert_eq!(wire.now - began, 3000 * MILLISECOND);
}
