//! Shadow paging against the walk: whatever a guest does with its tables, as long as it forgets
//! what it changes, it sees what its tables say.

use super::*;
use crate::walk::walk;
use nacre_machine_memory::VecMemory;
use std::collections::BTreeMap;

const LONG: Paging = Paging { cr0: 1 << 31 | CR0_WP | 1, cr3: 0x1000, cr4: 0x20 | CR4_PGE, efer: 0x500 | EFER_NXE };
const THREE: Paging = Paging { cr0: LONG.cr0, cr3: 0x1000, cr4: 0x20 | CR4_PGE, efer: EFER_NXE };
const TWO: Paging = Paging { cr0: LONG.cr0, cr3: 0x1000, cr4: 0x10 | CR4_PGE, efer: 0 };
const READ: Access = Access { write: false, user: false, fetch: false };
const WRITE: Access = Access { write: true, ..READ };
const UPPER: u64 = UPPER_HALF;

/// Numbers that a seed leads to.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }

    fn bits(&mut self, mask: u64) -> u64 {
        (self.below(1 << 31) | self.below(1 << 31) << 31 | self.below(4) << 62) & mask
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A guest, and a processor's caches as the pages and requests of a shadow fill and empty them.
struct Guest {
    memory: VecMemory,
    paging: Paging,
    shadow: Shadow,
    caches: BTreeMap<(usize, u64), Page>,
}

fn number_of(cache: Cache) -> usize {
    match cache {
        Cache::Upper => IDENTITIES,
        Cache::Lower(number) => number,
    }
}

impl Guest {
    fn new(size: usize) -> Guest {
        Guest::with_paging(size, LONG)
    }

    fn with_paging(size: usize, paging: Paging) -> Guest {
        Guest { memory: VecMemory::new(size), paging, shadow: Shadow::new(&paging), caches: BTreeMap::new() }
    }

    fn put_narrow(&mut self, at: u64, entry: u32) {
        self.memory.write(at, &entry.to_le_bytes()).unwrap();
    }

    fn put(&mut self, at: u64, entry: u64) {
        self.memory.write(at, &entry.to_le_bytes()).unwrap();
    }

    fn get(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.memory.read(at, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }

    /// Lets the shadow do something, and forgets what it says.
    fn with(&mut self, act: impl FnOnce(&mut Shadow, &Paging, &mut dyn FnMut(Forget))) {
        let (caches, paging) = (&mut self.caches, self.paging);
        act(&mut self.shadow, &paging, &mut |forget| match forget {
            Forget::All(cache) => caches.retain(|(number, _), _| *number != number_of(cache)),
            Forget::Range { cache, address, size } => {
                caches.retain(|(number, at), page| {
                    let bytes = if page.is_large { LARGE } else { PAGE };
                    let start = at & !(bytes - 1);
                    *number != number_of(cache) || start + bytes <= address || start >= address + size
                });
            }
        });
    }

    fn load_root(&mut self, value: u64) {
        self.paging.cr3 = value & !(1 << 63);
        self.with(|shadow, paging, forget| shadow.load_root(value, paging, forget));
    }

    fn invalidate(&mut self, address: u64) {
        self.with(|shadow, paging, forget| shadow.invalidate(paging, address, forget));
    }

    /// Returns what a processor finds in its caches.
    fn cached(&self, address: u64) -> Option<Page> {
        let (address, is_upper) = place(&self.paging, address);
        let cache = if is_upper { Cache::Upper } else { Cache::Lower(self.shadow.current()) };
        let (number, at) = (number_of(cache), in_half(address) & !(PAGE - 1));
        let large = self.caches.iter().find(|((cache, start), page)| *cache == number && page.is_large && start & !(LARGE - 1) == at & !(LARGE - 1));
        self.caches.get(&(number, at)).or(large.map(|(_, page)| page)).copied()
    }

    /// An access; where it leads to, or the fault.
    fn access(&mut self, address: u64, access: Access) -> Result<u64, WalkError> {
        self.with(|shadow, paging, forget| shadow.look(paging, forget));
        for _ in 0..3 {
            let found = self.cached(address).filter(|page| {
                (!access.write || page.write) && (!access.user || page.user) && (!access.fetch || page.execute)
            });
            if let Some(page) = found {
                let bytes = if page.is_large { LARGE } else { PAGE };
                let start = page.physical.wrapping_sub(page.address & (bytes - 1));
                return Ok(start + (in_half(address) & (bytes - 1)));
            }
            let pages = self.shadow.miss(&mut self.memory, &self.paging, address, access)?;
            let number = number_of(pages.cache);
            for page in pages.list() {
                self.caches.retain(|(cache, at), old| {
                    let is_covered = old.is_large || page.is_large;
                    let bytes = if is_covered { LARGE } else { PAGE };
                    *cache != number || at & !(bytes - 1) != page.address & !(bytes - 1)
                });
                self.caches.insert((number, page.address), *page);
            }
        }
        panic!("{address:#x} is missed again and again");
    }

    /// Three tables above one whose entries are at 0x4000, for addresses from 0 and from the start
    /// of the upper half.
    fn small_tables(&mut self) {
        for (at, entry) in [(0x1000, 0x2007), (0x1800, 0x2007), (0x2000, 0x3007), (0x3000, 0x4007)] {
            self.put(at, entry);
        }
    }
}

#[test]
fn accessed_and_dirty_bits_are_set_as_a_processor_sets_them() {
    let mut guest = Guest::new(0x10000);
    guest.small_tables();
    guest.put(0x4028, 0x9003);
    assert_eq!(guest.access(0x5123, READ), Ok(0x9123));
    assert_eq!([guest.get(0x1000), guest.get(0x3000), guest.get(0x4028)], [0x2027, 0x4027, 0x9023]);
    assert_eq!(guest.access(0x5123, WRITE), Ok(0x9123));
    assert_eq!(guest.get(0x4028), 0x9063);
}

#[test]
fn neighbours_come_along_if_they_were_accessed_and_only_with_their_own_rights() {
    let mut guest = Guest::new(0x10000);
    guest.small_tables();
    for (number, entry) in [(5, 0x9003), (6, 0xa067), (7, 0xb065), (8, 0xc003), (9, 0xd027), (10, 0xd163), (16, 0xe067)] {
        guest.put(0x4000 + 8 * number, entry);
    }
    let pages = guest.shadow.miss(&mut guest.memory, &LONG, 0x5000, READ).unwrap();
    let seen: Vec<_> = pages.list().iter().map(|page| (page.address >> 12, page.physical >> 12, page.write, page.user)).collect();
    assert_eq!(seen, [(5, 9, false, false), (6, 0xa, true, true), (7, 0xb, false, true), (9, 0xd, false, true)]);
    assert!(pages.list().iter().all(|page| page.execute && !page.is_large));
}

#[test]
fn loads_of_the_root_forget_what_is_not_kept_and_not_global() {
    let mut guest = Guest::new(0x10000);
    guest.small_tables();
    guest.put(0x4008, 0x8067);
    guest.put(0x4010, 0x9163);
    guest.access(0x1000, READ).unwrap();
    guest.access(UPPER + 0x2000, READ).unwrap();
    guest.load_root(0x1000);
    assert_eq!((guest.cached(0x1000), guest.cached(UPPER + 0x2000).is_some()), (None, true));
    guest.access(UPPER + 0x1000, READ).unwrap();
    guest.load_root(0x1000);
    assert_eq!((guest.cached(UPPER + 0x1000), guest.cached(UPPER + 0x2000)), (None, None), "a page that is not global");
    guest.paging.cr4 |= CR4_PCIDE;
    guest.load_root(0x1001);
    guest.access(0x1000, READ).unwrap();
    guest.load_root(0x1002 | 1 << 63);
    assert_eq!(guest.cached(0x1000), None);
    guest.load_root(0x1001 | 1 << 63);
    assert!(guest.cached(0x1000).is_some());
    guest.load_root(0x1001);
    assert_eq!(guest.cached(0x1000), None);
}

#[test]
fn more_identities_than_places_replace_the_oldest() {
    let mut guest = Guest::new(0x10000);
    guest.paging.cr4 |= CR4_PCIDE;
    guest.small_tables();
    guest.put(0x4008, 0x8067);
    for identity in 1..=IDENTITIES as u64 + 1 {
        guest.load_root(0x1000 | identity | 1 << 63);
        guest.access(0x1000, READ).unwrap();
    }
    for identity in [IDENTITIES as u64 + 1, 3] {
        guest.load_root(0x1000 | identity | 1 << 63);
        assert!(guest.cached(0x1000).is_some());
    }
    guest.load_root(0x1001 | 1 << 63);
    assert_eq!(guest.cached(0x1000), None);
}

#[test]
fn one_address_of_a_large_page_forgets_all_of_it() {
    let mut guest = Guest::new(0x10000);
    guest.small_tables();
    guest.put(0x3008, 0x60_00e7);
    assert_eq!(guest.access(0x20_5678, WRITE), Ok(0x60_5678));
    guest.invalidate(0x3f_f000);
    assert_eq!(guest.cached(0x20_5000), None);
}

#[test]
fn the_kernel_may_write_what_is_protected_from_programs_alone() {
    let mut guest = Guest::new(0x10000);
    guest.small_tables();
    guest.put(0x4008, 0x8025);
    assert_eq!(guest.access(0x1000, WRITE), Err(WalkError::PageFault(3)));
    guest.paging.cr0 &= !CR0_WP;
    assert_eq!(guest.access(0x1000, WRITE), Ok(0x8000));
    let user = Access { user: true, ..READ };
    assert_eq!(guest.access(0x1000, user), Ok(0x8000));
    assert_eq!(guest.access(0x1000, Access { write: true, ..user }), Err(WalkError::PageFault(7)));
    guest.paging.cr0 |= CR0_WP;
    assert_eq!(guest.access(0x1000, WRITE), Err(WalkError::PageFault(3)));
}

/// One step of a guest whose tables are at 0x1000 to 0x8000, two of each level.
fn step(guest: &mut Guest, random: &mut Random) {
    let addresses = [0, 0x1000, 0x7000, 0x20_0000, 0x20_3000, 1 << 30, 1 << 39, UPPER, UPPER + 0x3000, UPPER + 0x20_1000];
    let address = random.one_of(&addresses);
    match random.below(10) {
        0 => {
            // An entry changes, and all that it may concern is forgotten.
            let (table, entry) = (0x1000 * (1 + random.below(8)), random.below(8));
            let index = random.one_of(&[entry, entry, 256]);
            let level = (table >> 12).div_ceil(2);
            let next = if level < 4 { 0x1000 * (2 * level + 1 + random.below(2)) } else { random.below(16) << 12 };
            let large = if level == 3 && random.below(3) == 0 { 0x80 | random.below(8) << 21 } else { next };
            let flags = random.bits(0x167 | NO_EXECUTE) | u64::from(random.below(4) != 0);
            let entry = if random.below(40) == 0 { random.bits(u64::MAX) & !ADDRESS | large } else { large | flags };
            // Both roots have the same upper half, as it is for global pages.
            let tables = if level == 1 && index == 256 { [0x1000, 0x2000] } else { [table; 2] };
            tables.iter().for_each(|table| guest.put(table + 8 * index, entry));
            if level == 4 && random.below(2) == 0 {
                // The system keeps to what it has to: an address, in each identity.
                guest.with(|shadow, _, forget| shadow.forget_all(forget));
            } else {
                guest.paging.cr4 ^= CR4_PGE;
                guest.with(|shadow, paging, forget| shadow.look(paging, forget));
                guest.paging.cr4 ^= CR4_PGE;
            }
        }
        1 => guest.load_root(0x1000 + 0x1000 * random.below(2) | if guest.paging.cr4 & CR4_PCIDE != 0 { random.below(12) } else { 0 }),
        2 => guest.invalidate(address),
        3 if random.below(8) == 0 => {
            guest.paging.cr4 ^= random.one_of(&[CR4_PGE, CR4_PCIDE]);
            guest.paging.cr3 &= !0xfff;
        }
        3 => guest.paging.cr0 ^= if random.below(4) == 0 { CR0_WP } else { 0 },
        4 if random.below(4) == 0 => guest.paging.efer ^= EFER_NXE,
        _ => {
            let access = Access { write: random.below(2) == 0, user: random.below(2) == 0, fetch: false };
            let access = if random.below(4) == 0 { Access { write: false, fetch: true, ..access } } else { access };
            let address = address + random.below(8) * 0x1000 + random.below(0x1000);
            let found = guest.access(address, access);
            let wanted = walk_by(&guest.memory, &guest.paging, address, access);
            assert_eq!(found, wanted.map(|(translation, _)| translation.address), "{address:#x}, {access:?}");
            if let Ok((_, path)) = wanted
                && let Some(leaf) = path.steps().last()
            {
                assert!(leaf.entry & ACCESSED != 0 && (!access.write || leaf.entry & DIRTY != 0));
            }
            assert_eq!(found, walk(&guest.memory, &guest.paging, address, access).map(|translation| translation.address));
        }
    }
}

#[test]
fn a_guest_sees_what_its_tables_say() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut guest = Guest::new(0x20000);
        for at in [0x1000u64, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000] {
            let level = (at >> 12).div_ceil(2);
            guest.put(at, 0x1000 * (2 * level + 1) | 7);
            guest.put(at + 0x800, 0x1000 * (2 * level + 2) | 7);
        }
        for _ in 0..600 {
            step(&mut guest, &mut random);
            // As after each exit for a register.
            guest.with(|shadow, paging, forget| shadow.look(paging, forget));
        }
    }
}

