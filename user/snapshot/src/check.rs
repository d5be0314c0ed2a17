//! Looks at a snapshot that somebody else may have written, before anything is made of it.

use crate::image::{Counter, DATA, Facts, Port};
use crate::{Object, PAGE, Place, THREAD_WORDS, Trouble, state_words};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_abi::ObjectType;
use nacre_abi::object::TargetType;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::ThreadState;

/// Objects begin at multiples of this.
const ALIGNMENT: u64 = 64;

/// Maximum size of an environment's memory.
const MAX_SIZE: u64 = 1 << 40;

/// Something outside that an environment is linked to, by what it may know of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// A port of the caller's.
    Port,
    /// A region of the environment's own memory.
    Region,
    /// A condition at words of that memory.
    Condition,
}

/// Checks that objects are such as a kernel tells them of an environment of `size` bytes with these
/// objects outside, and takes away rights that it never had.
///
/// What a space, region, mapping or thread belongs to lies inside: otherwise it would be made in
/// the space of whoever restores it.
pub fn check(objects: &mut [Object], running: &[u64], size: u64, outside: &[Outside]) -> Result<(), Trouble> {
    let mut spaces = BTreeSet::new();
    let mut threads = BTreeSet::new();
    for object in objects.iter() {
        let is_inside = object.offset.checked_add(ALIGNMENT).is_some_and(|end| end <= size) && object.offset.is_multiple_of(ALIGNMENT);
        if !is_inside || !is_state(object) {
            return Err(Trouble::Nonsense(object.offset));
        }
        match object.kind {
            ObjectType::Space => drop(spaces.insert(object.offset)),
            ObjectType::Thread => drop(threads.insert(object.offset)),
            _ => {}
        }
    }
    for object in objects.iter_mut() {
        let owner = match object.kind {
            ObjectType::Thread => Some(object.links[0]),
            ObjectType::Region | ObjectType::Mapping => Some(object.links[1]),
            _ => None,
        };
        let has_owner = owner.is_none_or(|owner| matches!(owner, Place::Inside(at) if spaces.contains(&at)));
        let has_links = object.links.iter().all(|link| match link {
            Place::Nothing => true,
            Place::Inside(at) => *at < size,
            Place::Outside(number) => *number < outside.len(),
        });
        if !has_owner || !has_links || !limit_reference(object, outside) {
            return Err(Trouble::Nonsense(object.offset));
        }
    }
    match running.iter().find(|thread| !threads.contains(thread)) {
        Some(thread) => Err(Trouble::Nonsense(*thread)),
        None => Ok(()),
    }
}

/// Checks the facts of an image as a whole: sizes, segments, and objects as [`check`] does.
pub fn check_facts(facts: &mut Facts) -> Result<(), Trouble> {
    let is_size = |size: u64| size.is_multiple_of(PAGE) && size <= MAX_SIZE;
    if !is_size(facts.size) || !is_size(facts.limit) || facts.size > facts.limit || !are_apart(facts) || !facts.counters.iter().all(|counter| is_counter(facts, counter)) {
        return Err(Trouble::Nonsense(0));
    }
    let kinds = kinds(facts);
    check(&mut facts.objects, &facts.running, facts.size, &kinds)
}

/// Returns the kinds of the things outside, in the order of their ports.
fn kinds(facts: &Facts) -> Vec<Outside> {
    let mut kinds = Vec::new();
    for port in facts.ports.iter().flatten() {
        kinds.push(Outside::Port);
        if let Port::Segment(_, _, conditions, ..) = port {
            kinds.push(Outside::Region);
            kinds.extend(conditions.iter().map(|_| Outside::Condition));
        }
    }
    kinds
}

/// Returns true if segments lie inside the environment, none over another, and those in its data
/// hold no objects.
fn are_apart(facts: &Facts) -> bool {
    let mut ranges: Vec<(u64, u64, bool)> = facts.ports.iter().flatten().filter_map(|port| if let Port::Segment(offset, size, _, _, holds_objects) = port { Some((*offset, *size, *holds_objects)) } else { None }).collect();
    ranges.sort_unstable();
    let fits = |(offset, size, holds_objects): &(u64, u64, bool)| {
        let is_data = *offset >= DATA;
        let limit = if is_data { DATA + facts.limit } else { facts.size };
        (offset | size).is_multiple_of(PAGE) && *size > 0 && offset.checked_add(*size).is_some_and(|end| end <= limit) && !(is_data && *holds_objects)
    };
    ranges.iter().all(fits) && ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
}

