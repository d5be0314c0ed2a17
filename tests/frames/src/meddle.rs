//! What other threads do to frames, spaces, views and memory while guests run on them.

use crate::scene::{
    DERIVED, DERIVED_VIEW, FRAME_MAPPING, FRAME_PAGES, LISTS, LOWER, LOWER_VIEW, MAPPING, MEMORY, MEMORY_PAGES, OVERLAY, REGION, SPACE, UPPER, UPPER_VIEW, enter_page,
    fill_space, make_space, show_frames, try_call,
};
use crate::words::{self, CODE, HIGH};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_abi::frame::word;
use nacre_abi::rights::{RECLAIM_CLEAR, VIEW_ENTRIES, VIEW_LARGE, VIEW_PRIVILEGED};
use nacre_abi::{Call, PAGE_SIZE, Rights, USER_END};
use nacre_raw::random::Random;
use nacre_raw::write;
use nacre_sys::Thread;

/// Number of threads that enter guests.
pub const ENTERING: usize = 2;
/// Threads that enter guests, as their handles.
pub static ENTERERS: [AtomicU64; ENTERING] = [const { AtomicU64::new(0) }; ENTERING];
/// Set as long as threads are to go on.
pub static GOES_ON: AtomicBool = AtomicBool::new(false);
/// Number of things done.
pub static DONE: AtomicU64 = AtomicU64::new(0);
/// Seed of this run.
pub static SEED: AtomicU64 = AtomicU64::new(1);

/// Things done before others get their turn.
const BURST: u64 = 16;

/// Addresses for pages of views: of both halves, at the ends of spaces, and none.
const PLACES: [u64; 14] = [
    0, 0x1000, CODE, CODE + 0x1000, 0x20_0000, 0x3fff_f000, HIGH, HIGH + 0x20_0000, 0x8000_0000, 0xffff_f000, USER_END - PAGE_SIZE, USER_END, 0x8000_0000_0000,
    0xffff_8000_0000_0000,
];

/// A meddler, by its number.
pub fn meddle(number: usize) {
    let mut random = Random::new(SEED.load(Ordering::Relaxed).wrapping_add(100 + number as u64));
    while GOES_ON.load(Ordering::Acquire) {
        act(&mut random, number as u64);
        let done = DONE.fetch_add(1, Ordering::Relaxed);
        // A thread that is stopped and started waits for its turn behind all others.
        if done.is_multiple_of(BURST) {
            Thread::yield_now();
        }
        // On CPUs that take turns, the next one gets its turn here.
        (0..random.below(20)).for_each(|_| core::hint::spin_loop());
    }
}

fn act(random: &mut Random, number: u64) {
    // The pages of frames that this meddler alone writes.
    let own = 2 + (2 * number + random.below(2)) % (FRAME_PAGES - 2);
    match random.below(16) {
        0..=3 => spoil_now(random),
        4 => leave(random),
        5 => remap_frames(random, own),
        6 => use_frame_page(random, own),
        7 => remake_space(random),
        8 => take_memory(random),
        9..=11 => enter_pages(random, LISTS + (1 + number % 4) * PAGE_SIZE),
        12 => forget(random),
        13 => remake_view(random),
        14 => overlay(random),
        _ => derive(random, LISTS + (1 + number % 4) * PAGE_SIZE),
    }
}

/// Writes into a frame that its thread may be inside of.
fn spoil_now(random: &mut Random) {
    let frame = words::frame(random.below(2));
    (0..1 + random.below(6)).for_each(|_| {
        // Version and spaces, of which most values are refused, less often.
        let first = if random.once_in(4) { 0 } else { word::EVENT as u64 };
        let number = (first + random.below(word::COUNT as u64 - first)) as usize;
        words::set(frame, number, words::value(random));
    });
}

/// Makes the guests be left. A guest may otherwise run for ever.
pub fn leave(random: &mut Random) {
    (0..2).for_each(|number| words::set(words::frame(number), word::PENDING, 1));
    let thread = Thread(ENTERERS[random.below(ENTERING as u64) as usize].load(Ordering::Acquire));
    if thread.0 != 0 {
        let _ = thread.stop();
        let _ = thread.start();
    }
}

/// Shows other frames at the window, or less of them, or nothing for a while.
fn remap_frames(random: &mut Random, own: u64) {
    try_call(Call::MappingDestroy, &[FRAME_MAPPING]);
    (0..random.below(10)).for_each(|_| core::hint::spin_loop());
    let first = if random.once_in(3) { own.min(FRAME_PAGES - 2) } else { random.below(2) };
    show_frames(first, if random.once_in(3) { 1 } else { 3 });
    if !random.once_in(8) {
        try_call(Call::MappingDestroy, &[FRAME_MAPPING]);
        show_frames(0, 3);
    }
}

/// Makes a page of frames one of objects, hands it back, and makes it a frame again.
fn use_frame_page(random: &mut Random, own: u64) {
    let page = words::frame(own);
    try_call(Call::PortCreate, &[page + 128 * random.below(8), 0x1111, 0]);
    (0..random.below(10)).for_each(|_| core::hint::spin_loop());
    let freed = try_call(Call::MemoryReclaim, &[page, PAGE_SIZE, random.below(2) * RECLAIM_CLEAR]);
    if freed.result().is_ok() || freed.code() == Some(nacre_abi::Code::Denied) {
        words::begin(page, random);
        words::spoil(page, random);
    }
}

