//! Locks of files, without a kernel: who holds what, who waits for it, and whether that would be for ever.
//!
//! A file has two sets of locks that do not meet: of parts (`fcntl`) and of the whole (`flock`). A holder is an open file or a process; its own locks are never in its way. Of one holder's locks of parts no
//! two overlap, and none touches another of its kind.

use crate::table::Key;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Most locks, and most that wait for one.
const MOST: usize = 16384;
const MOST_WAITING: usize = 1024;

/// Who holds locks: the object that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// An open file.
    File(Key),
    /// A process.
    Process(Key),
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which file.
    pub node: Key,
    /// The file as a whole, or a part.
    pub whole: bool,
    /// For whom.
    pub holder: Holder,
    /// The number by which others are told of it.
    pub pid: u64,
    /// Nobody else may have a lock there.
    pub writes: bool,
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub end: u64,
}

impl Wanted {
    fn conflicts(&self, other: &Wanted) -> bool {
        self.holder != other.holder && (self.writes || other.writes) && self.start <= other.end && other.start <= self.end
    }
}

/// See the module's head.
pub struct Locks<R> {
    held: BTreeMap<(Key, bool), Vec<Wanted>>,
    count: usize,
    waiting: Vec<(Wanted, R)>,
}

impl<R> Default for Locks<R> {
    fn default() -> Locks<R> {
        Locks { held: BTreeMap::new(), count: 0, waiting: Vec::new() }
    }
}

impl<R> Locks<R> {
    fn those(&self, wanted: &Wanted) -> &[Wanted] {
        self.held.get(&(wanted.node, wanted.whole)).map_or(&[], |held| held)
    }

    /// The lock in the way, the one with the lowest first byte.
    pub fn in_the_way(&self, wanted: &Wanted) -> Option<Wanted> {
        self.those(wanted).iter().filter(|held| held.conflicts(wanted)).min_by_key(|held| held.start).copied()
    }

    /// Whether the holder has a lock of the other kind on the whole.
    pub fn is_changed(&self, wanted: &Wanted) -> bool {
        self.those(wanted).iter().any(|held| held.holder == wanted.holder && held.writes != wanted.writes)
    }

    /// Takes what nobody is in the way of.
    pub fn take(&mut self, wanted: Wanted) -> Result<(), Errno> {
        if self.count >= MOST {
            return Err(Errno::ENOLCK);
        }
        self.release_part(&wanted)?;
        let held = self.held.entry((wanted.node, wanted.whole)).or_default();
        let mut joined = wanted;
        // One of the same kind that it touches becomes one with it.
        let touches = |held: &Wanted, one: &Wanted| {
            held.holder == one.holder && held.writes == one.writes && held.start <= one.end.saturating_add(1) && one.start <= held.end.saturating_add(1)
        };
        let before = held.len();
        held.retain(|held| {
            let joins = touches(held, &wanted);
            if joins {
                (joined.start, joined.end) = (joined.start.min(held.start), joined.end.max(held.end));
            }
            !joins
        });
        held.push(joined);
        self.count = self.count + held.len() - before;
        Ok(())
    }

    /// Gives up what the holder has of a part, of either kind.
    pub fn release_part(&mut self, part: &Wanted) -> Result<(), Errno> {
        if self.count >= MOST {
            return Err(Errno::ENOLCK);
        }
        let Some(held) = self.held.get_mut(&(part.node, part.whole)) else { return Ok(()) };
        let before = held.len();
        let mut rest = Vec::new();
        held.retain(|held| {
            let meets = held.holder == part.holder && held.start <= part.end && part.start <= held.end;
            if meets && held.start < part.start {
                rest.push(Wanted { end: part.start - 1, ..*held });
            }
            if meets && held.end > part.end {
                rest.push(Wanted { start: part.end + 1, ..*held });
            }
            !meets
        });
        held.extend(rest);
        self.count = self.count + held.len() - before;
        if held.is_empty() {
            self.held.remove(&(part.node, part.whole));
        }
        Ok(())
    }

    /// Gives up all that a holder has, of one file or of all; the files that had some.
    pub fn release_all(&mut self, holder: Holder, node: Option<Key>) -> Vec<Key> {
        if self.count == 0 {
            return Vec::new();
        }
        let mut touched = Vec::new();
        let concerns = |key: &Key| node.is_none_or(|node| node == *key);
        self.held.retain(|(key, _), held| {
            let before = held.len();
            if concerns(key) {
                held.retain(|held| held.holder != holder);
            }
            if held.len() != before {
                self.count -= before - held.len();
                touched.push(*key);
            }
            !held.is_empty()
        });
        touched
    }

    /// Lets somebody wait. `EDEADLK`: a process would wait for one that waits for it.
    pub fn wait(&mut self, wanted: Wanted, reply: R, is_gone: impl Fn(&R) -> bool) -> Result<(), (R, Errno)> {
        self.waiting.retain(|(_, reply)| !is_gone(reply));
        if self.waiting.len() >= MOST_WAITING {
            return Err((reply, Errno::ENOLCK));
        }
        if matches!(wanted.holder, Holder::Process(_)) && self.would_wait_for_itself(&wanted) {
            return Err((reply, Errno::EDEADLK));
        }
        self.waiting.push((wanted, reply));
        Ok(())
    }

