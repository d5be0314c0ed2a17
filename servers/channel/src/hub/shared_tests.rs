//! A pipe that processes share behaves as one that is served by messages, whoever does what.

use super::*;
use crate::pages::PAGE;
use alloc::boxed::Box;
use alloc::vec;
use core::sync::atomic::AtomicU64;
use nacre_proto::flags::{SOCK_STREAM, WAY_IN, WAY_OUT};
use nacre_sys::ring::{self, LEFT, Ring, Side};

type TestHub = Hub<u32>;

/// A member's number.
const USER: u64 = 1 << 40;

/// A plain generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

fn share(hub: &mut TestHub, key: u64) -> Ring {
    try_share(hub, key).unwrap()
}

fn try_share(hub: &mut TestHub, key: u64) -> Result<Ring, Errno> {
    let places = hub.places(key, WAY_IN).unwrap();
    let words: &'static [AtomicU64] = Box::leak((0..ring::size(places) / 8 + 8).map(|_| AtomicU64::new(0)).collect());
    let ring = Ring::within(words, places).unwrap();
    let number = hub.key();
    hub.share(key, WAY_IN, ring, number)?;
    assert_eq!(hub.ring(key, WAY_IN), Ok(Some(number)));
    Ok(ring)
}

fn send(hub: &mut TestHub, key: u64, data: &[u8]) -> Option<usize> {
    hub.send(key, &Sending { data: data.to_vec(), ..Sending::default() }, &mut vec![]).unwrap()
}

fn receive(hub: &mut TestHub, key: u64, size: usize, only_look: bool) -> Option<Vec<u8>> {
    hub.receive(key, ReceiveRequest { size, only_look, ..ReceiveRequest::default() }).unwrap().map(|received| received.data)
}

fn put(ring: &Ring, data: &[u8], is_packet: bool) -> Option<usize> {
    assert!(ring.lock(USER));
    let count = ring.put(data, is_packet).unwrap();
    assert!(!ring.unlock());
    count
}

fn take(ring: &Ring, size: usize) -> Option<Vec<u8>> {
    let mut into = vec![0; size];
    let (count, _) = ring.take(&mut into).unwrap()?;
    into.truncate(count);
    Some(into)
}

/// Bytes, for a comparison whose failure can be read.
fn short(data: Option<Vec<u8>>) -> Option<(usize, Vec<u8>, u64)> {
    data.map(|data| (data.len(), data.iter().take(8).copied().collect(), data.iter().fold(0, |sum, byte| sum * 31 % 65521 + u64::from(*byte))))
}

/// Two pipes with which the same is done, of which one is shared now and then.
struct Twins {
    hubs: [TestHub; 2],
    ends: [(u64, u64); 2],
    ring: Option<Ring>,
    is_packet: bool,
}

impl Twins {
    fn new() -> Twins {
        let mut hubs = [TestHub::default(), TestHub::default()];
        let ends = hubs.each_mut().map(|hub| hub.pipe(0).unwrap());
        Twins { hubs, ends, ring: None, is_packet: false }
    }

    fn both<T>(&mut self, mut act: impl FnMut(&mut TestHub, (u64, u64)) -> T) -> [T; 2] {
        let [first, second] = &mut self.hubs;
        [act(first, self.ends[0]), act(second, self.ends[1])]
    }

    fn write(&mut self, data: &[u8], directly: bool) {
        let there = match self.ring.filter(|_| directly) {
            Some(ring) => put(&ring, data, self.is_packet),
            None => send(&mut self.hubs[0], self.ends[0].1, data),
        };
        assert_eq!(there, send(&mut self.hubs[1], self.ends[1].1, data), "{} bytes, directly {directly}", data.len());
    }

    fn read(&mut self, size: usize, directly: bool) {
        let there = match self.ring.filter(|_| directly) {
            Some(ring) => take(&ring, size),
            None => receive(&mut self.hubs[0], self.ends[0].0, size, false),
        };
        assert_eq!(short(there), short(receive(&mut self.hubs[1], self.ends[1].0, size, false)), "{size} bytes, directly {directly}");
    }

