//! Pipes and sockets: what each operation leads to, and what holds whatever was done.

use super::sharing::Sharing;
use super::*;
use crate::queue::{SOCKET, USUAL};
use alloc::vec;
use nacre_proto::channel::{INTERNET, InternetName};
use nacre_proto::flags::{END_OWN, END_PEER, SOCK_SEQPACKET};
use nacre_proto::flags::{POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP};

type TestHub = Hub<u32>;

fn send(hub: &mut TestHub, key: u64, data: &[u8]) -> Result<Option<usize>, Errno> {
    send_with(hub, key, (b"", data), vec![])
}

/// Sends to somebody (or, with an empty name, to the other end) with references.
fn send_with(hub: &mut TestHub, key: u64, (to, data): (&[u8], &[u8]), mut references: Vec<u32>) -> Result<Option<usize>, Errno> {
    hub.send(key, &Sending { to: to.to_vec(), data: data.to_vec(), ..Sending::default() }, &mut references)
}

fn wish(size: usize, most: usize) -> ReceiveRequest {
    ReceiveRequest { size, most, ..ReceiveRequest::default() }
}

/// Returns the bytes that a read gets; `None`: it would wait.
fn read(hub: &mut TestHub, key: u64, size: usize) -> Option<Vec<u8>> {
    hub.receive(key, wish(size, 0)).expect("a read").map(|received| received.data)
}

#[test]
fn a_pipe_has_an_end_and_breaks() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    assert_eq!(read(&mut hub, reader, 9), None);
    assert_eq!(send(&mut hub, writer, b"one"), Ok(Some(3)));
    assert_eq!(send(&mut hub, writer, b"two"), Ok(Some(3)));
    assert_eq!(read(&mut hub, reader, 4), Some(b"onet".to_vec()));
    assert_eq!((send(&mut hub, reader, b"x"), hub.receive(writer, wish(1, 0))), (Err(Errno::EBADF), Err(Errno::EBADF)));
    hub.close(writer);
    assert!(hub.touched().contains(&reader));
    assert_eq!((read(&mut hub, reader, 9), read(&mut hub, reader, 9)), (Some(b"wo".to_vec()), Some(vec![])));
    let (reader, writer) = hub.pipe(0).unwrap();
    hub.close(reader);
    assert_eq!(send(&mut hub, writer, b"x"), Err(Errno::EPIPE));
    assert_eq!(hub.events(writer).unwrap() & (POLLERR | POLLOUT), POLLERR | POLLOUT);
}

#[test]
fn small_writes_are_whole_and_large_ones_take_what_room_there_is() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    assert_eq!(send(&mut hub, writer, &[1; USUAL - 100]), Ok(Some(USUAL - 100)));
    assert_eq!(hub.events(writer).unwrap() & POLLOUT, 0, "all pages are in use");
    assert_eq!((send(&mut hub, writer, &[2; 101]), send(&mut hub, writer, &[2; 4197])), (Ok(None), Ok(None)));
    assert_eq!(send(&mut hub, writer, &[2; 4196]), Ok(Some(100)));
    assert_eq!((hub.capacity(writer, 4096), hub.capacity(writer, 2 << 20)), (Err(Errno::EBUSY), Err(Errno::EPERM)));
    assert_eq!(hub.capacity(reader, USUAL + 1), Ok(2 * USUAL));
    assert_eq!(send(&mut hub, writer, &[2; 101]), Ok(Some(101)));
    assert_eq!(hub.waiting(reader), Ok(USUAL + 101));
}

#[test]
fn what_did_not_arrive_is_first_again() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    send(&mut hub, writer, b"abcdef").unwrap();
    let received = hub.receive(reader, wish(3, 0)).unwrap().unwrap();
    hub.put_back(reader, received);
    assert_eq!(hub.waiting(reader), Ok(6));
    assert_eq!(read(&mut hub, reader, 9), Some(b"abcdef".to_vec()));
}

