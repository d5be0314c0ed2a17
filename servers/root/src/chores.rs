//! Long work, done in pieces between requests, so that one client's large request keeps no other
//! waiting.
//!
//! A piece takes a bounded number of instructions. Between two pieces the server answers one event.
//! Accounts take turns, so that a client with many chores gets no more pieces than a client with
//! one.

use crate::coloured::Colouring;
use crate::memory::{self, Segment};
use crate::pools::Remains;
use crate::promises::{Clusters, Run};
use crate::table::Key;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;
use nacre_proto::Errno;
use nacre_sys::{OwnedReference, Window};

/// Bytes that one piece gives back. What is not larger is given back at once.
pub const PIECE: u64 = 1 << 20;
/// Bytes that a run counts for, in a piece, beside what it has: somebody may have to be told that
/// it is gone.
const RUN: u64 = 64 << 10;

/// A segment that is being made.
pub struct Making {
    /// The pool that pays for it.
    pub pool: Key,
    /// Set if the pool has paid.
    pub is_paid: bool,
    /// Number of times that it was tried without enough memory.
    pub tries: u64,
    /// Size of the segment in bytes.
    pub size: u64,
    /// Set if the segment may hold kernel objects.
    pub holds_objects: bool,
    /// The memory, once there was enough, and how many bytes of it are zeros.
    pub segment: Option<(Segment, u64)>,
}

/// Work that follows when a file has been cut off.
pub enum AfterCut {
    /// The answer to `set_size`.
    Answer,
    /// The file is opened with these flags; whether it is counted as a writer.
    Open(u64, bool),
}

/// Memory that nobody reaches any more, and that is cleared and given back in pieces.
#[derive(Default)]
pub struct Leaving {
    first: Option<Window>,
    others: Vec<Run>,
    clusters: Clusters,
}

impl From<Window> for Leaving {
    fn from(window: Window) -> Leaving {
        Leaving { first: Some(window), ..Leaving::default() }
    }
}

impl From<Clusters> for Leaving {
    fn from(clusters: Clusters) -> Leaving {
        Leaving { clusters, ..Leaving::default() }
    }
}

impl Leaving {
    /// Empty memory, with room for so many runs.
    pub fn with_room(count: usize) -> Result<Leaving, Errno> {
        let mut others = Vec::new();
        others.try_reserve_exact(count).map_err(|_| Errno::ENOMEM)?;
        Ok(Leaving { others, ..Leaving::default() })
    }

    /// Runs that leave. The room for them stays when they have left.
    pub fn runs(&mut self) -> &mut Vec<Run> {
        &mut self.others
    }

    /// Gives a piece back; returns true if nothing is left.
    pub fn piece(&mut self) -> bool {
        let mut left = PIECE;
        while left > 0 {
            if self.first.is_none() {
                let Some((start, size)) = self.others.pop().or_else(|| self.clusters.pop()) else { return true };
                self.first = memory::window(start, size);
                left = left.saturating_sub(RUN);
            }
            let Some(window) = self.first.take() else { continue };
            let size = window.size().min(left);
            self.first = window.part(size, window.size() - size).filter(|rest| rest.size() != 0);
            if let Some(piece) = window.part(0, size).filter(|piece| piece.size() != 0) {
                memory::take_back(piece);
            }
            left -= size;
        }
        self.first.is_none() && self.others.is_empty() && self.clusters.is_empty()
    }
}

/// A part of a promise that is taken away.
pub struct Emptying {
    /// The promise.
    pub key: Key,
    /// Part of it that is left to do.
    pub part: Range<u64>,
    /// Memory of the last piece. It has room for the runs of any piece from the start, so that no
    /// piece fails after the first.
    pub leaving: Leaving,
    /// Pool that is refunded for that memory, and its bytes; `None`: the next piece can be cut.
    pub refund: Option<(Key, u64)>,
    /// The size that the promise has from now on, if somebody waits for that.
    pub resized: Option<u64>,
}

/// A pool that is gone, and what was in it, which goes piece by piece.
#[derive(Default)]
pub struct Destroying {
    /// Contents that are still there: of the pool, then of those in it that were opened.
    pub left: Vec<Remains>,
    /// The rest of a large one, and the pool that is refunded for it.
    pub rest: Option<(Leaving, (Key, u64))>,
}

/// A request that lacked memory while other work gave some back. It is tried again after that.
pub struct Retry {
    /// The pool that memory is taken from.
    pub pool: Key,
    /// The request.
    pub wanted: Wanted,
    /// Number of times that it was tried.
    pub tries: u64,
}

/// Requests that are tried again.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// A promise of this size, with these flags.
    Promise(u64, u64),
    /// A pool of this limit; the flag is set if it is for data alone.
    Pool(u64, bool),
}

