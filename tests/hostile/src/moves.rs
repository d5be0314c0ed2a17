//! Moves of hostile threads: tables of calls, made up from a seed. Most arguments are nearly right
//! - addresses of objects, slots, pages - because calls that are wrong at first sight are refused
//! at first sight.

use crate::arena::{ENTRIES, GIVEN, GIVEN_COUNT, OBJECT_PAGES, OBJECTS, PLAIN, PLAIN_SIZE, POOL, table};
use nacre_raw::random::Random;
use nacre_abi::call::{CALL_BASE, CALL_COUNT};
use nacre_abi::Call;
use nacre_raw::runner::{DONE, ENTRY_WORDS};
use nacre_raw::write;

/// Boundary values.
const EDGES: [u64; 20] = [
    0,
    1,
    7,
    8,
    63,
    64,
    4095,
    4096,
    4097,
    0xffff,
    0x1_0000,
    0x1_0001,
    u32::MAX as u64,
    nacre_abi::USER_END,
    nacre_abi::USER_END - 4096,
    0x7fff_ffff_ffff,
    0x8000_0000_0000,
    0xffff_8000_0000_0000,
    u64::MAX - 4095,
    u64::MAX,
];

/// Labels that would end or flood the whole run, which the program may do but a test should not.
const NOT_SENT: [u64; 2] = [1 << 16 | 3, 1 << 16 | 4];

fn address(random: &mut Random) -> u64 {
    match random.below(10) {
        0..3 => OBJECTS + random.below(OBJECT_PAGES * 64) * 64,
        3..5 => OBJECTS + random.below(4) * 4096 + random.one_of(&[0, 128, 256, 384, 448, 512, 640]),
        5 => GIVEN + 64 * random.below(GIVEN_COUNT),
        6 => PLAIN + random.below(PLAIN_SIZE / 64) * 64,
        7 => POOL + random.below(64) * 4096,
        8 => random.one_of(&[crate::arena::BASE, crate::arena::CODE, crate::arena::HOLD, 0x1000_0000, 0x40_0000, nacre_abi::environment::OBJECTS]),
        _ => random.one_of(&EDGES),
    }
}

fn argument(random: &mut Random) -> u64 {
    match random.below(8) {
        0..4 => address(random),
        4 => random.below(16),
        5 => random.below(32) * 4096,
        6 => random.one_of(&EDGES),
        _ => random.next(),
    }
}

/// Writes a descriptor into a plain page, mostly sensible; its address.
fn descriptor(random: &mut Random) -> u64 {
    let at = PLAIN + 0x2000 + random.below(64) * 64;
    let (addresses, slots) = (PLAIN + 0x4000 + random.below(16) * 64, PLAIN + 0x5000 + random.below(16) * 64);
    for word in 0..8 {
        write(addresses + 8 * word, address(random));
        write(slots + 8 * word, address(random));
    }
    let size = random.one_of(&[0, 1, 8, 200, 4096, 16383, 16384, 16385, 65536, u64::MAX]);
    let capacity = random.one_of(&[0, 64, 4096, 16384, 65536, u64::MAX]);
    let words = [PLAIN + random.below(PLAIN_SIZE), size, PLAIN + random.below(PLAIN_SIZE), capacity, addresses, random.below(10), slots, random.below(10)];
    for (index, word) in words.into_iter().enumerate() {
        let word = if random.once_in(32) { argument(random) } else { word };
        write(at + 8 * index as u64, word);
    }
    if random.once_in(16) { argument(random) } else { at }
}

/// The label of a message: of some protocol, or anything.
fn label(random: &mut Random) -> u64 {
    let label = if random.once_in(4) { random.next() & 0xffff_ffff } else { random.below(10) << 16 | random.below(20) };
    if NOT_SENT.contains(&label) { 0 } else { label }
}

/// One entry: number and registers.
fn entry(random: &mut Random) -> [u64; 11] {
    let number = match random.below(16) {
        0 => CALL_BASE + random.below(CALL_COUNT + 4),
        1..6 => CALL_BASE + Call::IpcCall as u64 + random.below(8),
        6 => random.next(),
        _ => CALL_BASE + random.below(CALL_COUNT),
    };
    let mut registers = [0; 11];
    registers[0] = number;
    registers[1..9].fill_with(|| argument(random));
    let is_message = (CALL_BASE + Call::IpcCall as u64..=CALL_BASE + Call::IpcReplyReceive as u64).contains(&number);
    if is_message {
        registers[2] = label(random);
        registers[9] = if random.once_in(2) { 0 } else { descriptor(random) };
    }
    if number == Call::ThreadSleep.number() {
        registers[1] = random.below(20_000);
    }
    // Mostly short waits, so that a run gets on; for ever now and then.
    registers[10] = if random.once_in(64) { 0 } else { 1 + random.below(20_000) };
    registers
}

/// Fills a thread's table.
pub fn fill(random: &mut Random, thread: u64) {
    for number in 0..ENTRIES {
        let at = table(thread) + number * 8 * ENTRY_WORDS;
        for (index, word) in entry(random).into_iter().enumerate() {
            write(at + 8 * index as u64, word);
        }
        write(at + 8 * DONE, 0);
    }
}

/// Fills a page with random bytes, to be run as code.
pub fn random_code(random: &mut Random, at: u64) {
    for word in 0..512 {
        write(at + 8 * word, random.next());
    }
}
