//! Every frame is somebody's: what a child made of memory comes back whole, however deep, also when
//! taking it back is cut off after each part; revocation that is cut off is over when the call
//! returns; and who donates nothing gets nothing.

use crate::support::machine::{RAM_END, RAM_START};
use crate::support::world::{CODE, World};
use crate::support::{Random, check};
use nacre_abi::object::UNIT;
use nacre_abi::rights::RECLAIM_CLEAR;
use nacre_abi::{Call, Code, ObjectType, PAGE_SIZE, Rights, Status, environment};
use nacre_core::machine::{Frame, Machine, Physical, thread_page::register};

fn world(cpus: usize) -> World {
    let world = World::new(cpus);
    world.map_ram();
    world
}

/// Counts the frames of each kind.
fn frames_by_kind(world: &World) -> [u64; 5] {
    let mut counts = [0; 5];
    for at in (RAM_START..RAM_END).step_by(PAGE_SIZE as usize) {
        // Whether it is cleared now or when it is touched, nobody has anything in it.
        let kind = Some(world.machine().kind(Physical(at))).filter(|kind| *kind != Frame::BLANK).unwrap_or(Frame::PLAIN);
        counts[kind as usize] += 1;
    }
    counts
}

/// All that `memory_objects` lists in a range, in as many calls as it takes.
fn listed(world: &World, start: u64, size: u64) -> Vec<(u64, u64)> {
    let (buffer, end) = (world.page(), start + size);
    let (mut found, mut from) = (Vec::new(), start);
    while from != 0 {
        let count = world.ok(Call::MemoryObjects, &[from, end - from, buffer, 8]);
        (0..count).for_each(|number| found.push((world.read(buffer + 16 * number), world.read(buffer + 16 * number + 8))));
        from = world.running(0).expect("root").register(register::R8);
    }
    found
}

/// Fills the memory of one environment: a space with a pool, threads, one of each smaller object,
/// and another environment in the memory behind it.
fn furnish(world: &World, at: u64, depth: u64) -> u64 {
    let (space, pool, objects) = (at, at + PAGE_SIZE, at + 10 * PAGE_SIZE);
    world.ok(Call::SpaceCreate, &[space, pool, 9, 0]);
    world.ok(Call::ThreadCreate, &[objects + PAGE_SIZE, space]);
    world.ok(Call::ThreadCreate, &[objects + 2 * PAGE_SIZE, space]);
    let small = |number: u64| objects + 128 * number;
    world.ok(Call::RegionCreate, &[small(0), 0, at, 64 * PAGE_SIZE, Rights::ALL.0, 0]);
    world.ok(Call::MappingCreate, &[small(1), space, CODE, 8 * PAGE_SIZE, small(0), 0, Rights::READ.0]);
    world.ok(Call::PortSetCreate, &[small(2)]);
    world.ok(Call::PortCreate, &[small(3), 0, small(2)]);
    world.ok(Call::MutexCreate, &[small(4)]);
    world.ok(Call::ConditionCreate, &[small(5)]);
    (6..16).for_each(|number| _ = world.ok(Call::ReferenceCreate, &[small(number)]));
    world.ok(Call::PortReference, &[small(3), small(6), 1]);
    let here = 19;
    if depth == 0 { here } else { here + furnish(world, at + 16 * PAGE_SIZE, depth - 1) }
}

#[test]
fn all_of_a_child_is_listed_and_comes_back() {
    for budget in [1, 700, 5000] {
        let world = world(1);
        world.kernel.budget_full.set(budget);
        let child = world.pages(64);
        let before = frames_by_kind(&world);
        let made = furnish(&world, child, 3);
        assert_eq!(listed(&world, child, 64 * PAGE_SIZE).len() as u64, made);
        world.ok(Call::MemoryReclaim, &[child, 64 * PAGE_SIZE]);
        check(&world);
        assert_eq!(frames_by_kind(&world), before);
        assert_eq!(listed(&world, child, 64 * PAGE_SIZE), []);
    }
}

