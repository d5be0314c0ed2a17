//! Images in a store: a file that is memory, as `/dev/store` is. Data of the environment lies there
//! page by page as it was in memory, so a thaw shows it where it lies instead of reading it. All
//! else is an image of its own behind it, without data, whose pages are not packed: see
//! [`image`](crate::image).
//!
//! A store begins with a page: `MAGIC`, the version of images, the size. Two halves follow, for two
//! generations: the one that is not the newest is written over. A half is
//!
//! | part | what |
//! | --- | --- |
//! | a page | `HALF_MAGIC`, the generation, the bytes of data, the bytes of the image, the hash at its end, the BLAKE3 hash of all that |
//! | map | a bit for each page of the half: it may hold anything but zeros |
//! | data | pages at their offsets; those without a bit hold zeros |
//! | image | with the pages that are no data |
//!
//! The page is written last, and cleared first, so a half is whole or none. All numbers are
//! little-endian. Pages have no hash: whoever can write to the store can change what the
//! environment remembers, and nothing else.

use crate::PAGE;
use crate::image::{Fault, Hash, VERSION};
use alloc::vec::Vec;

/// First bytes of a store with images.
pub const MAGIC: [u8; 8] = *b"nacrestr";
/// First bytes of a half with an image.
const HALF_MAGIC: [u8; 8] = *b"nacrehlf";
/// Size of a half's numbers and the hash of its image.
const NUMBERS: usize = 64;
/// Size of a hash.
const HASH: usize = 32;
const PAGE_BYTES: usize = PAGE as usize;

/// Memory that a store is made of.
pub trait Memory {
    /// Size in bytes.
    fn size(&self) -> u64;
    /// Reads all of `into`. `None`: that is not there.
    fn read(&self, at: u64, into: &mut [u8]) -> Option<()>;
    /// Writes all of `bytes`. `None`: that is not there.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Option<()>;
}

/// A store.
pub struct Store<M> {
    memory: M,
    /// Bytes of a half.
    half: u64,
}

/// Image in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Number of its half: 0 or 1.
    pub half: u64,
    /// Number of images that were written before it.
    pub generation: u64,
    /// Offset in the store at which its data begins.
    pub start: u64,
    /// Bytes of data, whole pages.
    pub data: u64,
    /// Bytes of the image behind it.
    pub stream: u64,
    /// Hash at the end of that.
    pub hash: Hash,
}

impl Stored {
    /// Offset in the store at which the image behind the data begins.
    pub fn stream_start(&self) -> u64 {
        self.start + self.data
    }
}

impl<M: Memory> Store<M> {
    /// Opens a store that has images.
    pub fn open(memory: M) -> Result<Store<M>, Fault> {
        let mut head = [0; 24];
        memory.read(0, &mut head).ok_or(Fault::NoImage)?;
        let [version, size] = [8, 16].map(|at| number(&head[at..at + 8]));
        match version {
            _ if head[..8] != MAGIC => return Err(Fault::NoImage),
            VERSION => {}
            other => return Err(Fault::Version(other)),
        }
        if size > memory.size() {
            return Err(Fault::Truncated);
        }
        Ok(Store { half: half_of(size).ok_or(Fault::Nonsense)?, memory })
    }

    /// Opens a store that has images, or lays one out where the first page is zeros.
    pub fn prepare(mut memory: M) -> Result<Store<M>, Fault> {
        let mut head = [0; PAGE_BYTES];
        memory.read(0, &mut head).ok_or(Fault::Full)?;
        if head[..8] == MAGIC {
            return Store::open(memory);
        }
        if head != [0; PAGE_BYTES] {
            return Err(Fault::Taken);
        }
        let size = memory.size();
        let half = half_of(size).ok_or(Fault::Full)?;
        for start in [PAGE, PAGE + half] {
            memory.write(start, &[0; PAGE_BYTES]).ok_or(Fault::File)?;
            // Anything may lie there.
            for page in 1..=map_pages(half) {
                memory.write(start + page * PAGE, &[0xff; PAGE_BYTES]).ok_or(Fault::File)?;
            }
        }
        let words = [VERSION, size].map(u64::to_le_bytes).concat();
        memory.write(8, &words).and_then(|()| memory.write(0, &MAGIC)).ok_or(Fault::File)?;
        Ok(Store { memory, half })
    }