/// Returns true if the words of a counter lie in a segment for data.
fn is_counter(facts: &Facts, counter: &Counter) -> bool {
    let segment = usize::try_from(counter.segment).ok().and_then(|number| facts.ports.get(number)?.as_ref());
    let Some(Port::Segment(start, size, ..)) = segment else { return false };
    let is_word = |offset: u64| offset.is_multiple_of(8) && offset < *size;
    *start >= DATA && is_word(counter.offset) && is_word(counter.flag)
}

/// Returns true if an object has as many words as its type's state.
fn is_state(object: &Object) -> bool {
    let count = object.words.len();
    match object.kind {
        ObjectType::Thread => (ThreadState::WORDS..=THREAD_WORDS).contains(&count),
        kind => count as u64 == state_words(kind),
    }
}

/// A reference to something outside has no rights beyond those that were given. Returns false if it
/// claims to lead to something of another type.
fn limit_reference(object: &mut Object, outside: &[Outside]) -> bool {
    let Place::Outside(number) = object.links[0] else { return true };
    if object.kind != ObjectType::Reference {
        return true;
    }
    let target = match outside[number] {
        Outside::Port => TargetType::Port,
        Outside::Region => TargetType::Region,
        Outside::Condition => TargetType::Condition,
    };
    object.words[2] &= REFERENCE_USE;
    object.words[1] == target as u64
}

/// Places of an environment at which an image may have pages.
pub struct Places {
    size: u64,
    data: u64,
    at_objects: BTreeSet<u64>,
}

impl Places {
    /// Places of the environment with these facts, which were checked, and these objects.
    pub fn new(facts: &Facts, objects: &[Object]) -> Places {
        let ends = facts.ports.iter().flatten().filter_map(|port| if let Port::Segment(offset, size, ..) = port { offset.checked_sub(DATA)?.checked_add(*size) } else { None });
        Places { size: facts.size, data: ends.max().unwrap_or(0), at_objects: objects.iter().map(|object| object.offset & !(PAGE - 1)).collect() }
    }

    /// Returns the number of bytes from the first one of its data on in which all of it lies.
    pub fn data(&self) -> u64 {
        self.data
    }

