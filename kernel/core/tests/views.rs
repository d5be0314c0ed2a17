//! Views: mappings whose pages their owner enters one by one.

use crate::support::world::World;
use crate::support::{Random, check};
use nacre_abi::rights::{VIEW_LARGE, VIEW_PRIVILEGED};
use nacre_abi::state::{MappingState, RegionState};
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status, USER_END};
use nacre_core::machine::{Frame, Leaf, LeafKind, Machine, PageSize, Physical, thread_page::register};

const PAGES: u64 = 16;
/// Address of the pages in the guest-physical space.
const MEMORY: u64 = 0x10_0000;
const READ: u64 = 1;
const WRITE: u64 = 3;
const ANY: u64 = 7;

/// Pages of root's, shown in a space, whose region is viewed in another.
struct Play {
    world: World,
    pages: u64,
    /// Region over the pages, the mapping of them, the region over that, and the view.
    first: u64,
    mapping: u64,
    region: u64,
    view: u64,
    inner: u64,
    viewer: u64,
    list: u64,
}

impl Play {
    fn new(cpus: usize, pool: u64) -> Play {
        let world = World::new(cpus);
        world.map_ram();
        let (slots, list, pages) = (world.page(), world.page(), world.pages(PAGES));
        let (inner, viewer) = (world.make_space(6, 0), world.make_space(pool, 0));
        let play = Play { pages, first: slots, mapping: slots + 0x80, region: slots + 0x100, view: slots + 0x180, inner, viewer, list, world };
        play.world.ok(Call::RegionCreate, &[play.first, 0, pages, PAGES * PAGE_SIZE, Rights::ALL.0, 0]);
        play.world.ok(Call::MappingCreate, &[play.mapping, inner, MEMORY, PAGES * PAGE_SIZE, play.first, 0, ANY]);
        play.world.ok(Call::RegionCreate, &[play.region, inner, MEMORY, PAGES * PAGE_SIZE, ANY, 0]);
        play.make_view();
        play
    }

    fn make_view(&self) {
        self.world.ok(Call::MappingCreate, &[self.view, self.viewer, 0, USER_END, self.region, 0, Rights::VIEW.0 | ANY]);
    }

    /// Enters pages: address, rights and flags, number of the page.
    fn enter(&self, entries: &[(u64, u64, u64)]) -> Status {
        let words: Vec<u64> = entries.iter().flat_map(|(address, flags, page)| [address | flags, page * PAGE_SIZE]).collect();
        self.world.write(self.list, &words);
        let status = self.world.call(Call::ViewEnter, &[self.view, self.list, entries.len() as u64]);
        check(&self.world);
        status
    }

    fn entered(&self) -> u64 {
        self.world.running(0).expect("root").register(register::RDX)
    }

    fn root(&self) -> Physical {
        Physical(self.world.machine().peek(self.world.physical(self.viewer).0 + 8))
    }

    fn leaf(&self, address: u64) -> Option<Leaf> {
        self.world.machine().table_lookup(self.root(), address)
    }

    /// Number of the page that is seen at an address.
    fn seen(&self, address: u64) -> Option<u64> {
        self.leaf(address).map(|leaf| (leaf.physical.0 - self.world.physical(self.pages).0) / PAGE_SIZE)
    }
}

#[test]
fn a_view_shows_what_was_entered_and_nothing_else() {
    let play = Play::new(1, 16);
    assert_eq!(play.enter(&[(0x1000, READ, 3), (0x7000_0000_0000, WRITE, 5), (0x1000, WRITE, 4), (0x2000, ANY | VIEW_PRIVILEGED, 3)]), Status::OK);
    assert_eq!(play.entered(), 4);
    assert_eq!([0x1000, 0x7000_0000_0000, 0x2000, 0x3000].map(|at| play.seen(at)), [Some(4), Some(5), Some(3), None]);
    let leaf = play.leaf(0x2000).expect("a page");
    assert_eq!((leaf.kind, leaf.rights, leaf.size), (LeafKind::Privileged, Rights(ANY).union(Rights::VIEW), PageSize::Small));
    play.world.ok(Call::ViewForget, &[play.view, 0x1000, PAGE_SIZE]);
    assert_eq!([0x1000, 0x7000_0000_0000, 0x2000].map(|at| play.seen(at)), [None, Some(5), Some(3)]);
    play.world.ok(Call::ViewForget, &[play.view, 0, USER_END]);
    assert_eq!([0x7000_0000_0000, 0x2000].map(|at| play.seen(at)), [None; 2]);
}

