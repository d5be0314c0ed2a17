//! Pipes and sockets: what each operation leads to, and what holds whatever was done.

use super::*;
use crate::queue::USUAL;
use alloc::vec;
use nacre_proto::flags::{END_OWN, END_PEER, SOCK_SEQPACKET};

type TestHub = Hub<u32>;

fn send(hub: &mut TestHub, key: u64, data: &[u8]) -> Result<Option<usize>, Errno> {
    hub.send(key, &[], data, &mut Vec::new())
}

/// What a read gets; `None`: it would wait.
fn read(hub: &mut TestHub, key: u64, size: usize) -> Option<Vec<u8>> {
    hub.receive(key, size, 0, false).expect("a read").map(|received| received.data)
}

#[test]
fn a_pipe_has_an_end_and_breaks() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    assert_eq!(read(&mut hub, reader, 9), None);
    assert_eq!(send(&mut hub, writer, b"one"), Ok(Some(3)));
    assert_eq!(send(&mut hub, writer, b"two"), Ok(Some(3)));
    assert_eq!(read(&mut hub, reader, 4), Some(b"onet".to_vec()));
    assert_eq!((send(&mut hub, reader, b"x"), hub.receive(writer, 1, 0, false)), (Err(Errno::EBADF), Err(Errno::EBADF)));
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
    assert_eq!(send(&mut hub, writer, &[2; 101]), Ok(None));
    assert_eq!(hub.events(writer).unwrap() & POLLOUT, 0);
    assert_eq!(send(&mut hub, writer, &[2; 4097]), Ok(Some(100)));
    assert_eq!(send(&mut hub, writer, &[2; 4097]), Ok(None));
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
    let received = hub.receive(reader, 3, 0, false).unwrap().unwrap();
    hub.put_back(reader, received);
    assert_eq!(hub.waiting(reader), Ok(6));
    assert_eq!(read(&mut hub, reader, 9), Some(b"abcdef".to_vec()));
}

#[test]
fn references_come_with_their_bytes() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_STREAM, 0).unwrap();
    send(&mut hub, one, b"ab").unwrap();
    hub.send(one, &[], b"cd", &mut vec![7, 8, 9]).unwrap();
    send(&mut hub, one, b"ef").unwrap();
    let first = hub.receive(two, 99, 8, false).unwrap().unwrap();
    assert_eq!((&first.data[..], first.references.len()), (&b"ab"[..], 0));
    assert!(hub.receive(two, 1, 8, true).unwrap().unwrap().references.is_empty(), "who looks gets none");
    let second = hub.receive(two, 1, 2, false).unwrap().unwrap();
    assert_eq!((&second.data[..], second.references, second.is_cut), (&b"c"[..], vec![7, 8], true));
    assert_eq!((read(&mut hub, two, 9), read(&mut hub, two, 9)), (Some(b"def".to_vec()), None));
    assert_eq!(hub.send(one, &[], b"x", &mut (0..65).collect()), Err(Errno::ETOOMANYREFS));
    assert_eq!(hub.send(one, &[], b"", &mut vec![]), Ok(Some(0)));
}

#[test]
fn messages_stay_apart() {
    let mut hub = TestHub::default();
    for kind in [SOCK_SEQPACKET, SOCK_DGRAM] {
        let (one, two) = hub.pair(kind, 0).unwrap();
        for text in [&b"first"[..], b"", b"third"] {
            assert_eq!(send(&mut hub, one, text), Ok(Some(text.len())));
        }
        let first = hub.receive(two, 2, 0, false).unwrap().unwrap();
        assert_eq!((&first.data[..], first.total), (&b"fi"[..], 5));
        assert_eq!((read(&mut hub, two, 9), read(&mut hub, two, 9), read(&mut hub, two, 9)), (Some(vec![]), Some(b"third".to_vec()), None));
        assert_eq!(send(&mut hub, one, &[0; USUAL + 1]), Err(Errno::EMSGSIZE));
        hub.close(two);
        assert!(send(&mut hub, one, b"x").is_err());
        hub.close(one);
    }
    assert_eq!((hub.count(), hub.queues.len(), hub.bytes, hub.datagrams.len()), (0, 0, 0, 0));
}

#[test]
fn half_closed() {
    let mut hub = TestHub::default();
    let (one, two) = hub.pair(SOCK_STREAM, 0).unwrap();
    send(&mut hub, one, b"last").unwrap();
    hub.shutdown(one, 1).unwrap();
    assert_eq!(send(&mut hub, one, b"x"), Err(Errno::EPIPE));
    assert_eq!((read(&mut hub, two, 9), read(&mut hub, two, 9)), (Some(b"last".to_vec()), Some(vec![])));
    assert_eq!(hub.events(two).unwrap() & (POLLRDHUP | POLLHUP | POLLIN | POLLOUT), POLLRDHUP | POLLIN | POLLOUT);
    assert_eq!(send(&mut hub, two, b"back"), Ok(Some(4)));
    hub.shutdown(one, 0).unwrap();
    assert_eq!(send(&mut hub, two, b"x"), Err(Errno::EPIPE));
    let alone = hub.socket(SOCK_STREAM, 0).unwrap();
    assert_eq!((hub.shutdown(alone, 2), hub.shutdown(two, 3)), (Err(Errno::ENOTCONN), Err(Errno::EINVAL)));
}