#[test]
fn references_come_with_their_bytes() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_STREAM, 0, [0; 3]).unwrap();
    send(&mut hub, one, b"ab").unwrap();
    send_with(&mut hub, one, (b"", b"cd"), vec![7, 8, 9]).unwrap();
    send(&mut hub, one, b"ef").unwrap();
    let look = hub.receive(two, ReceiveRequest { only_look: true, offset: 1, ..wish(4, 8) }).unwrap().unwrap();
    assert_eq!((&look.data[..], look.references.len()), (&b"bcd"[..], 0), "who looks gets no references, and nothing that comes behind them");
    let first = hub.receive(two, wish(3, 2)).unwrap().unwrap();
    assert_eq!((&first.data[..], first.references, first.is_cut), (&b"abc"[..], vec![7, 8], true));
    assert_eq!((read(&mut hub, two, 9), read(&mut hub, two, 9)), (Some(b"def".to_vec()), None));
    assert_eq!(send_with(&mut hub, one, (b"", b"x"), (0..513).collect()), Err(Errno::ETOOMANYREFS));
    assert_eq!(send(&mut hub, one, b""), Ok(Some(0)));
    send_with(&mut hub, one, (b"", b"yz"), (0..9).collect()).unwrap();
    let first = hub.receive(two, ReceiveRequest { in_parts: true, ..wish(2, 8) }).unwrap().unwrap();
    assert_eq!((first.references.len(), first.has_more), (8, true));
    let rest = hub.receive(two, wish(0, 8)).unwrap().unwrap();
    assert_eq!((rest.references, rest.has_more, read(&mut hub, two, 1)), (vec![8], false, None));
}

#[test]
fn messages_come_and_go_in_parts() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_SEQPACKET, 0, [0; 3]).unwrap();
    let part = |text: &[u8]| Sending { data: text.to_vec(), ..Sending::default() };
    assert_eq!(hub.add_part(one, 0, &part(b"forgotten"), vec![]), Ok(9));
    assert_eq!(hub.add_part(one, 0, &part(b"abc"), vec![1]), Ok(3));
    assert_eq!(hub.add_part(one, 2, &part(b"x"), vec![]), Err(Errno::EINVAL));
    assert_eq!(hub.add_part(one, 1, &part(&[0; SOCKET]), vec![]), Err(Errno::EMSGSIZE));
    let parts = hub.take_parts(one, 1).unwrap();
    assert_eq!((parts.data, parts.references, hub.bytes), (b"abc".to_vec(), vec![1], 0));
    send(&mut hub, one, b"abcdef").unwrap();
    let first = hub.receive(two, ReceiveRequest { in_parts: true, ..wish(4, 0) }).unwrap().unwrap();
    assert_eq!((&first.data[..], first.total, first.has_more), (&b"abcd"[..], 6, true));
    assert_eq!((read(&mut hub, two, 9), read(&mut hub, two, 9)), (Some(b"ef".to_vec()), None));
}

#[test]
fn senders_are_told_apart_by_who_asks() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_STREAM, 0, [0; 3]).unwrap();
    for _ in 0..2 {
        for pid in [3, 4] {
            hub.send(one, &Sending { data: b"x".to_vec(), sender: [pid, 0], ..Sending::default() }, &mut vec![]).unwrap();
        }
    }
    let first = hub.receive(two, ReceiveRequest { is_apart: true, ..wish(9, 0) }).unwrap().unwrap();
    assert_eq!((first.data.len(), first.sender), (1, [3, 0]));
    assert_eq!(read(&mut hub, two, 9).map(|data| data.len()), Some(3));
}

#[test]
fn who_closes_with_bytes_unread_resets() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_STREAM, 0, [0; 3]).unwrap();
    send(&mut hub, one, b"unread").unwrap();
    hub.close(two);
    assert_eq!(hub.events(one).unwrap() & (POLLERR | POLLHUP), POLLERR | POLLHUP);
    assert_eq!(hub.receive(one, wish(1, 0)), Err(Errno::ECONNRESET));
    assert_eq!((read(&mut hub, one, 1), hub.take_error(one)), (Some(vec![]), Ok(None)));
}

#[test]
fn changes_are_counted() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    send(&mut hub, writer, b"x").unwrap();
    let before = hub.changes(reader).unwrap();
    send(&mut hub, writer, b"x").unwrap();
    assert!(hub.changes(reader).unwrap()[0] > before[0]);
    let before = hub.changes(writer).unwrap();
    read(&mut hub, reader, 1);
    assert!(hub.changes(writer).unwrap()[1] > before[1]);
    let before = hub.changes(reader).unwrap();
    hub.close(writer);
    assert!(hub.changes(reader).unwrap()[0] > before[0]);
}

