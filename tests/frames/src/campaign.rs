//! The campaign: two threads enter random frames, others meddle, and this program's first thread
//! looks at what must not change.

use crate::meddle::{self, DONE, ENTERERS, ENTERING, GOES_ON, SEED};
use crate::scene::{self, LOWER_VIEW, UPPER_VIEW, WINDOW, enter_page, try_call};
use crate::words::{self, CODE, HIGH};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::frame::word;
use nacre_abi::{Call, Code, PAGE_SIZE, Rights};
use nacre_proto::{flags, memory, parent};
use nacre_raw::random::Random;
use nacre_raw::{neighbour, read, write};
use nacre_rt::memory::Segment;
use nacre_rt::thread;
use nacre_sys::{Reference, Thread};

/// A page that no call names.
const CANARY: u64 = 0x3200_0000_0000;
/// Maximum number of meddlers: each has two pages of frames.
const MEDDLERS: u64 = 3;
/// Time between two looks, and turns of the neighbour's loop.
const LOOK: u64 = 100_000;
const SPIN: u64 = 1_000;
/// Looks without a frame entered after which the threads count as stuck.
const PATIENCE: u32 = 5_000;

/// Frames entered, those that were refused, and those whose guest was left.
static ENTERED: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);
/// Frames to enter.
static WANTED: AtomicU64 = AtomicU64::new(0);
/// Number of guests that were left, by the events' numbers.
static EVENTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
/// Set if there are no guests on this processor.
static LACKS: AtomicU64 = AtomicU64::new(0);

fn canary(word: u64) -> u64 {
    word.wrapping_mul(0x0123_4567_89ab_cdef)
}

fn enter(number: usize) {
    let mut random = Random::new(SEED.load(Ordering::Relaxed).wrapping_add(number as u64));
    let frame = words::frame(number as u64);
    while ENTERED.load(Ordering::Relaxed) < WANTED.load(Ordering::Relaxed) && GOES_ON.load(Ordering::Acquire) {
        words::write_code(&mut random);
        words::begin(frame, &mut random);
        words::spoil(frame, &mut random);
        if random.once_in(3) {
            enter_page(scene::LISTS, LOWER_VIEW, CODE | 5, random.below(16) * PAGE_SIZE);
            enter_page(scene::LISTS, UPPER_VIEW, HIGH | 3, random.below(16) * PAGE_SIZE);
        }
        (0..random.below(6)).for_each(|_| core::hint::spin_loop());
        // Now and then both threads enter one frame.
        let at = WINDOW + PAGE_SIZE * if random.once_in(8) { random.below(2) } else { number as u64 };
        if random.once_in(4) {
            Thread::yield_now();
        }
        let status = try_call(Call::ThreadEnter, &[at]);
        ENTERED.fetch_add(1, Ordering::Relaxed);
        match status.code() {
            Some(Code::UnknownCall) => return LACKS.store(1, Ordering::Relaxed),
            _ if status.result().is_err() => REFUSED.fetch_add(1, Ordering::Relaxed),
            _ => EVENTS[read(frame + 8 * word::EVENT as u64) as usize % 4].fetch_add(1, Ordering::Relaxed),
        };
    }
}

/// Checks what nothing may have changed.
fn check(seed: u64) -> Result<(), String> {
    if let Some(word) = (0..512).find(|word| read(CANARY + 8 * word) != canary(*word)) {
        return Err(format!("word {word} of a page that no guest has was changed"));
    }
    if !neighbour::general_holds(seed, SPIN) {
        return Err(String::from("a general register or a flag of the neighbour changed"));
    }
    if !neighbour::fpu_holds(seed) {
        return Err(String::from("an FPU register of the neighbour changed"));
    }
    let pool = parent::find(Reference::PARENT, flags::SERVICE_MEMORY).map_err(|errno| format!("the parent does not answer: {errno:?}"))?;
    memory::status(pool.found.handle()).map(|_| ()).map_err(|errno| format!("the pool does not answer: {errno:?}"))
}