    /// Returns the memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The newest image.
    pub fn newest(&self) -> Result<Stored, Fault> {
        [0, 1].into_iter().filter_map(|half| self.stored(half)).max_by_key(|stored| stored.generation).ok_or(Fault::NoImage)
    }

    /// The image of a half, if there is one.
    pub fn stored(&self, half: u64) -> Option<Stored> {
        let mut head = [0; NUMBERS + HASH];
        self.memory.read(self.start(half), &mut head)?;
        let (numbers, hash) = head.split_at(NUMBERS);
        if numbers[..8] != HALF_MAGIC || *blake3::hash(numbers).as_bytes() != hash {
            return None;
        }
        let [generation, data, stream] = [8, 16, 24].map(|at| number(&numbers[at..at + 8]));
        let stored = Stored { half, generation, start: self.area(half), data, stream, hash: numbers[32..].try_into().ok()? };
        let end = stored.start.checked_add(data)?.checked_add(stream)?;
        (data.is_multiple_of(PAGE) && end <= self.start(half) + self.half).then_some(stored)
    }

    /// Returns the offsets of the pages of an image's data that may hold anything but zeros, as far
    /// as they lie in a range.
    pub fn filled(&self, stored: &Stored, (start, end): (u64, u64)) -> Vec<u64> {
        let Some(map) = self.map(stored.half) else { return Vec::new() };
        let first = (stored.start - self.start(stored.half)) / PAGE;
        let pages = start / PAGE..end.min(stored.data).div_ceil(PAGE);
        pages.filter(|page| is_set(&map, first + page)).map(|page| page * PAGE).collect()
    }

    /// Begins an image in a half, whose image is none from then on: with so many bytes of data, of
    /// which pages at these offsets, in order, are written and all others are zeros.
    pub fn begin(&mut self, half: u64, data: u64, filled: &[u64]) -> Result<Writing, Fault> {
        let generation = [0, 1].into_iter().filter_map(|half| self.stored(half)).map(|stored| stored.generation.saturating_add(1)).max().unwrap_or(0);
        let (start, area) = (self.start(half), self.area(half));
        if area + data > start + self.half {
            return Err(Fault::Full);
        }
        self.memory.write(start, &[0; 8]).ok_or(Fault::File)?;
        let mut map = self.map(half).ok_or(Fault::File)?;
        let first = (area - start) / PAGE;
        for page in 0..data / PAGE {
            let (bit, is_filled) = (first + page, filled.binary_search(&(page * PAGE)).is_ok());
            if !is_filled && is_set(&map, bit) {
                self.memory.write(area + page * PAGE, &[0; PAGE_BYTES]).ok_or(Fault::File)?;
            }
            set(&mut map, bit, is_filled);
        }
        // What was cleared is zeros before the map says so.
        self.memory.write(start + PAGE, &map).ok_or(Fault::File)?;
        Ok(Writing { stored: Stored { half, generation, start: area, data, stream: 0, hash: [0; HASH] }, end: start + self.half, base: start, map })
    }

    fn map(&self, half: u64) -> Option<Vec<u8>> {
        let size = (map_pages(self.half) * PAGE) as usize;
        let mut map = Vec::new();
        map.try_reserve_exact(size).ok()?;
        map.resize(size, 0);
        self.memory.read(self.start(half) + PAGE, &mut map)?;
        Some(map)
    }

    fn start(&self, half: u64) -> u64 {
        PAGE + half * self.half
    }

    fn area(&self, half: u64) -> u64 {
        self.start(half) + PAGE + map_pages(self.half) * PAGE
    }
}

