//! Overlays: mappings that stand in front of others.

use crate::support::check;
use crate::support::world::World;
use nacre_abi::state::{MappingState, RegionState};
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status};
use nacre_core::machine::Physical;

/// Address of the window in root's space.
const WINDOW: u64 = 0x4000_0000;
const OVER: u64 = Rights::ALL.0 | Rights::OVER.0;

/// A region over eight pages, of which the first four are shown, and a slot for an overlay.
struct Play {
    world: World,
    pages: u64,
    region: u64,
    base: u64,
    overlay: u64,
    buffer: u64,
}

impl Play {
    fn new() -> Play {
        let world = World::new(1);
        world.map_ram();
        let (objects, buffer, pages) = (world.page(), world.page(), world.pages(8));
        let play = Play { pages, region: objects, base: objects + 0x80, overlay: objects + 0x100, buffer, world };
        play.world.ok(Call::RegionCreate, &[play.region, 0, pages, 8 * PAGE_SIZE, Rights::ALL.0, 0]);
        play.world.ok(Call::MappingCreate, &[play.base, 0, WINDOW, 4 * PAGE_SIZE, play.region, 0, Rights::READ.0]);
        play
    }

    /// The arguments of an overlay that shows page `from` of the region at page `at` of the window.
    fn over(&self, at: u64, from: u64) -> [u64; 7] {
        [self.overlay, 0, WINDOW + at * PAGE_SIZE, PAGE_SIZE, self.region, from * PAGE_SIZE, OVER]
    }

    /// Returns the pages of the region that are seen in the window.
    fn seen(&self, needed: Rights) -> Vec<Option<u64>> {
        let number = |at: Physical| (at.0 - self.world.physical(self.pages).0) / PAGE_SIZE;
        (0..4).map(|page| self.world.access(0, WINDOW + page * PAGE_SIZE, needed).map(number)).collect()
    }

    fn set(&self, slot: u64, start: u64, offset: u64, rights: u64) -> Status {
        let state = MappingState { start: WINDOW + start * PAGE_SIZE, size: PAGE_SIZE, offset: offset * PAGE_SIZE, rights, ..MappingState::default() };
        self.world.write(self.buffer, &state.to_words());
        self.world.call(Call::MappingSetState, &[slot, self.buffer, MappingState::SIZE, 0])
    }
}

#[test]
fn an_overlay_comes_and_goes_in_front_of_what_was_seen() {
    let play = Play::new();
    assert_eq!(play.seen(Rights::READ), [Some(0), Some(1), Some(2), Some(3)]);
    play.world.ok(Call::MappingCreate, &play.over(1, 6));
    check(&play.world);
    assert_eq!(play.seen(Rights::READ), [Some(0), Some(6), Some(2), Some(3)]);
    assert!(play.world.access(0, WINDOW + PAGE_SIZE, Rights::WRITE).is_some());
    play.world.ok(Call::MappingDestroy, &[play.overlay]);
    check(&play.world);
    assert_eq!(play.seen(Rights::READ), [Some(0), Some(1), Some(2), Some(3)]);
}

#[test]
fn two_overlays_never_lie_at_one_address() {
    let play = Play::new();
    play.world.ok(Call::MappingCreate, &play.over(1, 6));
    let mut other = play.over(1, 5);
    assert_eq!(play.world.call(Call::MappingCreate, &other), Status::argument(Code::SlotOccupied, 1));
    other[0] += 0x80;
    assert_eq!(play.world.call(Call::MappingCreate, &other), Status::argument(Code::Overlap, 3));
    other[2] += PAGE_SIZE;
    play.world.ok(Call::MappingCreate, &other);
    assert_eq!(play.set(play.overlay, 2, 6, OVER), Status::argument(Code::Overlap, 2));
    // An overlay is none any more only where no other mapping is.
    assert_eq!(play.set(play.overlay, 1, 6, Rights::ALL.0), Status::argument(Code::Overlap, 2));
    assert_eq!(play.set(play.overlay, 1, 6, OVER | 32), Status::argument(Code::BadRights, 2));
    assert_eq!(play.seen(Rights::READ), [Some(0), Some(6), Some(5), Some(3)]);
    check(&play.world);
}

