//! Many sockets and connections at once.

use super::*;

#[test]
fn a_datagram_to_the_outside_wakes_nobody_who_does_not_wait() {
    let mut wire = Wire::new(16);
    let clients: alloc::vec::Vec<u64> = (0..100).map(|number| wire.socket(1, SOCK_DGRAM, 40_000 + number, InternetName::ANY)).collect();
    let connect = |wire: &mut Wire, key| wire.hub(1).connect(key, &name(SOCK_DGRAM, address(1), 53), [0; 3]);
    clients.iter().for_each(|client| assert_eq!(connect(&mut wire, *client), Ok(true)));
    wire.run(1);
    wire.hub(1).touched();
    assert_eq!(wire.send(1, clients[0], b"alone"), Ok(Some(5)));
    let Machine { hub, stack } = &mut wire.machines[1];
    stack.turn(hub, &BTreeSet::new(), wire.now);
    assert!(hub.touched().is_empty());
    // Once there was no room, a poll may wait for some at any of them.
    let taken = clients.iter().take_while(|client| wire.send(1, **client, b"all") == Ok(Some(3))).count();
    assert_eq!((taken, wire.hub(1).events(clients[0]).unwrap() & POLLOUT), (64, 0));
    let Machine { hub, stack } = &mut wire.machines[1];
    hub.hold(clients[99], (3, 0), true);
    stack.turn(hub, &BTreeSet::new(), wire.now);
    assert_eq!(hub.touched().len(), 100);
    // Of others only those look again that wait.
    let server = wire.socket(1, SOCK_DGRAM, 53, InternetName::ANY);
    let sending = Sending { data: b"x".to_vec(), to: name(SOCK_DGRAM, InternetName::LOOPBACK, 53), ..Sending::default() };
    let sender = wire.socket(1, SOCK_DGRAM, 54, InternetName::ANY);
    wire.hub(1).send(sender, &sending, &mut alloc::vec::Vec::new()).unwrap();
    wire.hub(1).touched();
    wire.hub(1).hold(clients[7], (0, 0), true);
    assert_eq!(wire.receive(1, server), Ok(Some(b"x".to_vec())));
    let touched = wire.hub(1).touched();
    assert!(touched.contains(&clients[7]) && touched.is_subset(&[server, clients[7]].into()));
}

#[test]
fn connections_take_turns_at_a_card_that_is_full() {
    let mut wire = Wire::new(32);
    let pairs: alloc::vec::Vec<(u64, u64)> = (0..16).map(|number| wire.connection_from(80 + number, 40_000 + number)).collect();
    let mut come = [0; 16];
    for turn in 0..40 {
        pairs.iter().for_each(|(client, _)| while wire.send(1, *client, &[7; 16_000]).unwrap().is_some() {});
        wire.run(1);
        for (place, (_, server)) in pairs.iter().enumerate() {
            while let Some(data) = wire.receive(0, *server).unwrap() {
                come[place] += data.len();
            }
        }
        assert!(turn < 20 || come.iter().all(|bytes| *bytes > 0), "{come:?}");
    }
    assert!(come.iter().max() < come.iter().min().map(|least| 4 * least).as_ref(), "{come:?}");
}