#[test]
fn messages_stay_apart() {
    let mut hub = TestHub::default();
    for kind in [SOCK_SEQPACKET, SOCK_DGRAM] {
        let (one, two) = hub.pair(kind, 0, [0; 3]).unwrap();
        for text in [&b"first"[..], b"", b"third"] {
            assert_eq!(send(&mut hub, one, text), Ok(Some(text.len())));
        }
        let first = hub.receive(two, wish(2, 0)).unwrap().unwrap();
        assert_eq!((&first.data[..], first.total), (&b"fi"[..], 5));
        assert_eq!((read(&mut hub, two, 9), read(&mut hub, two, 9), read(&mut hub, two, 9)), (Some(vec![]), Some(b"third".to_vec()), None));
        assert_eq!(send(&mut hub, one, &[0; SOCKET]), Err(Errno::EMSGSIZE));
        hub.close(two);
        assert!(send(&mut hub, one, b"x").is_err());
        hub.close(one);
    }
    assert_eq!((hub.ends(), hub.queues.len(), hub.bytes, hub.datagrams.len()), (0, 0, 0, 0));
}

#[test]
fn half_closed() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_STREAM, 0, [0; 3]).unwrap();
    send(&mut hub, one, b"last").unwrap();
    hub.shutdown(one, 1).unwrap();
    assert_eq!(send(&mut hub, one, b"x"), Err(Errno::EPIPE));
    assert_eq!((read(&mut hub, two, 9), read(&mut hub, two, 9)), (Some(b"last".to_vec()), Some(vec![])));
    assert_eq!(hub.events(two).unwrap() & (POLLRDHUP | POLLHUP | POLLIN | POLLOUT), POLLRDHUP | POLLIN | POLLOUT);
    assert_eq!(send(&mut hub, two, b"back"), Ok(Some(4)));
    hub.shutdown(one, 0).unwrap();
    assert_eq!(send(&mut hub, two, b"x"), Err(Errno::EPIPE));
    let alone = hub.socket(SOCK_STREAM, 0).unwrap();
    assert_eq!((hub.shutdown(alone, 2), hub.shutdown(two, 3)), (Ok(()), Err(Errno::EINVAL)));
}

#[test]
fn who_listens_is_connected_to() {
    let mut hub = TestHub::default();
    let (server, client) = (hub.socket(SOCK_STREAM, 0).unwrap(), hub.socket(SOCK_STREAM, 0).unwrap());
    assert_eq!((hub.listen(server, 1, [0; 3]), hub.connect(client, b"name", [0; 3])), (Err(Errno::EINVAL), Err(Errno::ECONNREFUSED)));
    hub.bind(server, b"", b"name").unwrap();
    assert_eq!((hub.bind(server, b"", b"other"), hub.bind(client, b"", b"name")), (Err(Errno::EINVAL), Err(Errno::EADDRINUSE)));
    assert_eq!(hub.connect(client, b"name", [0; 3]), Err(Errno::ECONNREFUSED));
    hub.listen(server, 0, [0; 3]).unwrap();
    assert_eq!(hub.accept(server, 0), Ok(None));
    hub.bind(client, b"", b"").unwrap();
    assert_eq!(hub.connect(client, b"name", [0; 3]), Ok(true));
    assert_eq!(hub.events(server).unwrap() & POLLIN, POLLIN);
    let late = hub.socket(SOCK_STREAM, 0).unwrap();
    assert_eq!(hub.connect(late, b"name", [0; 3]), Ok(false));
    assert_eq!(send(&mut hub, client, b"early"), Ok(Some(5)));
    let (accepted, from) = hub.accept(server, 0).unwrap().expect("a connection");
    hub.touched();
    hub.accept_back(server, accepted);
    assert!(hub.touched().contains(&server), "it did not arrive: others may accept it");
    assert_eq!(hub.accept(server, 0), Ok(Some((accepted, from.clone()))));
    assert!(hub.touched().contains(&late), "who waits to connect looks again");
    assert_eq!((hub.name(client, END_OWN), from.first()), (Ok(from.clone()), Some(&0)));
    assert_eq!((hub.name(client, END_PEER), hub.name(late, END_PEER)), (Ok(b"name".to_vec()), Err(Errno::ENOTCONN)));
    assert_eq!(read(&mut hub, accepted, 9), Some(b"early".to_vec()));
    assert_eq!(hub.connect(client, b"name", [0; 3]), Err(Errno::EISCONN));
    assert_eq!(hub.connect(late, b"name", [0; 3]), Ok(true));
    hub.close(server);
    assert_eq!(hub.receive(late, wish(9, 0)), Err(Errno::ECONNRESET), "it was never accepted");
    let odd = hub.socket(SOCK_SEQPACKET, 0).unwrap();
    assert_eq!(hub.connect(odd, b"name", [0; 3]), Err(Errno::ECONNREFUSED), "the name went with the listener");
}

