//! Events that nobody reads were kept in the file server's heap: with 200 watchers, and no memory
//! left, the server died of the next one.

use super::no_memory::hold;
use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::vec::Vec;
use nacre_proto::flags::{IN_ATTRIB, IN_MODIFY, O_CREAT, O_RDWR, SERVICE_FILES, SERVICE_MEMORY};
use nacre_proto::{Errno, directory, file};

/// The file that is watched.
const PATH: &[u8] = b"/tmp/witness-watched";
/// Watchers, and changes of the file of which each hears: more than one keeps.
const WATCHERS: usize = 200;
const CHANGES: u64 = 1200;
/// Maximum of segments that are held.
const SEGMENTS: usize = 512;

/// Fills the queues of all watchers while there is no memory.
pub fn attack(_: &[u8]) -> Outcome {
    let (Ok(files), Ok(pool)) = (find(SERVICE_FILES), find(SERVICE_MEMORY)) else { return Ok(Verdict::Absent("files or memory")) };
    let opened = directory::open(files.handle(), O_CREAT | O_RDWR, 0o600, PATH).map_err(why("the file"))?.file;
    let mut watchers = Vec::with_capacity(WATCHERS);
    for _ in 0..WATCHERS {
        // The account may allow fewer.
        let Ok(made) = directory::watcher(files.handle()) else { break };
        if directory::watch(files.handle(), IN_ATTRIB | IN_MODIFY, 0, PATH, made.file.handle()).is_ok() {
            watchers.push(made.file);
        }
    }
    if watchers.is_empty() {
        return Ok(Verdict::Absent("watchers"));
    }
    let mut held = Vec::with_capacity(SEGMENTS);
    hold(pool.handle(), &mut held);
    for number in 0..CHANGES {
        // Two kinds in turn, because an event that is like the last one is not kept. Refusals are
        // right.
        let _ = file::set_mode(opened.handle(), 0o600 | number & 0o77);
        let _ = file::write(opened.handle(), 0, &b"x"[..]);
    }
    drop(held);
    drop(watchers);
    match file::set_mode(opened.handle(), 0o600) {
        Ok(_) | Err(Errno::ENOMEM) => Ok(Verdict::Refused),
        Err(errno) => Err(alloc::format!("the server does not go on: {errno:?}")),
    }
}
