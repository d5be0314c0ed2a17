//! Files of persistent memory, as anybody may have written them.

use crate::bytes::Bytes;
use nacre_dataspaces::generations::{Blocks, Failed, Generations};
use nacre_dataspaces::store::{Lasting, Saved, Store};
use nacre_dataspaces::{PAGE, Page};
use nacre_snapshot::check::check_facts;
use nacre_snapshot::image::{Facts, Fault, Hash, Reader, Writer, decode};
use nacre_snapshot::Place;

/// Blocks of the file.
const BLOCKS: usize = 24;

/// A file in memory, whose writes fail from some time on.
#[derive(Clone)]
struct File {
    blocks: Vec<Page>,
    left: usize,
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
        self.left = self.left.checked_sub(1).ok_or(Failed)?;
        self.blocks[block as usize] = *from;
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}

/// A file of two generations, whose tables and pages are the bytes.
fn made(bytes: &mut Bytes<'_>) -> File {
    let file = File { blocks: vec![[0; PAGE]; BLOCKS], left: usize::MAX };
    let mut store = Generations::open(file).unwrap_or_else(|_| unreachable!("a file of zeros is new")).store;
    for _ in 0..2 {
        let pages = (0..bytes.below(3) as u64).map(|place| (place, store.put(&[1 + bytes.byte() % 9; PAGE]).expect("there is room"))).collect();
        let saved = Saved { name: bytes.some().to_vec(), length: u64::from(bytes.byte()), count: 3, pages };
        store.commit(&[saved]).expect("there is room");
    }
    store.blocks_mut().clone()
}

/// Opens an altered file, writes a generation, and opens it again: nothing is read that was not
/// written, and nothing is lost.
pub fn generations(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut file = made(&mut bytes);
    for _ in 0..bytes.below(6) {
        let (block, at, byte) = (bytes.below(BLOCKS), bytes.word() as usize % PAGE, bytes.byte());
        file.blocks[block][at] = byte;
    }
    file.blocks.truncate(BLOCKS - bytes.below(2) * bytes.below(BLOCKS));
    file.left = bytes.below(12);
    let Ok(mut opened) = Generations::open(file.clone()) else { return };
    let mut page = [0; PAGE];
    for (_, block) in opened.saved.iter().flat_map(|saved| &saved.pages) {
        opened.store.get(*block, &mut page).expect("what was checked is there");
    }
    let before = opened.saved.clone();
    let Ok(block) = opened.store.put(&[7; PAGE]) else { return };
    let next = vec![Saved { name: b"next".to_vec(), length: 4096, count: 1, pages: vec![(0, block)] }];
    let done = opened.store.commit(&next);
    let again = Generations::open(File { left: usize::MAX, ..opened.store.blocks_mut().clone() }).unwrap_or_else(|unusable| panic!("{unusable}"));
    assert!(again.saved == if done.is_ok() { next } else { before });
}

/// Reads an image to its end: the number of its pages.
fn read_image(mut bytes: &[u8], before: Option<&Hash>) -> Result<usize, Fault> {
    let source = |into: &mut [u8]| {
        let (now, rest) = bytes.split_at_checked(into.len()).ok_or(Fault::Truncated)?;
        into.copy_from_slice(now);
        bytes = rest;
        Ok(())
    };
    let mut reader = if let Some(before) = before { Reader::round(source, before)? } else { Reader::new(source)? };
    let mut count = 0;
    while let Some((distances, _)) = reader.pages()? {
        count += distances.len();
    }
    Ok(count)
}

/// Reads any bytes as an image, as a round, and as the facts of one. What passes the check belongs
/// to spaces of the environment and leads to things outside that there are; an image and a round
/// with it are read as they were written, and refused when a byte was altered or the end is
/// missing.
pub fn images(bytes: &[u8]) {
    let _ = (read_image(bytes, None), read_image(bytes, Some(&Hash::default())));
    let mut facts = decode(bytes).unwrap_or_default();
    if check_facts(&mut facts).is_err() {
        facts = Facts::default();
    }
    let outside = facts.ports.iter().flatten().count() + facts.ports.len() + bytes.len();
    for link in facts.objects.iter().flat_map(|object| object.links) {
        assert!(match link {
            Place::Nothing => true,
            Place::Inside(at) => at < facts.size,
            Place::Outside(number) => number < outside,
        });
    }
    facts.pages = 1;
    let mut bytes = Bytes(bytes);
    let (mut image, mut round) = (Vec::new(), Vec::new());
    let hash = written(Writer::new(|part: &[u8]| { image.extend_from_slice(part); Ok(()) }, &facts));
    written(Writer::round(|part: &[u8]| { round.extend_from_slice(part); Ok(()) }, &facts, &hash));
    assert_eq!(read_image(&round, Some(&Hash::default())), Err(Fault::Order));
    for (mut image, before) in [(image, None), (round, Some(&hash))] {
        assert_eq!(read_image(&image, before), Ok(1));
        let at = bytes.word() as usize % image.len();
        assert!(read_image(&image[..at], before).is_err());
        image[at] ^= 1 << (bytes.byte() % 8);
        assert!(read_image(&image, before).is_err());
    }
}

/// Writes a page and the end: the hash of all.
fn written<S: FnMut(&[u8]) -> Result<(), Fault>>(writer: Result<Writer<S>, Fault>) -> Hash {
    let mut writer = writer.expect("there is room");
    writer.pages(&[0], &[1; PAGE]).expect("there is room");
    writer.end().expect("there is room")
}
