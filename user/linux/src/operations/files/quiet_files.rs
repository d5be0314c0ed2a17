//! Files that are known to have no event, without a question to their server: a watch stands there,
//! which was taken when the file had none, and the server has told of none since.
//!
//! What a server tells comes to the agent, which counts it when it runs. So a thread asks the agent
//! once whether it has counted all that was told before, instead of the server for each file. The
//! answer holds for all that others did before the wait began. Where monitors hand notifications
//! on, one can still be under way: the file is then one of the next wait's, which is woken for it.

use crate::abi::poll_events::ALWAYS;
use crate::operations::files::readiness::{EDGE, FLAGS, MILLISECOND};
use crate::process::Process;
use crate::process::signal_thread::SETTLE;
use crate::state::files::epoll_set::Entry;
use crate::state::files::open_file::OpenFile;
use nacre_sys::ipc;

/// Number of quiet files from which on one question to the agent is cheaper than one for each.
const MANY: u32 = 4;
/// Bytes of a `struct pollfd`, of which the last two say what was found.
const POLLED: usize = 8;
/// Limit of a wait for the agent's answer in nanoseconds, and how often it is waited for.
const PATIENCE: u64 = 10 * MILLISECOND;
const TRIES: u32 = 10;

/// Returns true if a file is known to have none of the events. `changes`: it is asked for edges,
/// that is for changes since these counts.
pub fn is_quiet(process: &mut Process, open: &OpenFile, events: u64, changes: Option<[u64; 2]>) -> bool {
    let watch = open.watch.get();
    // Of a connection that was refused the library knows alone.
    if open.options.get().has_failed() || !open.counts_changes() || !process.watches.holds(watch, events & !ALWAYS, changes) {
        return false;
    }
    let me = process.me();
    me.quiet = me.quiet.saturating_add(1);
    me.knows_quiet
}

/// Passes over quiet files at the start of a list of `pollfd`s, and writes that they have nothing;
/// how many. The list is looked up once for all, since nobody is asked.
pub fn pass_quiet(process: &mut Process, entries: &mut [u8]) -> usize {
    if !process.me().knows_quiet {
        return 0;
    }
    let is_quiet = |entry: &&mut [u8]| {
        let word = u64::from_le_bytes((**entry).try_into().unwrap_or_default());
        let open = process.descriptors.get(word & 0xffff_ffff);
        open.is_ok_and(|open| is_quiet(process, &open, word >> 32 & 0xffff, None))
    };
    entries.chunks_exact_mut(POLLED).take_while(is_quiet).map(|entry| entry[POLLED - 2..].fill(0)).count()
}

/// Returns true if the server of an entry's file still has the watch that a wait needs.
pub fn is_watched(process: &Process, entry: &Entry) -> bool {
    let events = entry.wanted & (!FLAGS | EDGE);
    let changes = (entry.wanted & EDGE != 0).then_some(entry.changes);
    entry.file.upgrade().is_some_and(|file| file.counts_changes() && process.watches.holds(file.watch.get(), events, changes))
}

/// Counts the entries at the start of some that are known to have nothing.
pub fn quiet_ones(process: &mut Process, entries: &[Entry]) -> usize {
    if !process.me().knows_quiet {
        return 0;
    }
    let is_quiet = |entry: &&Entry| {
        let changes = (entry.wanted & EDGE != 0).then_some(entry.changes);
        entry.file.upgrade().is_some_and(|file| is_quiet(process, &file, entry.wanted & !FLAGS, changes))
    };
    entries.iter().take_while(is_quiet).count()
}

/// Looks at files by `check`, which may take those for quiet that are if the caller `knows`.
pub fn looking<T>(process: &mut Process, knows: bool, check: impl FnOnce(&mut Process) -> T) -> T {
    let me = process.me();
    let before = core::mem::take(&mut me.quiet);
    me.knows_quiet = knows;
    let found = check(process);
    let me = process.me();
    me.knows_quiet = false;
    // A look that found enough early has not seen the others.
    me.quiet = me.quiet.max(before / 2);
    found
}

/// Waits until the agent has counted all that servers told before, if that is worth while. False:
/// it has not.
pub fn settle(process: &mut Process) -> bool {
    if process.me().quiet < MANY || !process.has_agent() || !process.watches.ask() {
        return false;
    }
    let Ok(agent) = process.need_agent() else { return false };
    process.me().awaits_pipe = true;
    let is_sent = ipc::notify(agent, SETTLE).is_ok();
    let is_settled = is_sent && (0..TRIES).any(|_| {
        let seen = process.me().block.seen();
        if process.watches.is_asked() && !process.is_interrupted() {
            process.sleep_since(seen, PATIENCE);
        }
        !process.watches.is_asked()
    });
    process.me().awaits_pipe = false;
    is_settled
}
