//! A bank beside a plain array of pages: whatever is read through the bank is what the array holds.

use crate::bank::{Bank, MIN_FRAMES, Trouble};
use crate::hands::{Hands, Refused};
use crate::policy::{Clock, Fifo, Policy, Random};
use crate::store::{Compressed, Full, Lost, Store};
use crate::{PAGE, Page};
use std::collections::{HashMap, HashSet};

/// A machine of arrays, which refuses now and then.
pub struct Arrays {
    /// Frames.
    pub frames: Vec<Page>,
    /// Pages that are shown: the frame, and true if the page may be written.
    pub tables: HashMap<u64, (usize, bool)>,
    random: Random,
    /// The machine refuses now and then.
    pub refuses: bool,
    /// Frames that the layer below is asked to keep.
    pub kept: HashSet<usize>,
}

impl Arrays {
    /// A machine with so many frames.
    pub fn new(frames: usize, seed: u64) -> Arrays {
        Arrays { frames: vec![[0xee; PAGE]; frames], tables: HashMap::new(), random: Random::new(seed), refuses: false, kept: HashSet::new() }
    }

    fn refused(&mut self) -> Result<(), Refused> {
        if self.refuses && self.random.below(50) == 0 { Err(Refused) } else { Ok(()) }
    }

    fn is_hidden(&self, frame: usize) -> bool {
        self.tables.values().all(|(shown, _)| *shown != frame)
    }
}

impl Hands for Arrays {
    fn show(&mut self, page: u64, frame: usize, written: bool) -> Result<(), Refused> {
        self.refused()?;
        assert!(self.is_hidden(frame) && self.tables.insert(page, (frame, written)).is_none());
        Ok(())
    }

    fn hide(&mut self, page: u64, frame: usize) -> Result<(), Refused> {
        self.refused()?;
        assert_eq!(self.tables.remove(&page).map(|(shown, _)| shown), Some(frame));
        Ok(())
    }

    fn read(&mut self, frame: usize, into: &mut Page) {
        assert!(self.is_hidden(frame), "somebody could write meanwhile");
        *into = self.frames[frame];
    }

    fn write(&mut self, frame: usize, from: &Page) {
        assert!(self.is_hidden(frame));
        self.frames[frame] = *from;
    }

    fn clear(&mut self, frame: usize) {
        assert!(self.is_hidden(frame));
        self.frames[frame] = [0; PAGE];
    }

    fn keep(&mut self, frame: usize, is_kept: bool) -> Result<(), Refused> {
        let changed = if is_kept { self.kept.insert(frame) } else { self.kept.remove(&frame) };
        assert!(changed, "kept twice, or let go twice");
        Ok(())
    }
}

/// Pages as they are, which may be taken away.
#[derive(Default)]
struct Plain {
    pages: HashMap<u64, Page>,
    next: u64,
    limit: u64,
}

impl Store for Plain {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        if self.pages.len() as u64 >= self.limit {
            return Err(Full);
        }
        self.next += 1;
        self.pages.insert(self.next, *page);
        Ok(self.next)
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        *into = *self.pages.get(&number).ok_or(Lost)?;
        Ok(())
    }

    fn drop(&mut self, number: u64) {
        assert!(self.pages.remove(&number).is_some(), "dropped twice");
    }

    fn capacity(&self) -> u64 {
        self.limit
    }

    fn used(&self) -> u64 {
        self.pages.len() as u64
    }
}

/// Pages that are pinned at random: they are here once they were touched, and the layer below keeps
/// their frames and no others.
#[test]
fn a_pinned_page_does_not_leave() {
    const FRAMES: usize = MIN_FRAMES + 40;
    for (seed, policy) in (0..6).flat_map(|seed| policies(seed).map(|policy| (seed, policy))) {
        let (mut random, mut pinned, mut touched) = (Random::new(seed), HashSet::new(), HashSet::new());
        let mut bank = Bank::new(Arrays::new(FRAMES, seed), Plain { limit: PAGES, ..Plain::default() }, policy, FRAMES);
        assert_eq!(bank.most_pinned(), 20);
        for _ in 0..3000 {
            let page = random.below(PAGES as usize) as u64;
            match random.below(30) {
                0 if bank.pin(page).is_ok() => drop(pinned.insert(page)),
                0 => assert_eq!(pinned.len(), 20, "there is room"),
                1 => {
                    bank.unpin(page..page + 20);
                    pinned.retain(|one| !(page..page + 20).contains(one));
                }
                2 => {
                    bank.forget(page..page + 1).unwrap();
                    touched.remove(&page);
                }
                3 => bank.put_away(page..page + 50),
                4 => bank.cool(page..page + 50),
                _ => {
                    reach(&mut bank, page, random.below(2) == 0, page + 1).unwrap();
                    touched.insert(page);
                }
            }
            touched.retain(|page| pinned.contains(page) || bank.frame_of(*page).is_some());
            let frames: HashSet<usize> = pinned.iter().filter_map(|page| bank.frame_of(*page)).collect();
            assert!(touched.iter().all(|page| bank.frame_of(*page).is_some()), "a pinned page has left");
            assert_eq!(bank.hands().kept, frames);
        }
        bank.unpin(0..PAGES);
        bank.put_away(0..PAGES);
        assert_eq!((bank.population().0, bank.hands().kept.len()), (0, 0));
    }
}

