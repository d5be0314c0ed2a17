//! Dataspaces of four managers beside plain arrays of pages.

use crate::bank::{Bank, MIN_FRAMES, Trouble};
use crate::homes::Access;
use crate::model::{Any, Arrays};
use crate::policy::{Clock, Fifo, Random};
use crate::spaces::Spaces;
use crate::store::Compressed;
use crate::{PAGE, Page, Store};
use std::collections::BTreeMap;

/// A store of any kind.
pub type AnyStore = Box<dyn Store>;
/// Dataspaces that are tested.
pub type Tested = Spaces<Arrays, AnyStore, Any>;

/// Paged and compressed memory, memory that stays, and memory in runs of frames.
fn spaces(seed: u64) -> Tested {
    let bank = |frames: usize, store: u64, policy: Any| Bank::new(Arrays::new(frames, seed), Box::new(Compressed::new(store)) as AnyStore, policy, frames);
    let runs = Bank::with_homes(Arrays::new(100, seed), Box::new(Compressed::new(0)) as AnyStore, Box::new(Fifo::default()) as Any, 100, Access::Memory);
    let banks = vec![bank(MIN_FRAMES, 2 << 20, Box::new(Clock::default())), bank(MIN_FRAMES + 16, 1 << 20, Box::new(Fifo::default())), bank(200, 0, Box::new(Random::new(seed))), runs];
    Spaces::new(banks, 1 << 20)
}

/// The frame in which a page is, as a program would reach it.
pub fn reach(spaces: &mut Tested, page: u64, written: bool) -> Result<(usize, usize), Trouble> {
    let manager = spaces.manager(spaces.at(page).unwrap()).unwrap();
    for _ in 0..1000 {
        let bank = spaces.bank_mut(manager).unwrap();
        if let Some((frame, may_write)) = bank.hands().tables.get(&page)
            && (*may_write || !written)
        {
            return Ok((manager, *frame));
        }
        match spaces.fault(page, written) {
            Ok(()) | Err(Trouble::Refused) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    panic!("page {page} cannot be reached");
}

fn checks(spaces: &mut Tested, space: u64, plain: &[Page], index: usize) {
    let (manager, frame) = reach(spaces, space + index as u64, false).unwrap();
    assert!(spaces.bank_mut(manager).unwrap().hands().frames[frame] == plain[index], "page {index} of {space}");
}

fn step(spaces: &mut Tested, plain: &mut BTreeMap<u64, Vec<Page>>, random: &mut Random) -> Option<&'static str> {
    let chosen = *plain.keys().nth(random.below(plain.len().max(1))).unwrap_or(&0);
    let count = plain.get(&chosen).map_or(0, Vec::len);
    let (index, manager) = (random.below(count), random.below(4));
    match random.below(40) {
        0 | 1 if plain.len() < 6 => {
            let count = 1 + random.below(24);
            let is_paid = random.below(2) > 0;
            let made = if is_paid { spaces.create(manager, count as u64) } else { spaces.create_unpaid(manager, count as u64) }.ok()?;
            assert!(plain.insert(made, vec![[0; PAGE]; count]).is_none());
            Some(if is_paid { "create" } else { "create unpaid" })
        }
        _ if count == 0 => None,
        2 => {
            spaces.delete(chosen);
            plain.remove(&chosen);
            Some("delete")
        }
        3..6 if plain.len() < 8 => {
            let copy = spaces.copy(chosen, manager).ok()?;
            let pages = plain[&chosen].clone();
            assert!(plain.insert(copy, pages).is_none());
            Some("copy")
        }
        6 => spaces.transfer(chosen, manager).ok().map(|()| "transfer"),
        7 | 20 | 21 => {
            let lower = random.below(4);
            spaces.place(chosen, manager, Some(lower)).ok()?;
            assert_eq!((spaces.manager(chosen), spaces.lower(chosen)), (Some(manager), Some(lower)));
            Some("place")
        }
        8 => {
            let count = 1 + random.below(30);
            spaces.resize(chosen, count as u64).ok()?;
            plain.get_mut(&chosen)?.resize(count, [0; PAGE]);
            Some("resize")
        }
        9 => {
            let end = (index + random.below(8)).min(count);
            while spaces.clear(chosen, chosen + index as u64..chosen + end.max(index) as u64).is_err() {}
            plain.get_mut(&chosen)?[index..end.max(index)].fill([0; PAGE]);
            Some("clear")
        }
        10..20 => {
            checks(spaces, chosen, &plain[&chosen], index);
            Some("read")
        }
        _ => {
            let (manager, frame) = reach(spaces, chosen + index as u64, true).unwrap();
            let (at, byte) = (random.below(PAGE), if random.below(4) == 0 { 0 } else { random.number() as u8 });
            spaces.bank_mut(manager)?.hands().frames[frame][at] = byte;
            plain.get_mut(&chosen)?[index][at] = byte;
            Some("write")
        }
    }
}

fn run(seed: u64, refuses: bool) -> BTreeMap<&'static str, usize> {
    let (mut spaces, mut random, mut plain, mut done) = (spaces(seed), Random::new(seed + 1), BTreeMap::new(), BTreeMap::new());
    for manager in 0..spaces.managers() {
        spaces.bank_mut(manager).unwrap().hands().refuses = refuses;
    }
    for _ in 0..3000 {
        if let Some(name) = step(&mut spaces, &mut plain, &mut random) {
            *done.entry(name).or_insert(0) += 1;
        }
        let chaotic = random.below(3);
        spaces.disturb(chaotic, &mut random, 4);
    }
    for (space, pages) in &plain {
        (0..pages.len()).for_each(|index| checks(&mut spaces, *space, pages, index));
    }
    for manager in 0..spaces.managers() {
        spaces.bank_mut(manager).unwrap().hands().refuses = false;
    }
    plain.keys().for_each(|space| spaces.delete(*space));
    if !refuses {
        for manager in 0..spaces.managers() {
            let bank = spaces.bank_mut(manager).unwrap();
            assert_eq!((bank.population(), bank.store().used(), bank.promised()), ((0, 0), 0, 0), "nothing is left behind by manager {manager}");
        }
    }
    done
}