#[test]
fn without_paging_addresses_are_physical_and_have_32_bits() {
    let none = Paging { cr0: 1, cr3: 0x1234, cr4: 0, efer: 0 };
    let mut guest = Guest::with_paging(0x1000, none);
    for (address, upper) in [(0x5123, false), (0xc000_0123, true), (1 << 32 | 0x5123, false)] {
        let pages = guest.shadow.miss(&mut guest.memory, &none, address, WRITE).unwrap();
        let [page] = *pages.list() else { panic!("{pages:?}") };
        let at = address & 0xffff_f000;
        assert_eq!((page.address, page.physical, page.write && page.user && page.execute && page.is_large), (at, at, true));
        assert_eq!(pages.cache == Cache::Upper, upper);
    }
    // Paging on: what was known holds no more.
    guest.paging.cr0 |= CR0_PG;
    assert_eq!(guest.access(0x5123, READ), Err(WalkError::PageFault(0)));
}

#[test]
fn entries_of_four_bytes_are_marked_alone() {
    let mut guest = Guest::with_paging(0x10000, TWO);
    for (at, entry) in [(0x1000, 0x2007), (0x1004, 0x40_0083), (0x2014, 0x9003), (0x2018, 0xa027), (0x201c, 0xb003)] {
        guest.put_narrow(at, entry);
    }
    let pages = guest.shadow.miss(&mut guest.memory, &TWO, 0x5123, WRITE).unwrap();
    let seen: Vec<_> = pages.list().iter().map(|page| (page.address, page.physical, page.write, page.user)).collect();
    assert_eq!(seen, [(0x5000, 0x9000, true, false), (0x6000, 0xa000, false, true)]);
    assert_eq!((guest.get(0x1000), guest.get(0x2010), guest.get(0x2018)), (0x40_0083_0000_2027, 0x9063 << 32, 0xb003_0000_a027));
    // One address of 4 MiB forgets all of them.
    assert_eq!(guest.access(0x7f_e123, READ), Ok(0x7f_e123));
    assert_eq!(guest.access(0x40_0123, READ), Ok(0x40_0123));
    guest.invalidate(0x7f_e000);
    assert_eq!((guest.cached(0x7f_e123), guest.cached(0x40_0123)), (None, None));
}