#[test]
fn datagrams_go_where_they_are_sent() {
    let mut hub = TestHub::default();
    let (one, two) = (hub.socket(SOCK_DGRAM, 0).unwrap(), hub.socket(SOCK_DGRAM, 0).unwrap());
    hub.bind(one, b"", b"one").unwrap();
    hub.bind(two, b"", b"two").unwrap();
    assert_eq!(send(&mut hub, one, b"x"), Err(Errno::ENOTCONN));
    assert_eq!(send_with(&mut hub, one, (b"two", b"hello"), vec![5]), Ok(Some(5)));
    let received = hub.receive(two, wish(99, 1)).unwrap().unwrap();
    assert_eq!((&received.from[..], received.references), (&b"one"[..], vec![5]));
    hub.connect(one, b"two", [0; 3]).unwrap();
    assert_eq!(send(&mut hub, one, b"again"), Ok(Some(5)));
    hub.close(two);
    assert_eq!(send(&mut hub, one, b"x"), Err(Errno::ECONNREFUSED));
}

#[test]
fn a_datagram_of_the_internet_to_nobody_is_lost_and_that_is_told_later() {
    let name = |port| InternetName { version: INTERNET, kind: SOCK_DGRAM as u8, address: InternetName::LOOPBACK, port }.bytes();
    let mut hub = TestHub::default();
    let (one, two) = (hub.socket(SOCK_DGRAM, 0).unwrap(), hub.socket(SOCK_DGRAM, 0).unwrap());
    hub.bind(one, &name(7), &name(7)).unwrap();
    // Who knows of both versions asks for the other one, too.
    assert_eq!(hub.connect(one, &name(8), [0; 3]), Err(Errno::ECONNREFUSED));
    assert_eq!(hub.name(one, END_PEER), Ok(name(8)));
    assert_eq!(send(&mut hub, one, b"lost"), Ok(Some(4)));
    assert_ne!(hub.events(one).unwrap() & POLLERR, 0);
    assert_eq!(send(&mut hub, one, b"x"), Err(Errno::ECONNREFUSED));
    assert_eq!(send(&mut hub, one, b"lost"), Ok(Some(4)));
    assert_eq!(hub.receive(one, wish(99, 1)).map(|_| ()), Err(Errno::ECONNREFUSED));
    // It hears whoever comes there, and nobody else.
    let stranger = hub.socket(SOCK_DGRAM, 0).unwrap();
    hub.bind(stranger, &name(9), &name(9)).unwrap();
    assert_eq!(send_with(&mut hub, stranger, (&name(7), b"x"), vec![]), Ok(Some(1)));
    assert_eq!(hub.receive(one, wish(99, 1)).unwrap().map(|_| ()), None);
    // Somebody comes, goes, and comes again.
    for _ in 0..2 {
        let server = hub.socket(SOCK_DGRAM, 0).unwrap();
        hub.bind(server, &name(8), &name(8)).unwrap();
        assert_eq!(send_with(&mut hub, server, (&name(7), b"first"), vec![]), Ok(Some(5)));
        assert_eq!(hub.receive(one, wish(99, 1)).unwrap().unwrap().data, b"first");
        assert_eq!(send(&mut hub, one, b"hello"), Ok(Some(5)));
        assert_eq!(&hub.receive(server, wish(99, 1)).unwrap().unwrap().from[..], name(7));
        hub.close(server);
        assert_eq!((send(&mut hub, one, b"lost"), send(&mut hub, one, b"x")), (Ok(Some(4)), Err(Errno::ECONNREFUSED)));
    }
    // A socket that has no peer, and one of files, are told at once.
    assert_eq!(send_with(&mut hub, two, (&name(8), b"x"), vec![]), Err(Errno::ECONNREFUSED));
    assert_eq!(hub.connect(two, b"nobody", [0; 3]), Err(Errno::ECONNREFUSED));
    assert_eq!(send(&mut hub, two, b"x"), Err(Errno::ENOTCONN));
}

