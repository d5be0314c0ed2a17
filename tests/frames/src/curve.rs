//! What guests, pages of views, views and spaces cost, when there are 1 to 4,000 of them. Below
//! `--icount` a tick is as many instructions for each of them.

use crate::scene::{self, LISTS, LOWER, LOWER_VIEW, MEMORY, REGION, SPACE, WINDOW, enter_page, must, try_call};
use crate::words;
use alloc::format;
use alloc::string::String;
use nacre_abi::frame::word;
use nacre_abi::rights::VIEW_ENTRIES;
use nacre_abi::{Call, PAGE_SIZE, Rights};
use nacre_raw::random::Random;
use nacre_raw::write;
use nacre_rt::memory::Segment;
use nacre_sys::clock;

const COUNTS: [u64; 5] = [1, 10, 100, 1000, 4000];
/// Address of memory for objects and pools.
const ROOM: u64 = 0x3300_0000_0000;
/// Bytes of a view's slot, and pages for a space and its pool.
const SLOT: u64 = 256;
const SPACE_PAGES: u64 = 6;
const ROOM_SIZE: u64 = 4000 * SPACE_PAGES * PAGE_SIZE;
/// Address of the first page in views.
const FIRST: u64 = 0x1000_0000;

/// Ticks for each of so many.
fn timed(count: u64, work: impl FnOnce() -> Result<(), String>) -> Result<u64, String> {
    let begun = clock::ticks();
    work()?;
    Ok((clock::ticks() - begun) / count)
}

fn frame_of(space: u64) {
    let frame = words::frame(0);
    words::begin(frame, &mut Random::new(1));
    (0..512).for_each(|number| words::set(frame, number, 0));
    words::real_at(frame, scene::MEMORY_AT);
    words::set(frame, word::SPACE, space);
}

/// Enters a guest that halts at once.
fn enter(space: u64, count: u64) -> Result<(), String> {
    for _ in 0..count {
        words::set(words::frame(0), word::RIP, 0);
        words::set(words::frame(0), word::SPACE, space);
        must(Call::ThreadEnter, &[WINDOW])?;
    }
    Ok(())
}

/// Enters so many pages into the view, by single calls or by long ones.
fn fill(view: u64, count: u64, each: u64) -> Result<(), String> {
    let mut done = 0;
    while done < count {
        let now = each.min(count - done);
        for number in 0..now {
            write(LISTS + 16 * number, FIRST + (done + number) * PAGE_SIZE | 3);
            write(LISTS + 16 * number + 8, 0);
        }
        let (status, entered, _) = nacre_raw::call(Call::ViewEnter, [view, LISTS, now, 0, 0, 0, 0, 0]);
        status.result().map_err(|status| format!("view_enter: {status:?}"))?;
        done += entered;
    }
    Ok(())
}

/// One row: entries of guests; pages of a view one by one, 32 at once, and dropped.
fn pages(count: u64) -> Result<[u64; 5], String> {
    frame_of(SPACE);
    let guests = timed(count, || enter(SPACE, count))?;
    let single = timed(count, || fill(LOWER_VIEW, count, 1))?;
    let forgotten = timed(count, || must(Call::ViewForget, &[LOWER_VIEW, FIRST, count * PAGE_SIZE]))?;
    let many = timed(count, || fill(LOWER_VIEW, count, VIEW_ENTRIES))?;
    let dropped = timed(count, || must(Call::MappingDestroy, &[LOWER_VIEW]))?;
    scene::fill_space(1);
    Ok([guests, single, forgotten, many, dropped])
}

/// One row: views made in one space with a page each, all of them made empty by one revocation, and
/// dropped.
fn views(count: u64) -> Result<[u64; 3], String> {
    let slot = |number: u64| ROOM + number * SLOT;
    must(Call::MappingDestroy, &[LOWER_VIEW])?;
    let made = timed(count, || {
        (0..count).try_for_each(|number| {
            let at = FIRST + number * 2 * PAGE_SIZE;
            must(Call::MappingCreate, &[slot(number), LOWER, at, PAGE_SIZE, REGION, 0, Rights::VIEW.0 | 7])?;
            enter_page(LISTS, slot(number), at | 3, 9 * PAGE_SIZE).result().map_err(|status| format!("view_enter: {status:?}"))
        })
    })?;
    let taken = timed(count, || {
        must(Call::PortCreate, &[MEMORY + 9 * PAGE_SIZE, 1, 0])?;
        must(Call::MemoryReclaim, &[MEMORY + 9 * PAGE_SIZE, PAGE_SIZE])
    })?;
    let dropped = timed(count, || (0..count).try_for_each(|number| must(Call::MappingDestroy, &[slot(number)])))?;
    must(Call::MemoryReclaim, &[ROOM, ROOM_SIZE])?;
    scene::fill_space(1);
    Ok([made, taken, dropped])
}

/// One row: spaces made with a mapping, a guest in each, and spaces destroyed.
fn spaces(count: u64) -> Result<[u64; 3], String> {
    let at = |number: u64| ROOM + number * SPACE_PAGES * PAGE_SIZE;
    frame_of(SPACE);
    let made = timed(count, || {
        (0..count).try_for_each(|number| {
            must(Call::SpaceCreate, &[at(number), at(number) + PAGE_SIZE, SPACE_PAGES - 1, 0])?;
            must(Call::MappingCreate, &[at(number) + 512, at(number), scene::MEMORY_AT, PAGE_SIZE, REGION, 0, 7])
        })
    })?;
    let entered = timed(count, || (0..count).try_for_each(|number| enter(at(number), 1)))?;
    let dropped = timed(count, || (0..count).try_for_each(|number| must(Call::SpaceDestroy, &[at(number)])))?;
    must(Call::MemoryReclaim, &[ROOM, ROOM_SIZE])?;
    Ok([made, entered, dropped])
}

/// Tells the curves.
///
/// # Errors
/// Tells which call failed.
pub fn run() -> Result<String, String> {
    Segment::map(ROOM, ROOM_SIZE, Rights::OBJECTS).map_err(|errno| format!("no memory: {errno:?}"))?.leak();
    (0..512).for_each(|number| write(MEMORY + 8 * number, 0xf4f4_f4f4_f4f4_f4f4));
    frame_of(SPACE);
    if try_call(Call::ThreadEnter, &[WINDOW]).result().is_err() {
        return Ok(String::from("no guests here"));
    }
    enter(SPACE, 10_000)?;
    // What is touched for the first time costs more.
    for count in [4000].into_iter().chain(COUNTS) {
        let text = format!("{count}: guest, page, forgotten, page of 32, dropped {:?}", pages(count)?);
        crate::say(format!("{text}; view, emptied, dropped {:?}; space, its guest, dropped {:?}\n", views(count)?, spaces(count)?));
    }
    Ok(String::from("the curves are told"))
}