#[test]
fn who_listens_is_connected_to() {
    let mut hub = TestHub::default();
    let (server, client) = (hub.socket(SOCK_STREAM, 0).unwrap(), hub.socket(SOCK_STREAM, 0).unwrap());
    assert_eq!((hub.listen(server, 1), hub.connect(client, b"name")), (Err(Errno::EINVAL), Err(Errno::ECONNREFUSED)));
    hub.bind(server, b"name").unwrap();
    assert_eq!((hub.bind(server, b"other"), hub.bind(client, b"name")), (Err(Errno::EINVAL), Err(Errno::EADDRINUSE)));
    assert_eq!(hub.connect(client, b"name"), Err(Errno::ECONNREFUSED));
    hub.listen(server, 0).unwrap();
    assert_eq!(hub.accept(server, 0), Ok(None));
    hub.bind(client, b"").unwrap();
    assert_eq!(hub.connect(client, b"name"), Ok(true));
    assert_eq!(hub.connect(client, b"name"), Err(Errno::EISCONN));
    assert_eq!(hub.events(server).unwrap() & POLLIN, POLLIN);
    let late = hub.socket(SOCK_STREAM, 0).unwrap();
    assert_eq!(hub.connect(late, b"name"), Ok(false));
    assert_eq!(send(&mut hub, client, b"early"), Ok(Some(5)));
    hub.touched();
    let (accepted, from) = hub.accept(server, 0).unwrap().expect("a connection");
    assert!(hub.touched().contains(&late), "who waits to connect looks again");
    assert_eq!((hub.name(client, END_OWN), from.first()), (Ok(from.clone()), Some(&0)));
    assert_eq!((hub.name(client, END_PEER), hub.name(late, END_PEER)), (Ok(b"name".to_vec()), Err(Errno::ENOTCONN)));
    assert_eq!(read(&mut hub, accepted, 9), Some(b"early".to_vec()));
    assert_eq!(hub.connect(late, b"name"), Ok(true));
    hub.close(server);
    assert_eq!(read(&mut hub, late, 9), Some(vec![]), "it was never accepted");
    let odd = hub.socket(SOCK_SEQPACKET, 0).unwrap();
    assert_eq!(hub.connect(odd, b"name"), Err(Errno::ECONNREFUSED), "the name went with the listener");
}

#[test]
fn datagrams_go_where_they_are_sent() {
    let mut hub = TestHub::default();
    let (one, two) = (hub.socket(SOCK_DGRAM, 0).unwrap(), hub.socket(SOCK_DGRAM, 0).unwrap());
    hub.bind(one, b"one").unwrap();
    hub.bind(two, b"two").unwrap();
    assert_eq!(send(&mut hub, one, b"x"), Err(Errno::ENOTCONN));
    assert_eq!(hub.send(one, b"two", b"hello", &mut vec![5]), Ok(Some(5)));
    let received = hub.receive(two, 99, 1, false).unwrap().unwrap();
    assert_eq!((&received.from[..], received.references), (&b"one"[..], vec![5]));
    hub.connect(one, b"two").unwrap();
    assert_eq!(send(&mut hub, one, b"again"), Ok(Some(5)));
    hub.close(two);
    assert_eq!(send(&mut hub, one, b"x"), Err(Errno::ECONNREFUSED));
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
    let both = hub.fifo(2, b"f").unwrap();
    assert_eq!((hub.is_open(both), send(&mut hub, both, b"y"), read(&mut hub, both, 9)), (Ok(true), Ok(Some(1)), Some(b"y".to_vec())));
}

/// What holds whatever was done.
fn check(hub: &TestHub) {
    assert_eq!(hub.bytes, hub.queues.values().map(Queue::bytes).sum::<usize>());
    for (key, queue) in &hub.queues {
        assert!(queue.readers.iter().all(|end| hub.ends.get(end).is_some_and(|end| end.incoming == Some(*key))));
        assert!(queue.writers.iter().all(|end| hub.ends.get(end).is_some_and(|end| end.outgoing == Some(*key))));
        assert!(!queue.readers.is_empty() || !queue.writers.is_empty(), "a queue that nobody has");
    }
    assert!(hub.names.iter().all(|(name, end)| hub.ends.get(end).is_some_and(|end| end.name == *name)));
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
            match below(14) {
                0 => drop(hub.pipe(flags)),
                1 => drop(hub.pair(kind, flags)),
                2 => drop(hub.socket(kind, flags)),
                3 => drop(hub.fifo(flags, &name)),
                4 => drop(hub.bind(key, &name[..below(2) as usize])),
                5 => drop(hub.listen(key, below(3))),
                6 => drop(hub.connect(key, &name)),
                7 => drop(hub.accept(key, flags)),
                8 => drop(hub.shutdown(key, below(4))),
                9 | 10 => drop(hub.send(key, &name[..below(2) as usize], &data, &mut vec![1; below(4) as usize])),
                11 => drop(hub.receive(key, data.len(), below(3) as usize, below(4) == 0)),
                12 => drop(hub.capacity(key, data.len())),
                _ => hub.close(key),
            }
            check(&hub);
            assert!(hub.ends.keys().all(|key| hub.events(*key).is_ok()));
        }
        let all: Vec<u64> = hub.ends.keys().copied().collect();
        all.into_iter().for_each(|key| hub.close(key));
        assert_eq!((hub.count(), hub.queues.len(), hub.bytes, hub.names.len(), hub.fifos.len(), hub.datagrams.len()), (0, 0, 0, 0, 0, 0));
    }
}