#[test]
fn pointers_of_three_levels_are_not_marked() {
    let mut guest = Guest::with_paging(0x10000, THREE);
    for (at, entry) in [(0x1000, 0x2001), (0x2000, 0x3007), (0x3028, 0x9003 | NO_EXECUTE), (0x3030, 0xa027)] {
        guest.put(at, entry);
    }
    assert_eq!(guest.access(0x5123, WRITE), Ok(0x9123));
    assert_eq!([guest.get(0x1000), guest.get(0x2000), guest.get(0x3028)], [0x2001, 0x3027, 0x9063 | NO_EXECUTE]);
    assert_eq!(guest.cached(0x6000).map(|page| (page.physical, page.write, page.user)), Some((0xa000, false, true)));
    assert_eq!(guest.access(0x5123, Access { fetch: true, ..READ }), Err(WalkError::PageFault(0x11)));
}

/// Memory whose entries somebody else changes while they are read.
struct Changing(VecMemory);

impl GuestMemory for Changing {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), nacre_machine_memory::OutOfRange> {
        self.0.read(at, into)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), nacre_machine_memory::OutOfRange> {
        self.0.write(at, bytes)
    }

    fn replace(&mut self, _: u64, _: usize, _: u64, _: u64) -> Result<bool, nacre_machine_memory::OutOfRange> {
        Ok(false)
    }
}