/// Destroys a space and makes it again, with few tables or some more.
fn remake_space(random: &mut Random) {
    let number = random.below(3);
    let (space, inside) = [(SPACE, MAPPING), (LOWER, LOWER_VIEW), (UPPER, UPPER_VIEW)][number as usize];
    if random.once_in(2) {
        try_call(Call::MappingDestroy, &[inside]);
    }
    try_call(Call::SpaceDestroy, &[space]);
    (0..random.below(10)).for_each(|_| core::hint::spin_loop());
    make_space(number, 4 + random.below(12));
    make_space(number, 12);
    if number != 0 {
        enter_page(LISTS, inside, CODE | 5, random.below(8) * PAGE_SIZE);
    }
}

/// Makes a page of the guest's memory one of objects for a while.
fn take_memory(random: &mut Random) {
    let page = MEMORY + (8 + random.below(MEMORY_PAGES - 8)) * PAGE_SIZE;
    try_call(Call::PortCreate, &[page, 0x2222, 0]);
    try_call(Call::MutexCreate, &[page + 512]);
    (0..random.below(10)).for_each(|_| core::hint::spin_loop());
    try_call(Call::MemoryReclaim, &[page, PAGE_SIZE, random.below(2) * RECLAIM_CLEAR]);
}

/// Enters pages into views, some of them as no view can have them.
fn enter_pages(random: &mut Random, list: u64) {
    let count = if random.once_in(8) { random.one_of(&[0, VIEW_ENTRIES, VIEW_ENTRIES + 1, u64::MAX]) } else { random.below(8) };
    for number in 0..count.min(VIEW_ENTRIES) {
        let flags = random.one_of(&[1, 3, 5, 7, 7 | VIEW_PRIVILEGED, 3 | VIEW_LARGE, 5 | VIEW_LARGE | VIEW_PRIVILEGED, 0, 2, 8 | 1, 0x41, 0xfff]);
        let page = if random.once_in(8) { random.one_of(&[MEMORY_PAGES, u64::MAX >> 12, 1 << 40]) } else { random.below(MEMORY_PAGES) };
        write(list + 16 * number, random.one_of(&PLACES).wrapping_add(random.below(2) * PAGE_SIZE) | flags);
        write(list + 16 * number + 8, page * PAGE_SIZE + u64::from(random.once_in(16)));
    }
    let view = random.one_of(&[LOWER_VIEW, UPPER_VIEW, LOWER_VIEW, UPPER_VIEW, MAPPING, DERIVED_VIEW, OVERLAY]);
    let list = if random.once_in(16) { random.one_of(&[list + 4, 0, u64::MAX - 7, USER_END - 16, list + PAGE_SIZE - 24]) } else { list };
    try_call(Call::ViewEnter, &[view, list, count]);
}

fn forget(random: &mut Random) {
    let view = random.one_of(&[LOWER_VIEW, UPPER_VIEW, DERIVED_VIEW, MAPPING]);
    let (start, size) = if random.once_in(3) { (0, USER_END) } else { (random.one_of(&PLACES), random.one_of(&[0, 1, PAGE_SIZE, 0x20_0000, 1 << 39, USER_END, u64::MAX & !0xfff])) };
    try_call(Call::ViewForget, &[view, start, size]);
}

/// Destroys a view and makes it again, perhaps of another size.
fn remake_view(random: &mut Random) {
    let (number, view, space) = if random.once_in(2) { (1, LOWER_VIEW, LOWER) } else { (2, UPPER_VIEW, UPPER) };
    try_call(Call::MappingDestroy, &[view]);
    let size = random.one_of(&[PAGE_SIZE, 0x20_0000, 0x50_0000, 1 << 39, USER_END - PAGE_SIZE, USER_END, USER_END + PAGE_SIZE, 0]);
    if random.once_in(2) {
        let offset = random.below(4) * PAGE_SIZE;
        try_call(Call::MappingCreate, &[view, space, 0, size, REGION, offset, Rights::VIEW.0 | random.below(8)]);
    }
    fill_space(number);
}

/// Lays a mapping over a part of a view, and takes it away.
fn overlay(random: &mut Random) {
    let space = random.one_of(&[LOWER, UPPER, SPACE]);
    let at = random.one_of(&PLACES);
    let rights = Rights::OVER.0 | random.below(2) * Rights::VIEW.0 | random.below(8);
    try_call(Call::MappingCreate, &[OVERLAY, space, at, PAGE_SIZE * random.below(MEMORY_PAGES), REGION, 0, rights]);
    if random.once_in(2) {
        try_call(Call::MappingDestroy, &[OVERLAY]);
    }
}

/// Makes a region of a space of views, and a view of that in another space.
fn derive(random: &mut Random, list: u64) {
    let (from, to) = if random.once_in(2) { (LOWER, UPPER) } else { (SPACE, LOWER) };
    try_call(Call::RegionCreate, &[DERIVED, from, 0, random.one_of(&[PAGE_SIZE, 0x20_0000, USER_END]), 7, 0]);
    try_call(Call::MappingCreate, &[DERIVED_VIEW, to, HIGH - 0x20_0000, 0x20_0000, DERIVED, 0, Rights::VIEW.0 | 7]);
    enter_page(list, DERIVED_VIEW, HIGH - 0x20_0000 | 5, random.below(MEMORY_PAGES) * PAGE_SIZE);
    if random.once_in(2) {
        try_call(Call::MappingDestroy, &[DERIVED_VIEW]);
        try_call(Call::RegionDestroy, &[DERIVED]);
    }
}