    fn resize(&mut self, size: usize) {
        let [there, here] = self.both(|hub, (reader, _)| hub.capacity(reader, size));
        assert_eq!(there, here);
        if self.ring.is_some_and(|ring| ring.state() & LEFT != 0) {
            self.ring = None;
            let key = self.ends[0].0;
            assert_eq!(self.hubs[0].ring(key, WAY_IN), Ok(None));
        }
    }

    fn compare(&mut self) {
        let [there, here] = self.both(|hub, (reader, writer)| (hub.waiting(reader), hub.events(reader), hub.events(writer)));
        assert_eq!(there, here);
    }
}

#[test]
fn whoever_does_what_a_shared_pipe_is_as_any_other() {
    let mut numbers = Numbers(11);
    for _ in 0..60 {
        let mut twins = Twins::new();
        for step in 0..400u64 {
            let directly = numbers.below(2) == 0;
            let size = if numbers.below(3) == 0 { numbers.below(9000) } else { numbers.below(300) } as usize + 1;
            match numbers.below(16) {
                0..=6 => twins.write(&vec![step as u8; size], directly),
                7..=12 => twins.read(size, directly),
                13 => {
                    let [there, here] = twins.both(|hub, (reader, _)| receive(hub, reader, size, true));
                    assert_eq!(short(there), short(here));
                }
                14 if numbers.below(4) == 0 => twins.resize(PAGE << numbers.below(6)),
                14 => {
                    twins.is_packet = numbers.below(8) == 0;
                    let flags = if twins.is_packet { O_DIRECT } else { 0 };
                    twins.both(|hub, (_, writer)| hub.set_flags(writer, flags).unwrap());
                }
                _ if twins.ring.is_none() => twins.ring = Some(share(&mut twins.hubs[0], twins.ends[0].0)),
                _ => {}
            }
            twins.compare();
        }
    }
}

#[test]
fn what_did_not_arrive_comes_first_again() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    let ring = share(&mut hub, reader);
    send(&mut hub, writer, b"first second");
    let received = hub.receive(reader, ReceiveRequest { size: 6, ..ReceiveRequest::default() }).unwrap().unwrap();
    hub.put_back(reader, received);
    assert_eq!(ring.state(), ring::ASK);
    assert_eq!((hub.waiting(reader), receive(&mut hub, reader, 99, false)), (Ok(12), Some(b"first ".to_vec())));
    assert_eq!((ring.state(), take(&ring, 99)), (0, Some(b"second".to_vec())));
}

#[test]
fn whoever_waits_is_called_when_the_other_side_goes_or_its_user_dies() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    let ring = share(&mut hub, reader);
    let number = hub.ring(reader, WAY_IN).unwrap().unwrap();
    assert_eq!((ring.users(), hub.called().len()), ([1, 1], 0));
    assert!(ring.is_wanted(Side::Arrival) && ring.is_wanted(Side::Departure), "somebody may wait since before");
    ring.prepare(Side::Arrival);
    assert!(ring.lock(USER));
    // Others wait for the lock, until its holder has gone.
    assert_eq!((send(&mut hub, writer, b"x"), hub.is_locked(writer)), (None, true));
    hub.leave_ring(number, USER);
    assert_eq!(hub.called().get(&number), Some(&[true, false]));
    assert!(hub.touched().contains(&writer) && !hub.is_locked(writer));
    assert_eq!(send(&mut hub, writer, b"x"), Some(1));
    ring.prepare(Side::Arrival);
    hub.close(writer);
    assert_eq!((ring.users(), hub.called().get(&number)), ([1, 0], Some(&[true, false])));
    hub.close(reader);
    assert!(!hub.has_ring(number));
}