#[test]
fn an_entry_that_another_processor_changes_is_left_alone() {
    let mut guest = Guest::new(0x10000);
    guest.small_tables();
    guest.put(0x4028, 0x9003);
    let mut memory = Changing(guest.memory.clone());
    let pages = guest.shadow.miss(&mut memory, &LONG, 0x5000, READ).unwrap();
    assert!(pages.list().is_empty() && memory.0.0 == guest.memory.0);
}

/// One step of a guest with 32-bit addresses, whose tables are at 0x1000 to 0x6000, two of each of
/// at most three levels.
fn narrow_step(guest: &mut Guest, random: &mut Random, levels: u64) {
    let addresses = [0, 0x1000, 0x7000, 0x20_3000, 0x40_0000, 0x7f_f000, 1 << 30, UPPER_PART, UPPER_PART + 0x3000, 0xffff_f000];
    match random.below(8) {
        0 => {
            let table = 0x1000 * (1 + random.below(2 * levels));
            let level = (table >> 12).div_ceil(2);
            let is_pointer = levels == 3 && level == 1;
            let upper = if levels == 3 { 3 } else { 768 };
            let index = if level == 1 { random.one_of(&[0, 1, upper]) } else { random.one_of(&[0, 1, 2, 7, 511]) };
            let next = if level < levels { 0x1000 * (2 * level + 1 + random.below(2)) } else { random.below(16) << 12 };
            let is_large = level + 1 == levels && random.below(3) == 0;
            let place = if is_large { 0x80 | random.below(8) << if levels == 3 { 21 } else { 22 } } else { next };
            let flags = if is_pointer { 0 } else { random.bits(0x167 | if levels == 3 { NO_EXECUTE } else { 0 }) };
            let entry = place | flags | u64::from(random.below(8) != 0);
            let tables = if level == 1 && index == upper { [0x1000, 0x2000] } else { [table; 2] };
            for table in tables {
                if levels == 3 { guest.put(table + 8 * index, entry) } else { guest.put_narrow(table + 4 * index, entry as u32) }
            }
            guest.with(|shadow, _, forget| shadow.forget_all(forget));
        }
        1 => guest.load_root(0x1000 + 0x1000 * random.below(2)),
        2 => guest.invalidate(random.one_of(&addresses)),
        3 if random.below(4) == 0 => guest.paging.cr0 ^= random.one_of(&[CR0_WP, CR0_PG]),
        _ => {
            let access = Access { write: random.below(2) == 0, user: random.below(2) == 0, fetch: random.below(8) == 0 };
            let access = Access { write: access.write && !access.fetch, ..access };
            let address = random.one_of(&addresses) + random.below(0x1000);
            let found = guest.access(address, access);
            assert_eq!(found, walk(&guest.memory, &guest.paging, address, access).map(|translation| translation.address), "{address:#x}, {access:?}");
        }
    }
}

#[test]
fn a_guest_with_32_bit_addresses_sees_what_its_tables_say() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let (levels, paging) = random.one_of(&[(2, TWO), (3, THREE)]);
        let mut guest = Guest::with_paging(0x20000, paging);
        for at in [0x1000, 0x2000] {
            if levels == 3 { guest.put(at, 0x3001) } else { guest.put_narrow(at, 0x3007) }
        }
        for _ in 0..600 {
            narrow_step(&mut guest, &mut random, levels);
            guest.with(|shadow, paging, forget| shadow.look(paging, forget));
        }
    }
}