#[test]
fn memory_that_held_objects_is_plain_for_who_touches_it() {
    let world = world(1);
    let page = world.page();
    world.ok(Call::PortCreate, &[page, 0, 0]);
    world.ok(Call::PortDestroy, &[page]);
    assert_eq!(world.machine().kind(world.physical(page)), Frame::OBJECTS);
    assert_eq!(world.access(0, page, Rights::WRITE), Some(world.physical(page)));
    assert_eq!(world.machine().kind(world.physical(page)), Frame::PLAIN);
    check(&world);
}

/// A region of one page, mapped into `count` spaces that each have filled their tables from it; the
/// region's slot.
fn derived(world: &World, count: u64) -> (u64, u64) {
    let (objects, memory) = (world.pages(4), world.page());
    world.ok(Call::RegionCreate, &[objects, 0, memory, PAGE_SIZE, Rights::ALL.0, 0]);
    for number in 0..count {
        let space = world.make_space(5, 0);
        world.ok(Call::MappingCreate, &[objects + 128 * (1 + number), space, CODE, PAGE_SIZE, objects, 0, Rights::ALL.0]);
        let thread = world.make_thread(space);
        world.ok(Call::ThreadStart, &[thread]);
        world.kick_all();
        assert_eq!(world.access(1, CODE, Rights::WRITE), Some(world.physical(memory)));
        world.ok(Call::ThreadStop, &[thread, 0]);
    }
    (objects, memory)
}

/// Counts the leaves, of all spaces, that show this page.
fn shown(world: &World, memory: u64) -> usize {
    let at = world.physical(memory);
    let root = world.machine().cpus[0].root.get().expect("root's tables").0;
    let tables = world.machine().tables.borrow();
    let others = tables.iter().filter(|(table, _)| **table != root);
    others.flat_map(|(_, tables)| tables.leaves.values()).filter(|leaf| leaf.physical == at).count()
}

#[test]
fn a_revocation_that_is_cut_off_is_over_when_the_call_returns() {
    let narrow = |world: &World, region: u64, memory: u64| {
        let buffer = world.page();
        world.write(buffer, &[nacre_abi::state::header(ObjectType::Region, 1), memory, PAGE_SIZE, Rights::NONE.0]);
        (Call::RegionSetState, vec![region, buffer, 64, 0])
    };
    let takers: [&dyn Fn(&World, u64, u64) -> (Call, Vec<u64>); 3] = [
        &|_, region, _| (Call::RegionDestroy, vec![region]),
        &|_, _, memory| (Call::PortCreate, vec![memory, 0, 0]),
        &narrow,
    ];
    for taker in takers {
        let world = world(2);
        let (region, memory) = derived(&world, 20);
        let (call, arguments) = taker(&world, region, memory);
        world.kernel.budget_full.set(1);
        let root = world.running(0).expect("root");
        world.prepare(root, call, &arguments);
        let (mut entries, mut last) = (0, shown(&world, memory));
        assert_eq!(last, 20);
        loop {
            world.enter(0);
            check(&world);
            let now = shown(&world, memory);
            assert!(now <= last, "{} lets what it took be seen again", call.name());
            (last, entries) = (now, entries + 1);
            if !World::stands_at_call(root) {
                break;
            }
        }
        assert_eq!((root.register(register::RAX), last), (0, 0), "{}", call.name());
        assert!(entries > 20, "{} was not cut off", call.name());
    }
}

#[test]
fn who_touches_a_seized_page_has_it_back_as_it_was() {
    let world = world(2);
    let (_, memory) = derived(&world, 8);
    world.write(memory, &[77]);
    world.kernel.budget_full.set(1);
    world.call_on(0, Call::PortCreate, &[memory, 0, 0]);
    while world.machine().translate(memory, Rights::READ).is_some() {
        world.enter(0);
    }
    assert_eq!(world.machine().kind(world.physical(memory)), Frame::SEIZED);
    assert_eq!(world.access(0, memory, Rights::READ), Some(world.physical(memory)));
    assert_eq!((world.machine().kind(world.physical(memory)), world.read(memory)), (Frame::PLAIN, 77));
    check(&world);
}

