//! Arrows from calls of a layer to the calls of the layer around it that they became.
//!
//! A call of the inner layer became one of the outer layer if process, thread, operation and texts
//! are the same and its time contains the other's. An arrow is drawn if that is so for these two
//! calls alone: neither contains, or is contained in, another one that would do.

use std::collections::hash_map::DefaultHasher;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::hash::Hasher;

use super::line::Event;

/// Nanoseconds that a call waits for the end of those that may contain it. Calls that take longer
/// are known before. Calls of a file may be out of order by as much.
pub const PATIENCE: u64 = 1_000_000_000;
/// Maximum number of calls of a layer that are kept.
pub const MAX_CALLS: usize = 1 << 20;
/// Maximum number of calls of a layer that can be alike and under way at one moment.
const MAX_OVERLAPS: usize = 1 << 12;

/// A call, without its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Process, thread, operation and texts: equal for the same call in two layers.
    pub key: u64,
    /// Nanoseconds of its start and its end.
    pub start: u64,
    pub end: u64,
}

/// Place of a call in the merged file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub start: u64,
    pub pid: u64,
    pub track: u64,
}

/// Adds a text as far as two layers show it alike: without the numbers of references, which each
/// counts for itself, and without data, of which each may show more.
fn add_text(text: &str, to: &mut DefaultHasher) {
    let end = text.find("\\\"").unwrap_or(text.len());
    let mut parts = text[..end].split('#');
    to.write(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        to.write_u8(b'#');
        to.write(part.trim_start_matches(|letter: char| letter.is_ascii_digit()).as_bytes());
    }
    to.write_u8(0xff);
}

/// Returns the key of a call.
pub fn key(event: &Event<'_>, thread: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(event.pid);
    hasher.write_u64(thread);
    add_text(event.name, &mut hasher);
    add_text(event.message, &mut hasher);
    add_text(event.answer, &mut hasher);
    hasher.finish()
}

/// A call of the inner layer that waits for calls that it contains.
#[derive(Clone, Copy, Debug, Default)]
struct Inner {
    /// Place of the call. A call that was known before has none until it comes.
    place: Option<Place>,
    outer: Place,
    /// Number of calls that it may have become; 2: it is not certain which.
    found: u32,
}

/// Calls of an inner layer and of the layer around it.
#[derive(Debug, Default)]
pub struct Arrows {
    /// Calls by key, class of duration, start and end. The calls of a track do not overlap, so few
    /// of a class can contain a moment.
    inner: BTreeMap<(u64, u32, u64, u64), Inner>,
    /// Classes that are in use, as bits.
    classes: u64,
    /// Calls in the order in which they came.
    inner_order: VecDeque<Call>,
    outer_order: VecDeque<(Call, Place)>,
    /// Latest end of a call.
    now: u64,
    /// Set when there were too many calls at once. No more arrows are drawn then.
    pub is_crowded: bool,
}

/// Class of a duration: calls of class N take less than 2^N nanoseconds, and no less than half.
fn class(call: &Call) -> u32 {
    u64::BITS - (call.end - call.start).leading_zeros()
}

fn place_of(call: &Call) -> (u64, u32, u64, u64) {
    (call.key, class(call), call.start, call.end)
}

impl Arrows {
    /// Begins with the long calls of the inner layer.
    pub fn new(long: &[Call]) -> Arrows {
        let mut made = Arrows::default();
        long.iter().for_each(|call| made.expect(call, None));
        made
    }

    /// Adds a call, or gives one that was known its place. Of two that are alike in all, none is
    /// certain.
    fn expect(&mut self, call: &Call, place: Option<Place>) {
        self.classes |= 1 << class(call);
        match self.inner.entry(place_of(call)) {
            Entry::Vacant(free) => drop(free.insert(Inner { place, ..Inner::default() })),
            Entry::Occupied(mut known) if known.get().place.is_none() && place.is_some() => known.get_mut().place = place,
            Entry::Occupied(mut known) => known.get_mut().found = 2,
        }
    }

    /// Adds a call of the inner layer. `draw` gets the ends of arrows that have become certain.
    pub fn add_inner(&mut self, call: Call, place: Place, draw: impl FnMut(Place, Place)) {
        if !self.is_crowded {
            self.expect(&call, Some(place));
            self.inner_order.push_back(call);
            self.pass(call.end, draw);
        }
    }

    /// Adds a call of the outer layer.
    pub fn add_outer(&mut self, call: Call, place: Place, draw: impl FnMut(Place, Place)) {
        if !self.is_crowded {
            self.outer_order.push_back((call, place));
            self.pass(call.end, draw);
        }
    }

