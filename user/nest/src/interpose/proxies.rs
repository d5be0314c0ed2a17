//! Which proxies there are: the book-keeping, without the kernel's objects. Each has a tag: what
//! the monitor wants to know of what it stands for.
//!
//! A proxy is *free*, *live*, or *leaving*: nobody can call it any more, but workers still carry
//! messages through it. Whoever brings the number of carried messages of a leaving proxy to zero
//! dismantles its objects, then frees it. Number 0, the child's parent, is made first and never
//! leaves.
//!
//! A port's word is index and number together, so that what was received from a port that has gone
//! since is not taken for the next one's.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Facts about one proxy.
#[derive(Clone, Debug, Default)]
struct Entry<T> {
    state: State,
    /// Messages that are being carried.
    carried: u32,
    /// The number that people see: counted up, never reused.
    number: u64,
    /// Set if its original belongs to the child, and callers are outside.
    outward: bool,
    /// Two proxies of one origin have originals of one server.
    origin: u64,
    tag: T,
}

/// Origins of services that the parent finds; all smaller ones are proxies' numbers.
const SERVICES: u64 = 1 << 63;

/// Server that a new proxy's original belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Unknown server.
    Unknown,
    /// The server of the proxy with this index, which made the original.
    Of(usize),
    /// The service with this number, which is always the same.
    Service(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Free,
    Live,
    Leaving,
}

/// Number of proxies of the child's own ports that stay for a while after their last reference has
/// gone.
const GRACE: usize = 32;

/// Bits of a port's word that are the index.
const INDEX_BITS: u32 = 16;

/// The index in a port's word.
pub fn index_of(word: u64) -> usize {
    (word & ((1 << INDEX_BITS) - 1)) as usize
}

/// A proxy that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Index of the proxy.
    pub index: usize,
    /// The number that people see.
    pub number: u64,
    /// The word of its port.
    pub word: u64,
}

/// Facts about the proxy that a message came through, for a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProxyInfo<T> {
    /// The number that people see.
    pub number: u64,
    /// The message comes from outside, for the child.
    pub outward: bool,
    /// Note of the monitor from when it made the proxy.
    pub tag: T,
}

/// Part of a proxy that crosses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loan {
    /// The original of the proxy, which is lent until the message has gone.
    Original,
    /// The proxy itself.
    Proxy,
    /// Case in which nothing is lent.
    Nothing,
}

/// The proxies.
pub struct Proxies<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    capacity: usize,
    next_number: u64,
    /// Number of the first proxy of the child that there is: people see numbers from there on.
    first_number: u64,
    /// Words of those that are to be retired, the oldest first.
    fading: VecDeque<u64>,
    /// Number of messages that were carried.
    carried: u64,
}

impl<T: Clone + Default> Proxies<T> {
    /// Room for `capacity` proxies; never for more than 65536.
    pub const fn new(capacity: usize) -> Proxies<T> {
        Proxies { entries: Vec::new(), free: Vec::new(), capacity, next_number: 0, first_number: 0, fading: VecDeque::new(), carried: 0 }
    }

