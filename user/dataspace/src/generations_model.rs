//! Files of generations that are cut off, altered, and fail, beside plain maps of pages.

use crate::generations::{Blocks, Failed, Generations, Unusable};
use crate::policy::Random;
use crate::store::{Full, Lasting, Saved, Store};
use crate::{PAGE, Page};
use std::collections::BTreeMap;

/// A file in memory.
#[derive(Clone)]
struct File {
    blocks: Vec<Page>,
    /// Writes that go well from now on.
    left: usize,
    /// The first write that does not go well writes so many bytes.
    torn: usize,
    /// Later writes go well again.
    recovers: bool,
}

impl Blocks for File {
    fn count(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn read(&mut self, block: u64, into: &mut Page) -> Result<(), Failed> {
        *into = *self.blocks.get(block as usize).ok_or(Failed)?;
        Ok(())
    }

    fn write(&mut self, block: u64, from: &Page) -> Result<(), Failed> {
        let size = if self.left == 0 { core::mem::take(&mut self.torn) } else { PAGE };
        self.blocks[block as usize][..size].copy_from_slice(&from[..size]);
        if self.left == 0 {
            self.left = if self.recovers { usize::MAX } else { 0 };
            return Err(Failed);
        }
        self.left -= 1;
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}

fn file(blocks: usize) -> File {
    File { blocks: vec![[0; PAGE]; blocks], left: usize::MAX, torn: 0, recovers: false }
}

/// Names and what the dataspaces hold.
type Plain = BTreeMap<Vec<u8>, BTreeMap<u64, u8>>;
/// Names, and of each page its block, too.
type Kept = BTreeMap<Vec<u8>, BTreeMap<u64, (u64, u8)>>;

const COUNT: u64 = 40;

fn saved(kept: &Kept) -> Vec<Saved> {
    let one = |(name, pages): (&Vec<u8>, &BTreeMap<u64, (u64, u8)>)| Saved { name: name.clone(), length: COUNT * 4096 - 7, count: COUNT, pages: pages.iter().map(|(place, (block, _))| (*place, *block)).collect() };
    kept.iter().map(one).collect()
}

fn plain(kept: &Kept) -> Plain {
    kept.iter().map(|(name, pages)| (name.clone(), pages.iter().map(|(place, (_, byte))| (*place, *byte)).collect())).collect()
}

/// Returns the contents of a file for whoever opens it.
fn found(file: &File) -> Result<(Plain, Kept, Generations<File>), Unusable> {
    let opened = Generations::open(File { left: usize::MAX, ..file.clone() })?;
    let (mut store, mut kept) = (opened.store, Kept::new());
    for one in opened.saved {
        assert!(one.length == COUNT * 4096 - 7 && one.count == COUNT);
        let pages = one.pages.iter().map(|(place, block)| {
            let mut page = [0; PAGE];
            store.get(*block, &mut page).unwrap();
            assert!(page.iter().all(|byte| *byte == page[0]));
            (*place, (*block, page[0]))
        });
        kept.insert(one.name, pages.collect());
    }
    Ok((plain(&kept), kept, store))
}

/// One random step: true if it made a generation. `Err`: a write failed, of a generation or not.
fn step(store: &mut Generations<File>, kept: &mut Kept, random: &mut Random) -> Result<bool, bool> {
    let name = vec![b'a' + random.below(3) as u8; random.below(3)];
    match random.below(12) {
        0 => {
            for (_, (block, _)) in kept.remove(&name).unwrap_or_default() {
                store.drop(block);
            }
        }
        1 | 2 => return store.commit(&saved(kept)).map_err(|Full| true),
        _ => {
            let (place, byte) = (random.below(COUNT as usize) as u64, 1 + random.below(255) as u8);
            let block = store.put(&[byte; PAGE]).map_err(|Full| false)?;
            if let Some((old, _)) = kept.entry(name).or_default().insert(place, (block, byte)) {
                store.drop(old);
            }
        }
    }
    Ok(false)
}

/// Runs until a write fails, or to the end: the file, and what it may hold.
fn run(seed: u64, left: usize, torn: usize) -> (File, Vec<Plain>) {
    let (mut random, mut kept, mut last) = (Random::new(seed), Kept::new(), Plain::new());
    let mut blank = file(640);
    (blank.left, blank.torn) = (left, torn);
    let Ok(opened) = Generations::open(blank.clone()) else {
        blank.blocks[0][..torn].copy_from_slice(&Generations::open(file(640)).unwrap_or_else(|_| panic!()).store.blocks_mut().blocks[0][..torn]);
        return (blank, vec![Plain::new()]);
    };
    let mut store = opened.store;
    for _ in 0..120 {
        let next = step(&mut store, &mut kept, &mut random);
        match next {
            Ok(true) => last = plain(&kept),
            Ok(false) => {}
            Err(true) => return (store.blocks_mut().clone(), vec![last, plain(&kept)]),
            Err(false) => return (store.blocks_mut().clone(), vec![last]),
        }
    }
    (store.blocks_mut().clone(), vec![last])
}

#[test]
fn whoever_is_killed_at_any_write_leaves_a_whole_generation() {
    let mut random = Random::new(7);
    for seed in 0..3 {
        for left in 0..150 {
            let torn = [0, 1, 40, 68, 72, 512, PAGE - 1, random.below(PAGE)][left % 8];
            let (file, allowed) = run(seed, left, torn);
            let (plain, _, _) = found(&file).unwrap_or_else(|unusable| panic!("seed {seed}, {left} writes and {torn} bytes: {unusable}"));
            assert!(allowed.contains(&plain), "seed {seed}, {left} writes and {torn} bytes");
        }
    }
}

#[test]
fn a_write_that_fails_changes_nothing_and_the_next_generation_goes_well_or_is_refused() {
    for left in 1..120 {
        let mut blank = file(640);
        (blank.left, blank.torn, blank.recovers) = (left, left * 31 % PAGE, true);
        let mut store = Generations::open(blank).unwrap_or_else(|_| panic!()).store;
        let (mut random, mut kept, mut last, mut tried) = (Random::new(left as u64), Kept::new(), Plain::new(), Plain::new());
        for _ in 0..150 {
            // After a head that may be there or not no generation is made any more.
            match step(&mut store, &mut kept, &mut random) {
                Ok(true) => last = plain(&kept),
                Ok(false) => {}
                Err(true) if tried.is_empty() => tried = plain(&kept),
                Err(_) => {}
            }
        }
        let (plain, ..) = found(store.blocks_mut()).unwrap();
        assert!(plain == last || plain == tried, "{left}");
    }
}

#[test]
fn a_file_that_was_altered_is_refused_or_an_older_generation_is_found() {
    let (whole, _) = run(5, usize::MAX, 0);
    let mut all = Vec::new();
    for left in 0..200 {
        all.extend(run(5, left, 0).1);
    }
    let (now, ..) = found(&whole).unwrap();
    assert!(!now.is_empty());
    let (mut random, mut refused) = (Random::new(3), 0);
    for _ in 0..400 {
        let mut altered = whole.clone();
        for _ in 0..1 + random.below(3) {
            let block = if random.below(2) == 0 { random.below(2) } else { random.below(altered.blocks.len()) };
            altered.blocks[block][random.below(if block < 2 { 80 } else { PAGE })] ^= 1 << random.below(8);
        }
        match found(&altered) {
            Ok((plain, ..)) => assert!(all.contains(&plain)),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0);
}

#[test]
fn what_cannot_be_used_is_said_and_stays_as_it_was() {
    let (whole, _) = run(5, usize::MAX, 0);
    let refusal = |change: &dyn Fn(&mut File)| {
        let mut file = whole.clone();
        change(&mut file);
        found(&file).err()
    };
    assert_eq!(refusal(&|file| file.blocks.truncate(600)), Some(Unusable::CutOff(640)));
    assert_eq!(refusal(&|file| file.blocks.truncate(15)), Some(Unusable::Small));
    assert_eq!(refusal(&|file| file.blocks[2..].fill([1; PAGE])), Some(Unusable::Damaged));
    assert_eq!(refusal(&|file| file.blocks[..2].fill([1; PAGE])), Some(Unusable::Foreign));
    assert_eq!(refusal(&|file| file.blocks[..2].iter_mut().for_each(|block| block[40] ^= 1)), Some(Unusable::Damaged));
    assert_eq!(refusal(&|file| file.blocks[..2].fill([0; PAGE])), Some(Unusable::Foreign));
    assert_eq!(refusal(&|file| file.blocks.push([9; PAGE])), None);
}

#[test]
fn as_many_pages_as_promised_can_be_written_again_and_again() {
    let mut store = Generations::open(file(200)).unwrap_or_else(|_| panic!()).store;
    let (mut kept, count) = (Kept::new(), store.capacity());
    assert!(count > 90);
    for round in 1..5 {
        for page in 0..count {
            let name = format!("{page:0>255}").into_bytes();
            let block = store.put(&[round; PAGE]).unwrap();
            if let Some((old, _)) = kept.entry(name).or_default().insert(0, (block, round)) {
                store.drop(old);
            }
        }
        assert_eq!(store.commit(&saved(&kept)), Ok(true));
        assert_eq!(store.commit(&saved(&kept)), Ok(false));
        assert_eq!(store.generation(), u64::from(round));
    }
    assert!(found(store.blocks_mut()).unwrap().0 == plain(&kept));
}