#[test]
fn nonsense_in_the_ring_harms_nobody_else() {
    let mut hub = TestHub::default();
    let (reader, writer) = hub.pipe(0).unwrap();
    let (other_reader, other_writer) = hub.pipe(0).unwrap();
    let words: &'static [AtomicU64] = Box::leak((0..ring::size(16) / 8 + 8).map(|_| AtomicU64::new(0)).collect());
    let number = hub.key();
    hub.share(reader, WAY_IN, Ring::within(words, 16).unwrap(), number).unwrap();
    let mut numbers = Numbers(3);
    for _ in 0..20_000 {
        let value = numbers.below(1 << 30) << numbers.below(34) | numbers.below(5000);
        words[numbers.below(520) as usize].store(value, core::sync::atomic::Ordering::Relaxed);
        let size = numbers.below(70_000) as usize + 1;
        // Anything may come of it, but it comes.
        match numbers.below(6) {
            0 => drop(hub.send(writer, &Sending { data: vec![1; size], ..Sending::default() }, &mut vec![])),
            1 => drop(hub.receive(reader, ReceiveRequest { size, ..ReceiveRequest::default() })),
            2 => drop(hub.receive(reader, ReceiveRequest { size, only_look: true, offset: value as usize, ..ReceiveRequest::default() })),
            3 => drop((hub.events(reader), hub.events(writer), hub.changes(reader), hub.waiting(reader))),
            4 => hub.leave_ring(number, value),
            _ => drop(hub.capacity(writer, PAGE << numbers.below(4))),
        }
        send(&mut hub, other_writer, b"other");
        assert_eq!(receive(&mut hub, other_reader, 9, false), Some(b"other".to_vec()));
    }
    hub.close(reader);
    hub.close(writer);
    assert!(!hub.has_ring(number));
}

/// Two connections of which the same is asked; the bytes of the first are shared on their way from
/// its first to its second end, now and then.
struct Streams {
    hubs: [TestHub; 2],
    ends: [(u64, u64); 2],
    ring: Option<Ring>,
    /// Writes that have not been read.
    waiting: usize,
}

impl Streams {
    fn new() -> Streams {
        let mut hubs = [TestHub::default(), TestHub::default()];
        let ends = hubs.each_mut().map(|hub| hub.pair(SOCK_STREAM, 0, [1, 2, 3]).unwrap());
        Streams { hubs, ends, ring: None, waiting: 0 }
    }

    fn send(&mut self, data: &[u8], references: &[u32], directly: bool) {
        let all = [0, 1].map(|index| {
            let ring = self.ring.filter(|_| directly && index == 0 && references.is_empty());
            let sending = Sending { data: data.to_vec(), ..Sending::default() };
            match ring {
                Some(ring) => put(&ring, data, false),
                None => self.hubs[index].send(self.ends[index].0, &sending, &mut references.to_vec()).unwrap(),
            }
        });
        assert_eq!(all, [Some(data.len()); 2]);
        self.waiting += 1;
        self.see();
    }

    fn receive(&mut self, size: usize, directly: bool) {
        let wish = ReceiveRequest { size, most: 3, ..ReceiveRequest::default() };
        let [there, here] = [0, 1].map(|index| match self.ring.filter(|ring| directly && index == 0 && ring.state() == 0) {
            Some(ring) => take(&ring, size).map(|data| (short(Some(data)), vec![])),
            None => self.hubs[index].receive(self.ends[index].1, wish).unwrap().map(|received| (short(Some(received.data)), received.references)),
        });
        assert_eq!(there, here, "{size} bytes, directly {directly}");
        let left = self.hubs[0].waiting(self.ends[0].1).unwrap();
        self.waiting = if left == 0 { 0 } else { self.waiting };
    }

    /// A ring that was given up is used no more.
    fn see(&mut self) {
        self.ring = self.ring.filter(|ring| ring.state() & LEFT == 0);
        let [there, here] = [0, 1].map(|index| {
            let (hub, (from, to)) = (&self.hubs[index], self.ends[index]);
            (hub.waiting(to), hub.events(to), hub.events(from).map(|events| events & !4 & !0x100))
        });
        assert_eq!(there, here);
    }
}

