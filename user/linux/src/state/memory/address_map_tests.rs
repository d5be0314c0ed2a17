//! The map of a program's memory: ranges entered, split, joined and taken out.

use super::*;
use alloc::vec;

/// A backing that remembers which bytes of an imagined file it shows.
#[derive(Debug, PartialEq, Clone, Copy)]
struct Shown(u64);

impl Backing for Shown {
    fn split(&mut self, offset: u64) -> Result<Shown, Errno> {
        Ok(Shown(self.0 + offset))
    }
}

const P: u64 = PAGE_SIZE;

fn area(start: u64, end: u64, rights: u64) -> Area<Shown> {
    Area { start: start * P, end: end * P, rights: Rights(rights), backing: Shown(start * P) }
}

fn map(areas: &[(u64, u64, u64)]) -> Map<Shown> {
    let mut map = Map::new();
    for (start, end, rights) in areas {
        map.insert(area(*start, *end, *rights)).unwrap();
    }
    map
}

fn pages(map: &Map<Shown>) -> Vec<(u64, u64, u64)> {
    map.areas().map(|area| (area.start / P, area.end / P, area.rights.0)).collect()
}

#[test]
fn an_area_is_found_by_any_of_its_addresses_to_be_changed() {
    let mut map = map(&[(1, 3, 3), (5, 6, 1)]);
    for (address, start) in [(P, Some(1)), (3 * P - 1, Some(1)), (3 * P, None), (6 * P - 1, Some(5)), (6 * P, None), (P - 1, None)] {
        assert_eq!(map.area_mut(address).map(|area| area.start / P), start, "{address:#x}");
    }
}

#[test]
fn access_may_span_areas_that_touch() {
    let map = map(&[(1, 3, 3), (3, 4, 1), (6, 7, 3)]);
    assert!(map.allows(P, 3 * P, Rights::READ));
    assert!(!map.allows(P, 3 * P, Rights::WRITE));
    assert!(!map.allows(3 * P, 4 * P, Rights::READ));
    assert!(map.allows(0, 0, Rights::WRITE));
    assert!(!map.allows(u64::MAX, 2, Rights::READ));
    assert_eq!(map.extent(2 * P + 5, 10 * P, Rights::READ), 2 * P - 5);
    assert_eq!(map.extent(4 * P, 10, Rights::READ), 0);
}

#[test]
fn overlapping_areas_are_refused() {
    let mut map = map(&[(1, 3, 3)]);
    assert_eq!(map.insert(area(2, 5, 3)), Err(ENOMEM));
    assert_eq!(map.insert(area(5, 5, 3)), Err(ENOMEM));
    map.insert(area(3, 5, 3)).unwrap();
    assert_eq!(pages(&map), vec![(1, 3, 3), (3, 5, 3)]);
}

#[test]
fn free_ranges_are_found_from_the_top() {
    let map = map(&[(2, 4, 3), (8, 9, 3)]);
    assert_eq!(map.find_highest(P, 0, 10 * P), Some(9 * P));
    assert_eq!(map.find_highest(2 * P, 0, 10 * P), Some(6 * P));
    assert_eq!(map.find_highest(5 * P, 0, 10 * P), None);
    assert_eq!(map.find_highest(2 * P, P, 4 * P), None);
    assert_eq!(map.find_highest(2 * P, 0, 4 * P), Some(0));
    assert_eq!(map.find_highest(P, 0, 3 * P), Some(P));
}

#[test]
fn the_next_range_lies_below_the_last_until_something_above_is_free() {
    let mut map = map(&[(2, 4, 3), (8, 9, 3)]);
    assert_eq!(map.find_free(P, 0, 10 * P), Some(9 * P));
    map.insert(area(9, 10, 3)).unwrap();
    assert_eq!(map.find_free(2 * P, 0, 10 * P), Some(6 * P));
    map.insert(area(6, 8, 3)).unwrap();
    assert_eq!(map.find_free(2 * P, 0, 10 * P), Some(4 * P));
    map.insert(area(4, 6, 3)).unwrap();
    map.take(9 * P, 10 * P).unwrap();
    assert_eq!(map.find_free(P, 0, 10 * P), Some(9 * P));
    assert_eq!(map.find_free(3 * P, 0, 10 * P), None);
}