/// An image that is being written.
#[derive(Debug)]
pub struct Writing {
    stored: Stored,
    map: Vec<u8>,
    /// Offsets of the half, and of the first byte behind it.
    base: u64,
    end: u64,
}

impl<M: Memory> Store<M> {
    /// Writes a page of data at an offset that [`begin`](Store::begin) was told.
    pub fn page(&mut self, writing: &Writing, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.memory.write(writing.stored.start + offset, bytes).ok_or(Fault::File)
    }

    /// Writes more of the image behind the data.
    pub fn stream(&mut self, Writing { stored, map, base, end }: &mut Writing, bytes: &[u8]) -> Result<(), Fault> {
        let at = stored.stream_start() + stored.stream;
        let next = at + bytes.len() as u64;
        if next > *end {
            return Err(Fault::Full);
        }
        for page in (at - *base) / PAGE..(next - *base).div_ceil(PAGE) {
            if !is_set(map, page) {
                set(map, page, true);
                let byte = (page / 8) as usize;
                self.memory.write(*base + PAGE + byte as u64, &map[byte..=byte]).ok_or(Fault::File)?;
            }
        }
        stored.stream += bytes.len() as u64;
        self.memory.write(at, bytes).ok_or(Fault::File)
    }

    /// Ends the image, which is there from then on. `hash` is that at its end.
    pub fn end(&mut self, writing: &Writing, hash: Hash) -> Result<Stored, Fault> {
        let stored = Stored { hash, ..writing.stored };
        let words = [stored.generation, stored.data, stored.stream].map(u64::to_le_bytes).concat();
        let head = sealed(&[&HALF_MAGIC[..], &words, &hash].concat());
        self.memory.write(writing.base + 8, &head[8..]).and_then(|()| self.memory.write(writing.base, &HALF_MAGIC)).ok_or(Fault::File)?;
        Ok(stored)
    }
}

/// The head of a half: these numbers and their hash.
pub fn sealed(numbers: &[u8]) -> Vec<u8> {
    [numbers, blake3::hash(numbers).as_bytes()].concat()
}

/// Bytes of a half of a store of so many bytes. `None`: it is too small.
fn half_of(size: u64) -> Option<u64> {
    let half = size.checked_sub(PAGE)? / 2 / PAGE * PAGE;
    (half > PAGE + map_pages(half) * PAGE).then_some(half)
}

fn map_pages(half: u64) -> u64 {
    (half / PAGE).div_ceil(8 * PAGE)
}

fn is_set(map: &[u8], bit: u64) -> bool {
    map.get((bit / 8) as usize).is_some_and(|byte| byte & 1 << (bit % 8) != 0)
}

