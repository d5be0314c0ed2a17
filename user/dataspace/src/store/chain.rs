//! Two stores, one behind the other: what finds no room in the first one goes to the second.

use super::{Full, Lost, Store};
use crate::Page;

/// A store, and the one behind it.
pub struct Chain<A, B> {
    first: A,
    second: B,
}

impl<A: Store, B: Store> Chain<A, B> {
    /// Puts `second` behind `first`.
    pub fn new(first: A, second: B) -> Chain<A, B> {
        Chain { first, second }
    }
}

/// Numbers of the first store are even, those of the second odd.
impl<A: Store, B: Store> Store for Chain<A, B> {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        self.first.put(page).map(|number| number * 2).or_else(|Full| self.second.put(page).map(|number| number * 2 + 1))
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        if number % 2 == 0 { self.first.get(number / 2, into) } else { self.second.get(number / 2, into) }
    }

    fn drop(&mut self, number: u64) {
        if number % 2 == 0 { self.first.drop(number / 2) } else { self.second.drop(number / 2) }
    }

    fn capacity(&self) -> u64 {
        self.first.capacity() + self.second.capacity()
    }

    fn used(&self) -> u64 {
        self.first.used() + self.second.used()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE;
    use crate::store::Compressed;

    #[test]
    fn the_second_store_takes_what_the_first_has_no_room_for() {
        let mut chain = Chain::new(Compressed::new(1 << 10), Compressed::new(1 << 20));
        let numbers: std::vec::Vec<u64> = (1..60).map(|byte| chain.put(&[byte; PAGE]).unwrap()).collect();
        assert!(numbers[0] % 2 == 0 && numbers[58] % 2 == 1);
        for (number, byte) in numbers.iter().zip(1..60) {
            let mut page = [0; PAGE];
            chain.get(*number, &mut page).unwrap();
            assert!(page == [byte; PAGE]);
            chain.drop(*number);
            assert_eq!(chain.get(*number, &mut page), Err(Lost));
        }
        assert_eq!(chain.used(), 0);
    }
}
