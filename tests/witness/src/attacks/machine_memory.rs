//! Memory by its address: as many runs of coloured memory as there are, runs as large as the
//! machine, and clients that go before they get it.

use crate::outcome::{Outcome, Verdict};
use crate::tools::{call, find, why};
use alloc::vec::Vec;
use nacre_proto::flags::{SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::{Errno, memory, segment};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{OwnedReference, Reference};

/// Largest size that is tried, and the smallest, in bytes.
const LARGEST: u64 = 1 << 40;
const SMALLEST: u64 = 64 << 10;
/// Largest number of colours.
const COLOURS: u64 = 1024;
/// Nanoseconds that a client waits which goes: 20 us.
const SHORT: u64 = 20_000;

/// Takes coloured memory of one colour of `colours`, in ever smaller pieces.
fn take_coloured(pool: Reference, colours: u64, held: &mut Vec<OwnedReference>) {
    let mut size = LARGEST;
    while size >= SMALLEST && held.len() < held.capacity() {
        match memory::coloured_create(pool, size, colours, 0, colours.div_ceil(2)) {
            Ok(made) => held.push(made.segment),
            Err(_) => size /= 2,
        }
    }
}

/// Asks for memory and does not wait for the answer.
fn give_up(pool: Reference, size: u64) {
    for (label, words) in [
        (memory::coloured_create::LABEL, [size, 2, 0, 1, 0, 0]),
        (memory::run_create::LABEL, [size, 1 << 21, u64::MAX, 0, 0, 0]),
        (memory::segment_create::LABEL, [size, 0, 0, 0, 0, 0]),
    ] {
        let _ = ipc::call(pool, &Message::new(label, words), Buffers::NONE, SHORT);
    }
}

/// Takes all memory by address and by colour.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_OBJECTS).or_else(|_| find(SERVICE_MEMORY)) else { return Ok(Verdict::Absent("memory")) };
    let pool = pool.handle();
    if memory::coloured_create(pool, SMALLEST, 2, 0, 1).is_err_and(|errno| errno == Errno::ENOSYS || errno == Errno::EACCES) {
        return Ok(Verdict::Absent("memory by address"));
    }
    let before = memory::status(pool).map_err(why("the pool"))?.used;
    let mut held = Vec::with_capacity(512);
    for power in (1..=10).rev() {
        take_coloured(pool, 1 << power, &mut held);
        for one in &held {
            let _ = segment::locate(one.handle(), SMALLEST - 1);
            let _ = call(one.handle(), segment::resize::LABEL, [SMALLEST, 0, 0, 0, 0, 0]);
        }
        held.clear();
    }
    for power in 16..40 {
        give_up(pool, 1 << power);
        let _ = memory::run_create(pool, 1 << power, 1 << (power % 41), 0).map(|made| segment::locate(made.segment.handle(), u64::MAX));
        let _ = memory::run_create(pool, u64::MAX >> (power - 16), 1 << 63, 1);
        let _ = memory::coloured_create(pool, u64::MAX >> (power - 16), COLOURS, 0, 1);
    }
    for _ in 0..500 {
        if memory::status(pool).is_ok_and(|status| status.used <= before) {
            return Ok(Verdict::Refused);
        }
        crate::tools::moment();
    }
    Err(alloc::format!("{before} bytes before, {:?} after", memory::status(pool).map(|status| status.used)))
}