/// A policy.
pub type Any = Box<dyn Policy>;

/// A program's access: as often as the tables lack the page, the bank is asked.
fn reach<S: Store>(bank: &mut Bank<Arrays, S, Any>, page: u64, written: bool, end: u64) -> Result<usize, Trouble> {
    for _ in 0..100 {
        match bank.hands().tables.get(&page) {
            Some((frame, may)) if *may || !written => return Ok(*frame),
            _ => match bank.fault(page, written, end) {
                Ok(()) | Err(Trouble::Refused) => {}
                Err(trouble) => return Err(trouble),
            },
        }
    }
    panic!("a page never comes");
}

const PAGES: u64 = 300;

fn run<S: Store>(seed: u64, policy: Any, store: S, chaos: bool) -> Bank<Arrays, S, Any> {
    let (mut random, frames) = (Random::new(seed), MIN_FRAMES + 8);
    let mut plain = vec![[0u8; PAGE]; PAGES as usize];
    let mut bank = Bank::new(Arrays::new(frames, seed), store, policy, frames);
    bank.hands().refuses = seed % 2 == 1;
    assert!(bank.promise(PAGES));
    for _ in 0..4000 {
        let (page, at) = (random.below(PAGES as usize) as u64, random.below(PAGE));
        match random.below(20) {
            0..9 => {
                let frame = reach(&mut bank, page, false, PAGES).unwrap();
                assert!(bank.hands().frames[frame] == plain[page as usize], "page {page}");
            }
            9..19 => {
                let frame = reach(&mut bank, page, true, PAGES).unwrap();
                let byte = if random.below(4) == 0 { 0 } else { random.number() as u8 };
                bank.hands().frames[frame][at] = byte;
                plain[page as usize][at] = byte;
            }
            _ => {
                let end = (page + random.below(20) as u64).min(PAGES);
                while bank.forget(page..end).is_err() {}
                plain[page as usize..end.max(page) as usize].fill([0; PAGE]);
            }
        }
        if chaos {
            bank.disturb(&mut random, 8);
        }
    }
    bank
}

fn policies(seed: u64) -> [Any; 3] {
    [Box::new(Fifo::default()), Box::new(Clock::default()), Box::new(Random::new(seed))]
}

#[test]
fn what_is_read_is_what_was_written() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(4);
    for seed in 0..seeds {
        for policy in policies(seed) {
            let mut bank = run(seed, policy, Plain { limit: PAGES, ..Plain::default() }, seed % 4 < 2);
            assert!(bank.counts().brought > 100 && bank.counts().put_away > 100, "{:?}", bank.counts());
            bank.hands().refuses = false;
            bank.forget(0..PAGES).unwrap();
            assert_eq!((bank.population(), bank.store().used()), ((0, 0), 0), "nothing is left behind");
        }
    }
}

#[test]
fn so_it_is_with_pages_made_smaller() {
    for policy in policies(1) {
        let mut bank = run(2, policy, Compressed::new(PAGES * 5000), true);
        bank.forget(0..PAGES).unwrap();
        assert_eq!((bank.population(), bank.store().used()), ((0, 0), 0));
    }
}

#[test]
fn a_full_store_is_trouble_for_who_wants_more_and_for_nobody_else() {
    for policy in policies(3) {
        let frames = MIN_FRAMES;
        let mut bank = Bank::new(Arrays::new(frames, 0), Plain { limit: 10, ..Plain::default() }, policy, frames);
        assert!(!bank.promise(bank.most() + 1));
        let mut written = 0;
        while let Ok(frame) = reach(&mut bank, written, true, written + 1) {
            bank.hands().frames[frame][0] = written as u8 + 1;
            written += 1;
        }
        assert!(written >= bank.most(), "{written} pages, though {} can be promised", bank.most());
        assert!(written <= frames as u64 + 10 && bank.counts().full > 0);
        // Those that are here can be reached all the same, and room that is given back serves
        // again.
        let here: Vec<u64> = bank.hands().tables.keys().copied().collect();
        for page in here {
            let frame = reach(&mut bank, page, false, page + 1).unwrap();
            assert_eq!(bank.hands().frames[frame][0], page as u8 + 1);
        }
        bank.forget(0..20).unwrap();
        for page in 20..written {
            let frame = reach(&mut bank, page, false, page + 1).unwrap();
            assert_eq!(bank.hands().frames[frame][0], page as u8 + 1);
        }
    }
}