fn set(map: &mut [u8], bit: u64, to: bool) {
    if let Some(byte) = map.get_mut((bit / 8) as usize) {
        *byte = *byte & !(1 << (bit % 8)) | u8::from(to) << (bit % 8);
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[derive(Clone)]
    struct Bytes(Vec<u8>);

    impl Memory for Bytes {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
            into.copy_from_slice(self.0.get(at as usize..at as usize + into.len())?);
            Some(())
        }

        fn write(&mut self, at: u64, bytes: &[u8]) -> Option<()> {
            self.0.get_mut(at as usize..at as usize + bytes.len())?.copy_from_slice(bytes);
            Some(())
        }
    }

    /// Writes an image whose page at each of these numbers holds one byte again and again.
    fn write(store: &mut Store<Bytes>, half: u64, data: u64, pages: &[(u64, u8)]) -> Result<Stored, Fault> {
        let offsets: Vec<u64> = pages.iter().map(|(page, _)| page * PAGE).collect();
        let mut writing = store.begin(half, data * PAGE, &offsets)?;
        for (page, byte) in pages {
            store.page(&writing, page * PAGE, &[*byte; PAGE_BYTES])?;
        }
        store.stream(&mut writing, b"all else")?;
        store.stream(&mut writing, &[7; 5000])?;
        store.end(&writing, [9; HASH])
    }

    fn page(store: &Store<Bytes>, stored: &Stored, page: u64) -> Vec<u8> {
        let mut bytes = vec![1; PAGE_BYTES];
        store.memory.read(stored.start + page * PAGE, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_newest_of_two_images_is_found_and_its_other_pages_are_zeros() {
        let mut memory = Bytes(vec![0xaa; 64 * PAGE_BYTES]);
        assert!(matches!(Store::prepare(memory.clone()), Err(Fault::Taken)));
        memory.0[..PAGE_BYTES].fill(0);
        let mut store = Store::prepare(memory).ok().unwrap();
        assert_eq!(store.newest(), Err(Fault::NoImage));
        let first = write(&mut store, 0, 10, &[(1, 3), (4, 4)]).unwrap();
        let second = write(&mut store, 1, 4, &[(0, 5)]).unwrap();
        assert_eq!((store.newest(), store.stored(0)), (Ok(second), Some(first)));
        assert_eq!((store.filled(&first, (0, 10 * PAGE)), store.filled(&first, (2 * PAGE, 4 * PAGE))), (vec![PAGE, 4 * PAGE], vec![]));
        let third = write(&mut store, 0, 12, &[(2, 8)]).unwrap();
        assert_eq!((store.newest(), third.generation), (Ok(third), 2));
        // The image of the first one lay where the data of the third one does.
        for at in 0..12 {
            assert_eq!(page(&store, &third, at), [if at == 2 { 8 } else { 0 }; PAGE_BYTES], "{at}");
        }
        let again = Store::open(store.memory.clone()).ok().unwrap();
        assert_eq!(again.newest(), Ok(third));
        let mut stream = vec![0; third.stream as usize];
        again.memory.read(third.stream_start(), &mut stream).unwrap();
        assert_eq!((&stream[..8], stream.len()), (&b"all else"[..], 5008));
    }

    #[test]
    fn an_image_that_was_not_ended_is_none() {
        let mut store = Store::prepare(Bytes(vec![0; 64 * PAGE_BYTES])).ok().unwrap();
        let first = write(&mut store, 1, 3, &[(0, 1)]).unwrap();
        let writing = store.begin(0, 3 * PAGE, &[0]).unwrap();
        store.page(&writing, 0, &[2; PAGE_BYTES]).unwrap();
        assert_eq!(store.newest(), Ok(first));
        drop(store.begin(1, 3 * PAGE, &[]));
        assert_eq!(store.newest(), Err(Fault::NoImage));
    }

    #[test]
    fn what_does_not_fit_or_was_altered_is_refused() {
        assert!(matches!(Store::prepare(Bytes(vec![0; 3 * PAGE_BYTES])), Err(Fault::Full)));
        let mut store = Store::prepare(Bytes(vec![0; 33 * PAGE_BYTES])).ok().unwrap();
        assert!(matches!(store.begin(0, 15 * PAGE, &[]), Err(Fault::Full)));
        assert_eq!(write(&mut store, 0, 13, &[]), Err(Fault::Full));
        let first = write(&mut store, 0, 2, &[(1, 1)]).unwrap();
        for at in [0, 8, 9, 30, 40, 95].map(|at| at + PAGE_BYTES) {
            let mut other = store.memory.clone();
            other.0[at] ^= 1;
            assert_eq!(Store::open(other).ok().unwrap().newest(), Err(Fault::NoImage), "{at}");
        }
        let mut short = store.memory.clone();
        short.0.truncate(20 * PAGE_BYTES);
        assert!(matches!(Store::open(short), Err(Fault::Truncated)));
        let mut later = store.memory.clone();
        later.0[8] += 1;
        assert!(matches!(Store::open(later), Err(Fault::Version(version)) if version == VERSION + 1));
        assert!(matches!(Store::open(Bytes(vec![0; 100])), Err(Fault::NoImage)));
        assert_eq!(store.newest(), Ok(first));
    }
}