#[test]
fn who_donates_nothing_gets_nothing() {
    let world = world(1);
    let (space, memory) = (world.make_space(9, 0), world.pages(16));
    let objects = world.page();
    let rights = Rights::READ.union(Rights::WRITE);
    world.ok(Call::RegionCreate, &[objects, 0, memory, 16 * PAGE_SIZE, rights.0, 0]);
    world.ok(Call::MappingCreate, &[objects + 128, space, CODE, 16 * PAGE_SIZE, objects, 0, rights.0]);
    let thread = world.make_thread(space);
    let thread = world.thread(world.physical(thread));
    let mut random = Random::new(5);
    let before = frames_by_kind(&world);
    for call in Call::ALL.iter().copied().filter(|call| !matches!(call, Call::IpcReceiveReply)) {
        for _ in 0..40 {
            let any = [0, 1, UNIT, PAGE_SIZE, CODE, CODE + UNIT, CODE + 3 * PAGE_SIZE, environment::FREE];
            let arguments: Vec<u64> = (0..8).map(|_| random.of(&any)).collect();
            start(&world, thread);
            assert_eq!(world.running(0).map(|thread| thread.at), Some(thread.at));
            world.call_on(0, call, &arguments);
            assert_eq!(frames_by_kind(&world), before, "{}({arguments:x?})", call.name());
            stop(&world, thread);
        }
    }
    check(&world);
}

/// Root lets the thread have its CPU.
fn start(world: &World, thread: nacre_core::object::Thread<'_>) {
    let slot = crate::support::world::RAM + thread.at.0 - RAM_START;
    world.ok(Call::ThreadStart, &[slot]);
    world.call_on(0, Call::ThreadSleep, &[1000]);
}

/// Time passes until root is back, and the thread stands.
fn stop(world: &World, thread: nacre_core::object::Thread<'_>) {
    world.pass(100_000_000);
    let slot = crate::support::world::RAM + thread.at.0 - RAM_START;
    for _ in 0..4 {
        if world.running(0).map(|now| now.at) == Some(thread.at) {
            world.pass(100_000_000);
        }
    }
    if let Some(root) = world.running(0)
        && World::stands_at_call(root)
    {
        world.enter(0);
    }
    world.ok(Call::ThreadStop, &[slot, 0]);
    assert!(thread.at.0 > RAM_START && world.machine().frame(thread.at).is_some());
}

#[test]
fn memory_that_is_cleared_is_zeros_for_who_touches_it() {
    for budget in [1, 700, 1 << 20] {
        let world = world(2);
        let (_, shown_elsewhere) = derived(&world, 3);
        let (held, pages) = (world.page(), world.pages(4));
        for page in [shown_elsewhere, pages, pages + 3 * PAGE_SIZE] {
            world.write(page, &[77, 78]);
        }
        world.ok(Call::PortCreate, &[pages + PAGE_SIZE, 0, 0]);
        world.write(held, &[79]);
        world.kernel.budget_full.set(budget);
        world.ok(Call::MemoryReclaim, &[shown_elsewhere, PAGE_SIZE, RECLAIM_CLEAR]);
        world.ok(Call::MemoryReclaim, &[pages, 4 * PAGE_SIZE, RECLAIM_CLEAR]);
        check(&world);
        assert_eq!(shown(&world, shown_elsewhere), 0);
        for number in 0..4 {
            let page = pages + number * PAGE_SIZE;
            assert_eq!(world.machine().kind(world.physical(page)), Frame::BLANK);
            assert!(world.machine().translate(page, Rights::READ).is_none());
        }
        for page in [shown_elsewhere, pages, pages + PAGE_SIZE, pages + 3 * PAGE_SIZE] {
            while world.access(0, page, Rights::READ).is_none() {}
            assert_eq!((world.read(page), world.read(page + 8)), (0, 0));
        }
        world.ok(Call::PortCreate, &[pages + 2 * PAGE_SIZE, 0, 0]);
        assert_eq!(world.read(held), 79);
        check(&world);
    }
}