#[test]
fn whoever_does_what_a_shared_stream_is_as_any_other() {
    let mut numbers = Numbers(5);
    let (mut rings, mut lost) = (0, 0);
    for _ in 0..60 {
        let mut streams = Streams::new();
        for step in 0..300u64 {
            let directly = numbers.below(2) == 0;
            let size = if numbers.below(3) == 0 { numbers.below(5000) } else { numbers.below(300) } as usize + 1;
            let had = streams.ring.is_some();
            match numbers.below(16) {
                0..=6 if streams.waiting < 20 => streams.send(&vec![step as u8; size], &[], directly),
                7 if streams.waiting < 20 => streams.send(&vec![step as u8; size], &[step as u32, 7], directly),
                8 if streams.ring.is_none() => {
                    let key = streams.ends[0].1;
                    streams.ring = try_share(&mut streams.hubs[0], key).ok();
                    rings += usize::from(streams.ring.is_some());
                }
                _ => streams.receive(size, directly),
            }
            streams.see();
            lost += usize::from(had && streams.ring.is_none());
        }
    }
    assert!(rings > 60 && lost > 60, "{rings} rings, {lost} given up");
}

#[test]
fn a_stream_s_ring_says_when_either_side_has_had_enough() {
    let mut hub = TestHub::default();
    let (first, second) = hub.pair(SOCK_STREAM, 0, [1, 2, 3]).unwrap();
    let ring = share(&mut hub, second);
    assert_eq!((hub.ring(first, WAY_OUT), hub.ring(first, WAY_IN), ring.users()), (hub.ring(second, WAY_IN), Ok(None), [1, 1]));
    put(&ring, b"left", false);
    hub.shutdown(first, 1).unwrap();
    assert_eq!((ring.users(), take(&ring, 9)), ([0, 0], Some(b"left".to_vec())));
    let back = share(&mut hub, first);
    hub.shutdown(first, 0).unwrap();
    assert_eq!((back.users(), hub.send(second, &Sending { data: vec![1], ..Sending::default() }, &mut vec![])), ([0, 0], Err(Errno::EPIPE)));
}

#[test]
fn bytes_that_nobody_has_read_are_an_error_behind_those_of_the_other_side() {
    let mut hub = TestHub::default();
    let (first, second) = hub.pair(SOCK_STREAM, 0, [1, 2, 3]).unwrap();
    let (there, back) = (share(&mut hub, second), share(&mut hub, first));
    put(&there, b"unread", false);
    put(&back, b"read", false);
    back.prepare(Side::Arrival);
    hub.close(second);
    assert!(back.state() & ring::TROUBLE != 0 && hub.called().contains_key(&hub.ring(first, WAY_IN).unwrap().unwrap()));
    assert_eq!(receive(&mut hub, first, 99, false), Some(b"read".to_vec()));
    let mut next = || hub.receive(first, ReceiveRequest { size: 9, ..ReceiveRequest::default() }).map(|received| received.map(|received| received.data));
    assert_eq!((next(), next()), (Err(Errno::ECONNRESET), Ok(Some(vec![]))));
}

#[test]
fn who_asks_who_sent_has_no_ring() {
    let mut hub = TestHub::default();
    let (first, second) = hub.pair(SOCK_STREAM, 0, [1, 2, 3]).unwrap();
    let ring = share(&mut hub, second);
    put(&ring, b"unsigned", false);
    let wish = ReceiveRequest { size: 99, is_apart: true, ..ReceiveRequest::default() };
    assert!(ring.lock(USER));
    assert_eq!((hub.receive(second, wish), hub.is_locked(second)), (Ok(None), true), "until the writer has written");
    assert!(ring.unlock());
    let mut next = || hub.receive(second, wish).unwrap().map(|received| (received.data, received.sender[0]));
    assert_eq!((next(), next()), (Some((b"unsigned".to_vec(), 0)), None));
    hub.send(first, &Sending { data: b"signed".to_vec(), sender: [5, 6], ..Sending::default() }, &mut vec![]).unwrap();
    assert_eq!(hub.receive(second, wish).unwrap().map(|received| received.sender), Some([5, 6]));
    assert!(try_share(&mut hub, second).is_err());
}
