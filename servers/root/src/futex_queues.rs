//! Who waits at words of memory that processes share: the queues behind `segment.wait` and `wake`,
//! by memory and offset.
//!
//! What waits is a reply that is owed. Somebody who has stopped waiting is found out when it is
//! answered, or as others come to wait.

use crate::table::Key;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// While fewer wait, nobody looks for those that have gone.
const FEW: usize = 16;
/// Waiters that are looked at for each that comes: more than one, so that those that have gone
/// become fewer.
const LOOKS: usize = 2;

/// Memory that words lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A segment.
    Segment(Key),
    /// The contents of a file.
    File(Key),
}

/// Somebody who waits.
struct Waiter<R> {
    bits: u64,
    reply: R,
}

/// Requests that wait at one word, and the number of them that have been looked at since the first
/// was.
struct Queue<R> {
    waiters: VecDeque<Waiter<R>>,
    looked: usize,
}

impl<R> Default for Queue<R> {
    fn default() -> Queue<R> {
        Queue { waiters: VecDeque::new(), looked: 0 }
    }
}

/// Requests that wait at words. The head of this module describes them.
pub struct FutexQueues<R> {
    all: BTreeMap<(Place, u64), Queue<R>>,
    count: usize,
    /// The word whose waiters are looked at next, or the one before.
    looked: Option<(Place, u64)>,
}

impl<R> Default for FutexQueues<R> {
    fn default() -> FutexQueues<R> {
        FutexQueues { all: BTreeMap::new(), count: 0, looked: None }
    }
}

impl<R> FutexQueues<R> {
    /// Adds one.
    pub fn add(&mut self, place: Place, offset: u64, bits: u64, reply: R) {
        self.all.entry((place, offset)).or_default().waiters.push_back(Waiter { bits, reply });
        self.count += 1;
    }

    /// Looks at a few waiters, others each time, and takes out one that has gone (`is_gone`).
    pub fn look(&mut self, is_gone: impl Fn(&R) -> bool) -> Option<R> {
        for _ in 0..if self.count < FEW { 0 } else { LOOKS } {
            let first = self.looked.unwrap_or((Place::Segment(Key::from_word(0)), 0));
            let next = self.all.range_mut(first..).next();
            let Some((&key, queue)) = next else {
                self.looked = None;
                continue;
            };
            self.looked = Some(key);
            match queue.waiters.get(queue.looked).map(|waiter| is_gone(&waiter.reply)) {
                Some(true) => {
                    let gone = queue.waiters.remove(queue.looked);
                    self.count -= 1;
                    if queue.waiters.is_empty() {
                        self.all.remove(&key);
                    }
                    return gone.map(|waiter| waiter.reply);
                }
                Some(false) => queue.looked += 1,
                None => {
                    queue.looked = 0;
                    self.looked = key.1.checked_add(1).map(|offset| (key.0, offset));
                }
            }
        }
        None
    }

    /// Answers up to `count` of those that wait at a word with any of the bits; how many it was
    /// that `answer` reached.
    pub fn wake(&mut self, place: Place, offset: u64, count: u64, bits: u64, mut answer: impl FnMut(R) -> bool) -> u64 {
        let Some(Queue { waiters: queue, .. }) = self.all.get_mut(&(place, offset)) else { return 0 };
        let (mut woken, mut index) = (0, 0);
        while woken < count && index < queue.len() {
            if queue[index].bits & bits == 0 {
                index += 1;
            } else if let Some(waiter) = queue.remove(index) {
                self.count -= 1;
                woken += u64::from(answer(waiter.reply));
            }
        }
        if queue.is_empty() {
            self.all.remove(&(place, offset));
        }
        woken
    }

    /// Lets up to `most` of those that wait at a word wait at another; how many.
    pub fn requeue(&mut self, place: Place, from: u64, most: u64, to: u64) -> u64 {
        if from == to {
            return 0;
        }
        let Some(mut queue) = self.all.remove(&(place, from)) else { return 0 };
        let moved = most.min(queue.waiters.len() as u64);
        let rest = queue.waiters.split_off(moved as usize);
        if !rest.is_empty() {
            self.all.insert((place, from), Queue { waiters: rest, looked: 0 });
        }
        if moved != 0 {
            self.all.entry((place, to)).or_default().waiters.extend(queue.waiters);
        }
        moved
    }

    /// Takes out all that wait at words of some memory and of which `is_one` is true.
    pub fn take(&mut self, place: Place, is_one: impl Fn(&R) -> bool) -> Vec<R> {
        let mut taken = Vec::new();
        let keys: Vec<_> = self.all.range((place, 0)..=(place, u64::MAX)).map(|(key, _)| *key).collect();
        for key in keys {
            let Some(mut queue) = self.all.remove(&key) else { continue };
            let (those, rest): (VecDeque<_>, VecDeque<_>) = queue.waiters.into_iter().partition(|waiter| is_one(&waiter.reply));
            self.count -= those.len();
            taken.extend(those.into_iter().map(|waiter| waiter.reply));
            queue.waiters = rest;
            if !queue.waiters.is_empty() {
                self.all.insert(key, queue);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place::File(Key::from_word(1));
    const ALL: u64 = 0xffff_ffff;

    #[test]
    fn first_come_first_woken() {
        let (mut waits, mut woken) = (FutexQueues::default(), Vec::new());
        for (number, bits) in [(1, ALL), (2, 2), (3, 1)] {
            waits.add(PLACE, 8, bits, number);
        }
        assert_eq!(waits.wake(PLACE, 8, 1, 1, |number| { woken.push(number); true }), 1);
        assert_eq!(waits.wake(PLACE, 8, 9, 1, |number| { woken.push(number); true }), 1);
        assert_eq!(waits.requeue(PLACE, 8, 9, 16), 1);
        assert_eq!(waits.wake(PLACE, 8, 9, ALL, |_| true), 0);
        assert_eq!(waits.wake(PLACE, 16, 9, ALL, |number| { woken.push(number); true }), 1);
        assert_eq!((woken, waits.count), (Vec::from([1, 3, 2]), 0));
    }

    #[test]
    fn whoever_has_gone_is_found() {
        let mut waits = FutexQueues::default();
        for number in 0..1000 {
            waits.add(PLACE, 8 * (number % 10), ALL, number);
        }
        // Every second one has gone; while others come, all that have gone are taken out.
        for number in 1000..3000u64 {
            while waits.look(|number| number % 2 == 0).is_some_and(|gone| gone % 2 == 0) {}
            waits.add(PLACE, 8 * (number % 10), ALL, 2 * number + 1);
        }
        let left: Vec<u64> = waits.take(PLACE, |_| true);
        assert!(left.iter().all(|number| number % 2 == 1) && left.len() == 2500, "{}", left.len());
        assert!(waits.count == 0 && waits.all.is_empty());
    }
}
