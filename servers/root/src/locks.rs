//! Locks of files, without a kernel: holders, waiters, and whether a wait would last for ever.
//!
//! A file has two sets of locks that do not meet: of parts (`fcntl`) and of the whole (`flock`). A
//! holder is an open file or a process; its own locks are never in its way. Of one holder's locks
//! of parts no two overlap, and none touches another of its kind.
//!
//! Limits are those of a holder and of a file, so that nobody's locks are in the way of other
//! files' users. Giving up a lock never fails; but to give up the middle of one makes two of it,
//! which a holder that is at its limit cannot do.

use crate::open_file::OpenFile;
use crate::table::Key;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{LOCK_NONE, LOCK_READ, LOCK_TEST, LOCK_WHOLE, LOCK_WRITE};

/// Largest number of locks of one holder, of one file, and of waits for locks of one file.
const MAX_PER_HOLDER: usize = 8192;
const MAX_PER_FILE: usize = 32_768;
const MAX_WAITING: usize = 1024;
/// Number of holders that are looked at to find out who waits for whom: more than Linux does. A
/// longer cycle is not found.
const MAX_IN_CYCLE: usize = 16;

/// Holder of locks, named by the object that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// An open file.
    File(Key),
    /// A process.
    Process(Key),
}

/// Request for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRequest {
    /// File to lock.
    pub node: Key,
    /// The file as a whole, or a part.
    pub whole: bool,
    /// Holder that asks for the lock.
    pub holder: Holder,
    /// The number by which others are told of it.
    pub pid: u64,
    /// Set for an exclusive lock: no other holder may have a lock in the range.
    pub writes: bool,
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub end: u64,
}

impl LockRequest {
    /// The request that the words of `file.lock` are, for an open file: kind, flags, first and last
    /// byte.
    pub fn new(file: &OpenFile, (holder, pid): (Holder, u64), [kind, flags, start, end]: [u64; 4]) -> Result<LockRequest, Errno> {
        file.check_open()?;
        let whole = flags & LOCK_WHOLE != 0;
        match kind {
            LOCK_READ if !whole && flags & LOCK_TEST == 0 => file.check_read()?,
            LOCK_WRITE if !whole && flags & LOCK_TEST == 0 => file.check_write()?,
            LOCK_READ | LOCK_WRITE | LOCK_NONE => {}
            _ => return Err(Errno::EINVAL),
        }
        let (start, end) = if whole { (0, u64::MAX) } else { (start, end) };
        if start > end { Err(Errno::EINVAL) } else { Ok(LockRequest { node: file.node, whole, holder, pid, writes: kind == LOCK_WRITE, start, end }) }
    }

    fn conflicts(&self, other: &LockRequest) -> bool {
        self.holder != other.holder && (self.writes || other.writes) && self.meets(other)
    }

    fn meets(&self, other: &LockRequest) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Stands for all of a file, in a set.
    fn all_of((node, whole): Set, holder: Holder) -> LockRequest {
        LockRequest { node, whole, holder, pid: 0, writes: true, start: 0, end: u64::MAX }
    }
}

/// A set of locks: the file, and whether they are of the whole.
type Set = (Key, bool);

/// Locks of all files, and the requests that wait for one.
pub struct Locks<R> {
    /// Locks by set, first byte and holder.
    held: BTreeMap<(Set, u64, Holder), LockRequest>,
    /// Numbers of locks: by holder and set, by set (`totals`), and by holder (`of_holders`).
    counts: BTreeMap<(Holder, Set), usize>,
    totals: BTreeMap<Set, usize>,
    of_holders: BTreeMap<Holder, usize>,
    /// Requests that wait, by file, the oldest first.
    waiting: BTreeMap<Key, Vec<(LockRequest, R)>>,
}

impl<R> Default for Locks<R> {
    fn default() -> Locks<R> {
        Locks { held: BTreeMap::new(), counts: BTreeMap::new(), totals: BTreeMap::new(), of_holders: BTreeMap::new(), waiting: BTreeMap::new() }
    }
}

