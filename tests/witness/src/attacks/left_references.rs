//! A server keeps the port of whoever waits for an event. A pipe whose end is told of its own
//! events is never closed, and keeps the memory whose port was left there as well. Files of two
//! servers do the same at each other, and so do sockets that are sent through each other.

use crate::children::{Count, start};
use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_proto::flags::{POLLIN, SERVICE_CHANNELS, SERVICE_FILES, SERVICE_MEMORY, SOCK_STREAM};
use nacre_proto::{channel, directory, file, memory};

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

/// Leaves ports where servers are to notify them: those of memory and of both ends of a pipe at one
/// of the ends, and those of an end and of a watcher of the file server's at each other. Sends
/// sockets, and memory with them, through each other.
pub fn play() -> Result<i32, String> {
    let pool = find(SERVICE_MEMORY).map_err(why("memory"))?;
    let channels = find(SERVICE_CHANNELS).map_err(why("channels"))?;
    let files = find(SERVICE_FILES).map_err(why("files"))?;
    let taken = memory::segment_create(pool.handle(), SIZE, 0).map_err(why("a segment"))?;
    let ends = channel::pipe(channels.handle(), 0).map_err(why("a pipe"))?;
    let others = channel::pipe(channels.handle(), 0).map_err(why("another pipe"))?;
    let watcher = directory::watcher(files.handle()).map_err(why("a watcher"))?.file;
    let (segment, end, other) = (taken.segment.handle(), ends.reader.handle(), others.reader.handle());
    let watcher = watcher.handle();
    // A refusal is what the attack hopes not to find.
    for (at, left) in [(end, segment), (end, ends.writer.handle()), (end, end), (other, watcher), (other, segment), (watcher, other), (watcher, segment)] {
        let _ = file::watch(at, POLLIN, 1, left);
    }
    let sockets = channel::pair(channels.handle(), SOCK_STREAM, 0, 0, 0, 0).map_err(why("sockets"))?;
    let (first, second) = (sockets.first.handle(), sockets.second.handle());
    for through in [first, second] {
        let _ = channel::send_with(through, channel::Outgoing::default(), &b"x"[..], &[segment, first, second]);
    }
    Ok(0)
}
