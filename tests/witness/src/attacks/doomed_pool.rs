//! A pool is destroyed while a large segment from it is being made. The segment stayed, and nobody
//! had paid for it.

use crate::outcome::{Outcome, Verdict};
use crate::tools::{find, moment, why};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_proto::flags::{SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::memory;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference};

/// Size of a segment that is made in pieces, in bytes.
const SIZE: u64 = 40 << 20;
/// Limit of the pools, in bytes.
const LIMIT: u64 = 1 << 30;
/// Number of attempts of each kind.
const ROUNDS: usize = 12;

/// The pool that the other thread asks.
static POOL: AtomicU64 = AtomicU64::new(0);
/// Segment that the other thread got.
static GIVEN: Lock<Option<OwnedReference>> = Lock::new(None);

/// Takes a segment of the pool: a plain one, or coloured memory.
fn take(is_coloured: usize) {
    let pool = Reference(POOL.load(Ordering::Acquire));
    let made = match is_coloured {
        0 => memory::segment_create(pool, SIZE, 0).map(|reply| reply.segment),
        _ => memory::coloured_create(pool, SIZE, 16, 0, 8).map(|reply| reply.segment),
    };
    *GIVEN.lock() = made.ok();
}

/// Destroys a pool while memory is taken from it; an error if the memory was given all the same.
fn destroy_meanwhile(outer: Reference, is_coloured: usize) -> Result<(), String> {
    let inner = memory::pool_create(outer, LIMIT).map_err(why("a pool"))?;
    POOL.store(inner.pool.handle().0, Ordering::Release);
    let taker = nacre_rt::thread::spawn(take, is_coloured).map_err(why("a thread"))?;
    for _ in 0..1000 {
        // The pool counts the memory as soon as the request has come.
        if memory::status(inner.pool.handle()).map_or(true, |status| status.used >= SIZE) {
            break;
        }
    }
    let _ = memory::pool_destroy(inner.pool.handle());
    taker.join();
    let given = GIVEN.lock().take();
    match given.map(|segment| nacre_proto::segment::status(segment.handle())) {
        Some(Ok(status)) => Err(format!("{} bytes of a pool that was destroyed are there", status.size)),
        _ => Ok(()),
    }
}

/// Destroys pools from which memory is being taken.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_OBJECTS).or_else(|_| find(SERVICE_MEMORY)) else { return Ok(Verdict::Absent("memory")) };
    for round in 0..2 * ROUNDS {
        destroy_meanwhile(pool.handle(), round % 2)?;
        moment();
    }
    Ok(Verdict::Refused)
}
