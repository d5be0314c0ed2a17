//! References on their way through: those to proxies of ours become their originals, those to other
//! ports become proxies unless the monitor lets them pass, and all else - regions, spaces, null -
//! passes as it is, if at all.
//!
//! In an attenuating relay a proxy crosses as a proxy. Its original takes its place in two cases
//! alone. The first is a proxy of the child's own port that comes home. The second is a request
//! whose server looks at the original during that call, and keeps nothing. So no original reaches a
//! party that could hand it back to the child.

use super::objects::{Objects, SIZE};
use super::proxies::{Loan, Origin, Proxies, Taken, index_of};
use alloc::boxed::Box;
use nacre_abi::message::MAX_REFERENCES;
use nacre_abi::object::TargetType;
use nacre_abi::state::ReferenceState;
use nacre_proto::Errno;
use nacre_proto::reference::Ref;
use nacre_sys::lock::Lock;
use nacre_sys::{Reference, Window};

/// Maximum number of references of a message, as a number of slots.
pub const SLOTS: usize = MAX_REFERENCES as usize;

/// Name of a reference, for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Name {
    /// A proxy's number.
    Proxy(u64),
    /// Another kind of thing.
    Kind(u64),
    /// The reference could not be looked at.
    #[default]
    Nothing,
}

/// Way in which a reference crosses that leads to no proxy of this monitor. A port crosses as it is
/// by a `P` alone, the monitor's proof that nothing which can be asked there is denied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceRule<T, P> {
    /// As it is, since it is no port.
    Plain,
    /// A port as it is: the receiver talks past us.
    Open(P),
    /// A proxy with this tag takes its place.
    Proxy(T),
    /// Neither the reference nor its message crosses.
    Refused,
}

/// A reference that a message brought.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Number of the reference among the message's references.
    pub number: usize,
    /// Number of the type that it leads to.
    pub kind: u64,
    /// Declared kind of the reference; none where the monitor does not attenuate.
    pub declared: Option<Ref>,
    /// The reference itself.
    pub reference: Reference,
}

/// Action on a reference after the message has been sent on.
#[derive(Clone, Copy, Default)]
enum After {
    #[default]
    Nothing,
    /// The reference went as it was: the monitor destroys its copy.
    Destroy(Reference),
    /// A new proxy's reference went.
    Withdraw(usize),
    /// The original of this proxy went, in place of the reference.
    Leave(usize, Reference),
}

/// The references of one message.
pub struct ReferenceTranslation<T> {
    references: [Reference; SLOTS],
    names: [Name; SLOTS],
    tags: [Option<T>; SLOTS],
    after: [After; SLOTS],
    count: usize,
}

/// State that translation works on.
pub struct Translator<'a, T> {
    /// The objects of the proxies.
    pub objects: &'a Objects,
    /// The proxies.
    pub proxies: &'a Lock<Proxies<T>>,
    /// Memory for the objects of more proxies.
    pub more: fn(u64) -> Option<Window>,
    /// The monitor's proxies allow less than their originals: see the head of this file.
    pub attenuates: bool,
}

/// Direction of a message, and the place where it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The child sends the message, so a port among its references belongs to the child.
    pub outward: bool,
    /// The message is the reply to a request.
    pub is_reply: bool,
    /// Index of the proxy that the request came through.
    pub asked: usize,
    /// The request looks for the service with this number at the parent.
    pub service: Option<u64>,
    /// The reference is a keeper: the kernel calls it, which a proxy could not answer.
    pub is_keeper: bool,
}

impl Way {
    /// Returns the part of a proxy of ours that crosses in an attenuating relay. Originals go home
    /// to the child, or to a server that looks at an object of its own during the call.
    pub fn loan(self, declared: Option<Ref>, is_childs: bool, is_same_origin: bool) -> Loan {
        match declared {
            Some(Ref::Peer(_) | Ref::Kept(_) | Ref::Own(_) | Ref::Found(_)) if is_childs && !self.outward => Loan::Original,
            Some(Ref::Peer(_)) if is_childs || !self.outward => Loan::Proxy,
            Some(Ref::Peer(_)) if is_same_origin => Loan::Original,
            // The server would refuse the proxy, too, and the monitor could not judge what is
            // asked.
            Some(Ref::Peer(_)) => Loan::Nothing,
            Some(Ref::Kept(_) | Ref::Own(_) | Ref::Found(_)) => Loan::Proxy,
            _ => Loan::Nothing,
        }
    }