    /// Decides what can be decided now.
    fn pass(&mut self, end: u64, draw: impl FnMut(Place, Place)) {
        self.now = self.now.max(end);
        self.decide(self.now, draw);
        if self.inner_order.len() + self.outer_order.len() > MAX_CALLS {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        *self = Arrows { is_crowded: true, ..Arrows::default() };
    }

    /// Decides what is left.
    pub fn finish(&mut self, draw: impl FnMut(Place, Place)) {
        self.decide(u64::MAX, draw);
    }

    fn decide(&mut self, now: u64, mut draw: impl FnMut(Place, Place)) {
        let is_due = |call: &Call, patience: u64| call.end.saturating_add(patience) < now;
        while let Some((call, place)) = self.outer_order.front().copied().filter(|(call, _)| is_due(call, 2 * PATIENCE)) {
            self.outer_order.pop_front();
            if self.join(&call, place).is_none() {
                return self.give_up();
            }
        }
        while let Some(call) = self.inner_order.front().copied().filter(|call| is_due(call, 4 * PATIENCE)) {
            self.inner_order.pop_front();
            if let Some(Inner { place: Some(place), outer, found: 1 }) = self.inner.remove(&place_of(&call)) {
                draw(place, outer);
            }
        }
    }

    /// Gives a call of the outer layer to those that may have become it. If there are several, it
    /// is not certain for any of them. `None`: there are more than tracks can have.
    fn join(&mut self, call: &Call, place: Place) -> Option<()> {
        let mut found = Vec::new();
        let mut tried = 0;
        for class in (class(call)..u64::BITS).filter(|class| self.classes & 1 << class != 0) {
            let earliest = call.end.saturating_sub(1 << class);
            for (at, _) in self.inner.range((call.key, class, earliest, 0)..=(call.key, class, call.start, u64::MAX)) {
                tried += 1;
                (tried <= MAX_OVERLAPS).then_some(())?;
                if at.3 >= call.end {
                    found.push(*at);
                }
            }
        }
        let count = if found.len() == 1 { 1 } else { 2 };
        for at in found {
            if let Some(inner) = self.inner.get_mut(&at) {
                (inner.found, inner.outer) = (inner.found.saturating_add(count), place);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Event<'_> = Event { name: "file.read", category: "file", start: 0, duration: 0, pid: 5, track: 5, message: "file.read(#12, size=4)", answer: "4 \\\"abcd\\\"" };

    fn drawn(long: &[Call], calls: &[(bool, u64, u64)]) -> Vec<(u64, u64)> {
        let (mut arrows, mut all) = (Arrows::new(long), Vec::new());
        for (is_inner, start, end) in calls {
            let (call, place) = (Call { key: 1, start: *start, end: *end }, Place { start: *start, pid: 1, track: 1 });
            let draw = |from: Place, to: Place| all.push((from.start, to.start));
            if *is_inner { arrows.add_inner(call, place, draw) } else { arrows.add_outer(call, place, draw) }
        }
        arrows.finish(|from, to| all.push((from.start, to.start)));
        all
    }

    #[test]
    fn the_same_call_has_the_same_key() {
        assert_eq!(key(&CALL, 7), key(&Event { message: "file.read(#3, size=4)", answer: "4 \\\"ab\\\"...", track: 9, start: 8, ..CALL }, 7));
        let others = [(Event { message: "file.read(#3, size=5)", ..CALL }, 7), (Event { pid: 6, ..CALL }, 7), (Event { name: "file.write", ..CALL }, 7), (Event { answer: "3 ", ..CALL }, 7), (CALL, 8)];
        assert!(others.iter().all(|(event, thread)| key(event, *thread) != key(&CALL, 7)));
    }

    #[test]
    fn a_call_becomes_the_one_that_it_contains() {
        assert_eq!(drawn(&[], &[(false, 2, 3), (true, 1, 4), (false, 6, 7), (true, 5, 8), (false, 9, 10), (true, 11, 12)]), [(1, 2), (5, 6)]);
    }

    #[test]
    fn what_is_not_certain_has_no_arrow() {
        // Two contain one; one contains two.
        assert_eq!(drawn(&[], &[(false, 3, 4), (true, 2, 5), (true, 1, 6)]), []);
        assert_eq!(drawn(&[], &[(false, 2, 3), (false, 4, 5), (true, 1, 6)]), []);
        // The second has one of its own, and may have become the first's.
        assert_eq!(drawn(&[], &[(false, 4, 5), (true, 3, 6), (false, 8, 9), (true, 2, 10)]), []);
    }

    #[test]
    fn a_call_that_ends_late_is_known_before() {
        let (long, late) = (Call { key: 1, start: 1, end: 100 * PATIENCE }, (true, 90 * PATIENCE, 90 * PATIENCE + 1));
        let calls = [(false, 3, 4), (true, 2, 5), late, (true, long.start, long.end)];
        assert_eq!((drawn(&[long], &calls), drawn(&[], &calls)), (vec![], vec![(2, 3)]));
        let calls = [(false, 2, long.end - 1), (true, long.start, long.end)];
        assert_eq!(drawn(&[long], &calls), [(1, 2)]);
    }

    #[test]
    fn calls_that_are_kept_are_bounded() {
        let mut arrows = Arrows::new(&[]);
        for number in 0..=MAX_CALLS as u64 {
            arrows.add_outer(Call { key: number, start: 1, end: 2 }, Place::default(), |_, _| ());
        }
        assert!(arrows.is_crowded && arrows.outer_order.is_empty());
    }
}
