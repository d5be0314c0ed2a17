//! A hostile guest that keeps its CPU busy in some way, and a neighbour that counts.

use crate::meddle;
use crate::scene::{LISTS, LOWER_VIEW, MEMORY, MEMORY_AT, SPACE, WINDOW, enter_page, make_space, must, try_call};
use crate::words::{self, frame, set};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_abi::frame::word;
use nacre_abi::{Call, PAGE_SIZE, USER_END};
use nacre_raw::random::Random;
use nacre_raw::write;
use nacre_rt::thread;
use nacre_sys::{Thread, clock};

/// Turns of the neighbour's loop between two looks at the time.
const TURNS: u64 = 1000;

/// Set when the guest is to end.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Guest that stays inside: `pause` and a jump to it, or without the first.
const WAITS: [u8; 4] = [0xf3, 0x90, 0xeb, 0xfc];
const LOOPS: [u8; 4] = [0xeb, 0xfe, 0xf4, 0xf4];
/// Guest that is left at once, again and again.
const ASKS: [u8; 4] = [0x0f, 0xa2, 0xeb, 0xfc];
/// Guest that writes where nothing is.
const MISSES: [u8; 4] = [0xa3, 0x00, 0x80, 0xf4];

fn prepare(code: [u8; 4], base: u64) {
    write(MEMORY, u64::from(u32::from_le_bytes(code)));
    let page = frame(0);
    (0..512).for_each(|number| set(page, number, 0));
    words::real_at(page, MEMORY_AT);
    set(page, word::SEGMENTS + 7, base);
    set(page, word::SPACE, SPACE);
}

/// Waits until the time is over, and makes the guest be left then.
fn end_later(ticks: usize) {
    let begun = clock::ticks();
    while clock::ticks() - begun < ticks as u64 {
        let _ = Thread::sleep(5_000_000);
    }
    IS_OVER.store(true, Ordering::Release);
    for _ in 0..8 {
        set(frame(0), word::PENDING, 1);
        let _ = Thread::FIRST.stop().and_then(|()| Thread::FIRST.start());
        let _ = Thread::sleep(5_000_000);
    }
}

/// Is as busy as the kind says for so many ticks. Tells how often its guest was left.
///
/// # Errors
/// Tells of a kind that there is not.
pub fn busy(kind: &[u8], ticks: u64) -> Result<String, String> {
    let (code, base) = match kind {
        b"waits" => (WAITS, MEMORY_AT),
        b"loops" => (LOOPS, MEMORY_AT),
        b"asks" | b"wrong" | b"views" | b"spaces" | b"spin" => (ASKS, MEMORY_AT),
        b"misses" => (MISSES, MEMORY_AT + (1 << 30)),
        _ => return Err(String::from("kinds: waits, loops, asks, misses, wrong, views, spaces, spin")),
    };
    prepare(code, base);
    let other = thread::spawn(end_later, ticks as usize).map_err(|errno| format!("no thread: {errno:?}"))?;
    let (mut random, mut count) = (Random::new(1), 0u64);
    while !IS_OVER.load(Ordering::Acquire) {
        count += 1;
        match kind {
            b"spin" => core::hint::spin_loop(),
            b"views" => {
                (0..4).for_each(|_| {
                    enter_page(LISTS, LOWER_VIEW, random.below(1 << 30) * PAGE_SIZE % USER_END | 5, random.below(8) * PAGE_SIZE);
                });
                try_call(Call::ViewForget, &[LOWER_VIEW, 0, USER_END - PAGE_SIZE]);
            }
            b"spaces" => {
                try_call(Call::SpaceDestroy, &[SPACE]);
                make_space(0, 12);
                must(Call::ThreadEnter, &[WINDOW])?;
            }
            b"wrong" => {
                set(frame(0), word::CR4, u64::MAX);
                must(Call::ThreadEnter, &[WINDOW])?;
            }
            _ => {
                set(frame(0), word::RIP, 0);
                must(Call::ThreadEnter, &[WINDOW])?;
            }
        }
    }
    meddle::leave(&mut random);
    other.join();
    Ok(format!("busy {count} times"))
}

/// Counts for so many ticks.
pub fn count(ticks: u64) -> String {
    let (begun, mut count) = (clock::ticks(), 0u64);
    while clock::ticks() - begun < ticks {
        (0..TURNS).for_each(|turn| {
            core::hint::black_box(turn);
        });
        count += 1;
    }
    format!("counted {count}")
}