    /// Returns true if a page lies inside the environment, and at no object.
    pub fn has(&self, page: u64) -> bool {
        let is_inside = page < self.size || page.checked_sub(DATA).is_some_and(|offset| offset < self.data);
        page.is_multiple_of(PAGE) && is_inside && !self.at_objects.contains(&page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn object(offset: u64, kind: ObjectType, links: [Place; 3]) -> Object {
        Object { offset, kind, words: vec![0; if kind == ObjectType::Thread { ThreadState::WORDS } else { state_words(kind) as usize }], links }
    }

    fn checked(objects: &mut [Object]) -> Result<(), Trouble> {
        check(objects, &[], 0x10000, &[Outside::Port])
    }

    #[test]
    fn all_belongs_to_a_space_of_the_environment() {
        let space = object(0x1000, ObjectType::Space, [Place::Nothing; 3]);
        let inside = Place::Inside(0x1000);
        for kind in [ObjectType::Region, ObjectType::Mapping] {
            let of = |place| object(0x2000, kind, [Place::Nothing, place, Place::Nothing]);
            assert_eq!(checked(&mut [space.clone(), of(inside)]), Ok(()));
            for other in [Place::Nothing, Place::Outside(0), Place::Inside(0x3000)] {
                assert_eq!(checked(&mut [space.clone(), of(other)]), Err(Trouble::Nonsense(0x2000)), "{kind:?}");
            }
        }
        let thread = object(0x2000, ObjectType::Thread, [Place::Nothing; 3]);
        assert_eq!(checked(&mut [space, thread]), Err(Trouble::Nonsense(0x2000)));
    }

    #[test]
    fn places_and_sizes_are_checked() {
        let null = [Place::Nothing; 3];
        for offset in [0xfff8, 0x10000, 33, u64::MAX - 63] {
            assert_eq!(checked(&mut [object(offset, ObjectType::Port, null)]), Err(Trouble::Nonsense(offset)));
        }
        let mut short = object(64, ObjectType::Mutex, null);
        short.words = Vec::new();
        assert_eq!(checked(&mut [short]), Err(Trouble::Nonsense(64)));
        assert_eq!(checked(&mut [object(64, ObjectType::Port, [Place::Outside(1), null[0], null[0]])]), Err(Trouble::Nonsense(64)));
        assert_eq!(check(&mut [], &[64], 4096, &[]), Err(Trouble::Nonsense(64)));
    }

    #[test]
    fn what_is_outside_is_used_and_never_controlled() {
        let mut region = [object(64, ObjectType::Reference, [Place::Outside(0), Place::Nothing, Place::Nothing])];
        (region[0].words[1], region[0].words[2]) = (TargetType::Region as u64, u64::MAX);
        assert_eq!(check(&mut region, &[], 4096, &[Outside::Region]), Ok(()));
        assert_eq!(region[0].words[2], REFERENCE_USE);
        let mut objects = [object(64, ObjectType::Reference, [Place::Outside(0), Place::Nothing, Place::Nothing])];
        objects[0].words[1] = TargetType::Port as u64;
        objects[0].words[2] = u64::MAX;
        assert_eq!(checked(&mut objects), Ok(()));
        assert_eq!(objects[0].words[2], REFERENCE_USE);
        objects[0].words[1] = TargetType::Space as u64;
        assert_eq!(checked(&mut objects), Err(Trouble::Nonsense(64)));
    }

    #[test]
    fn pages_lie_in_segments() {
        let segment = |offset, size, holds_objects| Some(Port::Segment(offset, size, Vec::new(), 0, holds_objects));
        let mut facts = Facts { size: 0x4000, limit: 0x10000, ports: vec![segment(0, 0x4000, true), segment(DATA + 0x1000, 0x2000, false)], ..Facts::default() };
        assert_eq!(check_facts(&mut facts), Ok(()));
        let places = Places::new(&facts, &[object(0x2040, ObjectType::Port, [Place::Nothing; 3])]);
        let wanted = [(0, true), (0x3000, true), (0x2000, false), (0x4000, false), (7, false), (DATA, true), (DATA + 0x2000, true), (DATA + 0x3000, false), (u64::MAX, false)];
        assert_eq!(wanted.map(|(page, _)| (page, places.has(page))), wanted);
        for wrong in [segment(DATA + 0x10000, 0x1000, false), segment(DATA, 0x1000, true), segment(DATA + 0x2000, 0x2000, false), segment(u64::MAX - 0xfff, 0x1000, false)] {
            facts.ports.push(wrong);
            assert_eq!(check_facts(&mut facts), Err(Trouble::Nonsense(0)));
            facts.ports.pop();
        }
    }

    #[test]
    fn counters_are_words_of_data() {
        let segment = |offset| Some(Port::Segment(offset, 0x1000, Vec::new(), 0, false));
        let ports = vec![None, segment(0), segment(DATA), Some(Port::Parent)];
        let counted = |segment, offset, flag| {
            let counter = Counter { segment, offset, flag, told: (Place::Nothing, 1), speed: 1, is_asked: false };
            check_facts(&mut Facts { size: 0x1000, limit: 0x10000, ports: ports.clone(), counters: vec![counter], ..Facts::default() })
        };
        assert_eq!((counted(2, 0xff8, 0), counted(2, 96, 112)), (Ok(()), Ok(())));
        for (segment, offset, flag) in [(0, 0, 8), (1, 0, 8), (3, 0, 8), (4, 0, 8), (u64::MAX, 0, 8), (2, 4, 8), (2, 8, 0x1000), (2, u64::MAX - 7, 8)] {
            assert_eq!(counted(segment, offset, flag), Err(Trouble::Nonsense(0)), "{segment} {offset} {flag}");
        }
    }
}
