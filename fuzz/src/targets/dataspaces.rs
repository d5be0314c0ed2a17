//! Operations on dataspaces with any ids, managers and lengths, on a machine and stores that fail.

use crate::bytes::Bytes;
use nacre_dataspaces::bank::MIN_FRAMES;
use nacre_dataspaces::hands::Refused;
use nacre_dataspaces::policy::{Clock, Fifo, Random};
use nacre_dataspaces::store::{Compressed, Full, Lost};
use nacre_dataspaces::{Access, Bank, Hands, PAGE, Page, Policy, Spaces, Store};
use std::collections::BTreeMap;

/// Managers of the test: two whose pages leave, one whose pages stay, one with homes.
const MANAGERS: usize = 4;

/// A machine of arrays, which refuses once.
struct Arrays {
    frames: Vec<Page>,
    shown: BTreeMap<u64, usize>,
    /// Requests until one is refused.
    left: usize,
}

impl Arrays {
    fn ask(&mut self) -> Result<(), Refused> {
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 { Err(Refused) } else { Ok(()) }
    }
}

impl Hands for Arrays {
    fn show(&mut self, page: u64, frame: usize, _: bool) -> Result<(), Refused> {
        self.ask()?;
        assert!(self.shown.values().all(|one| *one != frame), "a frame is shown twice");
        assert!(self.shown.insert(page, frame).is_none(), "two frames at one page");
        Ok(())
    }

    fn hide(&mut self, page: u64, frame: usize) -> Result<(), Refused> {
        self.ask()?;
        assert_eq!(self.shown.remove(&page), Some(frame));
        Ok(())
    }

    fn read(&mut self, frame: usize, into: &mut Page) {
        *into = self.frames[frame];
    }

    fn write(&mut self, frame: usize, from: &Page) {
        self.frames[frame] = *from;
    }

    fn clear(&mut self, frame: usize) {
        self.frames[frame] = [0; PAGE];
    }
}

/// A store in which one page cannot be put away.
struct Failing {
    store: Compressed,
    left: usize,
}

impl Store for Failing {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 { Err(Full) } else { self.store.put(page) }
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        self.store.get(number, into)
    }

    fn drop(&mut self, number: u64) {
        self.store.drop(number);
    }

    fn capacity(&self) -> u64 {
        self.store.capacity()
    }

    fn used(&self) -> u64 {
        self.store.used()
    }
}

type Tested = Spaces<Arrays, Failing, Box<dyn Policy>>;

fn made(bytes: &mut Bytes<'_>) -> (Tested, bool) {
    let (refused, fails) = (usize::from(bytes.byte()), usize::from(bytes.byte()));
    let arrays = |frames: usize| Arrays { frames: vec![[0xee; PAGE]; frames], shown: BTreeMap::new(), left: refused };
    let store = |size: u64| Failing { store: Compressed::new(size), left: fails };
    let bank = |frames: usize, size: u64, policy: Box<dyn Policy>| Bank::new(arrays(frames), store(size), policy, frames);
    let homes = Bank::with_homes(arrays(80), store(0), Box::new(Fifo::default()) as Box<dyn Policy>, 80, Access::Memory);
    let banks = vec![bank(MIN_FRAMES, 1 << 20, Box::new(Clock::default())), bank(MIN_FRAMES, 1 << 19, Box::new(Fifo::default())), bank(150, 0, Box::new(Fifo::default())), homes];
    (Spaces::new(banks, 1 << 16), refused > 0)
}

/// An id: one of those that there are, or any number.
fn id(bytes: &mut Bytes<'_>, plain: &BTreeMap<u64, Vec<u8>>) -> u64 {
    let chosen = bytes.byte();
    if chosen >= 240 || plain.is_empty() { bytes.word() } else { *plain.keys().nth(usize::from(chosen) % plain.len()).unwrap_or(&0) }
}

fn count(bytes: &mut Bytes<'_>) -> u64 {
    let count = bytes.byte();
    if count == 255 { bytes.word() } else { u64::from(count % 96) }
}

