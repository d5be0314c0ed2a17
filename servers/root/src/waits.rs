//! Who waits at words of memory that processes share: the queues behind `segment.wait` and `wake`, by memory and offset.
//!
//! What waits is a reply that is owed; whoever has stopped waiting is found out when it is answered, or when there get to be many.

use crate::table::Key;
use alloc::collections::{BTreeMap, VecDeque};
use nacre_proto::Errno;

/// Most that wait.
const MOST: usize = 4096;
/// So many at one word are looked through for those that have gone.
const MANY: usize = 16;

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

/// See the module's head.
pub struct Waits<R> {
    all: BTreeMap<(Place, u64), VecDeque<Waiter<R>>>,
    count: usize,
}

impl<R> Default for Waits<R> {
    fn default() -> Waits<R> {
        Waits { all: BTreeMap::new(), count: 0 }
    }
}

impl<R> Waits<R> {
    /// Adds one, unless there are too many; those that have gone (`is_gone`) do not count.
    pub fn add(&mut self, place: Place, offset: u64, bits: u64, reply: R, is_gone: impl Fn(&R) -> bool) -> Result<(), Errno> {
        if self.count >= MOST {
            self.prune(&is_gone);
        }
        if self.count >= MOST {
            return Err(Errno::ENOMEM);
        }
        let queue = self.all.entry((place, offset)).or_default();
        if queue.len() >= MANY {
            let before = queue.len();
            queue.retain(|waiter| !is_gone(&waiter.reply));
            self.count -= before - queue.len();
        }
        queue.push_back(Waiter { bits, reply });
        self.count += 1;
        Ok(())
    }

    fn prune(&mut self, is_gone: impl Fn(&R) -> bool) {
        self.all.retain(|_, queue| {
            queue.retain(|waiter| !is_gone(&waiter.reply));
            !queue.is_empty()
        });
        self.count = self.all.values().map(VecDeque::len).sum();
    }

    /// Answers up to `count` of those that wait at a word with any of the bits; how many it was that `answer` reached.
    pub fn wake(&mut self, place: Place, offset: u64, count: u64, bits: u64, mut answer: impl FnMut(R) -> bool) -> u64 {
        let Some(queue) = self.all.get_mut(&(place, offset)) else { return 0 };
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
        let moved = most.min(queue.len() as u64);
        let rest = queue.split_off(moved as usize);
        self.all.entry((place, to)).or_default().extend(queue);
        if !rest.is_empty() {
            self.all.insert((place, from), rest);
        }
        self.all.retain(|_, queue| !queue.is_empty());
        moved
    }

    /// The memory has gone, and nobody wakes anybody there.
    pub fn forget(&mut self, place: Place) {
        let gone: alloc::vec::Vec<_> = self.all.range((place, 0)..=(place, u64::MAX)).map(|(key, _)| *key).collect();
        for key in gone {
            self.count -= self.all.remove(&key).map_or(0, |queue| queue.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const PLACE: Place = Place::File(Key::from_word(1));
    const ALL: u64 = 0xffff_ffff;

    #[test]
    fn first_come_first_woken() {
        let (mut waits, mut woken) = (Waits::default(), Vec::new());
        for (number, bits) in [(1, ALL), (2, 2), (3, 1)] {
            waits.add(PLACE, 8, bits, number, |_| false).unwrap();
        }
        assert_eq!(waits.wake(PLACE, 8, 1, 1, |number| { woken.push(number); true }), 1);
        assert_eq!(waits.wake(PLACE, 8, 9, 1, |number| { woken.push(number); true }), 1);
        assert_eq!(waits.requeue(PLACE, 8, 9, 16), 1);
        assert_eq!(waits.wake(PLACE, 8, 9, ALL, |_| true), 0);
        assert_eq!(waits.wake(PLACE, 16, 9, ALL, |number| { woken.push(number); true }), 1);
        assert_eq!((woken, waits.count), (Vec::from([1, 3, 2]), 0));
    }

    #[test]
    fn whoever_has_gone_is_not_counted() {
        let mut waits = Waits::default();
        for number in 0..10 * MOST {
            waits.add(PLACE, 8, ALL, number, |_| true).unwrap();
        }
        assert!(waits.count <= MANY + 1);
        let mut waits = Waits::default();
        for number in 0..MOST {
            waits.add(PLACE, 8 * number as u64, ALL, number, |_| false).unwrap();
        }
        assert_eq!(waits.add(PLACE, 0, ALL, 0, |_| false), Err(Errno::ENOMEM));
        assert_eq!(waits.wake(PLACE, 0, 1, ALL, |_| false), 0);
        waits.forget(PLACE);
        assert_eq!(waits.count, 0);
    }
}