    /// A free index becomes a live proxy; `None` if there are too many, or no memory for one more.
    pub fn take(&mut self, outward: bool, origin: Origin, tag: T) -> Option<Taken> {
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None if self.entries.len() < self.capacity => {
                self.entries.try_reserve(1).ok()?;
                // `free` cannot fail.
                self.free.try_reserve(self.entries.len() + 1).ok()?;
                self.entries.push(Entry::default());
                self.entries.len() - 1
            }
            None => return None,
        };
        let number = self.next_number;
        let origin = match origin {
            Origin::Unknown => number,
            Origin::Of(asked) => self.entries.get(asked).map_or(number, |entry| entry.origin),
            Origin::Service(service) => SERVICES | service,
        };
        self.entries[index] = Entry { state: State::Live, carried: 0, number, outward, origin, tag };
        self.next_number += 1;
        Some(Taken { index, number: number - self.first_number, word: number << INDEX_BITS | index as u64 })
    }

    /// There is room for `more` proxies beyond those that there was room for.
    pub fn extend(&mut self, more: usize) {
        self.capacity += more;
    }

    /// The live proxy whose port has this word.
    fn by_word(&mut self, word: u64) -> Option<&mut Entry<T>> {
        let entry = self.entries.get_mut(index_of(word))?;
        (entry.state == State::Live && entry.number == word >> INDEX_BITS).then_some(entry)
    }

    /// Returns true if the proxy whose port has this word is live.
    pub fn has(&mut self, word: u64) -> bool {
        self.by_word(word).is_some()
    }

    /// A message begins to be carried through the proxy whose port has this word; `None` if there
    /// is none any more.
    pub fn enter(&mut self, word: u64) -> Option<ProxyInfo<T>> {
        let first = self.first_number;
        let entry = self.by_word(word)?;
        entry.carried += 1;
        let seen = ProxyInfo { number: entry.number - first, outward: entry.outward, tag: entry.tag.clone() };
        self.carried += 1;
        Some(seen)
    }

    /// Returns the number of messages that were carried so far.
    pub fn carried(&self) -> u64 {
        self.carried
    }

    /// Looks at the proxy at `index`, to which somebody has a reference, and tells `judge` whether
    /// its original belongs to the child, and whether it has the origin of proxy `asked`. Lends the
    /// original if `judge` says so. Returns what is known of the proxy, and what `judge` said.
    pub fn lend(&mut self, index: usize, asked: usize, judge: impl FnOnce(bool, bool) -> Loan) -> Option<(ProxyInfo<T>, Loan)> {
        let (origin, first) = (self.entries.get(asked).map(|entry| entry.origin), self.first_number);
        let entry = self.entries.get_mut(index).filter(|entry| entry.state == State::Live)?;
        let loan = judge(entry.outward, Some(entry.origin) == origin);
        entry.carried += u32::from(loan == Loan::Original);
        Some((ProxyInfo { number: entry.number - first, outward: entry.outward, tag: entry.tag.clone() }, loan))
    }

    /// A message has been carried. True: the caller dismantles the proxy and then frees it.
    pub fn leave(&mut self, index: usize) -> bool {
        let entry = &mut self.entries[index];
        entry.carried -= 1;
        entry.state == State::Leaving && entry.carried == 0
    }

    /// The last reference to the proxy has gone: which one is to be retired now. A worker may have
    /// received a notification at a port of the child's, and not have begun to carry it when
    /// another hears of the end of that port: what was notified then is not lost, as such a proxy
    /// stays until others have ended.
    pub fn fade(&mut self, word: u64) -> Option<u64> {
        if !self.by_word(word)?.outward {
            return Some(word);
        }
        self.fading.push_back(word);
        if self.fading.len() > GRACE { self.fading.pop_front() } else { None }
    }

    /// Retires a proxy that nobody can call any more, or that nobody answers. Returns true if the
    /// caller has to dismantle it and then free it.
    pub fn retire(&mut self, word: u64) -> bool {
        match self.by_word(word) {
            Some(entry) if index_of(word) != 0 => {
                entry.state = State::Leaving;
                entry.carried == 0
            }
            _ => false,
        }
    }

    /// Retires all proxies, the child's parent, too. Returns the indices of those that the caller
    /// has to dismantle and then free.
    pub fn retire_all(&mut self) -> Vec<usize> {
        self.fading.clear();
        let live = self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.state == State::Live);
        let idle = live.filter_map(|(index, entry)| {
            entry.state = State::Leaving;
            (entry.carried == 0).then_some(index)
        });
        idle.collect()
    }

    /// Begins for another child: the next proxy is its parent. False: there are proxies of the old
    /// one, whose messages are being carried.
    pub fn begin_again(&mut self) -> bool {
        let is_idle = self.entries.iter().all(|entry| entry.state == State::Free);
        if is_idle {
            self.entries.clear();
            self.free.clear();
            self.first_number = self.next_number;
        }
        is_idle
    }

    /// The proxy's objects are gone: its index can be taken again.
    pub fn free(&mut self, index: usize) {
        self.entries[index].state = State::Free;
        self.entries[index].tag = T::default();
        self.free.push(index as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_the_child_passes_what_was_received_before_its_end() {
        let mut proxies = Proxies::<()>::new(64);
        proxies.take(false, Origin::Unknown, ());
        let inward = proxies.take(false, Origin::Unknown, ()).unwrap().word;
        assert_eq!(proxies.fade(inward), Some(inward));
        let words: Vec<u64> = (0..=GRACE).map(|_| proxies.take(true, Origin::Unknown, ()).unwrap().word).collect();
        for word in &words[..GRACE] {
            assert_eq!(proxies.fade(*word), None);
        }
        assert!(proxies.enter(words[0]).is_some());
        assert_eq!(proxies.carried(), 1);
        assert_eq!((proxies.fade(words[GRACE]), proxies.fade(77 << INDEX_BITS)), (Some(words[0]), None));
        assert!(!proxies.retire(words[0]) && proxies.leave(index_of(words[0])));
    }

    #[test]
    fn a_proxy_is_dismantled_once_and_after_its_last_message() {
        let mut proxies = Proxies::<()>::new(8);
        proxies.take(false, Origin::Unknown, ());
        let Taken { index, word, .. } = proxies.take(true, Origin::Unknown, ()).unwrap();
        assert_eq!(proxies.enter(word), Some(ProxyInfo { number: 1, outward: true, tag: () }));
        assert_eq!(proxies.lend(index, 0, |_, _| Loan::Original).map(|(seen, loan)| (seen.number, loan)), Some((1, Loan::Original)));
        assert!(!proxies.retire(word));
        assert!(!proxies.retire(word));
        assert_eq!(proxies.enter(word), None);
        assert!(!proxies.leave(index));
        assert!(proxies.leave(index));
        proxies.free(index);
        assert_eq!(proxies.lend(index, 0, |_, _| Loan::Original), None);
    }

    #[test]
    fn an_origin_is_that_of_the_port_that_was_asked() {
        let mut proxies = Proxies::<()>::new(8);
        let parent = proxies.take(false, Origin::Unknown, ()).unwrap().index;
        let files = [0, 1].map(|_| proxies.take(false, Origin::Service(1), ()).unwrap().index);
        let opened = proxies.take(false, Origin::Of(files[0]), ()).unwrap().index;
        let stream = proxies.take(false, Origin::Unknown, ()).unwrap().index;
        let mut is_same = |one, other| {
            let mut same = false;
            proxies.lend(one, other, |_, is_same| {
                same = is_same;
                Loan::Proxy
            });
            same
        };
        assert!(is_same(files[0], files[1]) && is_same(opened, files[1]) && is_same(stream, stream));
        assert!(!is_same(stream, files[0]) && !is_same(parent, files[0]) && !is_same(opened, stream) && !is_same(opened, 77));
    }

    #[test]
    fn what_came_for_a_proxy_before_is_not_for_the_next_one() {
        let mut proxies = Proxies::<()>::new(8);
        proxies.take(false, Origin::Unknown, ());
        let first = proxies.take(true, Origin::Unknown, ()).unwrap();
        assert!(proxies.retire(first.word));
        proxies.free(first.index);
        let second = proxies.take(true, Origin::Unknown, ()).unwrap();
        assert_eq!((second.index, second.number), (first.index, 2));
        assert!(!proxies.retire(first.word));
        assert_eq!(proxies.enter(first.word), None);
        assert!(proxies.enter(second.word).is_some());
    }

    #[test]
    fn another_child_has_the_numbers_of_the_first() {
        let mut proxies = Proxies::<()>::new(8);
        let words: Vec<u64> = (0..4).map(|_| proxies.take(false, Origin::Unknown, ()).unwrap().word).collect();
        assert!(proxies.enter(words[2]).is_some());
        assert_eq!(proxies.retire_all(), [0, 1, 3]);
        [0, 1, 3].into_iter().for_each(|index| proxies.free(index));
        assert!(!proxies.begin_again() && proxies.enter(words[0]).is_none());
        assert!(proxies.leave(2));
        proxies.free(2);
        assert!(proxies.begin_again());
        let taken: Vec<Taken> = (0..3).map(|_| proxies.take(false, Origin::Unknown, ()).unwrap()).collect();
        assert_eq!(taken.iter().map(|taken| (taken.index, taken.number)).collect::<Vec<_>>(), [(0, 0), (1, 1), (2, 2)]);
        assert!(words.iter().all(|word| !proxies.has(*word)));
        assert_eq!(proxies.enter(taken[2].word).map(|seen| seen.number), Some(2));
        assert_eq!(proxies.lend(1, 0, |_, _| Loan::Proxy).map(|(seen, _)| seen.number), Some(1));
    }

    #[test]
    fn the_parent_stays_and_strange_words_are_nothing() {
        let mut proxies = Proxies::<()>::new(8);
        let parent = proxies.take(false, Origin::Unknown, ()).unwrap();
        assert_eq!(parent, Taken { index: 0, number: 0, word: 0 });
        assert!(!proxies.retire(0));
        assert!(!proxies.retire(7));
        assert_eq!(proxies.enter(u64::MAX), None);
        assert!(proxies.enter(0).is_some());
    }

    #[test]
    fn a_flood_ends_at_the_capacity() {
        let mut proxies = Proxies::<()>::new(3);
        let words: Vec<u64> = (0..10).filter_map(|_| proxies.take(false, Origin::Unknown, ())).map(|taken| taken.word).collect();
        assert_eq!(words.len(), 3);
        assert!(proxies.retire(words[1]));
        proxies.free(1);
        assert_eq!(proxies.take(true, Origin::Unknown, ()).map(|taken| taken.index), Some(1));
        assert_eq!(proxies.take(true, Origin::Unknown, ()), None);
    }
}
