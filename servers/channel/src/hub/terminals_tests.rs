//! Tests of pseudo-terminals.

use super::*;

#[test]
fn no_account_takes_all_terminals() {
    let mut hub: Hub<u64> = Hub::default();
    for account in 1..7 {
        hub.charge_to(account);
        let made = core::iter::from_fn(|| hub.terminal(0).ok()).count();
        assert!(made > 0 && made <= MAX_TERMINALS / 2, "{account} has {made}");
    }
}

fn terminal() -> (Hub<u8>, u64, u64) {
    let mut hub = Hub::default();
    let (number, master) = hub.terminal(2).unwrap();
    assert_eq!(hub.terminal_open(number, 2), Err(Errno::EIO), "locked");
    hub.terminal_lock(master, false).unwrap();
    let slave = hub.terminal_open(number, 2).unwrap();
    (hub, master, slave)
}

fn read(hub: &mut Hub<u8>, key: u64) -> Result<Option<Vec<u8>>, Errno> {
    hub.receive(key, ReceiveRequest { size: 100, ..ReceiveRequest::default() }).map(|received| received.map(|received| received.data))
}

#[test]
fn lines_go_one_way_and_the_screen_the_other() {
    let (mut hub, master, slave) = terminal();
    assert_eq!(read(&mut hub, slave), Ok(None));
    assert_eq!(hub.terminal_send(master, b"ab\x7fc\n\x03", false), Ok(Some(6)));
    assert_eq!(read(&mut hub, slave), Ok(None), "the key for a signal drops what was typed");
    assert_eq!(hub.terminal_told().len(), 1);
    hub.terminal_send(master, b"xy\n", false).unwrap();
    let received = hub.receive(slave, ReceiveRequest { size: 2, ..ReceiveRequest::default() }).unwrap().unwrap();
    assert_eq!((&received.data[..], received.has_more), (&b"xy"[..], true));
    hub.put_back(slave, received);
    assert_eq!(read(&mut hub, slave), Ok(Some(b"xy\n".to_vec())));
    hub.terminal_send(slave, b"out\n", false).unwrap();
    let screen = read(&mut hub, master).unwrap().unwrap();
    assert!(screen.ends_with(b"xy\r\nout\r\n"));
}

#[test]
fn what_has_no_room_waits_and_nothing_grows_beyond_bounds() {
    let (mut hub, master, slave) = terminal();
    let mut taken = 0;
    while let Some(count) = hub.terminal_send(slave, &[b'\t'; 5000], false).unwrap() {
        taken += count;
    }
    assert_eq!(taken, SCREEN);
    let raw = Attributes { local: 0, ..hub.attributes(slave).unwrap() };
    hub.set_attributes(slave, 0, raw).unwrap();
    let mut typed = 0;
    while let Some(count) = hub.terminal_send(master, &[b'k'; 5000], false).unwrap() {
        typed += count;
    }
    assert!(typed >= TYPED && typed <= TYPED + 4096);
    let mut read_back = 0;
    while let Ok(Some(data)) = read(&mut hub, slave) {
        read_back += data.len();
    }
    assert_eq!(read_back, typed);
}

