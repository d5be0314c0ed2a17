//! Pages that were entered last into one cache of translations and were not forgotten since. Where
//! something else than the guest empties the cache, as a pager below does that takes a page away,
//! they are entered again at once: the guest would miss them one by one.

use crate::shadow::Page;
use alloc::vec::Vec;

/// Number of places. Pages whose numbers differ by a multiple of it replace each other.
const PLACES: usize = 512;
const PAGE: u64 = 0x1000;
/// Addresses that a table of pages leads to.
const TABLE: u64 = 0x20_0000;

/// Pages that a cache should have.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// Places by the number of the page; empty until there is a page.
    places: Vec<Option<Page>>,
}

fn place(address: u64) -> usize {
    (address / PAGE) as usize % PLACES
}

impl Recent {
    /// Notes a page that is entered. Returns true if the cache should have had it: it has lost
    /// pages then.
    pub fn note(&mut self, page: &Page) -> bool {
        if self.places.is_empty() {
            self.places.resize(PLACES, None);
        }
        self.places.get_mut(place(page.address)).is_some_and(|found| found.replace(*page) == Some(*page))
    }

    /// Forgets a page that cannot be entered.
    pub fn drop_page(&mut self, page: &Page) {
        if let Some(found) = self.places.get_mut(place(page.address)).filter(|found| **found == Some(*page)) {
            *found = None;
        }
    }

    /// Forgets the pages of a range.
    pub fn forget(&mut self, start: u64, size: u64) {
        let is_inside = |page: &Page| page.address.wrapping_sub(start) < size;
        if size <= PAGE {
            if let Some(found) = self.places.get_mut(place(start)).filter(|found| found.as_ref().is_some_and(is_inside)) {
                *found = None;
            }
            return;
        }
        self.places.iter_mut().filter(|found| found.as_ref().is_some_and(is_inside)).for_each(|found| *found = None);
    }

    /// Returns the pages, in the order of their places, of at most so many tables of pages: a cache
    /// that has no room for all of them would lose them while they are entered.
    pub fn pages(&self, max_tables: usize) -> Vec<Page> {
        let mut tables = Vec::new();
        let is_taken = |page: &&Page| {
            let table = page.address / TABLE;
            if !tables.contains(&table) && tables.len() < max_tables {
                tables.push(table);
            }
            tables.contains(&table)
        };
        self.places.iter().flatten().filter(is_taken).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: u64) -> Page {
        Page { address: number * PAGE, physical: 0x5000, write: false, user: true, execute: true, is_large: false }
    }

    #[test]
    fn a_page_that_is_entered_twice_was_lost() {
        let mut recent = Recent::default();
        assert_eq!([recent.note(&page(3)), recent.note(&page(4)), recent.note(&page(3))], [false, false, true]);
        // Another page at the same address, and another address at the same place.
        assert!(!recent.note(&Page { write: true, ..page(3) }));
        assert!(!recent.note(&page(3 + PLACES as u64)));
        assert_eq!(recent.pages(9), [page(3 + PLACES as u64), page(4)]);
    }

    #[test]
    fn what_is_forgotten_is_not_entered_again() {
        let mut recent = Recent::default();
        recent.forget(0, u64::MAX);
        (0..6).for_each(|number| assert!(!recent.note(&page(number))));
        recent.forget(2 * PAGE, PAGE);
        // Of another page at the same place.
        recent.forget((3 + PLACES as u64) * PAGE, PAGE);
        recent.drop_page(&page(3));
        recent.drop_page(&Page { write: true, ..page(4) });
        assert_eq!(recent.pages(9), [page(0), page(1), page(4), page(5)]);
        recent.forget(PAGE, 4 * PAGE);
        assert_eq!(recent.pages(9), [page(0), page(5)]);
        recent.forget(0, 1 << 47);
        assert!(recent.pages(9).is_empty() && !recent.note(&page(0)));
    }

    #[test]
    fn no_more_tables_are_filled_than_there_are() {
        let mut recent = Recent::default();
        (0..6).for_each(|number| assert!(!recent.note(&page(number * 513))));
        recent.note(&page(6));
        let seen = |tables| recent.pages(tables).iter().map(|page| page.address / PAGE).collect::<Vec<_>>();
        assert_eq!((seen(0), seen(2), seen(9).len()), (vec![], vec![0, 513, 6], 7));
    }
}