/// Says where the threads are that enter.
fn describe() -> String {
    let mut text = format!("{} times meddled", DONE.load(Ordering::Relaxed));
    for (number, thread) in ENTERERS.iter().enumerate() {
        let (thread, frame) = (Thread(thread.load(Ordering::Relaxed)), words::frame(number as u64));
        let _ = thread.stop();
        let state = thread.get_image(&[]).map(|image| image.state());
        let place = state.map(|state| (state.rip, state.rax, state.rdi, thread.waiting()));
        let words: Vec<u64> = (0..word::COUNT).map(|number| read(frame + 8 * number as u64)).collect();
        text += &format!("; thread {number} at {place:x?}, its frame {words:x?}");
    }
    text
}

/// Looks again and again until all frames were entered.
fn watch(seed: u64, frames: u64, churned: u64) -> Result<(), String> {
    let (mut last, mut still, mut told) = (0, 0, 0);
    let mut random = Random::new(seed);
    loop {
        let _ = Thread::sleep(LOOK);
        check(seed)?;
        churn(&mut random, churned);
        let entered = ENTERED.load(Ordering::Relaxed);
        if entered >= frames || LACKS.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        // Without meddlers, nobody else makes endless guests end.
        if entered == last {
            meddle::leave(&mut random);
        }
        still = if entered == last { still + 1 } else { 0 };
        last = entered;
        if still == PATIENCE {
            return Err(format!("nothing goes on behind {entered} frames: {}", describe()));
        }
        if entered / 100_000 != told {
            told = entered / 100_000;
            crate::say(format!("{entered} frames\n"));
        }
    }
}

/// Lets all threads end: the meddlers do by themselves, and then no guest runs for ever.
fn end(mut threads: Vec<thread::Handle>, seed: u64) -> Result<(), String> {
    threads.split_off(ENTERING).into_iter().for_each(thread::Handle::join);
    // It fails where nothing can become objects.
    try_call(Call::MemoryReclaim, &[words::frame(2), (scene::FRAME_PAGES - 2) * PAGE_SIZE]);
    let mut random = Random::new(seed);
    for _ in 0..32 {
        (0..scene::FRAME_PAGES).for_each(|number| words::set(words::frame(number), word::PENDING, 1));
        meddle::leave(&mut random);
        let _ = Thread::sleep(LOOK);
    }
    threads.into_iter().for_each(thread::Handle::join);
    Ok(())
}

/// Touches pages, so that a pager has reason to take others away.
fn churn(random: &mut Random, pages: u64) {
    for _ in 0..pages.min(8) {
        write(scene::CHURN + random.below(pages.max(1)) * PAGE_SIZE, 1);
    }
}

/// Enters `frames` while `meddlers` threads meddle. `churned`: pages that are touched meanwhile.
/// Tells what came of it.
///
/// # Errors
/// Tells what has changed, or does not go on.
pub fn run(seed: u64, frames: u64, meddlers: u64, churned: u64) -> Result<String, String> {
    Segment::map(CANARY, PAGE_SIZE, Rights::NONE).map_err(|errno| format!("no memory: {errno:?}"))?.leak();
    (0..512).for_each(|word| write(CANARY + 8 * word, canary(word)));
    SEED.store(seed, Ordering::Relaxed);
    WANTED.store(frames, Ordering::Relaxed);
    GOES_ON.store(true, Ordering::Release);
    neighbour::fpu_fill(seed);
    let mut threads = Vec::new();
    let none = |errno| format!("no thread: {errno:?}");
    for number in 0..ENTERING {
        let thread = thread::spawn(enter, number).map_err(none)?;
        ENTERERS[number].store(thread.thread().map_or(0, |thread| thread.0), Ordering::Release);
        threads.push(thread);
    }
    for number in 0..meddlers.min(MEDDLERS) as usize {
        threads.push(thread::spawn(meddle::meddle, number).map_err(none)?);
    }
    let watched = watch(seed, frames, churned);
    GOES_ON.store(false, Ordering::Release);
    watched?;
    end(threads, seed)?;
    scene::must(Call::MemoryReclaim, &[scene::ARENA, scene::FRAMES - scene::ARENA])?;
    check(seed)?;
    let [entered, refused, done] = [&ENTERED, &REFUSED, &DONE].map(|count| count.load(Ordering::Relaxed));
    let events = EVENTS.each_ref().map(|count| count.load(Ordering::Relaxed));
    let lacks = if LACKS.load(Ordering::Relaxed) != 0 { ", no guests here" } else { "" };
    Ok(format!("{entered} frames, {refused} refused, {done} times meddled, events {events:?}{lacks}"))
}