#[test]
fn who_sends_to_a_peer_is_told_of_each_datagram_that_it_takes() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_DGRAM, 0, [0; 3]).unwrap();
    send(&mut hub, one, b"x").unwrap();
    let before = hub.changes(one).unwrap();
    hub.touched();
    assert_eq!(read(&mut hub, two, 9), Some(b"x".to_vec()));
    assert_ne!(hub.changes(one).unwrap(), before);
    assert!(hub.touched().contains(&one), "an edge that it waits for");
    send(&mut hub, one, b"x").unwrap();
    hub.close(one);
    assert_eq!(read(&mut hub, two, 9), Some(b"x".to_vec()));
}

/// A socket of datagrams with room for no more, one that waits to send there, and one whose poll
/// waits for room.
fn full_socket(hub: &mut TestHub) -> (u64, u64, u64) {
    let keys = [b"target", b"sender", b"poller"].map(|name| {
        let key = hub.socket(SOCK_DGRAM, 0).unwrap();
        hub.bind(key, b"", name).unwrap();
        key
    });
    let [target, sender, poller] = keys;
    hub.connect(poller, b"target", [0; 3]).unwrap();
    while send_with(hub, sender, (b"target", b"x"), vec![]) == Ok(Some(1)) {}
    assert_eq!((send(hub, poller, b"x"), hub.events(poller).unwrap() & POLLOUT), (Ok(None), 0));
    hub.hold(sender, (0, 0), true);
    hub.touched();
    (target, sender, poller)
}

#[test]
fn senders_are_told_that_the_receiver_takes_no_datagrams_or_others() {
    type Change = fn(&mut TestHub, u64) -> Result<(), Errno>;
    let shut: Change = |hub, target| hub.shutdown(target, 0);
    let connect: Change = |hub, target| hub.connect(target, b"poller", [0; 3]).map(|_| ());
    for (change, result) in [(shut, Errno::EPIPE), (connect, Errno::EPERM)] {
        let mut hub = TestHub::default();
        let (target, sender, poller) = full_socket(&mut hub);
        change(&mut hub, target).unwrap();
        let touched = hub.touched();
        assert!(touched.contains(&sender) && touched.contains(&poller), "{result:?}");
        assert_eq!(send_with(&mut hub, sender, (b"target", b"x"), vec![]), Err(result));
    }
    let mut hub = TestHub::default();
    let (target, sender, _) = full_socket(&mut hub);
    hub.connect(target, b"", [0; 3]).unwrap();
    assert!(hub.touched().contains(&sender));
}

#[test]
fn a_named_pipe_waits_for_its_other_side() {
    let mut hub = TestHub::default();
    assert_eq!(hub.fifo(O_WRONLY | O_NONBLOCK, b"f"), Err(Errno::ENXIO));
    let reader = hub.fifo(O_RDONLY, b"f").unwrap();
    assert_eq!(hub.is_open(reader), Ok(false));
    let writer = hub.fifo(O_WRONLY, b"f").unwrap();
    assert_eq!((hub.is_open(reader), hub.is_open(writer)), (Ok(true), Ok(true)));
    send(&mut hub, writer, b"x").unwrap();
    assert_eq!(read(&mut hub, reader, 9), Some(b"x".to_vec()));
    hub.close(reader);
    hub.close(writer);
    assert_eq!((hub.fifos.len(), hub.queues.len()), (0, 0));
    // Whoever came first: the reader is told that its writer has gone.
    let writer = hub.fifo(O_WRONLY, b"f").unwrap();
    let readers = [O_RDONLY, O_RDONLY | O_NONBLOCK].map(|flags| hub.fifo(flags, b"f").unwrap());
    hub.close(writer);
    let late = hub.fifo(O_RDONLY | O_NONBLOCK, b"f").unwrap();
    assert_eq!([readers[0], readers[1], late].map(|end| hub.events(end).unwrap() & POLLHUP), [POLLHUP, POLLHUP, 0]);
    for end in [readers[0], readers[1], late] {
        hub.close(end);
    }
    let both = hub.fifo(2, b"f").unwrap();
    assert_eq!((hub.is_open(both), send(&mut hub, both, b"y"), read(&mut hub, both, 9)), (Ok(true), Ok(Some(1)), Some(b"y".to_vec())));
}