#[test]
fn output_waits_from_one_key_to_the_other() {
    let (mut hub, master, slave) = terminal();
    hub.terminal_send(slave, b"a", false).unwrap();
    hub.terminal_send(master, b"\x13k", false).unwrap();
    assert_eq!((hub.terminal_send(slave, b"b", false), hub.terminal_events(slave)), (Ok(None), Ok(0)));
    assert_eq!(read(&mut hub, master), Ok(Some(b"a".to_vec())), "the echo waits, too");
    assert_eq!(read(&mut hub, master), Ok(None));
    hub.terminal_send(master, b"\x11", false).unwrap();
    assert_eq!(hub.terminal_send(slave, b"b", false), Ok(Some(1)));
    assert_eq!(read(&mut hub, master), Ok(Some(b"kb".to_vec())));
    // What a call has stopped no key starts, and a key for a signal starts what a key has stopped.
    hub.flow(slave, 0).unwrap();
    hub.terminal_send(master, b"\x11", false).unwrap();
    assert_eq!(hub.terminal_send(slave, b"b", false), Ok(None));
    hub.flow(slave, 1).unwrap();
    hub.terminal_send(master, b"\x13\x03", false).unwrap();
    assert_eq!(hub.terminal_send(slave, b"b", false), Ok(Some(1)));
    assert_eq!(read(&mut hub, master), Ok(Some(b"^Cb".to_vec())));
    hub.flow(slave, 2).unwrap();
    assert_eq!(read(&mut hub, master), Ok(Some(b"\x13".to_vec())));
    assert_eq!(hub.flow(slave, 4), Err(Errno::EINVAL));
    // Without flow control both are keys like others, and nothing stays stopped.
    hub.terminal_send(master, b"\x13", false).unwrap();
    let plain = Attributes { input: 0, local: 0, ..hub.attributes(slave).unwrap() };
    hub.set_attributes(slave, 0, plain).unwrap();
    hub.terminal_send(master, b"\x13", false).unwrap();
    assert_eq!(hub.terminal_send(slave, b"b", false), Ok(Some(1)));
    assert!(read(&mut hub, slave).unwrap().unwrap().ends_with(b"\x13"));
}

#[test]
fn who_is_left_alone_learns_it() {
    let (mut hub, master, slave) = terminal();
    hub.terminal_send(slave, b"left", false).unwrap();
    hub.close(slave);
    assert_eq!(read(&mut hub, master), Ok(Some(b"left".to_vec())));
    assert_eq!(read(&mut hub, master), Err(Errno::EIO));
    let slave = hub.terminal_open(0, 2).unwrap();
    assert_eq!(read(&mut hub, master), Ok(None));
    hub.close(master);
    assert_eq!(read(&mut hub, slave), Ok(Some(Vec::new())));
    assert_eq!(hub.terminal_send(slave, b"x", false), Err(Errno::EIO));
    assert_eq!((hub.attributes(slave), hub.terminal_open(0, 2)), (Err(Errno::EIO), Err(Errno::ENOENT)));
    assert_eq!(hub.terminal_told().last().unwrap().1, TERMINAL_HANGUP);
    // A new one has the number, and is another.
    let (number, _) = hub.terminal(2).unwrap();
    assert_eq!((number, hub.window(slave)), (0, Err(Errno::EIO)));
}

#[test]
fn random_ends_never_break_the_books() {
    let mut hub: Hub<u8> = Hub::default();
    let (mut ends, mut random) = (Vec::new(), 9u64);
    for _ in 0..20_000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (what, value) = (random >> 33 & 15, random >> 40 & 0xff);
        let end = ends.get(value as usize % ends.len().max(1)).copied().unwrap_or(0);
        match what {
            0 if value & 8 != 0 => drop(hub.packets(end, value & 3)),
            0 => ends.extend(hub.terminal(value).map(|(_, master)| master)),
            1 => ends.extend(hub.terminal_open(value & 3, value)),
            2 => hub.close(end),
            3 => drop(hub.terminal_lock(end, value & 1 != 0)),
            4 => drop(hub.set_attributes(end, value & 3, Attributes { local: (random >> 32) as u32, ..Attributes::of_pair() })),
            5 if value & 4 != 0 => drop(hub.flow(end, value & 3)),
            5 => drop(hub.flush(end, value & 3)),
            6..=9 => drop(hub.send(end, &crate::hub::Sending { data: alloc::vec![value as u8; value as usize], ..Default::default() }, &mut Vec::new())),
            _ => drop(hub.receive(end, ReceiveRequest { size: value as usize, ..ReceiveRequest::default() })),
        }
        hub.touched();
        for (_, pair) in &hub.terminals {
            assert!(pair.typed.len() <= TYPED && pair.screen.len() <= MAX_ECHO + 8 * SCREEN);
            assert!(hub.ends.contains_key(&pair.master) && pair.slaves.iter().all(|slave| hub.ends.contains_key(slave)));
        }
    }
}
