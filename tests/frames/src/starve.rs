//! Guests for which nothing is left: no table in their spaces, no memory at all.

use crate::scene::{self, LISTS, LOWER, LOWER_VIEW, MAPPING, MEMORY, REGION, SPACE, WINDOW, enter_page, must, try_call};
use crate::words::{self, CODE, frame, set};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::frame::{event, kind, word};
use nacre_abi::{Call, PAGE_SIZE, Rights};
use nacre_raw::{read, write};
use nacre_rt::memory::{self, Segment};
use nacre_rt::thread;
use nacre_sys::Thread;

const HALT_EXIT: u64 = 0x78;
const PAGE_FAULT: u64 = 0x4e;
/// Fewest pages of a pool.
const LEAST: u64 = 5;
/// Distance between pages that no table but the root has both of, and one that addresses of 32 bits
/// have, too.
const FAR: u64 = 1 << 39;
const NEARER: u64 = 1 << 30;

/// A guest that writes to its data segment at `data`: `mov [0x10], ax; hlt`.
fn prepare(data: u64) {
    write(MEMORY, 0xf4f4_f4f4_f400_10a3);
    let page = frame(0);
    (0..512).for_each(|number| set(page, number, 0));
    words::real_at(page, scene::MEMORY_AT);
    set(page, word::SEGMENTS + 7, data);
    set(page, word::SPACE, SPACE);
}

fn enter() -> Result<(u64, u64), String> {
    must(Call::ThreadEnter, &[WINDOW])?;
    let get = |number: usize| read(frame(0) + 8 * number as u64);
    Ok((get(word::EVENT), get(word::EXIT)))
}

fn equal<T: PartialEq + core::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}")) }
}

/// Waits a little, and makes the guest of the first thread be left.
fn leave_soon(_: usize) {
    for _ in 0..4 {
        let _ = Thread::sleep(5_000_000);
        set(frame(0), word::PENDING, 1);
        let _ = Thread::FIRST.stop().and_then(|()| Thread::FIRST.start());
    }
}

/// The guest's code and data lie where the pool has no tables for both. It gets nowhere, and its
/// monitor can make it be left.
fn few_tables() -> Result<(), String> {
    must(Call::SpaceDestroy, &[SPACE])?;
    scene::make_space(0, LEAST);
    must(Call::MappingCreate, &[scene::OVERLAY, SPACE, NEARER, PAGE_SIZE, REGION, PAGE_SIZE, 7])?;
    prepare(NEARER);
    let other = thread::spawn(leave_soon, 0).map_err(|errno| format!("no thread: {errno:?}"))?;
    let left = enter();
    other.join();
    equal("a guest without tables", left?.0, event::PENDING)?;
    must(Call::SpaceDestroy, &[SPACE])?;
    scene::make_space(0, 12);
    must(Call::MappingCreate, &[scene::OVERLAY, SPACE, NEARER, PAGE_SIZE, REGION, PAGE_SIZE, 7])?;
    prepare(NEARER);
    equal("one with them", enter()?, (event::EXIT, HALT_EXIT))
}

/// A view whose space has no table left shows what was entered last.
fn few_tables_of_views() -> Result<(), String> {
    must(Call::SpaceDestroy, &[LOWER])?;
    scene::make_space(1, LEAST);
    for number in 0..64 {
        enter_page(LISTS, LOWER_VIEW, number * FAR | 7, 0).result().map_err(|status| format!("page {number}: {status:?}"))?;
    }
    words::shadow_at(frame(0), 63 * FAR + 4);
    equal("the last page", enter()?, (event::EXIT, HALT_EXIT))?;
    set(frame(0), word::RIP, 62 * FAR + 4);
    equal("the page before", enter()?, (event::EXIT, PAGE_FAULT))
}

/// Takes all memory that there is, touched.
fn take_all() -> Result<Vec<Segment>, String> {
    let (mut taken, mut size) = (Vec::with_capacity(4096), 64 << 20);
    while size >= PAGE_SIZE && taken.len() < taken.capacity() {
        let Some(start) = memory::addresses(size) else { break };
        match Segment::map(start, size, Rights::NONE) {
            Ok(segment) => {
                (0..size / PAGE_SIZE).for_each(|page| write(segment.start() + page * PAGE_SIZE, page));
                taken.push(segment);
            }
            Err(_) => size /= 2,
        }
    }
    Ok(taken)
}

/// Runs guests while all memory is taken: nothing that the kernel does for one wants any.
fn no_memory() -> Result<u64, String> {
    let taken = take_all()?;
    let bytes = taken.iter().map(Segment::size).sum();
    let result = without_memory();
    drop(taken);
    result.map(|()| bytes)
}

fn without_memory() -> Result<(), String> {
    prepare(scene::MEMORY_AT + PAGE_SIZE);
    must(Call::MappingDestroy, &[MAPPING])?;
    equal("a page that is not there", enter()?.0, event::MEMORY)?;
    scene::fill_space(0);
    equal("one that is", enter()?, (event::EXIT, HALT_EXIT))?;
    for number in 0..1000 {
        set(frame(0), word::RIP, 0);
        equal("again", enter()?, (event::EXIT, HALT_EXIT))?;
        enter_page(LISTS, LOWER_VIEW, CODE + number * PAGE_SIZE | 7, 0).result().map_err(|status| format!("page {number}: {status:?}"))?;
    }
    must(Call::SpaceDestroy, &[LOWER])?;
    scene::make_space(1, 12);
    enter_page(LISTS, LOWER_VIEW, CODE | 7, 0).result().map_err(|status| format!("a page of a new view: {status:?}"))?;
    words::shadow_at(frame(0), CODE + 4);
    equal("a guest of views", enter()?, (event::EXIT, HALT_EXIT))
}

/// Tells how much memory there was.
///
/// # Errors
/// Tells what was not as it should be.
pub fn run() -> Result<String, String> {
    prepare(scene::MEMORY_AT);
    if try_call(Call::ThreadEnter, &[WINDOW]).result().is_err() {
        return Ok(String::from("no guests here"));
    }
    // The bytes behind the instruction are the guest's `hlt`.
    debug_assert_eq!(kind::NESTED, 0);
    few_tables()?;
    few_tables_of_views()?;
    let bytes = no_memory()?;
    Ok(format!("{} MiB taken, and guests run", bytes >> 20))
}