/// Checks the invariants.
fn check(hub: &TestHub) {
    let parts = hub.ends.values().filter_map(|end| end.parts.as_ref()).map(Parts::load);
    let all = hub.queues.values().map(Queue::load).chain(parts).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!((hub.bytes, hub.references), all);
    for (key, queue) in &hub.queues {
        assert!(queue.readers.iter().all(|end| hub.ends.get(end).is_some_and(|end| end.incoming == Some(*key))));
        assert!(queue.writers.iter().all(|end| hub.ends.get(end).is_some_and(|end| end.outgoing == Some(*key))));
        assert!(!queue.readers.is_empty() || !queue.writers.is_empty(), "a queue that nobody has");
    }
    assert!(hub.names.iter().all(|(name, end)| hub.ends.get(end).is_some_and(|end| end.key == *name)));
    for (name, all) in &hub.sharers {
        assert!(all.len() > 1 && hub.names.get(name) == all.last());
        assert!(all.iter().all(|end| hub.ends.get(end).is_some_and(|end| end.key == *name)));
    }
    assert!(hub.datagrams.iter().all(|end| hub.ends.contains_key(end)));
}

#[test]
fn whatever_is_done_nothing_is_left_behind() {
    for seed in 1..300u64 {
        let mut state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed);
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut hub = TestHub::default();
        for _ in 0..200 {
            let (key, kind, name) = (1 + below(40), [1, 2, 5, 9][below(4) as usize], [below(3) as u8]);
            let data = vec![0; below(30_000) as usize];
            let flags = below(3) | below(2) * O_NONBLOCK;
            // Most are refused; what counts is what is left.
            let internet = InternetName { version: INTERNET, kind: 1 + below(2) as u8, address: InternetName::LOOPBACK, port: 1 + below(2) as u16 }.bytes();
            match below(18) {
                0 => drop(hub.pipe(flags)),
                1 => drop(hub.pair(kind, flags, [0; 3])),
                2 => drop(hub.socket(kind, flags)),
                3 => drop(hub.fifo(flags, &name)),
                4 => drop(hub.bind(key, &name[..below(2) as usize], &name[..below(2) as usize])),
                5 => drop(hub.listen(key, below(3), [0; 3])),
                6 => drop(hub.connect(key, &name, [0; 3])),
                7 => drop(hub.accept(key, flags)),
                8 => drop(hub.shutdown(key, below(4))),
                9 | 10 => drop(send_with(&mut hub, key, (&name[..below(2) as usize], &data), vec![1; below(4) as usize])),
                11 => drop(hub.receive(key, ReceiveRequest { only_look: below(4) == 0, in_parts: below(2) == 0, ..wish(data.len(), below(3) as usize) })),
                12 => drop(hub.capacity(key, data.len())),
                13 => drop(hub.add_part(key, below(2), &Sending { data, ..Sending::default() }, vec![2])),
                14 => drop(hub.bind_shared(key, &internet, &internet, Sharing::new(below(8), below(2)))),
                15 => drop(hub.connect(key, &internet, [0; 3])),
                16 => drop(send_with(&mut hub, key, (&internet, &data), vec![])),
                _ => hub.close(key),
            }
            check(&hub);
            assert!(hub.ends.keys().all(|key| hub.events(*key).is_ok()));
        }
        let all: Vec<u64> = hub.ends.keys().copied().collect();
        all.into_iter().for_each(|key| hub.close(key));
        assert_eq!((hub.ends(), hub.queues.len(), hub.bytes, hub.names.len(), hub.fifos.len(), hub.datagrams.len(), hub.sharers.len()), (0, 0, 0, 0, 0, 0, 0));
    }
}

