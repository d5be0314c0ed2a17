//! Files shown by a bank, beside plain arrays of bytes.

use crate::bank::{Bank, MIN_FRAMES, Trouble};
use crate::generations::Failed;
use crate::model::Arrays;
use crate::policy::{Clock, Random};
use crate::store::{Contents, Files};
use crate::PAGE;
use std::cell::RefCell;
use std::rc::Rc;

/// A file in memory.
#[derive(Default)]
pub struct Plain {
    /// Contents.
    pub bytes: Vec<u8>,
    /// Writes fail.
    fails: bool,
}

/// A reference to a file, which others change, too.
#[derive(Clone, Default)]
pub struct Shared(pub Rc<RefCell<Plain>>);

impl Contents for Shared {
    fn size(&mut self) -> Result<u64, Failed> {
        Ok(self.0.borrow().bytes.len() as u64)
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, Failed> {
        let plain = self.0.borrow();
        let from = plain.bytes.get(offset as usize..).unwrap_or_default();
        // A server may give less than was asked for.
        let count = from.len().min(into.len()).min(3000);
        into[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), Failed> {
        let mut plain = self.0.borrow_mut();
        if plain.fails {
            return Err(Failed);
        }
        plain.bytes.get_mut(offset as usize..offset as usize + from.len()).ok_or(Failed)?.copy_from_slice(from);
        Ok(())
    }
}

type Tested = Bank<Arrays, Files<Shared>, Clock>;

/// First pages of the two files, and their pages.
const FIRST: [u64; 2] = [100, 400];
const COUNT: u64 = 90;

fn bank(seed: u64) -> (Tested, [Shared; 2]) {
    let files = [Shared::default(), Shared::default()];
    let mut store = Files::default();
    for (first, file) in FIRST.iter().zip(&files) {
        file.0.borrow_mut().bytes = vec![*first as u8; COUNT as usize * PAGE - 1000];
        store.add(*first, COUNT, file.clone());
    }
    (Bank::new(Arrays::new(MIN_FRAMES, seed), store, Clock::default(), MIN_FRAMES), files)
}

fn reach(bank: &mut Tested, page: u64, written: bool) -> Result<usize, Trouble> {
    let end = FIRST[usize::from(page >= FIRST[1])] + COUNT;
    for _ in 0..100 {
        if let Some((frame, _)) = bank.hands().tables.get(&page).filter(|(_, may_write)| *may_write || !written) {
            return Ok(*frame);
        }
        bank.fault(page, written, end)?;
    }
    panic!("page {page} cannot be reached");
}

/// Contents of both files for whoever has them mapped.
type Seen = [Vec<u8>; 2];

/// A store through the mapping.
fn store(bank: &mut Tested, seen: &mut Seen, random: &mut Random) {
    let which = random.below(2);
    let at = random.below(seen[which].len());
    let frame = reach(bank, FIRST[which] + (at / PAGE) as u64, true).unwrap();
    let byte = if random.below(4) == 0 { 0 } else { random.number() as u8 };
    bank.hands().frames[frame][at % PAGE] = byte;
    seen[which][at] = byte;
}

/// A load through the mapping.
fn load(bank: &mut Tested, seen: &Seen, random: &mut Random) {
    let which = random.below(2);
    let at = random.below(seen[which].len());
    let frame = reach(bank, FIRST[which] + (at / PAGE) as u64, false).unwrap();
    assert_eq!(bank.hands().frames[frame][at % PAGE], seen[which][at], "byte {at} of file {which}");
}

/// Somebody else writes the file, or makes it shorter, when all is written back. Then the pages are
/// read again.
fn change(bank: &mut Tested, files: &[Shared; 2], seen: &mut Seen, random: &mut Random) {
    let which = random.below(2);
    let pages = FIRST[which]..FIRST[which] + COUNT;
    bank.write_back(pages.clone()).unwrap();
    assert!(files[which].0.borrow().bytes == seen[which]);
    let at = random.below(seen[which].len());
    if random.below(4) == 0 && at > PAGE {
        seen[which].truncate(at);
        files[which].0.borrow_mut().bytes.truncate(at);
    } else {
        seen[which][at] ^= 1;
        files[which].0.borrow_mut().bytes[at] ^= 1;
    }
    bank.forget(pages.clone()).unwrap();
    let behind = pages.start + seen[which].len().div_ceil(PAGE) as u64;
    assert!(behind == pages.end || reach(bank, behind, false) == Err(Trouble::Lost), "a page behind the end");
}

#[test]
fn files_hold_what_was_written_to_their_memory() {
    for seed in 0..6 {
        let ((mut bank, files), mut random) = (bank(seed), Random::new(seed + 9));
        let mut seen = files.each_ref().map(|file| file.0.borrow().bytes.clone());
        for round in 0..2500 {
            match random.below(40) {
                0 => change(&mut bank, &files, &mut seen, &mut random),
                1 => bank.disturb(&mut random, 4),
                2..20 => load(&mut bank, &seen, &mut random),
                _ => store(&mut bank, &mut seen, &mut random),
            }
            // A write that fails leaves the page where it is, and is told.
            if round % 500 == 99 {
                files.iter().for_each(|file| file.0.borrow_mut().fails = true);
                bank.disturb(&mut random, 4);
                reach(&mut bank, FIRST[0], true).unwrap();
                assert!(bank.write_back(FIRST[0]..FIRST[0] + COUNT).is_err());
                files.iter().for_each(|file| file.0.borrow_mut().fails = false);
            }
        }
        for (which, file) in files.iter().enumerate() {
            bank.write_back(FIRST[which]..FIRST[which] + COUNT).unwrap();
            assert!(file.0.borrow().bytes == seen[which], "seed {seed}, file {which}");
        }
    }
}
