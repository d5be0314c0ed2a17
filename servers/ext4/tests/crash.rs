//! Losses of power: the disk stops at any write, and keeps any of those since its last flush. After
//! the next mount everything that was synced is there, and e2fsck finds nothing wrong.

mod support;

use nacre_ext4::Volume;
use support::model::{Model, Pair, Seed};
use support::*;

const KINDS: [&str; 3] = ["-t ext4 -b 1024", "-t ext4 -b 4096", "-t ext3 -b 1024"];

/// State of the model at a length of the disk's log.
struct Synced {
    events: usize,
    model: Model,
}

fn events(pair: &Log) -> usize {
    pair.lock().unwrap().len()
}

type Log = std::sync::Arc<std::sync::Mutex<Vec<Event>>>;

/// Does random operations with commits among them. Returns the disk before, what was done to it,
/// and the states that were committed.
fn record(kind: &str, seed: u64, operations: u32) -> (Vec<u8>, Vec<Event>, Vec<Synced>) {
    let disk = Memory::noted(make(kind, 16 << 10));
    let (before, log) = (disk.bytes.clone(), disk.log.clone().unwrap());
    let mut pair = Pair::new(mount(disk), seed, 40_000);
    let mut synced = vec![Synced { events: 0, model: Model::default() }];
    for _ in 0..operations {
        pair.step();
        if pair.seed.below(12) == 0 {
            pair.volume.commit().unwrap();
            synced.push(Synced { events: events(&log), model: pair.model.clone() });
        }
    }
    drop(pair);
    let events = log.lock().unwrap().clone();
    (before, events, synced)
}

/// Returns the disk after a loss of power: all that was flushed, and any of what was written since.
fn cut(before: &[u8], events: &[Event], seed: &mut Seed) -> Vec<u8> {
    let flushed = events.iter().rposition(|event| matches!(event, Event::Flush)).map_or(0, |at| at + 1);
    let mut bytes = before.to_vec();
    for (number, event) in events.iter().enumerate() {
        let Event::Write(at, content) = event else { continue };
        // A long write may be done in part.
        for (part, piece) in content.chunks(1024).enumerate() {
            if number < flushed || seed.below(2) == 0 {
                let at = *at as usize + part * 1024;
                bytes[at..at + piece.len()].copy_from_slice(piece);
            }
        }
    }
    bytes
}

#[test]
fn what_was_synced_is_there_after_any_loss_of_power() {
    if has_programs() {
        KINDS.iter().for_each(|kind| run(kind));
    }
}

fn run(kind: &str) {
    let count = std::env::var("CUTS").ok().and_then(|value| value.parse().ok()).unwrap_or(12);
    let (before, events, synced) = record(kind, 5, 2000);
    assert!(rounds(&events) >= 2, "{kind}: the journal is not full once");
    let mut seed = Seed(99);
    for _ in 0..count {
        let at = seed.below(events.len() as u64 + 1) as usize;
        let bytes = cut(&before, &events[..at], &mut seed);
        check(kind, at, bytes, &synced);
    }
}

/// Returns an error unless a volume has what the last commit left, or the one that was being made.
fn judge(volume: &mut Volume<Memory>, last: &Synced, next: Option<&Synced>) -> Result<(), String> {
    let Some(next) = next else { return model::difference(volume, &last.model, None).map_or(Ok(()), Err) };
    let Some(later) = model::difference(volume, &next.model, None) else { return Ok(()) };
    let earlier = model::difference(volume, &last.model, Some(&next.model));
    earlier.map_or(Ok(()), |earlier| Err(format!("before: {earlier}; after: {later}")))
}

/// Returns how often the beginning of the journal was written.
fn rounds(events: &[Event]) -> usize {
    let write = |event: &Event| match event {
        Event::Write(at, bytes) => Some((*at, bytes[..4] == [0xc0, 0x3b, 0x39, 0x98] && matches!(bytes[7], 1 | 5))),
        Event::Flush => None,
    };
    // The first transaction begins with a descriptor, or with a block of what it revokes.
    let first = events.iter().filter_map(write).find(|(_, is_header)| *is_header).unwrap().0;
    events.iter().filter_map(write).filter(|(at, _)| *at == first).count()
}

fn check(kind: &str, at: usize, bytes: Vec<u8>, synced: &[Synced]) {
    let last = synced.iter().rposition(|state| state.events <= at).unwrap();
    let (last, next) = (&synced[last], synced.get(last + 1));
    let mut volume = mount(Memory::new(bytes.clone()));
    judge(&mut volume, last, next).unwrap_or_else(|text| panic!("{kind}, cut at {at}: {text}"));
    assert_clean(&volume.close().unwrap().bytes);
    // e2fsck replays the same journal to the same files.
    let image = Image::with(&bytes);
    let (_, text) = fsck(&image, "-p");
    assert!(!text.contains("UNEXPECTED"), "{kind}, cut at {at}: {text}");
    let replayed = image.bytes();
    assert_clean(&replayed);
    let mut volume = mount(Memory::new(replayed));
    judge(&mut volume, last, next).unwrap_or_else(|text| panic!("{kind}, e2fsck, cut at {at}: {text}"));
}