#[test]
fn what_nobody_has_touched_since_it_was_cleared_is_known_to_be_zeros() {
    for budget in [1, 700, 1 << 20] {
        let world = world(2);
        let pages = world.pages(80);
        let end = pages + 80 * PAGE_SIZE;
        world.ok(Call::MemoryReclaim, &[pages, 80 * PAGE_SIZE, RECLAIM_CLEAR]);
        world.kernel.budget_full.set(budget);
        // All runs, put together where a call was cut off inside one.
        let runs = || {
            let (mut runs, mut start) = (Vec::<(u64, u64)>::new(), pages);
            while start < end {
                let first = world.ok(Call::MemoryTouched, &[start, end - start]);
                let last = world.running(0).expect("root").register(register::R8);
                assert!((start..=end).contains(&first) && (first < last || first == end && last == end), "{first:x} {last:x}");
                match runs.last_mut() {
                    Some(run) if run.1 == first => run.1 = last,
                    _ if first < end => runs.push((first, last)),
                    _ => {}
                }
                start = last;
            }
            runs
        };
        assert_eq!(runs(), []);
        let touched = |number: u64| pages + number * PAGE_SIZE;
        for number in [3, 40] {
            while world.access(0, touched(number), Rights::WRITE).is_none() {}
        }
        world.ok(Call::PortCreate, &[touched(79), 0, 0]);
        let known = runs();
        for number in 0..80 {
            let is_blank = matches!(world.machine().kind(world.physical(touched(number))), Frame::BLANK | Frame::OBJECTS);
            assert_eq!(known.iter().any(|run| (run.0..run.1).contains(&touched(number))), !is_blank, "page {number}");
        }
        assert!(known.len() == 2 && known[0].0 == touched(3) && known[1].0 == touched(40), "{known:x?}");
        check(&world);
    }
}

#[test]
fn a_reference_is_made_where_there_is_none_and_replaced_where_there_is_one() {
    for budget in [1, 1 << 20] {
        let world = world(2);
        let (port, seen, blank) = (world.page(), world.page(), world.page());
        world.ok(Call::PortCreate, &[port, 7, 0]);
        world.write(seen, &[1, 2, 3]);
        world.ok(Call::MemoryReclaim, &[blank, PAGE_SIZE, RECLAIM_CLEAR]);
        world.kernel.budget_full.set(budget);
        for place in [seen + 64, blank + 128, blank + 64, seen + 64] {
            world.ok(Call::PortReference, &[port, place, 5]);
            check(&world);
            assert_eq!(world.call(Call::PortNotify, &[place, 1]), Status::OK);
        }
        for place in [seen + 64, blank + 64, blank + 128] {
            world.ok(Call::ReferenceDestroy, &[place]);
        }
        assert_eq!(world.call(Call::PortReference, &[port, port, 1]), Status::argument(Code::SlotOccupied, 2));
        assert_eq!(world.call(Call::PortReference, &[port, 0x6000_0000_0000, 1]), Status::argument(Code::BadAddress, 2));
        check(&world);
    }
}

#[test]
fn a_fault_brings_the_pages_around_it_that_mean_the_same() {
    let world = world(1);
    let pages = world.pages(40);
    let first = pages.next_multiple_of(16 * PAGE_SIZE);
    let seen = |page: u64| world.machine().translate(page, Rights::WRITE).is_some();
    world.ok(Call::PortCreate, &[first + 2 * PAGE_SIZE, 0, 0]);
    assert!(world.access(0, first + 5 * PAGE_SIZE, Rights::WRITE).is_some());
    assert!(seen(first) && seen(first + PAGE_SIZE) && seen(first + 15 * PAGE_SIZE), "pages of the same part");
    assert!(!seen(first + 2 * PAGE_SIZE) && !seen(first + 16 * PAGE_SIZE), "objects, or another part");
    check(&world);
}

#[test]
fn who_names_cleared_memory_as_an_object_is_told_that_it_is_none() {
    let world = world(1);
    let pages = world.pages(2);
    world.ok(Call::MemoryReclaim, &[pages, 2 * PAGE_SIZE, RECLAIM_CLEAR]);
    let status = world.call(Call::PortDestroy, &[pages]);
    assert_eq!(status, Status::argument(Code::NotAnObject, 1));
    check(&world);
}