#[test]
fn nothing_is_composed_through_a_view() {
    let play = Play::new(2, 16);
    play.enter(&[(0x1000, ANY, 3)]);
    let (slots, thread) = (play.world.page(), play.world.make_thread(play.viewer));
    play.world.ok(Call::RegionCreate, &[slots, play.viewer, 0, PAGES * PAGE_SIZE, ANY, 0]);
    play.world.ok(Call::MappingCreate, &[slots + 0x80, 0, 0x9000_0000, PAGES * PAGE_SIZE, slots, 0, ANY]);
    let (buffer, at) = (play.world.page(), 0x9000_1000);
    assert_eq!(play.world.call(Call::MemoryTouched, &[at, PAGE_SIZE]), Status::OK);
    assert_eq!(play.world.call(Call::ThreadGetState, &[thread, at, 4096, 0]), Status::argument(Code::BadAddress, 2));
    // A thread of the space sees the page, and faults beside it.
    play.world.ok(Call::ThreadStart, &[thread]);
    play.world.kick_all();
    assert_eq!(play.world.access(1, 0x1000, Rights::WRITE), Some(play.world.physical(play.pages + 3 * PAGE_SIZE)));
    assert_eq!(play.world.access(1, 0x2000, Rights::READ), None);
    let _ = buffer;
    check(&play.world);
}

#[test]
fn wrong_pages_are_refused() {
    let play = Play::new(1, 16);
    let list = |code| Status::argument(code, 2);
    assert_eq!(play.enter(&[(0x1000, 0, 3)]), list(Code::BadRights));
    assert_eq!(play.enter(&[(0x1000, 2, 3)]), list(Code::BadRights));
    assert_eq!(play.enter(&[(0x1000, 8 | READ, 3)]), list(Code::BadRights));
    assert_eq!(play.enter(&[(0x1000, 64 | READ, 3)]), list(Code::BadRights));
    assert_eq!(play.enter(&[(USER_END, READ, 3)]), list(Code::BadRange));
    assert_eq!(play.enter(&[(0x1000, READ, PAGES)]), list(Code::BadRange));
    assert_eq!(play.enter(&[(0x1000, READ, u64::MAX >> 12)]), list(Code::BadRange));
    // What follows a page that is right is for the next call.
    assert_eq!(play.enter(&[(0x1000, READ, 3), (0x2000, 0, 3), (0x3000, READ, 3)]), Status::OK);
    assert_eq!((play.entered(), play.seen(0x3000)), (1, None));
    // A page of objects, and a hole.
    play.world.ok(Call::PortCreate, &[play.pages + 6 * PAGE_SIZE, 0, 0]);
    assert_eq!(play.enter(&[(0x1000, READ, 6)]), list(Code::BadAddress));
    play.world.ok(Call::MappingDestroy, &[play.mapping]);
    assert_eq!(play.enter(&[(0x1000, READ, 3)]), list(Code::BadAddress));
    play.world.ok(Call::RegionDestroy, &[play.region]);
    assert_eq!(play.enter(&[(0x1000, READ, 3)]), Status::argument(Code::NullReference, 1));
    assert_eq!(play.world.call(Call::ViewEnter, &[play.view, play.list + 4, 1]), Status::argument(Code::NullReference, 1));
}

#[test]
fn wrong_calls_are_refused() {
    let play = Play::new(1, 16);
    let fails = |call, arguments: &[u64], code, argument| {
        assert_eq!(play.world.call(call, arguments), Status::argument(code, argument), "{arguments:x?}");
        check(&play.world);
    };
    fails(Call::ViewEnter, &[play.view, play.list, 33], Code::BadArgument, 3);
    fails(Call::ViewEnter, &[play.view, play.list + 4, 1], Code::BadAddress, 2);
    fails(Call::ViewForget, &[play.view, 0x1000, 0], Code::BadRange, 3);
    fails(Call::ViewForget, &[play.view, 0x1000, USER_END], Code::BadRange, 3);
    let slot = play.world.page();
    play.world.ok(Call::MappingCreate, &[slot, play.inner, 0x4000_0000, PAGE_SIZE, play.first, 0, Rights::VIEW.0 | 1]);
    fails(Call::ViewForget, &[slot, 0x1000, PAGE_SIZE], Code::BadRange, 2);
    fails(Call::ViewEnter, &[play.mapping, play.list, 1], Code::WrongType, 1);
    fails(Call::ViewForget, &[play.mapping, 0, PAGE_SIZE], Code::WrongType, 1);
    let state = MappingState { start: 0, size: PAGE_SIZE, offset: 0, rights: 15, ..MappingState::default() };
    play.world.write(play.list, &state.to_words());
    fails(Call::MappingSetState, &[play.view, play.list, MappingState::SIZE, 0], Code::Denied, 1);
}