fn step(spaces: &mut Tested, bytes: &mut Bytes<'_>, plain: &mut BTreeMap<u64, Vec<u8>>, random: &mut Random) {
    let (operation, space, manager) = (bytes.below(20), id(bytes, plain), bytes.below(MANAGERS + 1));
    match operation {
        0 | 1 => {
            let count = count(bytes);
            if let Ok(made) = spaces.create(manager, count) {
                assert!(plain.insert(made, vec![0; count as usize]).is_none(), "an id is given twice");
            }
        }
        2 => {
            spaces.delete(space);
            plain.remove(&space);
        }
        3 => {
            if let Ok(copy) = spaces.copy(space, manager) {
                let pages = plain[&space].clone();
                assert!(plain.insert(copy, pages).is_none(), "an id is given twice");
            }
        }
        4 => drop(spaces.transfer(space, manager)),
        5 | 6 => {
            let (before, lower) = ((spaces.manager(space), spaces.lower(space)), bytes.below(MANAGERS + 1));
            let done = spaces.place(space, manager, Some(lower).filter(|lower| *lower < MANAGERS));
            assert!(done.is_err() || spaces.manager(space) == Some(manager));
            assert!(done.is_ok() || spaces.manager(space) == before.0 || spaces.manager(space).is_some());
        }
        7 => {
            let count = count(bytes);
            if spaces.resize(space, count).is_ok()
                && count > 0
                && let Some(pages) = plain.get_mut(&space)
            {
                pages.resize(count as usize, 0);
            }
        }
        8 => drop(spaces.fault(bytes.word(), true)),
        9 => spaces.disturb(manager, random, 8),
        16..20 => advise(spaces, bytes, space, operation),
        _ => touch(spaces, bytes, plain, space),
    }
}

/// Pins pages of a dataspace, lets them go, and advises about them.
fn advise(spaces: &mut Tested, bytes: &mut Bytes<'_>, space: u64, operation: usize) {
    let Some(all) = spaces.pages(space) else { return };
    let first = all.start + bytes.below((all.end - all.start) as usize) as u64;
    let pages = first..(first + 1 + bytes.below(96) as u64).min(all.end);
    match operation {
        16 => drop(spaces.pin(space, pages, bytes.below(2) == 0)),
        17 => spaces.unpin(space, pages),
        18 => spaces.put_away(space, pages),
        _ => {
            spaces.cool(space, pages.clone());
            spaces.bring(space, pages);
        }
    }
}

/// Writes and reads single bytes of pages.
fn touch(spaces: &mut Tested, bytes: &mut Bytes<'_>, plain: &mut BTreeMap<u64, Vec<u8>>, space: u64) {
    let Some(pages) = plain.get_mut(&space) else { return };
    for _ in 0..bytes.below(64) {
        let (page, value) = (bytes.below(256) % pages.len(), bytes.byte());
        if spaces.write(space, (page * PAGE) as u64, &[value]).is_ok() {
            pages[page] = value;
        }
        check(spaces, space, pages, page);
    }
}

fn check(spaces: &mut Tested, space: u64, pages: &[u8], page: usize) {
    let mut byte = [0xaa];
    if spaces.read(space, (page * PAGE) as u64, &mut byte).is_ok() {
        assert_eq!(byte[0], pages[page], "page {page} of {space}");
    }
}

/// Makes operations. Each dataspace holds what was written to it, whatever failed, and nothing is
/// left at the end.
pub fn dataspaces(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let ((mut spaces, refuses), mut random, mut plain) = (made(&mut bytes), Random::new(1), BTreeMap::new());
    while !bytes.is_over() {
        step(&mut spaces, &mut bytes, &mut plain, &mut random);
    }
    for (space, pages) in &plain {
        (0..pages.len()).for_each(|page| check(&mut spaces, *space, pages, page));
    }
    plain.keys().for_each(|space| spaces.delete(*space));
    for manager in (0..MANAGERS).filter(|_| !refuses) {
        let bank = spaces.bank(manager).expect("a bank");
        assert_eq!((bank.population(), bank.store().used(), bank.promised(), bank.pinned()), ((0, 0), 0, 0, 0), "nothing is left");
    }
}