/// Long work. Each kind says what the client waits for.
pub enum Chore {
    /// A request that takes memory is tried again.
    Retry(Retry, OwnedReference),
    /// A segment's memory is filled with zeros, and the segment given out.
    Make(Making, OwnedReference),
    /// Coloured memory is shown, and given out.
    Colour(Colouring, OwnedReference),
    /// Coloured memory that nobody reaches any more is given back. Somebody may wait for that.
    Uncolour(Colouring, Option<OwnedReference>),
    /// A part of a segment is cleared: the segment's key, the first byte, and the first byte behind
    /// it.
    Clear(Key, u64, u64, OwnedReference),
    /// A part of a promise is taken away.
    Empty(Emptying, OwnedReference),
    /// Memory of a segment that nobody reaches any more is cleared and given back, and its pool is
    /// refunded as many bytes. Somebody may wait for that.
    TakeBack(Leaving, (Key, u64), Option<OwnedReference>),
    /// The contents of a pool that was destroyed are taken down.
    Destroy(Destroying, Option<OwnedReference>),
    /// A file, kept open, is cut off at a size.
    Cut(Key, u64, AfterCut, OwnedReference),
    /// Room for a part of a file, kept open, is taken, or taken away, as these flags of
    /// `file.allocate` say.
    Allocate(Key, u64, Range<u64>, OwnedReference),
}

/// All chores, by the account of the client whose they are.
#[derive(Default)]
pub struct Chores {
    waiting: BTreeMap<Key, VecDeque<Chore>>,
    /// Chores that wait until others have given memory back. There are none if none do.
    lacking: VecDeque<(Key, Chore)>,
    /// The account whose turn was last.
    last: Option<Key>,
    /// Chores that give memory back.
    freeing: usize,
}

impl Chores {
    /// Returns true if nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns true if there will be more free memory than now.
    pub fn frees_memory(&self) -> bool {
        self.freeing != 0
    }

    /// Adds a chore of an account, behind the account's others. One that lacks memory waits for
    /// those that give some back.
    pub fn add(&mut self, account: Key, chore: Chore) {
        if self.frees_memory() && lacks(&chore) {
            return self.lacking.push_back((account, chore));
        }
        self.freeing += usize::from(frees(&chore));
        self.waiting.entry(account).or_default().push_back(chore);
    }

    /// Some memory has come back: one chore that has waited for it is tried. All are if no more
    /// comes.
    pub fn memory_came_back(&mut self) {
        let count = if self.frees_memory() { 1 } else { self.lacking.len() };
        for _ in 0..count {
            let Some((account, chore)) = self.lacking.pop_front() else { return };
            self.waiting.entry(account).or_default().push_back(chore);
        }
    }

    /// Takes the chore of which a piece is done next, with its account.
    pub fn take(&mut self) -> Option<(Key, Chore)> {
        let behind = self.last.and_then(|last| self.waiting.range((core::ops::Bound::Excluded(last), core::ops::Bound::Unbounded)).next());
        let account = *behind.or_else(|| self.waiting.first_key_value())?.0;
        self.last = Some(account);
        let queue = self.waiting.get_mut(&account)?;
        let chore = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&account);
        }
        chore.map(|chore| {
            self.freeing -= usize::from(frees(&chore));
            (account, chore)
        })
    }
}

fn lacks(chore: &Chore) -> bool {
    matches!(chore, Chore::Retry(..) | Chore::Make(Making { segment: None, .. }, _))
}

/// Returns true if a chore gives memory back.
pub fn frees(chore: &Chore) -> bool {
    matches!(chore, Chore::TakeBack(..) | Chore::Empty(..) | Chore::Uncolour(..) | Chore::Destroy(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_take_turns() {
        let mut chores = Chores::default();
        let destroy = |chores: &mut Chores, account: u64, number: u64| {
            let Some(window) = Window::new(nacre_sys::window::WINDOWS.start, 0x1000) else { return };
            chores.add(Key::from_word(account), Chore::TakeBack(window.into(), (Key::from_word(number), 0), None));
        };
        for number in 0..3 {
            destroy(&mut chores, 1, number);
        }
        destroy(&mut chores, 2, 10);
        destroy(&mut chores, 3, 20);
        assert!(chores.frees_memory());
        let mut order = alloc::vec::Vec::new();
        while let Some((account, Chore::TakeBack(_, (number, _), _))) = chores.take() {
            order.push((account.to_word(), number.to_word()));
        }
        assert_eq!(order, [(1, 0), (2, 10), (3, 20), (1, 1), (1, 2)]);
        assert!(chores.is_empty() && !chores.frees_memory());
    }
}
