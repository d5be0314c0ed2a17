//! Pages in memory, made smaller (LZ4, by the crate `lz4_flex`).

use super::{Full, Lost, Numbers, Store};
use crate::{PAGE, Page};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// Cost of a page beside its bytes.
const RECORD: u64 = 64;

/// Keeps pages in the heap, up to a limit in bytes.
pub struct Compressed {
    limit: u64,
    used: u64,
    numbers: Numbers,
    pages: Vec<Option<Box<[u8]>>>,
    scratch: Vec<u8>,
}

impl Compressed {
    /// A store of at most `limit` bytes.
    pub fn new(limit: u64) -> Compressed {
        Compressed { limit, used: 0, numbers: Numbers::default(), pages: Vec::new(), scratch: alloc::vec![0; get_maximum_output_size(PAGE)] }
    }

    /// A copy of the smaller of a page and what it was made.
    fn packed(&mut self, page: &Page) -> Result<Box<[u8]>, Full> {
        let size = compress_into(page, &mut self.scratch).unwrap_or(PAGE);
        let bytes = if size < PAGE { &self.scratch[..size] } else { &page[..] };
        if self.used + bytes.len() as u64 + RECORD > self.limit {
            return Err(Full);
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes.len()).map_err(|_| Full)?;
        copy.extend_from_slice(bytes);
        Ok(copy.into_boxed_slice())
    }
}

impl Store for Compressed {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        let packed = self.packed(page)?;
        self.pages.try_reserve(1).map_err(|_| Full)?;
        let number = self.numbers.take(u64::MAX)?;
        self.used += packed.len() as u64 + RECORD;
        match self.pages.get_mut(number as usize) {
            Some(place) => *place = Some(packed),
            None => self.pages.push(Some(packed)),
        }
        Ok(number)
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        let packed = self.pages.get(number as usize).and_then(Option::as_ref).ok_or(Lost)?;
        if packed.len() == PAGE {
            into.copy_from_slice(packed);
            return Ok(());
        }
        if decompress_into(packed, into).is_ok_and(|size| size == PAGE) { Ok(()) } else { Err(Lost) }
    }

    fn drop(&mut self, number: u64) {
        if let Some(packed) = self.pages.get_mut(number as usize).and_then(Option::take) {
            self.used -= packed.len() as u64 + RECORD;
            self.numbers.give(number);
        }
    }

    fn capacity(&self) -> u64 {
        self.limit / (PAGE as u64 + RECORD)
    }

    fn used(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Random;

    fn noise(seed: u64) -> Page {
        let mut random = Random::new(seed);
        core::array::from_fn(|_| (random.number() >> 32) as u8)
    }

    #[test]
    fn pages_come_back_as_they_were() {
        let mut store = Compressed::new(1 << 20);
        let pages: Vec<Page> = (0..40).map(|seed| if seed % 3 == 0 { noise(seed) } else { core::array::from_fn(|at| (at as u64 / 64 * seed) as u8) }).collect();
        let numbers: Vec<u64> = pages.iter().map(|page| store.put(page).unwrap()).collect();
        for (page, number) in pages.iter().zip(&numbers).rev() {
            let mut back = [7; PAGE];
            store.get(*number, &mut back).unwrap();
            assert!(back == *page);
            store.drop(*number);
            assert_eq!(store.get(*number, &mut back), Err(Lost));
        }
        assert_eq!(store.used(), 0);
    }

    #[test]
    fn it_keeps_as_many_pages_as_it_says_whatever_they_hold() {
        let mut store = Compressed::new(64 << 10);
        for seed in 0..store.capacity() {
            store.put(&noise(seed)).unwrap();
        }
        assert_eq!(store.put(&noise(99)), Err(Full));
        store.drop(3);
        assert_eq!(store.put(&noise(100)), Ok(3));
    }
}