    /// Origin of the original of a new proxy.
    fn origin(self, declared: Option<Ref>) -> Origin {
        match (declared, self.service) {
            (Some(Ref::Own(_)), _) => Origin::Of(self.asked),
            (Some(Ref::Found(_)), Some(service)) => Origin::Service(service),
            _ => Origin::Unknown,
        }
    }

    /// Returns true if a reference of this state, which leads to no port, is what was declared.
    fn takes(self, declared: Option<Ref>, state: &ReferenceState) -> bool {
        let is = |wanted: TargetType| state.target == wanted as u64;
        let given = self.outward && !self.is_reply;
        let brought = !self.outward && self.is_reply;
        match declared {
            _ if is(TargetType::Null) => true,
            Some(Ref::Space) => given && is(TargetType::Space),
            Some(Ref::Thread) => given && is(TargetType::Thread),
            Some(Ref::Condition) => brought && is(TargetType::Condition),
            Some(Ref::Region(most)) => brought && is(TargetType::Region) && state.count & !most.0 == 0,
            _ => false,
        }
    }
}

impl<T> ReferenceTranslation<T> {
    fn new() -> ReferenceTranslation<T> {
        ReferenceTranslation {
            references: [Reference::NONE; SLOTS],
            names: [Name::Nothing; SLOTS],
            tags: [const { None }; SLOTS],
            after: [After::Nothing; SLOTS],
            count: 0,
        }
    }

    /// Returns the references that are sent on.
    pub fn references(&self) -> &[Reference] {
        &self.references[..self.count]
    }

    /// Returns names of the references, for people.
    pub fn names(&self) -> &[Name] {
        &self.names[..self.count]
    }

    /// The tags of those that lead to proxies.
    pub fn tags(&self) -> &[Option<T>] {
        &self.tags[..self.count]
    }

    /// The proxies that were made for references of this message: their numbers, and references.
    pub fn new_ports(&self) -> impl Iterator<Item = (u64, Reference)> {
        (0..self.count).filter_map(|at| match (self.after[at], self.names[at]) {
            (After::Withdraw(_), Name::Proxy(number)) => Some((number, self.references[at])),
            _ => None,
        })
    }

    fn push(&mut self, reference: Reference, (name, tag): (Name, Option<T>), after: After) {
        self.references[self.count] = reference;
        self.names[self.count] = name;
        self.tags[self.count] = tag;
        self.after[self.count] = after;
        self.count += 1;
    }
}

