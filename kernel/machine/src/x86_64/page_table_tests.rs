//! The tables against a simple model: a map from page numbers to leaves.

use super::*;
use core::cell::Cell;
use std::collections::BTreeMap;

struct FakeMemory {
    frames: Vec<[SharedWord; 512]>,
    taken: Cell<u64>,
}

impl FakeMemory {
    fn new(frames: usize) -> FakeMemory {
        FakeMemory { frames: (0..frames).map(|_| [const { SharedWord::new(0) }; 512]).collect(), taken: Cell::new(1) }
    }
}

impl TableMemory for FakeMemory {
    fn table(&self, at: Physical) -> &[SharedWord; 512] {
        &self.frames[(at.0 >> 12) as usize]
    }

    fn clear_table(&self, at: Physical) {
        self.table(at).iter().for_each(|slot| slot.set(0));
    }
}

impl TablePool for FakeMemory {
    fn take(&self) -> Option<Physical> {
        let number = self.taken.get();
        self.taken.set(number + 1);
        ((number as usize) < self.frames.len()).then_some(Physical(number << 12))
    }
}

const ROOT: Physical = Physical(0);

fn leaf(physical: u64, size: PageSize) -> Leaf {
    Leaf { physical: Physical(physical), kind: LeafKind::Memory, rights: Rights::READ, size }
}

/// Clears sweep by sweep; whether there was anything.
fn clear_all(memory: &FakeMemory, root: Physical, low: u64, high: u64) -> bool {
    let (mut found, mut next) = (false, low);
    while next < high {
        let cleared = clear(memory, root, next, high);
        assert!(cleared.next > next, "a sweep makes no progress");
        found |= cleared.found;
        next = cleared.next;
    }
    found
}

#[test]
fn a_sweep_ends_after_some_entries_and_says_where() {
    let memory = FakeMemory::new(16);
    for page in 0..1000 {
        enter(&memory, ROOT, page << 12, leaf(page << 12, PageSize::Small), &memory, true).unwrap();
    }
    let first = clear(&memory, ROOT, 0, 1000 << 12);
    assert!(first.found && first.next < 1000 << 12);
    for page in 0..1000 {
        assert_eq!(lookup(&memory, ROOT, page << 12).is_none(), page << 12 < first.next);
    }
    assert!(clear_all(&memory, ROOT, first.next, 1000 << 12));
    assert!((0..1000).all(|page| lookup(&memory, ROOT, page << 12).is_none()));
}

#[test]
fn a_leaf_says_whether_it_took_the_place_of_a_table() {
    let memory = FakeMemory::new(16);
    assert_eq!(enter(&memory, ROOT, 0x1000, leaf(0x1000, PageSize::Small), &memory, true), Ok(false));
    assert_eq!(enter(&memory, ROOT, 0, leaf(0, PageSize::Large), &memory, true), Ok(true));
    assert_eq!(enter(&memory, ROOT, 0, leaf(0, PageSize::Large), &memory, true), Ok(false));
    assert_eq!(enter(&memory, ROOT, 0, leaf(0, PageSize::Huge), &memory, true), Ok(true));
}

#[test]
fn a_leaf_is_found_with_what_it_was_entered_with() {
    let memory = FakeMemory::new(16);
    for (number, kind) in [LeafKind::Memory, LeafKind::Device, LeafKind::Objects, LeafKind::Privileged].into_iter().enumerate() {
        // A page with no right that the processor knows has no kind of a guest's.
        for rights in (0..16).filter(|rights| kind != LeafKind::Privileged || rights & 7 != 0) {
            let (address, rights) = (0x7fff_ffff_0000 - 0x1000 * number as u64, Rights(rights));
            let leaf = Leaf { physical: Physical(0xf_ffff_ffff_f000), kind, rights, size: PageSize::Small };
            enter(&memory, ROOT, address, leaf, &memory, true).unwrap();
            let found = lookup(&memory, ROOT, address + 0x123).unwrap();
            assert_eq!(found, Leaf { physical: Physical(0xf_ffff_ffff_f123), ..leaf });
        }
    }
}

#[test]
fn hardware_sees_no_more_than_the_rights() {
    let bits = |kind, rights| entry_of(Leaf { kind, rights, ..leaf(0, PageSize::Small) });
    assert_eq!(bits(LeafKind::Memory, Rights::READ) & (USER | WRITABLE | NO_EXECUTE), USER | NO_EXECUTE);
    assert_eq!(bits(LeafKind::Memory, Rights::ALL) & (USER | WRITABLE | NO_EXECUTE), USER | WRITABLE);
    assert_eq!(bits(LeafKind::Objects, Rights::ALL) & (USER | WRITABLE | NO_EXECUTE), NO_EXECUTE);
    assert_eq!(bits(LeafKind::Device, Rights::READ) & UNCACHED, UNCACHED);
    // A guest's kernel sees what is present, whether users do or not.
    assert_eq!([bits(LeafKind::Memory, Rights::NONE), bits(LeafKind::Memory, Rights::OBJECTS), bits(LeafKind::Objects, Rights::ALL)].map(|bits| bits & PRESENT), [0; 3]);
    assert_eq!(bits(LeafKind::Privileged, Rights::READ) & (PRESENT | USER | WRITABLE | NO_EXECUTE), PRESENT | NO_EXECUTE);
}

