//! Files that are known to have no event, without a question to their server: a watch stands there,
//! which was taken when the file had none, and the server has told of none since.
//!
//! The server of pipes and sockets puts what it tells on the process's board: one message reads all
//! of it, so that what was done before the message is known.
//!
//! What another server tells comes to the agent, which counts it when it runs. So a thread asks the
//! agent once whether it has counted all that was told before, instead of the server for each file.
//! The answer holds for all that others did before the wait began. Where monitors hand
//! notifications on, one can still be under way: the file is then one of the next wait's, which is
//! woken for it.

use crate::abi::errno::{ENODEV, ENOSYS};
use crate::abi::file_flags::O_ASYNC;
use crate::abi::poll_events::ALWAYS;
use crate::operations::files::readiness::{EDGE, MILLISECOND};
use crate::process::Process;
use crate::process::signal_thread::{BOARD, SETTLE};
use crate::state::files::epoll_set::{Entry, FLAGS, Set};
use crate::state::files::open_file::OpenFile;
use crate::state::files::watch::Watch;
use crate::state::files::watches::Board;
use nacre_proto::channel::{self, told};
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
    if watch.is_on_board {
        return me.knows_board;
    }
    me.quiet = me.quiet.saturating_add(1);
    me.knows_quiet
}

/// Asks a file's server for its events, and to put the file on the process's board at the next
/// change. `None`: the process has no board, or the server does not know it. Waits for the server
/// without the lock.
pub fn enroll(process: &mut Process, open: &OpenFile, events: u64, changes: Option<[u64; 2]>) -> Option<channel::enroll::Reply> {
    let Board::Is(board) = process.watches.board else { return None };
    if !open.counts_changes() || open.watch.get().is_foreign || open.flags.get() & O_ASYNC != 0 || changes == Some([u64::MAX; 2]) {
        return None;
    }
    let target = open.reference().ok()?;
    let old = process.watches.numbered(&open.watch);
    // Others of the same kind that stand there go on to be told of.
    let covers = process.watches.is_live(old) && old.is_on_board && old.changes == changes;
    let events = if covers { events | old.events } else { events };
    let new = Watch { events, changes, is_on_board: true, ..old };
    let new = Watch { notified: process.watches.count(new), ..new };
    let [arrivals, departures] = changes.unwrap_or([u64::MAX; 2]);
    let answer = process.unlocked(|| channel::enroll(target, board, old.id, events & !EDGE, arrivals, departures));
    let now = match answer {
        Ok(now) => now,
        Err(error) => {
            if error == ENODEV || error == ENOSYS {
                open.watch.set(Watch { is_foreign: true, ..open.watch.get() });
            }
            return None;
        }
    };
    let is_enrolled = changes.map_or(now.events == 0, |changes| changes == [now.arrivals, now.departures]);
    if is_enrolled {
        replace_watch(process, open, new);
    }
    Some(now)
}

/// Notes a watch that a file's server has taken. Whoever trusts in another one that it replaces is
/// to look again.
pub fn replace_watch(process: &mut Process, open: &OpenFile, new: Watch) {
    let old = open.watch.get();
    let is_covered = old.is_on_board == new.is_on_board && old.changes == new.changes && old.events & !new.events == 0;
    let is_current = process.watches.count(new) == new.notified;
    if old.is_on_board && process.watches.is_live(old) && !is_covered {
        process.watches.tell(old.id);
    }
    let notified = if is_current { process.watches.count(new) } else { new.notified };
    open.watch.set(Watch { notified, ..new });
}

/// Makes the process's board, if it has none. Returns true if it has one.
pub fn need_board(process: &mut Process) -> bool {
    if process.watches.board == Board::Unknown {
        let Ok(agent) = process.need_agent() else { return false };
        let made = process.services.channels().ok().and_then(|channels| channel::board(channels, BOARD, agent).ok());
        process.watches.board = made.map_or(Board::Refused, |made| Board::Is(made.board));
    }
    matches!(process.watches.board, Board::Is(_))
}

/// Reads what the board tells, and wakes those who wait for it. The lock is kept, so that whoever
/// has it afterwards knows all that was told before. Returns true if there is a board.
pub fn read_board(process: &mut Process) -> bool {
    const MOST: usize = 1 << 14;
    let (Board::Is(_), Ok(channels)) = (process.watches.board, process.services.channels()) else { return false };
    let before = process.watches.tellings();
    let mut is_read = false;
    for _ in 0..MOST {
        let Ok(told::Reply { count, first, second, third, fourth, fifth }) = channel::told(channels) else { break };
        if count == u64::MAX {
            process.watches.tell_all();
            continue;
        }
        let ids = [first, second, third, fourth, fifth];
        ids.iter().take(count as usize).for_each(|id| process.watches.tell(*id));
        is_read = count <= ids.len() as u64;
        if is_read {
            break;
        }
    }
    if !is_read {
        process.watches.tell_all();
        process.watches.board = Board::Refused;
    }
    if process.watches.tellings() != before {
        process.pipe_changed();
    }
    is_read
}

/// Leaves those entries of a set to the board that are known to have nothing. The rest is loud.
pub fn shelve(process: &mut Process, set: &mut Set) {
    if !process.me().knows_board {
        set.wake_all();
        return;
    }
    set.wake(&process.watches);
    set.shelve(|entry| {
        let file = entry.file.upgrade()?;
        let changes = (entry.wanted & EDGE != 0).then_some(entry.changes);
        let watch = file.watch.get();
        (watch.is_on_board && is_quiet(process, &file, entry.wanted & !FLAGS, changes)).then_some(watch)
    });
}

/// Passes over quiet files at the start of a list of `pollfd`s, and writes that they have nothing;
/// how many. The list is looked up once for all, since nobody is asked.
pub fn pass_quiet(process: &mut Process, entries: &mut [u8]) -> usize {
    if !process.me().knows_quiet && !process.me().knows_board {
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

/// Looks at files by `check`, which may take those for quiet that are if the caller `knows`: of
/// all, or of those of the board.
pub fn looking<T>(process: &mut Process, [knows_all, knows_board]: [bool; 2], check: impl FnOnce(&mut Process) -> T) -> T {
    let me = process.me();
    let before = core::mem::take(&mut me.quiet);
    (me.knows_quiet, me.knows_board) = (knows_all, knows_board);
    let found = check(process);
    let me = process.me();
    (me.knows_quiet, me.knows_board) = (false, false);
    // A look that found enough early has not seen the others.
    me.quiet = me.quiet.max(before / 2);
    found
}

/// Learns what was told before. `waits`: the caller is going to wait. Returns whether all that
/// servers told is known, and whether all that the board told is.
pub fn settle(process: &mut Process, waits: bool) -> [bool; 2] {
    if process.me().quiet >= MANY {
        need_board(process);
    }
    [waits && settle_agent(process), read_board(process)]
}

/// Waits until the agent has counted all that servers told before, if that is worth while. False:
/// it has not.
fn settle_agent(process: &mut Process) -> bool {
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
