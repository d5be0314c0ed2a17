//! One ring alone, between threads, and between those who write nonsense over it.

use super::*;
use std::boxed::Box;
use std::thread;
use std::vec;
use std::vec::Vec;

fn words(places: u64) -> &'static [AtomicU64] {
    Box::leak((0..size(places) / 8 + 8).map(|_| AtomicU64::new(0)).collect())
}

fn ring(places: u64) -> Ring {
    let ring = Ring::within(words(places), places).unwrap();
    ring.set_limit(places);
    ring.set_users([1, 1]);
    ring
}

fn take(ring: &Ring, size: usize) -> Option<Vec<u8>> {
    let mut into = vec![0; size];
    let (count, _) = ring.take(&mut into).unwrap()?;
    into.truncate(count);
    Some(into)
}

#[test]
fn bytes_come_in_order_and_small_writes_share_a_page() {
    let ring = ring(4);
    assert_eq!(ring.put(b"one", false), Ok(Some(3)));
    assert_eq!(ring.put(b"two", false), Ok(Some(3)));
    assert_eq!((ring.used(), ring.bytes()), (1, 6));
    assert_eq!(take(&ring, 4), Some(b"onet".to_vec()));
    assert_eq!(ring.put(&[7; 4096], false), Ok(Some(4096)));
    assert_eq!((ring.used(), ring.bytes()), (2, 4098));
    assert_eq!(ring.put(&[8; 9000], false), Ok(Some(8192)));
    assert_eq!((ring.put(b"x", false), ring.put(&[9; 9000], false), ring.has_room()), (Ok(None), Ok(None), false));
    let rest = take(&ring, 99999).unwrap();
    assert_eq!((&rest[..2], rest.len()), (&b"wo"[..], 4098 + 8192));
    assert_eq!((take(&ring, 1), ring.is_empty(), ring.used()), (None, true, 0));
}

#[test]
fn a_ring_goes_round() {
    let ring = ring(2);
    for round in 0..1000usize {
        let size = round * 37 % 4096 + 1;
        assert_eq!(ring.put(&vec![round as u8; size], false), Ok(Some(size)));
        assert_eq!(take(&ring, 4096), Some(vec![round as u8; size]));
    }
}

#[test]
fn packets_stay_apart() {
    let ring = ring(8);
    for (data, is_packet) in [(&b"plain"[..], false), (b"first", true), (b"second", true), (b"last", false)] {
        assert_eq!(ring.put(data, is_packet), Ok(Some(data.len())));
    }
    assert_eq!(take(&ring, 8), Some(b"plainfir".to_vec()));
    assert_eq!((take(&ring, 99), take(&ring, 99)), (Some(b"second".to_vec()), Some(b"last".to_vec())));
    assert_eq!((ring.used(), ring.bytes()), (0, 0));
}