impl<T: Clone + Default> Translator<'_, T> {
    /// Translates what was received in `slots`; `None` if that is nothing. `declared` tells the
    /// declared kind of the reference with a number, and `passage` how a reference crosses. Every
    /// crossing must be finished.
    #[inline]
    pub fn translate<P>(
        &self,
        slots: &[Reference],
        way: Way,
        declared: impl Fn(usize) -> Option<Ref>,
        passage: impl FnMut(Arrival) -> ReferenceRule<T, P>,
    ) -> Result<Option<Box<ReferenceTranslation<T>>>, Errno> {
        if slots.is_empty() { Ok(None) } else { self.translate_some(slots, way, declared, passage).map(Some) }
    }

    #[cold]
    fn translate_some<P>(
        &self,
        slots: &[Reference],
        way: Way,
        declared: impl Fn(usize) -> Option<Ref>,
        mut passage: impl FnMut(Arrival) -> ReferenceRule<T, P>,
    ) -> Result<Box<ReferenceTranslation<T>>, Errno> {
        let mut crossing = Box::new(ReferenceTranslation::new());
        for (done, slot) in slots.iter().enumerate() {
            if let Err(refused) = self.add(&mut crossing, way, (done, *slot, declared(done)), &mut passage) {
                self.finish(crossing);
                destroy(&slots[done..]);
                return Err(refused);
            }
        }
        Ok(crossing)
    }

    fn add<P>(
        &self,
        crossing: &mut ReferenceTranslation<T>,
        way: Way,
        (number, slot, declared): (usize, Reference, Option<Ref>),
        passage: impl FnOnce(Arrival) -> ReferenceRule<T, P>,
    ) -> Result<(), Errno> {
        if let Some(index) = self.objects.index_of(slot) {
            return self.add_proxy(crossing, way, (index, slot, declared));
        }
        let state = slot.get_state().unwrap_or_default();
        let is_port = state.target == TargetType::Port as u64;
        let declares_port = matches!(declared, Some(Ref::Peer(_) | Ref::Kept(_) | Ref::Own(_) | Ref::Found(_)));
        match is_port {
            true if way.is_keeper => {
                crossing.push(slot, (Name::Kind(state.target), None), After::Destroy(slot));
                return Ok(());
            }
            true if self.attenuates && !declares_port => return Err(Errno::EACCES),
            false if self.attenuates && !way.takes(declared, &state) => return Err(Errno::EACCES),
            false if self.attenuates => {
                crossing.push(slot, (Name::Kind(state.target), None), After::Destroy(slot));
                return Ok(());
            }
            _ => {}
        }
        match passage(Arrival { number, kind: state.target, declared, reference: slot }) {
            ReferenceRule::Proxy(tag) if is_port => {
                let (taken, handle) = self.make((slot, state.rights), way.outward, way.origin(declared), tag.clone())?;
                crossing.push(handle, (Name::Proxy(taken.number), Some(tag)), After::Withdraw(taken.index));
            }
            ReferenceRule::Open(_) => crossing.push(slot, (Name::Kind(state.target), None), After::Destroy(slot)),
            ReferenceRule::Plain if !is_port => crossing.push(slot, (Name::Kind(state.target), None), After::Destroy(slot)),
            // Only ports can have proxies.
            ReferenceRule::Proxy(_) | ReferenceRule::Plain | ReferenceRule::Refused => return Err(Errno::EACCES),
        }
        Ok(())
    }

    fn add_proxy(&self, crossing: &mut ReferenceTranslation<T>, way: Way, (index, slot, declared): (usize, Reference, Option<Ref>)) -> Result<(), Errno> {
        let judge = |is_childs, is_same| if self.attenuates { way.loan(declared, is_childs, is_same) } else { Loan::Original };
        let lent = self.proxies.lock().lend(index, way.asked, judge);
        match lent {
            Some((_, Loan::Nothing)) => return Err(Errno::EXDEV),
            Some((seen, loan)) => {
                let known = (Name::Proxy(seen.number), Some(seen.tag));
                match loan {
                    Loan::Original => crossing.push(self.objects.original(index), known, After::Leave(index, slot)),
                    _ => crossing.push(slot, known, After::Destroy(slot)),
                }
            }
            None => crossing.push(slot, (Name::Nothing, None), After::Destroy(slot)),
        }
        Ok(())
    }

    /// A new proxy for what is in `slot`, a reference with `rights`, and the reference to hand on.
    /// `ENOMEM`: there are too many, or no memory for one.
    pub fn make(&self, (slot, rights): (Reference, u64), outward: bool, origin: Origin, tag: T) -> Result<(Taken, Reference), Errno> {
        let mut proxies = self.proxies.lock();
        let taken = match proxies.take(outward, origin, tag.clone()) {
            Some(taken) => taken,
            None => self.extend(&mut proxies, outward, origin, tag).ok_or(Errno::ENOMEM)?,
        };
        match self.objects.build(taken.index, taken.word, (slot, rights)) {
            Ok(handle) => Ok((taken, handle)),
            Err(_) => {
                proxies.free(taken.index);
                Err(Errno::ENOMEM)
            }
        }
    }

    /// Room for more proxies is taken; and the first of them.
    #[cold]
    fn extend(&self, proxies: &mut Proxies<T>, outward: bool, origin: Origin, tag: T) -> Option<Taken> {
        let proxies_more = self.objects.next_window()?;
        if !self.objects.add((self.more)(proxies_more as u64 * SIZE)?) {
            return None;
        }
        proxies.extend(proxies_more);
        proxies.take(outward, origin, tag)
    }

    /// The message has been sent on, or will not be: what was made for it goes.
    #[cold]
    pub fn finish(&self, crossing: Box<ReferenceTranslation<T>>) {
        for after in &crossing.after[..crossing.count] {
            match *after {
                After::Nothing => {}
                After::Destroy(slot) => destroy(&[slot]),
                After::Withdraw(index) => self.objects.withdraw(index),
                After::Leave(index, slot) => {
                    destroy(&[slot]);
                    self.leave(index);
                }
            }
        }
    }

    /// A message has been carried through proxy `index`, or its original was lent.
    pub fn leave(&self, index: usize) {
        let mut proxies = self.proxies.lock();
        if proxies.leave(index) {
            self.objects.dismantle(index);
            proxies.free(index);
        }
    }

    /// Retires the proxy whose port has this word: nobody calls it any more, or nobody answers.
    pub fn retire(&self, word: u64) {
        let mut proxies = self.proxies.lock();
        if proxies.retire(word) {
            self.objects.dismantle(index_of(word));
            proxies.free(index_of(word));
        }
    }
}

/// Destroys what is in slots for received references; empty ones are left alone.
pub fn destroy(slots: &[Reference]) {
    for slot in slots {
        // There may be nothing in it.
        let _ = slot.destroy();
    }
}

#[cfg(test)]
#[path = "reference_translation_tests.rs"]
mod tests;