#[test]
fn dataspaces_hold_what_was_written_whoever_manages_them() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(12);
    let mut unpaid = 0;
    for seed in 0..seeds {
        let done = run(seed, seed % 3 == 2);
        unpaid += done.get("create unpaid").unwrap_or(&0);
        for name in ["delete", "copy", "transfer", "place", "resize", "clear", "read", "write"] {
            assert!(done.get(name).is_some_and(|count| *count > 0), "seed {seed}: {done:?}");
        }
    }
    assert!(unpaid > 0);
}

#[test]
fn a_copy_takes_pages_only_when_they_are_touched() {
    let mut spaces = spaces(1);
    let first = spaces.create(0, 16).unwrap();
    for page in first..first + 16 {
        let (manager, frame) = reach(&mut spaces, page, true).unwrap();
        spaces.bank_mut(manager).unwrap().hands().frames[frame][0] = 7;
    }
    let copy = spaces.copy(first, 2).unwrap();
    assert_eq!(spaces.bank(2).unwrap().population(), (0, 0));
    let (manager, frame) = reach(&mut spaces, copy + 3, false).unwrap();
    assert_eq!((manager, spaces.bank_mut(2).unwrap().hands().frames[frame][0]), (2, 7));
    assert_eq!(spaces.bank(2).unwrap().population(), (1, 0));
    // The snapshot joins what is left of the two, in the other manager.
    spaces.delete(first);
    assert_eq!((spaces.bank(0).unwrap().population(), spaces.bank(2).unwrap().population()), ((0, 0), (16, 0)));
}

#[test]
fn memory_that_stays_has_a_quota() {
    let mut spaces = spaces(1);
    let (first, second) = (spaces.create(2, 150).unwrap(), spaces.create(0, 51).unwrap());
    assert_eq!(spaces.transfer(second, 2), Err(Trouble::Full));
    assert_eq!(spaces.manager(second), Some(0));
    spaces.transfer(first, 1).unwrap();
    spaces.transfer(second, 2).unwrap();
    spaces.delete(first);
    spaces.delete(second);
}

