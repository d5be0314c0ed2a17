//! A server keeps the port of whoever waits for an event. A pipe whose end is told of its own events is never closed, and keeps the memory whose
//! port was left there as well.

use crate::children::{Count, start};
use crate::tools::{find, why};
use crate::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_proto::flags::{POLLIN, SERVICE_CHANNELS, SERVICE_MEMORY};
use nacre_proto::{channel, file, memory};

/// Rounds before the first count, and all.
const WARM: u64 = 3;
const ROUNDS: u64 = 12;
/// Bytes that each process leaves.
const SIZE: u64 = 1 << 20;

/// Processes leave such memory one after the other.
pub fn attack(_: &[u8]) -> Outcome {
    let mut before = Count::now();
    for round in 0..ROUNDS {
        if round == WARM {
            before = Count::now();
        }
        let Some(child) = start(b"left", b"")? else { return Ok(Verdict::Absent("process manager")) };
        match child.wait() {
            Ok(0) => {}
            other => return Err(format!("round {round}: a process ended with {other:?}")),
        }
    }
    before?.check().map(|()| Verdict::Refused)
}

/// Leaves the port of memory, and those of both ends of a pipe, at one of the ends.
pub fn play() -> Result<i32, String> {
    let pool = find(SERVICE_MEMORY).map_err(why("memory"))?;
    let channels = find(SERVICE_CHANNELS).map_err(why("channels"))?;
    let taken = memory::segment_create(pool.handle(), SIZE, 0).map_err(why("a segment"))?;
    let ends = channel::pipe(channels.handle(), 0).map_err(why("a pipe"))?;
    let end = ends.reader.handle();
    // A refusal is what the attack hopes not to find.
    for left in [taken.segment.handle(), ends.writer.handle(), end] {
        let _ = file::watch(end, POLLIN, 1, left);
    }
    Ok(0)
}