#[test]
fn a_page_that_the_store_has_lost_is_trouble_and_no_more() {
    let frames = MIN_FRAMES;
    let mut bank = Bank::new(Arrays::new(frames, 0), Plain { limit: 100, ..Plain::default() }, Box::new(Fifo::default()) as Any, frames);
    for page in 0..100 {
        let frame = reach(&mut bank, page, true, page + 1).unwrap();
        bank.hands().frames[frame][0] = 1;
    }
    bank.forget_store();
    assert_eq!(reach(&mut bank, 0, false, 1), Err(Trouble::Lost));
    assert!(reach(&mut bank, 99, false, 100).is_ok());
}

impl<P: Policy> Bank<Arrays, Plain, P> {
    fn forget_store(&mut self) {
        self.store_mut().pages.clear();
    }
}

/// Two chances: pages that are used all the time stay, though many others pass through.
#[test]
fn the_clock_keeps_what_is_used() {
    let brought = |policy: Any| {
        let mut bank = Bank::new(Arrays::new(128, 0), Plain { limit: 1000, ..Plain::default() }, policy, 128);
        for round in 0..3000u64 {
            for page in [round % 20, 100 + round % 600] {
                let frame = reach(&mut bank, page, true, page + 1).unwrap();
                bank.hands().frames[frame][0] = 1;
            }
        }
        bank.counts().brought
    };
    let (fifo, clock) = (brought(Box::new(Fifo::default())), brought(Box::new(Clock::default())));
    assert!(clock < fifo, "{clock} came back with a second chance, {fifo} without");
}

/// Pages that left together come together, and are what they were.
#[test]
fn neighbours_come_back_together() {
    for policy in policies(5).into_iter().take(2) {
        let frames = 4 * MIN_FRAMES;
        let mut bank = Bank::new(Arrays::new(frames, 0), Plain { limit: 1000, ..Plain::default() }, policy, frames);
        for page in 0..1000u64 {
            let frame = reach(&mut bank, page, true, 1000).unwrap();
            bank.hands().frames[frame][0] = (page % 250) as u8 + 1;
        }
        for page in 0..400u64 {
            let frame = reach(&mut bank, page, false, 1000).unwrap();
            assert_eq!(bank.hands().frames[frame][0], (page % 250) as u8 + 1);
        }
        let counts = bank.counts();
        assert!(counts.along > 0 && counts.along < counts.brought, "{counts:?}");
    }
}

/// Checks that few frames bring only the page that is asked for, because others would take the
/// place of pages in use.
#[test]
fn few_frames_bring_what_is_asked_for() {
    let bank = run(6, Box::new(Fifo::default()), Plain { limit: PAGES, ..Plain::default() }, false);
    assert_eq!(bank.counts().along, 0);
}

/// A machine that does nothing.
struct Nothing;

impl Hands for Nothing {
    fn show(&mut self, _: u64, _: usize, _: bool) -> Result<(), Refused> {
        Ok(())
    }

    fn hide(&mut self, _: u64, _: usize) -> Result<(), Refused> {
        Ok(())
    }

    fn read(&mut self, _: usize, into: &mut Page) {
        into[0] = 1;
    }

    fn write(&mut self, _: usize, _: &Page) {}

    fn clear(&mut self, _: usize) {}

    fn keep(&mut self, _: usize, _: bool) -> Result<(), Refused> {
        Ok(())
    }
}

/// Chance finds the few pages that are here, and does not look at the many frames that are free.
/// If it does, this test takes minutes.
#[test]
fn chance_does_not_look_at_free_frames() {
    const FRAMES: usize = 1 << 22;
    let mut bank = Bank::new(Nothing, Plain { limit: PAGES, ..Plain::default() }, Fifo::default(), FRAMES);
    let mut random = Random::new(1);
    for touch in 0..20_000 {
        bank.fault(touch % PAGES, true, touch % PAGES + 1).unwrap();
        bank.disturb(&mut random, 8);
    }
    assert!(bank.population().0 <= MIN_FRAMES && bank.counts().put_away > 10_000, "{:?}", bank.counts());
}

/// Fault that finds no free frame empties several, where there are many: no page leaves for the
/// next ones.
#[test]
fn several_pages_leave_at_once_where_there_are_many() {
    const FRAMES: u64 = 1024;
    let mut bank = Bank::new(Nothing, Plain { limit: 2 * FRAMES, ..Plain::default() }, Fifo::default(), FRAMES as usize);
    let mut gone = Vec::new();
    for page in 0..FRAMES + 5 {
        bank.fault(page, true, page + 1).unwrap();
        gone.extend((page >= FRAMES).then(|| bank.counts().put_away + bank.counts().left));
    }
    assert_eq!(gone, [4, 4, 4, 4, 8]);
}