/// Ways to take page 3, or all, from whoever sees it.
const TAKERS: [fn(&Play); 6] = [
    |play| _ = play.world.ok(Call::PortCreate, &[play.pages + 3 * PAGE_SIZE, 0, 0]),
    |play| _ = play.world.ok(Call::MappingDestroy, &[play.mapping]),
    |play| _ = play.world.ok(Call::RegionDestroy, &[play.first]),
    |play| _ = play.world.ok(Call::RegionDestroy, &[play.region]),
    |play| _ = play.world.ok(Call::MappingDestroy, &[play.view]),
    |play| {
        let state = RegionState { start: play.pages, size: 3 * PAGE_SIZE, rights: ANY, ..RegionState::default() };
        play.world.write(play.list, &state.to_words());
        play.world.ok(Call::RegionSetState, &[play.first, play.list, RegionState::SIZE, 0]);
    },
];

#[test]
fn what_is_taken_away_is_seen_through_no_view() {
    for take in TAKERS {
        for budget in [1, 3000, 100_000] {
            let play = Play::new(2, 16);
            play.world.kernel.budget_full.set(budget);
            let thread = play.world.make_thread(play.viewer);
            play.enter(&[(0x1000, ANY, 3), (0x7000_0000_0000, READ, 3)]);
            play.world.ok(Call::ThreadStart, &[thread]);
            play.world.kick_all();
            assert!(play.world.access(1, 0x1000, Rights::WRITE).is_some());
            // The old page is in no table any more, and still in what a CPU remembers, if nobody
            // tells it.
            play.enter(&[(0x1000, ANY, 4)]);
            take(&play);
            check(&play.world);
            assert_eq!([play.seen(0x1000), play.seen(0x7000_0000_0000)], [None; 2]);
            let old = play.world.physical(play.pages + 3 * PAGE_SIZE);
            assert!(play.world.access(1, 0x1000, Rights::READ).is_none_or(|at| at != old));
        }
    }
}

#[test]
fn a_page_of_two_mebibytes_is_entered_where_all_of_it_is_there() {
    const LARGE: u64 = 2 << 20;
    let world = World::new(1);
    world.map_ram();
    let (slots, list) = (world.page(), world.page());
    let viewer = world.make_space(8, 0);
    let base = crate::support::world::RAM + (8 << 20);
    world.ok(Call::RegionCreate, &[slots, 0, base, LARGE + PAGE_SIZE, ANY, 0]);
    world.ok(Call::MappingCreate, &[slots + 0x80, viewer, LARGE, 4 * LARGE, slots, 0, Rights::VIEW.0 | ANY]);
    let enter = |address: u64, flags: u64, offset: u64| {
        world.write(list, &[address | flags, offset]);
        let entered = world.ok(Call::ViewEnter, &[slots + 0x80, list, 1]);
        check(&world);
        (entered, world.running(0).expect("root").register(register::R8))
    };
    assert_eq!(enter(2 * LARGE + 0x5000, WRITE | VIEW_LARGE, 0x5000), (1, 1));
    // Not all of it is in the region, the addresses do not fit, or the view ends.
    assert_eq!(enter(3 * LARGE, READ | VIEW_LARGE, LARGE), (1, 0));
    assert_eq!(enter(3 * LARGE + 0x1000, READ | VIEW_LARGE, 0x2000), (1, 0));
    assert_eq!(enter(LARGE + 0x5000, WRITE, 0x5000), (1, 0));
    let root = Physical(world.machine().peek(world.physical(viewer).0 + 8));
    let size = |address| world.machine().table_lookup(root, address).map(|leaf| leaf.size);
    assert_eq!([size(2 * LARGE), size(3 * LARGE), size(LARGE + 0x5000), size(LARGE)], [Some(PageSize::Large), Some(PageSize::Small), Some(PageSize::Small), None]);
    // A frame of it becomes another thing.
    world.ok(Call::PortCreate, &[base + 0x9000, 0, 0]);
    check(&world);
    assert_eq!([size(2 * LARGE), size(3 * LARGE)], [None; 2]);
    assert_eq!(enter(2 * LARGE + 0x5000, WRITE | VIEW_LARGE, 0x5000), (1, 0));
}