#[test]
fn bytes_are_read_and_written_in_any_page() {
    let mut spaces = spaces(2);
    let space = spaces.create(0, 4).unwrap();
    let mut plain = vec![0; 4 * PAGE];
    let mut random = Random::new(4);
    for round in 0..200 {
        let start = random.below(plain.len());
        let end = (start + random.below(2 * PAGE)).min(plain.len());
        let bytes = vec![round as u8; end - start];
        spaces.write(space, start as u64, &bytes).unwrap();
        plain[start..end].copy_from_slice(&bytes);
        if round % 50 == 20 {
            spaces.copy(space, 1).unwrap();
        }
        let mut back = vec![9; plain.len()];
        spaces.read(space, 0, &mut back).unwrap();
        assert!(back == plain, "round {round}");
    }
}

#[test]
fn a_manager_is_put_under_another_and_taken_out_again() {
    let mut spaces = spaces(3);
    let space = spaces.create(0, 200).unwrap();
    let write = |spaces: &mut Tested, byte: u8| {
        for page in space..space + 200 {
            let (manager, frame) = reach(spaces, page, true).unwrap();
            spaces.bank_mut(manager).unwrap().hands().frames[frame] = [byte + page as u8 % 5; PAGE];
        }
    };
    write(&mut spaces, 1);
    assert!(spaces.bank(0).unwrap().store().used() > 0);
    spaces.place(space, 0, Some(1)).unwrap();
    assert_eq!(spaces.bank(0).unwrap().store().used(), 0, "what was away is below");
    write(&mut spaces, 7);
    assert_eq!(spaces.bank(0).unwrap().store().used(), 0, "what leaves goes below");
    assert!(spaces.bank(1).unwrap().population().0 + spaces.bank(1).unwrap().population().1 > 100);
    // A manager without room changes nothing.
    let big = spaces.create(2, 100).unwrap();
    assert_eq!((spaces.place(space, 0, Some(2)), spaces.place(space, 2, None)), (Err(Trouble::Full), Err(Trouble::Full)));
    assert_eq!((spaces.manager(space), spaces.lower(space)), (Some(0), Some(1)));
    spaces.delete(big);
    spaces.place(space, 0, None).unwrap();
    assert_eq!((spaces.bank(1).unwrap().population(), spaces.bank(1).unwrap().promised()), ((0, 0), 0));
    for page in space..space + 200 {
        let (manager, frame) = reach(&mut spaces, page, false).unwrap();
        assert_eq!(spaces.bank_mut(manager).unwrap().hands().frames[frame], [7 + page as u8 % 5; PAGE]);
    }
}

#[test]
fn what_is_not_promised_is_paid_for_when_it_is_touched() {
    let mut spaces = spaces(1);
    let (most, count) = (spaces.bank(0).unwrap().most(), 1 << 18);
    assert_eq!(spaces.create(0, count), Err(Trouble::Full));
    let space = spaces.create_unpaid(0, count).unwrap();
    assert!(spaces.create_unpaid(0, count).is_err(), "half of what is left at most");
    for at in (0..count).step_by(1 << 13) {
        reach(&mut spaces, space + at, true).unwrap();
    }
    assert_eq!((spaces.bank(0).unwrap().promised(), spaces.counted(space)), (32 * 8, 32 * 8));
    assert_eq!((spaces.copy(space, 0), spaces.transfer(space, 1)), (Err(Trouble::Full), Err(Trouble::Full)));
    spaces.clear(space, space + 1..space + count / 2).unwrap();
    assert_eq!(spaces.counted(space), 17 * 8, "the first cluster is still needed");
    let found = (0..count).step_by(8).map(|at| reach(&mut spaces, space + at, false)).find_map(Result::err);
    assert_eq!((found, spaces.bank(0).unwrap().promised()), (Some(Trouble::Full), most / 8 * 8));
    assert!(reach(&mut spaces, space, true).is_ok(), "what is paid for is there");
    spaces.delete(space);
    let bank = spaces.bank(0).unwrap();
    assert_eq!((bank.promised(), bank.population(), spaces.create_unpaid(0, count).is_ok()), (0, (0, 0), true));
}