#[test]
fn what_was_looked_at_stays() {
    let ring = ring(4);
    ring.put(&[1; 4096], false).unwrap();
    ring.put(&[2; 100], false).unwrap();
    let mut into = [0; 10];
    assert_eq!(ring.look(&mut into, 4090), Ok(Some(10)));
    assert_eq!(into, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(ring.look(&mut into, 4195), Ok(Some(1)));
    assert_eq!(ring.bytes(), 4196);
}

#[test]
fn a_pipe_that_was_begun_elsewhere_goes_on() {
    let ring = ring(4);
    assert!(ring.add_page(b"tail", 4000, false) && ring.add_page(b"packet", 0, true));
    assert_eq!((ring.used(), ring.bytes()), (2, 10));
    assert_eq!(take(&ring, 4), Some(b"tail".to_vec()));
    let mut page = [0; PAGE];
    assert_eq!(ring.take_page(&mut page), Ok(Some((6, true))));
    assert_eq!(&page[..6], b"packet");
    assert_eq!(ring.take_page(&mut page), Ok(None));
}

#[test]
fn a_lock_whose_holder_has_gone_is_broken_and_what_he_began_is_nothing() {
    let ring = ring(4);
    ring.put(b"before", false).unwrap();
    assert!(ring.lock(7) && !ring.lock(8) && ring.want_lock());
    // He has filled more of the page, and ends before he says so.
    ring.fill(Position { page: 1, offset: 6 }, b"lost", false);
    ring.break_lock(8);
    assert!(ring.is_locked());
    ring.break_lock(7);
    assert!(ring.lock(8));
    assert_eq!(take(&ring, 99), Some(b"before".to_vec()));
    assert_eq!(ring.put(b"after", false), Ok(Some(5)));
    assert_eq!(take(&ring, 99), Some(b"after".to_vec()));
    assert!(!ring.unlock());
}

#[test]
fn who_waits_is_called_once() {
    let ring = ring(2);
    assert!(!ring.wants_call(Side::Arrival));
    let (word, expected) = ring.prepare(Side::Arrival);
    assert_eq!(word.load(Ordering::SeqCst), expected);
    assert!(ring.wants_call(Side::Arrival) && !ring.wants_call(Side::Arrival) && !ring.wants_call(Side::Departure));
    assert_ne!(word.load(Ordering::SeqCst), expected);
    ring.want();
    assert!(ring.is_wanted(Side::Departure) && !ring.is_wanted(Side::Departure) && ring.is_wanted(Side::Arrival));
}

/// Waits as the kernel does.
fn wait(word: &AtomicU32, expected: u32) {
    while word.load(Ordering::SeqCst) == expected {
        thread::yield_now();
    }
}

fn write_record(ring: &Ring, user: u64, record: &[u8]) {
    loop {
        let done = ring.lock(user).then(|| {
            let done = ring.put(record, false).unwrap();
            ring.unlock();
            done
        });
        match done {
            Some(Some(count)) => {
                assert_eq!(count, record.len());
                ring.wants_call(Side::Arrival);
                return;
            }
            Some(None) => {
                let (word, expected) = ring.prepare(Side::Departure);
                if !ring.has_room() {
                    wait(word, expected);
                }
            }
            None => thread::yield_now(),
        }
    }
}

fn read_some(ring: &Ring, into: &mut [u8]) -> usize {
    loop {
        if let Some((count, has_freed)) = ring.take(into).unwrap() {
            if has_freed {
                ring.wants_call(Side::Departure);
            }
            return count;
        }
        let (word, expected) = ring.prepare(Side::Arrival);
        if ring.is_empty() && ring.users()[1] != 0 {
            wait(word, expected);
        }
        if ring.is_empty() && ring.users()[1] == 0 {
            return 0;
        }
    }
}

#[test]
fn several_readers_and_writers_lose_and_mix_nothing() {
    const RECORDS: u64 = 20_000;
    const SIZE: usize = 16;
    let ring = ring(4);
    let writers: Vec<_> = (1..=3u64)
        .map(|user| {
            thread::spawn(move || {
                for number in 0..RECORDS {
                    let mut record = [user as u8; SIZE];
                    record[..8].copy_from_slice(&number.to_le_bytes());
                    write_record(&ring, user, &record);
                }
            })
        })
        .collect();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            thread::spawn(move || {
                let mut last = [None; 4];
                let mut count = 0;
                let mut into = [0; SIZE];
                while read_some(&ring, &mut into) != 0 {
                    let user = into[8] as usize;
                    assert!(into[8..].iter().all(|byte| usize::from(*byte) == user));
                    let number = u64::from_le_bytes(into[..8].try_into().unwrap());
                    assert!(last[user].is_none_or(|last| last < number), "in order");
                    last[user] = Some(number);
                    count += 1;
                }
                count
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    ring.set_users([1, 0]);
    ring.wants_call(Side::Arrival);
    assert_eq!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<u64>(), 3 * RECORDS);
}

/// A plain generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 20
    }
}

#[test]
fn nonsense_ends_in_an_error_or_in_wrong_bytes() {
    let memory = words(4);
    let ring = Ring::within(memory, 4).unwrap();
    let mut numbers = Numbers(5);
    let mut into = vec![0; 20000];
    for _ in 0..100_000 {
        let value = match numbers.next() % 4 {
            0 => numbers.next() << 24 | numbers.next(),
            1 => u64::MAX - numbers.next() % 70000,
            _ => numbers.next() % 5 << 16 | numbers.next() % 4200,
        };
        let at = if numbers.next() % 2 == 0 { numbers.next() % 16 } else { numbers.next() % 520 };
        memory[at as usize].store(value, Ordering::Relaxed);
        let size = numbers.next() as usize % 20000;
        match numbers.next() % 8 {
            0 => drop(ring.put(&into[..size], value % 2 == 0).map(|count| assert!(count.is_none_or(|count| count <= size)))),
            1 => drop(ring.take(&mut into[..size]).map(|taken| assert!(taken.is_none_or(|(count, _)| count <= size)))),
            2 => drop(ring.look(&mut into[..size], value as usize).map(|count| assert!(count.is_none_or(|count| count <= size)))),
            3 => assert!(ring.bytes() <= 4 * PAGE),
            4 => drop(ring.take_page(&mut [0; PAGE]).map(|taken| assert!(taken.is_none_or(|(count, _)| count <= PAGE)))),
            5 => drop((ring.lock(3), ring.want_lock(), ring.unlock())),
            6 => drop((ring.prepare(Side::Arrival), ring.wants_call(Side::Departure), ring.is_wanted(Side::Arrival))),
            _ => drop((ring.used(), ring.has_room(), ring.users(), ring.changes())),
        }
    }
}