#[test]
fn an_overlay_stands_in_front_of_a_view() {
    const LARGE: u64 = 0x20_0000;
    let play = Play::new(1, 16);
    let slot = play.world.page();
    assert_eq!(play.enter(&[(LARGE, READ, 3), (LARGE + 0x1000, READ, 3)]), Status::OK);
    play.world.ok(Call::MappingCreate, &[slot, play.viewer, LARGE, PAGE_SIZE, play.first, 0, Rights::OVER.0 | ANY]);
    assert_eq!([play.seen(LARGE), play.seen(LARGE + 0x1000)], [None, Some(3)]);
    assert_eq!(play.enter(&[(LARGE, READ, 4)]), Status::argument(Code::BadRange, 2));
    assert_eq!(play.enter(&[(LARGE + 0x1000, READ | VIEW_LARGE, 4), (LARGE, READ, 4)]), Status::OK);
    assert_eq!((play.entered(), play.seen(LARGE), play.seen(LARGE + 0x1000)), (1, None, Some(4)));
    play.world.ok(Call::MappingDestroy, &[slot]);
    assert_eq!(play.enter(&[(LARGE, READ, 4)]), Status::OK);
}

#[test]
fn a_pool_that_is_used_up_costs_what_was_entered() {
    let play = Play::new(1, 5);
    for number in 1..40 {
        assert_eq!(play.enter(&[(number << 39, READ, 3)]), Status::OK);
        assert_eq!(play.seen(number << 39), Some(3));
    }
    assert_eq!(play.seen(1 << 39), None);
}

/// One random step of whoever has the memory, or of the view's owner.
fn step(play: &Play, random: &mut Random) {
    let page = random.below(PAGES);
    let world = &play.world;
    let address = random.of(&[0x1000, 0x2000, 0x20_0000, 0x4000_0000, 0x7fff_ffff_e000]) + PAGE_SIZE * 0;
    match random.below(12) {
        0 => _ = world.call(Call::PortCreate, &[play.pages + page * PAGE_SIZE, 0, 0]),
        1 | 2 => _ = world.call(Call::MemoryReclaim, &[play.pages, PAGES * PAGE_SIZE, random.below(2)]),
        3 => _ = world.call(Call::ViewForget, &[play.view, address & !(PAGE_SIZE - 1), PAGE_SIZE * (1 + random.below(2))]),
        4 => {
            let state = RegionState { start: play.pages, size: (1 + page) * PAGE_SIZE, rights: random.of(&[1, 3, 7]), ..RegionState::default() };
            world.write(play.list, &state.to_words());
            world.call(Call::RegionSetState, &[play.first, play.list, RegionState::SIZE, 0]);
        }
        5 if random.once_in(4) => {
            world.call(Call::MappingDestroy, &[play.view]);
            play.make_view();
        }
        6 => _ = world.access(1, address, Rights(random.of(&[1, 2]))),
        _ => {
            let flags = [READ, WRITE, ANY, ANY | VIEW_PRIVILEGED, READ | VIEW_LARGE];
            play.enter(&[(address, random.of(&flags), page), (address ^ 0x1000, random.of(&flags), random.below(PAGES))]);
        }
    }
}

#[test]
fn whatever_is_entered_and_taken_away_the_tables_show_no_more_than_there_is() {
    for seed in 1..60 {
        let mut random = Random::new(seed);
        let play = Play::new(2, 5 + seed % 8);
        play.world.kernel.budget_full.set(random.of(&[1, 2000, 100_000]));
        let thread = play.world.make_thread(play.viewer);
        play.world.ok(Call::ThreadStart, &[thread]);
        for number in 0..300 {
            play.world.kick_all();
            step(&play, &mut random);
            check(&play.world);
            assert!(number < 300 && play.world.machine().kind(play.root()) == Frame::TABLE, "seed {seed}");
        }
    }
}