#[test]
fn an_overlay_that_moves_or_turns_takes_what_it_covers_out_of_sight() {
    let play = Play::new();
    play.world.ok(Call::MappingCreate, &play.over(1, 6));
    assert_eq!(play.seen(Rights::READ), [Some(0), Some(6), Some(2), Some(3)]);
    assert!(play.set(play.overlay, 3, 7, OVER).is_ok());
    check(&play.world);
    assert_eq!(play.seen(Rights::READ), [Some(0), Some(1), Some(2), Some(7)]);
    play.world.ok(Call::MappingDestroy, &[play.base]);
    check(&play.world);
    assert!(play.set(play.overlay, 3, 7, Rights::READ.0).is_ok());
    check(&play.world);
    play.world.ok(Call::MappingGetState, &[play.overlay, play.buffer, MappingState::SIZE, 0]);
    assert_eq!(play.world.read(play.buffer + 32), Rights::READ.0);
    assert_eq!(play.world.access(0, WINDOW + 3 * PAGE_SIZE, Rights::READ), Some(play.world.physical(play.pages + 7 * PAGE_SIZE)));
}

#[test]
fn an_overlay_without_a_region_shows_what_is_below() {
    let play = Play::new();
    let region = play.overlay + 0x80;
    play.world.ok(Call::RegionCreate, &[region, 0, play.pages, 8 * PAGE_SIZE, Rights::ALL.0, 0]);
    let mut arguments = play.over(1, 6);
    arguments[4] = region;
    play.world.ok(Call::MappingCreate, &arguments);
    assert_eq!(play.seen(Rights::READ)[1], Some(6));
    play.world.ok(Call::RegionDestroy, &[region]);
    check(&play.world);
    assert_eq!(play.seen(Rights::READ)[1], Some(1));
}

#[test]
fn making_an_overlay_can_be_cut_off_and_made_again() {
    let play = Play::new();
    assert_eq!(play.seen(Rights::READ)[1], Some(1));
    play.world.kernel.budget_full.set(1);
    play.world.ok(Call::MappingCreate, &play.over(1, 6));
    play.world.kernel.budget_full.set(3000);
    assert_eq!(play.seen(Rights::READ)[1], Some(6));
    // The state that a cut-off call leaves is the whole overlay: one that is made again after an
    // import finds it.
    play.world.ok(Call::MappingCreate, &play.over(1, 6));
    check(&play.world);
}

#[test]
fn more_rights_take_nothing_out_of_the_tables() {
    let play = Play::new();
    let set_region = |rights: Rights| {
        let state = RegionState { start: play.pages, size: 8 * PAGE_SIZE, rights: rights.0, ..RegionState::default() };
        play.world.write(play.buffer, &state.to_words());
        play.world.ok(Call::RegionSetState, &[play.region, play.buffer, RegionState::SIZE, 0]);
    };
    let is_in_tables = || play.world.machine().translate(WINDOW, Rights::READ).is_some();
    set_region(Rights::READ);
    assert!(!is_in_tables());
    play.seen(Rights::READ);
    set_region(Rights::ALL);
    assert!(is_in_tables());
    let state = MappingState { start: WINDOW, size: 4 * PAGE_SIZE, rights: Rights::ALL.0, ..MappingState::default() };
    play.world.write(play.buffer, &state.to_words());
    play.world.ok(Call::MappingSetState, &[play.base, play.buffer, MappingState::SIZE, 0]);
    assert!(is_in_tables());
    assert_eq!(play.seen(Rights::WRITE), [Some(0), Some(1), Some(2), Some(3)]);
    check(&play.world);
}