#[test]
fn a_leaf_never_looks_like_a_table() {
    for kind in [LeafKind::Memory, LeafKind::Device, LeafKind::Objects] {
        for size in [PageSize::Small, PageSize::Large, PageSize::Huge] {
            for rights in 0..16 {
                assert_eq!(table_of(entry_of(Leaf { kind, rights: Rights(rights), ..leaf(0x4000_0000, size) })), None);
            }
        }
    }
}

#[test]
fn sizes_replace_each_other() {
    let memory = FakeMemory::new(16);
    enter(&memory, ROOT, 0, leaf(0x4000_0000, PageSize::Huge), &memory, true).unwrap();
    enter(&memory, ROOT, 0x20_0000, leaf(0x1000, PageSize::Small), &memory, true).unwrap();
    assert_eq!(lookup(&memory, ROOT, 0), None);
    assert_eq!(lookup(&memory, ROOT, 0x20_0fff).unwrap().physical, Physical(0x1fff));
    enter(&memory, ROOT, 0x20_0000, leaf(0x60_0000, PageSize::Large), &memory, true).unwrap();
    assert_eq!(lookup(&memory, ROOT, 0x3f_ffff).unwrap().physical, Physical(0x7f_ffff));
    enter(&memory, ROOT, 0, leaf(0x8000_0000, PageSize::Huge), &memory, true).unwrap();
    assert_eq!(lookup(&memory, ROOT, 0x20_0000).unwrap(), leaf(0x8020_0000, PageSize::Huge));
}

#[test]
fn without_huge_pages_a_huge_leaf_becomes_large_ones() {
    let memory = FakeMemory::new(4);
    enter(&memory, ROOT, 1 << 30, leaf(0x8000_0000, PageSize::Huge), &memory, false).unwrap();
    assert_eq!(lookup(&memory, ROOT, (1 << 30) + 0x1234_5678).unwrap(), leaf(0x9234_5678, PageSize::Large));
}

#[test]
fn an_empty_pool_is_told_and_changes_no_leaf() {
    let memory = FakeMemory::new(3);
    assert_eq!(enter(&memory, ROOT, 0, leaf(0x1000, PageSize::Small), &memory, true), Err(PoolExhausted));
    assert_eq!(lookup(&memory, ROOT, 0), None);
    assert!(!clear_all(&memory, ROOT, 0, nacre_abi::USER_END));
}

#[test]
fn clearing_takes_large_leaves_whole_and_says_whether_any_was_there() {
    let memory = FakeMemory::new(8);
    enter(&memory, ROOT, 0x20_0000, leaf(0x20_0000, PageSize::Large), &memory, true).unwrap();
    assert!(!clear_all(&memory, ROOT, 0, 0x20_0000));
    assert!(clear_all(&memory, ROOT, 0x3f_f000, 0x40_0000));
    assert_eq!(lookup(&memory, ROOT, 0x20_0000), None);
    reset(&memory, ROOT);
    assert!(!clear_all(&memory, ROOT, 0, nacre_abi::USER_END));
}

#[test]
fn agrees_with_a_map_of_pages() {
    let (memory, mut model, mut seed) = (FakeMemory::new(4000), BTreeMap::new(), 7u64);
    for _ in 0..4000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let page = (seed >> 32) % 2048 + (seed >> 60) * (1 << 27);
        match seed >> 56 & 3 {
            0 => {
                let (low, high) = (page, page + if seed >> 55 & 1 == 0 { 1 } else { (seed >> 40) % 700 });
                let any = model.range(low..high).next().is_some() || large_touches(&model, low, high);
                assert_eq!(clear_all(&memory, ROOT, low << 12, high << 12), any && low < high);
                if low < high {
                    remove(&mut model, low, high);
                }
            }
            1 => {
                let start = page & !511;
                remove(&mut model, start, start + 512);
                model.insert(start, PageSize::Large);
                enter(&memory, ROOT, start << 12, leaf(start << 12, PageSize::Large), &memory, true).unwrap();
            }
            _ => {
                remove(&mut model, page, page + 1);
                model.insert(page, PageSize::Small);
                enter(&memory, ROOT, page << 12, leaf(page << 12, PageSize::Small), &memory, true).unwrap();
            }
        }
        let found = lookup(&memory, ROOT, page << 12).map(|leaf| (leaf.physical.0 >> 12, leaf.size));
        let large = model.get(&(page & !511)).filter(|size| **size == PageSize::Large);
        assert_eq!(found, large.or(model.get(&page)).map(|size| (page, *size)));
    }
}

fn large_touches(model: &BTreeMap<u64, PageSize>, low: u64, high: u64) -> bool {
    low < high && model.get(&(low & !511)) == Some(&PageSize::Large)
}

fn remove(model: &mut BTreeMap<u64, PageSize>, low: u64, high: u64) {
    if large_touches(model, low, high) {
        model.remove(&(low & !511));
    }
    model.retain(|page, _| !(low..high).contains(page));
}
