//! `memory_copy`: pages have what others have, whatever their frames were before, and wherever it
//! is cut off.

use crate::support::check;
use crate::support::world::World;
use nacre_abi::rights::RECLAIM_CLEAR;
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status};
use nacre_core::machine::Frame;

/// State of a page before it is copied, or copied to.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Untouched,
    Written,
    /// Object page without any object left.
    Vacant,
}

const ALL: [Before; 3] = [Before::Untouched, Before::Written, Before::Vacant];

fn prepare(world: &World, page: u64, before: Before, word: u64) -> u64 {
    world.ok(Call::MemoryReclaim, &[page, PAGE_SIZE, RECLAIM_CLEAR]);
    match before {
        Before::Untouched => 0,
        Before::Written => {
            while world.access(0, page, Rights::WRITE).is_none() {}
            world.write(page, &[word; 512]);
            word
        }
        Before::Vacant => {
            world.ok(Call::PortCreate, &[page, 0, 0]);
            world.ok(Call::PortDestroy, &[page]);
            0
        }
    }
}

fn content(world: &World, page: u64) -> [u64; 2] {
    while world.access(0, page, Rights::READ).is_none() {}
    [world.read(page), world.read(page + PAGE_SIZE - 8)]
}

#[test]
fn a_page_has_what_the_other_has_whatever_both_were() {
    for budget in [1, 700, 1 << 20] {
        let world = World::new(2);
        world.map_ram();
        let (from, to) = (world.pages(9), world.pages(9));
        let mut words = Vec::new();
        for (number, (source, target)) in ALL.iter().flat_map(|source| ALL.map(|target| (*source, target))).enumerate() {
            let at = number as u64 * PAGE_SIZE;
            words.push(prepare(&world, from + at, source, 100 + number as u64));
            prepare(&world, to + at, target, 7);
        }
        world.kernel.budget_full.set(budget);
        world.ok(Call::MemoryCopy, &[from, to, 9 * PAGE_SIZE]);
        check(&world);
        assert_eq!(world.machine().kind(world.physical(to)), Frame::BLANK, "zeros on both sides are left alone");
        for (number, word) in words.iter().enumerate() {
            let at = number as u64 * PAGE_SIZE;
            assert_eq!(content(&world, to + at), [*word; 2], "page {number}");
            assert_eq!(content(&world, from + at), [*word; 2], "page {number}");
        }
        check(&world);
    }
}

#[test]
fn what_may_not_be_read_or_written_ends_it_and_what_was_before_is_copied() {
    let world = World::new(2);
    world.map_ram();
    let (from, to, object) = (world.pages(2), world.pages(2), world.page());
    prepare(&world, from, Before::Written, 5);
    prepare(&world, to, Before::Untouched, 0);
    world.ok(Call::PortCreate, &[from + PAGE_SIZE, 0, 0]);
    world.ok(Call::PortCreate, &[object, 0, 0]);
    assert_eq!(world.call(Call::MemoryCopy, &[from, to, 2 * PAGE_SIZE]), Status::argument(Code::BadAddress, 1));
    assert_eq!(world.call(Call::MemoryCopy, &[from, object, PAGE_SIZE]), Status::argument(Code::BadAddress, 2));
    assert_eq!(content(&world, to), [5; 2]);
    world.ok(Call::PortNotify, &[object, 1]);
    world.ok(Call::PortNotify, &[from + PAGE_SIZE, 1]);
    check(&world);
}