impl Holder {
    /// The object that stands for it.
    pub fn key(self) -> Key {
        match self {
            Holder::File(key) | Holder::Process(key) => key,
        }
    }
}

impl LockRequest {
    fn set(&self) -> Set {
        (self.node, self.whole)
    }
}

fn counted<K: Ord>(counts: &BTreeMap<K, usize>, key: &K) -> usize {
    counts.get(key).copied().unwrap_or(0)
}

fn count_down<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl<R> Locks<R> {
    /// The locks of a set that begin at or before `end`, the lowest first.
    fn those(&self, set: Set, end: u64) -> impl Iterator<Item = &LockRequest> {
        let last = Holder::Process(Key::from_word(u64::MAX));
        self.held.range((set, 0, Holder::File(Key::from_word(0)))..=(set, end, last)).map(|(_, held)| held)
    }

    /// The lock in the way, the one with the lowest first byte.
    pub fn in_the_way(&self, wanted: &LockRequest) -> Option<LockRequest> {
        self.those(wanted.set(), wanted.end).find(|held| held.conflicts(wanted)).copied()
    }

    /// Returns true if the holder has a lock of the other kind on the whole file.
    pub fn is_changed(&self, wanted: &LockRequest) -> bool {
        self.those(wanted.set(), u64::MAX).any(|held| held.holder == wanted.holder && held.writes != wanted.writes)
    }

    fn insert(&mut self, lock: LockRequest) {
        if self.held.insert((lock.set(), lock.start, lock.holder), lock).is_none() {
            *self.counts.entry((lock.holder, lock.set())).or_default() += 1;
            *self.totals.entry(lock.set()).or_default() += 1;
            *self.of_holders.entry(lock.holder).or_default() += 1;
        }
    }

    fn remove(&mut self, lock: &LockRequest) {
        if self.held.remove(&(lock.set(), lock.start, lock.holder)).is_some() {
            count_down(&mut self.counts, &(lock.holder, lock.set()));
            count_down(&mut self.totals, &lock.set());
            count_down(&mut self.of_holders, &lock.holder);
        }
    }

    /// The holder's locks that meet `part` or touch it.
    fn near(&self, part: &LockRequest) -> Vec<LockRequest> {
        let touches = |held: &&LockRequest| held.holder == part.holder && part.start <= held.end.saturating_add(1);
        self.those(part.set(), part.end.saturating_add(1)).filter(touches).copied().collect()
    }

    /// Number of locks of a holder.
    pub fn count(&self, holder: Holder) -> usize {
        counted(&self.of_holders, &holder)
    }

    /// Returns true if giving up a part makes two locks of one.
    pub fn splits(&self, part: &LockRequest) -> bool {
        self.near(part).iter().any(|held| held.start < part.start && held.end > part.end)
    }

    /// `ENOLCK` if the holder, or all of the file, would have more than the limit with so many
    /// more.
    fn check(&self, part: &LockRequest, more: usize) -> Result<(), Errno> {
        let (own, all) = (self.count(part.holder), counted(&self.totals, &part.set()));
        if own + more > MAX_PER_HOLDER || all + more > MAX_PER_FILE { Err(Errno::ENOLCK) } else { Ok(()) }
    }

    /// Takes what nobody is in the way of.
    pub fn take(&mut self, wanted: LockRequest) -> Result<(), Errno> {
        let near = self.near(&wanted);
        let splits = near.iter().any(|held| held.writes != wanted.writes && held.start < wanted.start && held.end > wanted.end);
        self.check(&wanted, 1 + usize::from(splits))?;
        let mut joined = wanted;
        for held in near {
            // One of the same kind that it touches becomes one with it.
            if held.writes == wanted.writes {
                self.remove(&held);
                (joined.start, joined.end) = (joined.start.min(held.start), joined.end.max(held.end));
            } else {
                self.cut(&held, &wanted);
            }
        }
        self.insert(joined);
        Ok(())
    }

    /// Takes `part` out of a lock.
    fn cut(&mut self, held: &LockRequest, part: &LockRequest) {
        if held.end < part.start || held.start > part.end {
            return;
        }
        self.remove(held);
        if held.start < part.start {
            self.insert(LockRequest { end: part.start - 1, ..*held });
        }
        if held.end > part.end {
            self.insert(LockRequest { start: part.end + 1, ..*held });
        }
    }

    /// Gives up what the holder has of a part, of either kind.
    pub fn release_part(&mut self, part: &LockRequest) -> Result<(), Errno> {
        if self.splits(part) {
            self.check(part, 1)?;
        }
        for held in self.near(part) {
            self.cut(&held, part);
        }
        Ok(())
    }

    /// Gives up all that a holder has, of one file or of all. Returns what others may have now.
    pub fn release_all(&mut self, holder: Holder, node: Option<Key>) -> Vec<LockRequest> {
        let (first, last) = (node.unwrap_or(Key::from_word(0)), node.unwrap_or(Key::from_word(u64::MAX)));
        let sets: Vec<Set> = self.counts.range((holder, (first, false))..=(holder, (last, true))).map(|((_, set), _)| *set).collect();
        for set in &sets {
            let own: Vec<LockRequest> = self.those(*set, u64::MAX).filter(|held| held.holder == holder).copied().collect();
            for held in own {
                self.remove(&held);
            }
        }
        sets.into_iter().map(|set| LockRequest::all_of(set, holder)).collect()
    }

    /// Forgets the requests for locks of a file whose callers have gone. Returns the holders that
    /// they were for.
    pub fn take_gone(&mut self, node: Key, is_gone: impl Fn(&R) -> bool) -> Vec<Holder> {
        let Some(waiting) = self.waiting.get_mut(&node) else { return Vec::new() };
        let gone = waiting.extract_if(.., |(_, reply)| is_gone(reply)).map(|(wanted, _)| wanted.holder).collect();
        self.forget_unused(node);
        gone
    }

    fn forget_unused(&mut self, node: Key) {
        if self.waiting.get(&node).is_some_and(Vec::is_empty) {
            self.waiting.remove(&node);
        }
    }

    /// Lets somebody wait. `EDEADLK`: a process would wait for one that waits for it.
    pub fn wait(&mut self, wanted: LockRequest, reply: R) -> Result<(), (R, Errno)> {
        if self.waiting.get(&wanted.node).map_or(0, Vec::len) >= MAX_WAITING {
            return Err((reply, Errno::ENOLCK));
        }
        if matches!(wanted.holder, Holder::Process(_)) && self.would_wait_for_itself(&wanted) {
            return Err((reply, Errno::EDEADLK));
        }
        self.waiting.entry(wanted.node).or_default().push((wanted, reply));
        Ok(())
    }

    /// Returns true if one of those in the way waits, directly or by at most [`MAX_IN_CYCLE`]
    /// others, for the same holder.
    fn would_wait_for_itself(&self, wanted: &LockRequest) -> bool {
        let mut seen: Vec<Holder> = Vec::new();
        let mut next = Vec::from([*wanted]);
        while let Some(one) = next.pop() {
            for held in self.those(one.set(), one.end).filter(|held| held.conflicts(&one)) {
                if held.holder == wanted.holder {
                    return true;
                }
                if !seen.contains(&held.holder) && seen.len() < MAX_IN_CYCLE {
                    seen.push(held.holder);
                    next.extend(self.waiting.values().flatten().map(|(waiting, _)| *waiting).filter(|waiting| waiting.holder == held.holder));
                }
            }
        }
        false
    }

    /// Returns true if taking a lock weakens one that the holder has, so that others may have more.
    pub fn weakens(&self, wanted: &LockRequest) -> bool {
        !wanted.writes && self.near(wanted).iter().any(|held| held.writes && held.meets(wanted))
    }

    /// Takes out the first request, from a place in the queue on, that waits for some of a part
    /// that has become free and can have its lock now. Returns its place, too: none before it can.
    pub fn next(&mut self, freed: &LockRequest, from: usize) -> Option<(usize, LockRequest, R)> {
        let waiting = self.waiting.get(&freed.node)?;
        let can_have = |(wanted, _): &(LockRequest, R)| wanted.whole == freed.whole && wanted.meets(freed) && self.in_the_way(wanted).is_none();
        let index = from + waiting.iter().skip(from).position(can_have)?;
        let (wanted, reply) = self.waiting.get_mut(&freed.node)?.remove(index);
        self.forget_unused(freed.node);
        Some((index, wanted, reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Holder = Holder::Process(Key::from_word(1));
    const SECOND: Holder = Holder::Process(Key::from_word(2));
    const THIRD: Holder = Holder::File(Key::from_word(3));

    fn wanted(holder: Holder, writes: bool, start: u64, end: u64) -> LockRequest {
        LockRequest { node: Key::from_word(9), whole: false, holder, pid: 0, writes, start, end }
    }

    /// The first that can have its lock, wherever that is.
    fn next<R>(locks: &mut Locks<R>) -> Option<(usize, LockRequest, R)> {
        locks.next(&wanted(FIRST, true, 0, u64::MAX), 0)
    }

    fn grant<R>(locks: &mut Locks<R>) -> Option<R> {
        let (_, wanted, reply) = next(locks)?;
        locks.take(wanted).unwrap();
        Some(reply)
    }

    #[test]
    fn parts_are_cut_and_joined() {
        let mut locks = Locks::<u32>::default();
        locks.take(wanted(FIRST, true, 0, 9)).unwrap();
        locks.take(wanted(FIRST, true, 10, 19)).unwrap();
        assert_eq!(locks.held.len(), 1);
        locks.take(wanted(FIRST, false, 5, 6)).unwrap();
        assert_eq!(locks.held.len(), 3);
        assert_eq!(locks.in_the_way(&wanted(SECOND, false, 5, 6)), None);
        assert_eq!(locks.in_the_way(&wanted(THIRD, false, 5, u64::MAX)).map(|lock| (lock.start, lock.end)), Some((7, 19)));
        locks.release_part(&wanted(FIRST, false, 2, u64::MAX)).unwrap();
        assert_eq!((locks.held.len(), locks.in_the_way(&wanted(SECOND, true, 2, 99))), (1, None));
        assert_eq!(locks.release_all(FIRST, None), [wanted(FIRST, true, 0, u64::MAX)]);
        assert!(locks.held.is_empty() && locks.counts.is_empty() && locks.totals.is_empty());
    }

    #[test]
    fn who_waits_has_it_when_it_is_free() {
        let mut locks = Locks::default();
        locks.take(wanted(FIRST, true, 0, 9)).unwrap();
        locks.wait(wanted(SECOND, true, 5, 5), 'a').unwrap();
        locks.wait(wanted(THIRD, false, 0, 0), 'b').unwrap();
        assert!(next(&mut locks).is_none());
        locks.release_part(&wanted(FIRST, false, 0, 4)).unwrap();
        assert_eq!(grant(&mut locks), Some('b'));
        locks.release_all(FIRST, Some(Key::from_word(9)));
        assert_eq!(grant(&mut locks), Some('a'));
        assert!(next(&mut locks).is_none());
    }

    #[test]
    fn only_those_who_wait_for_what_is_free_are_looked_at() {
        let mut locks = Locks::default();
        locks.take(wanted(FIRST, true, 0, 9)).unwrap();
        for (place, at) in ['a', 'b', 'c', 'd'].into_iter().zip([1, 5, 6, 7]) {
            locks.wait(wanted(SECOND, true, at, at), place).unwrap();
        }
        let (freed, whole) = (wanted(FIRST, true, 5, 6), LockRequest { whole: true, ..wanted(FIRST, true, 0, u64::MAX) });
        locks.release_all(FIRST, None);
        assert_eq!(locks.next(&whole, 0), None);
        assert_eq!(locks.next(&freed, 0).map(|(place, _, reply)| (place, reply)), Some((1, 'b')));
        assert_eq!(locks.next(&freed, 1).map(|(place, _, reply)| (place, reply)), Some((1, 'c')));
        assert_eq!(locks.next(&freed, 0), None, "others wait for other parts");
        assert!(locks.next(&wanted(FIRST, true, 7, 7), 0).is_some() && next(&mut locks).is_some() && locks.waiting.is_empty());
        // A lock that becomes weaker lets others in.
        locks.take(wanted(FIRST, true, 0, 0)).unwrap();
        assert!(locks.weakens(&wanted(FIRST, false, 0, 0)) && !locks.weakens(&wanted(FIRST, false, 1, 1)) && !locks.weakens(&wanted(FIRST, true, 0, 0)));
    }

    #[test]
    fn nobody_waits_for_himself() {
        let mut locks = Locks::default();
        locks.take(wanted(FIRST, true, 0, 0)).unwrap();
        locks.take(wanted(SECOND, true, 1, 1)).unwrap();
        locks.wait(wanted(FIRST, true, 1, 1), 'a').unwrap();
        assert_eq!(locks.wait(wanted(SECOND, true, 0, 0), 'b'), Err(('b', Errno::EDEADLK)));
        // Somebody who has gone waits for nothing.
        assert_eq!(locks.take_gone(Key::from_word(9), |_| true), [FIRST]);
        assert_eq!(locks.wait(wanted(SECOND, true, 0, 0), 'b'), Ok(()));
    }

    #[test]
    fn long_cycles_cost_no_more_than_short_ones() {
        let process = |number: usize| Holder::Process(Key::from_word(number as u64 + 1));
        for (length, expected) in [(MAX_IN_CYCLE, Err(('b', Errno::EDEADLK))), (MAX_IN_CYCLE + 2, Ok(()))] {
            let mut locks = Locks::default();
            for number in 0..length {
                locks.take(wanted(process(number), true, number as u64, number as u64)).unwrap();
            }
            for number in 1..length {
                locks.wait(wanted(process(number - 1), true, number as u64, number as u64), 'a').unwrap();
            }
            assert_eq!(locks.wait(wanted(process(length - 1), true, 0, 0), 'b'), expected, "{length}");
        }
    }

    #[test]
    fn a_holder_at_its_limit_is_in_nobodys_way() {
        let mut locks = Locks::<u32>::default();
        let taken = (0..).take_while(|at| locks.take(wanted(FIRST, true, 4 * at, 4 * at + 2)).is_ok()).count();
        assert_eq!(taken, MAX_PER_HOLDER);
        assert_eq!(locks.release_part(&wanted(FIRST, true, 1, 1)), Err(Errno::ENOLCK));
        // It gives up and shortens what it has all the same, and another locks and unlocks.
        locks.release_part(&wanted(FIRST, true, 0, 0)).unwrap();
        let other = LockRequest { node: Key::from_word(10), ..wanted(SECOND, true, 0, 0) };
        locks.take(other).unwrap();
        locks.take(wanted(SECOND, true, 1 << 40, 1 << 41)).unwrap();
        locks.release_part(&wanted(SECOND, true, (1 << 40) + 1, (1 << 40) + 1)).unwrap();
        locks.release_part(&wanted(FIRST, true, 0, u64::MAX)).unwrap();
        assert_eq!((locks.count(FIRST), locks.count(SECOND)), (0, 3));
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
                _ => drop(locks.wait(one, ())),
            }
            while grant(&mut locks).is_some() {}
            let held: Vec<LockRequest> = locks.those(one.set(), u64::MAX).copied().collect();
            assert_eq!((held.len(), held.len()), (counted(&locks.totals, &one.set()), locks.counts.values().sum()));
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