#[test]
fn references_of_parts_are_limited_with_those_of_queues() {
    let mut hub = TestHub::default();
    let part = |number: u64| (number, Sending::default());
    let (mut kept, mut ends) = (0, Vec::new());
    while let Ok((one, two)) = hub.pair(SOCK_STREAM, 0, [0; 3]) {
        for (number, sending) in (0..64).map(part) {
            kept += hub.add_part(one, number, &sending, vec![1; 8]).map_or(0, |_| 8);
        }
        ends.extend([one, two]);
    }
    assert_eq!((kept, hub.references), (MAX_REFERENCES, MAX_REFERENCES));
    ends.into_iter().for_each(|end| hub.close(end));
    assert_eq!((hub.references, hub.bytes), (0, 0));
}

#[test]
fn messages_without_bytes_take_memory_too() {
    let mut hub = TestHub::default();
    let (mut sent, mut ends) = (0, Vec::new());
    while let Ok((one, two)) = hub.pair(SOCK_SEQPACKET, 0, [0; 3]) {
        for end in [one, two] {
            let sending = Sending { control: vec![7; CONTROL], ..Sending::default() };
            while hub.send(end, &sending, &mut Vec::new()) == Ok(Some(0)) {
                sent += 1;
            }
        }
        ends.extend([one, two]);
    }
    assert_eq!(sent, MAX_BYTES / PIECE);
    // What is said of references goes with references only.
    assert_eq!(hub.receive(ends[0], wish(9, 9)).unwrap().unwrap().control, b"");
    assert!(hub.queues.values().map(|queue| queue.load().0).sum::<usize>() <= MAX_BYTES);
}

#[test]
fn a_pipe_that_was_emptied_keeps_no_room() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    hub.capacity(writer, MAX_CAPACITY).unwrap();
    assert_eq!(send(&mut hub, writer, &vec![1; MAX_CAPACITY]), Ok(Some(MAX_CAPACITY)));
    assert_eq!(read(&mut hub, reader, MAX_CAPACITY).map(|data| data.len()), Some(MAX_CAPACITY));
    assert!(hub.queues.values().all(|queue| queue.room() <= 16 << 10));
}

#[test]
fn no_end_is_on_its_way_to_itself() {
    let mut hub = TestHub::default();
    let end_of = |reference: &u32| Some(u64::from(*reference));
    let pairs: Vec<(u64, u64)> = (0..3).map(|_| hub.pair(SOCK_STREAM, 0, [0; 3]).unwrap()).collect();
    let [(one, two), (three, four), (five, _)] = pairs[..] else { panic!() };
    let send = |hub: &mut TestHub, from: u64, end: u64| {
        hub.check_cycles(from, Some(b""), &[end as u32], end_of)?;
        send_with(hub, from, (b"", b"x"), vec![end as u32]).map(drop)
    };
    assert_eq!(send(&mut hub, one, two), Err(Errno::ETOOMANYREFS), "where it will be received");
    assert_eq!(send(&mut hub, one, one), Ok(()));
    // Two that are on their way through each other, and through a third.
    assert_eq!(send(&mut hub, one, four), Ok(()));
    assert_eq!(send(&mut hub, five, two), Ok(()));
    assert_eq!(send(&mut hub, three, two), Err(Errno::ETOOMANYREFS));
    assert_eq!(send(&mut hub, three, pairs[2].1), Err(Errno::ETOOMANYREFS));
    // Parts of a message stay with who sends.
    assert_eq!(hub.check_cycles(five, None, &[five as u32], end_of), Err(Errno::ETOOMANYREFS));
    // One that was not accepted yet goes with who listens.
    let (listener, client) = (hub.socket(SOCK_STREAM, 0).unwrap(), hub.socket(SOCK_STREAM, 0).unwrap());
    hub.bind(listener, b"", b"name").unwrap();
    hub.listen(listener, 1, [0; 3]).unwrap();
    assert_eq!(hub.connect(client, b"name", [0; 3]), Ok(true));
    assert_eq!(send(&mut hub, client, listener), Err(Errno::ETOOMANYREFS));
    let (accepted, _) = hub.accept(listener, 0).unwrap().unwrap();
    assert_eq!((send(&mut hub, client, listener), send(&mut hub, client, accepted)), (Ok(()), Err(Errno::ETOOMANYREFS)));
}