    /// Whether one of those in the way waits, directly or by others, for the same holder.
    fn would_wait_for_itself(&self, wanted: &Wanted) -> bool {
        let mut seen: Vec<Holder> = Vec::new();
        let mut next = Vec::from([*wanted]);
        while let Some(one) = next.pop() {
            for held in self.those(&one).iter().filter(|held| held.conflicts(&one)) {
                if held.holder == wanted.holder {
                    return true;
                }
                if !seen.contains(&held.holder) {
                    seen.push(held.holder);
                    next.extend(self.waiting.iter().map(|(waiting, _)| *waiting).filter(|waiting| waiting.holder == held.holder));
                }
            }
        }
        false
    }

    /// The first that waits for a lock of this file and can have it now: it has it.
    pub fn next(&mut self, node: Key) -> Option<(Wanted, Result<R, (R, Errno)>)> {
        let index = self.waiting.iter().position(|(wanted, _)| wanted.node == node && self.in_the_way(wanted).is_none())?;
        let (wanted, reply) = self.waiting.remove(index);
        Some((wanted, match self.take(wanted) {
            Ok(()) => Ok(reply),
            Err(errno) => Err((reply, errno)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Holder = Holder::Process(Key::from_word(1));
    const SECOND: Holder = Holder::Process(Key::from_word(2));
    const THIRD: Holder = Holder::File(Key::from_word(3));

    fn wanted(holder: Holder, writes: bool, start: u64, end: u64) -> Wanted {
        Wanted { node: Key::from_word(9), whole: false, holder, pid: 0, writes, start, end }
    }

    #[test]
    fn parts_are_cut_and_joined() {
        let mut locks = Locks::<u32>::default();
        locks.take(wanted(FIRST, true, 0, 9)).unwrap();
        locks.take(wanted(FIRST, true, 10, 19)).unwrap();
        assert_eq!(locks.count, 1);
        locks.take(wanted(FIRST, false, 5, 6)).unwrap();
        assert_eq!(locks.count, 3);
        assert_eq!(locks.in_the_way(&wanted(SECOND, false, 5, 6)), None);
        assert_eq!(locks.in_the_way(&wanted(THIRD, false, 5, u64::MAX)).map(|lock| (lock.start, lock.end)), Some((7, 19)));
        locks.release_part(&wanted(FIRST, false, 2, u64::MAX)).unwrap();
        assert_eq!((locks.count, locks.in_the_way(&wanted(SECOND, true, 2, 99))), (1, None));
        assert_eq!(locks.release_all(FIRST, None), [Key::from_word(9)]);
        assert_eq!(locks.count, 0);
    }

    #[test]
    fn who_waits_has_it_when_it_is_free() {
        let mut locks = Locks::default();
        locks.take(wanted(FIRST, true, 0, 9)).unwrap();
        locks.wait(wanted(SECOND, true, 5, 5), 'a', |_| false).unwrap();
        locks.wait(wanted(THIRD, false, 0, 0), 'b', |_| false).unwrap();
        assert!(locks.next(Key::from_word(9)).is_none());
        locks.release_part(&wanted(FIRST, false, 0, 4)).unwrap();
        assert_eq!(locks.next(Key::from_word(9)).map(|(_, reply)| reply), Some(Ok('b')));
        locks.release_all(FIRST, Some(Key::from_word(9)));
        assert_eq!(locks.next(Key::from_word(9)).map(|(_, reply)| reply), Some(Ok('a')));
        assert!(locks.next(Key::from_word(9)).is_none());
    }

    #[test]
    fn nobody_waits_for_himself() {
        let mut locks = Locks::default();
        locks.take(wanted(FIRST, true, 0, 0)).unwrap();
        locks.take(wanted(SECOND, true, 1, 1)).unwrap();
        locks.wait(wanted(FIRST, true, 1, 1), 'a', |_| false).unwrap();
        assert_eq!(locks.wait(wanted(SECOND, true, 0, 0), 'b', |_| false), Err(('b', Errno::EDEADLK)));
        // Somebody who has gone waits for nothing.
        assert_eq!(locks.wait(wanted(SECOND, true, 0, 0), 'b', |_| true), Ok(()));
    }

    #[test]
    fn random_locks_never_conflict() {
        let mut locks = Locks::default();
        let mut random = 7u64;
        for _ in 0..5000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mut next = |limit: u64| {
                random = random.rotate_left(23) ^ random >> 7;
                random % limit
            };
            let start = next(20);
            let one = wanted([FIRST, SECOND, THIRD][next(3) as usize], next(2) == 0, start, start + next(9));
            match next(4) {
                0 => locks.release_part(&one).unwrap(),
                1 if next(8) == 0 => drop(locks.release_all(one.holder, None)),
                _ if locks.in_the_way(&one).is_none() => locks.take(one).unwrap(),
                _ => drop(locks.wait(one, (), |()| false)),
            }
            while locks.next(one.node).is_some() {}
            let held = locks.those(&one).to_vec();
            assert_eq!(held.len(), locks.count);
            for (index, first) in held.iter().enumerate() {
                for second in &held[index + 1..] {
                    assert!(!first.conflicts(second));
                    let apart = first.end < second.start || second.end < first.start;
                    assert!(first.holder != second.holder || apart);
                }
            }
        }
    }
}