#[test]
fn taking_the_middle_leaves_both_ends() {
    let mut map = map(&[(1, 9, 3)]);
    let taken = map.take(3 * P, 5 * P).unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].backing, Shown(3 * P));
    assert_eq!(pages(&map), vec![(1, 3, 3), (5, 9, 3)]);
    assert_eq!(map.areas().nth(1).unwrap().backing, Shown(5 * P));
}

#[test]
fn a_gap_stops_within_but_not_take() {
    let mut map = map(&[(1, 3, 3), (4, 6, 3)]);
    assert!(map.within(2 * P, 5 * P).is_err());
    assert_eq!(pages(&map), vec![(1, 3, 3), (4, 6, 3)]);
    assert_eq!(map.take(2 * P, 5 * P).unwrap().len(), 2);
    assert_eq!(pages(&map), vec![(1, 2, 3), (5, 6, 3)]);
}

#[test]
fn random_operations_agree_with_a_page_array() {
    let mut map: Map<Shown> = Map::new();
    let mut model = [None::<u64>; 64];
    let mut seed = 12345u64;
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let start = (seed >> 33) % 60;
        let end = start + 1 + (seed >> 43) % 4;
        let rights = (seed >> 53) % 8;
        let range = start as usize..end as usize;
        match (seed >> 60) % 3 {
            0 => {
                let free = model[range.clone()].iter().all(Option::is_none);
                assert_eq!(map.insert(area(start, end, rights)).is_ok(), free);
                if free {
                    model[range].fill(Some(rights));
                }
            }
            1 => {
                map.take(start * P, end * P).unwrap();
                model[range].fill(None);
            }
            _ => {
                let covered = model[range.clone()].iter().all(Option::is_some);
                let found = map.within(start * P, end * P);
                assert_eq!(found.is_ok(), covered);
                if let Ok(areas) = found {
                    areas.for_each(|area| area.rights = Rights(rights));
                    model[range].fill(Some(rights));
                }
            }
        }
        for area in map.areas() {
            assert_eq!(area.backing, Shown(area.start));
        }
        let probe = (seed >> 20) % 60;
        let count = 1 + (seed >> 27) % 3;
        let expected = model[probe as usize..(probe + count) as usize].iter().all(|page| page.is_some_and(|have| have & 3 == 3));
        assert_eq!(map.allows(probe * P, count * P, Rights(3)), expected);
    }
}

#[test]
fn what_was_allowed_just_now_may_not_be_any_more() {
    let mut map = map(&[(1, 3, 3)]);
    assert!(map.allows(P, P, Rights(3)));
    map.within(2 * P, 3 * P).unwrap().for_each(|area| area.rights = Rights(1));
    assert_eq!(map.extent(P, 2 * P, Rights(3)), P);
    assert!(map.allows(P, 2 * P, Rights(1)));
    map.areas_mut().for_each(|area| area.rights = Rights(0));
    assert!(!map.allows(P, 1, Rights(1)));
    assert!(map.allows(P, 1, Rights(0)));
    map.take(P, 2 * P).unwrap();
    assert!(!map.allows(P, 1, Rights(0)));
}

#[test]
fn there_are_not_too_many_areas() {
    let mut map = Map::new();
    for number in 0..MAX_AREAS as u64 {
        map.insert(area(4 * number + 1, 4 * number + 4, 3)).unwrap();
    }
    assert_eq!(map.insert(area(0, 1, 3)), Err(ENOMEM));
    // The middle of an area leaves two; its first or last part leaves one, and is always given
    // back.
    assert_eq!(map.take(2 * P, 3 * P).unwrap_err(), ENOMEM);
    assert!(map.within(P, 2 * P).is_err());
    assert!(map.within(P, 4 * P).is_ok());
    assert_eq!(map.take(3 * P, 4 * P).unwrap().len(), 1);
    assert_eq!(map.take(P, 2 * P).unwrap().len(), 1);
    assert!(map.is_full());
    assert_eq!(map.take(P, 5 * P).unwrap().len(), 1);
    map.insert(area(0, 1, 3)).unwrap();
}
