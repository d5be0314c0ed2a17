//! References on their way through: those to proxies of ours become their originals, those to other ports become proxies unless the monitor lets
//! them pass, and all else - regions, spaces, null - passes as it is, if at all.

use super::objects::{Objects, PER_WINDOW};
use super::proxies::{Proxies, Taken, index_of};
use alloc::boxed::Box;
use nacre_abi::message::MAX_REFERENCES;
use nacre_abi::object::TargetType;
use nacre_proto::Errno;
use nacre_sys::lock::Lock;
use nacre_sys::{Reference, Window};

/// Most references of a message, as a number of slots.
pub const SLOTS: usize = MAX_REFERENCES as usize;

/// What people see of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Name {
    /// A proxy's number.
    Proxy(u64),
    /// Another kind of thing.
    Kind(u64),
    /// It could not be looked at.
    #[default]
    Nothing,
}

/// How a reference crosses that leads to no proxy of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage<T> {
    /// As it is: whoever gets it talks past us.
    Direct,
    /// Its place is taken by a proxy with this tag.
    Proxy(T),
    /// Not at all, nor does its message.
    Refused,
}

/// What is to be done with a reference after the message has been sent on.
#[derive(Clone, Copy, Default)]
enum After {
    #[default]
    Nothing,
    /// It went as it was: our copy goes.
    Destroy(Reference),
    /// A new proxy's reference went.
    Withdraw(usize),
    /// The original of this proxy went, in place of the reference.
    Leave(usize, Reference),
}

/// The references of one message.
pub struct Crossing<T> {
    references: [Reference; SLOTS],
    names: [Name; SLOTS],
    tags: [Option<T>; SLOTS],
    after: [After; SLOTS],
    count: usize,
}

/// What translation works on.
pub struct Translator<'a, T> {
    /// The objects of the proxies.
    pub objects: &'a Objects,
    /// The proxies.
    pub proxies: &'a Lock<Proxies<T>>,
    /// Memory for the objects of more proxies.
    pub more: fn() -> Option<Window>,
}

impl<T> Crossing<T> {
    fn new() -> Crossing<T> {
        Crossing {
            references: [Reference::NONE; SLOTS],
            names: [Name::Nothing; SLOTS],
            tags: [const { None }; SLOTS],
            after: [After::Nothing; SLOTS],
            count: 0,
        }
    }

    /// What is sent on.
    pub fn references(&self) -> &[Reference] {
        &self.references[..self.count]
    }

    /// What people see of them.
    pub fn names(&self) -> &[Name] {
        &self.names[..self.count]
    }

    /// The tags of those that lead to proxies.
    pub fn tags(&self) -> &[Option<T>] {
        &self.tags[..self.count]
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
    /// Translates what was received in `slots`; `None` if that is nothing. `outward`: a port among it belongs to the child. `passage` says how the
    /// reference with that number and of that kind crosses. Every crossing must be finished.
    #[inline]
    pub fn translate(
        &self,
        slots: &[Reference],
        outward: bool,
        passage: impl FnMut(usize, u64) -> Passage<T>,
    ) -> Result<Option<Box<Crossing<T>>>, Errno> {
        if slots.is_empty() { Ok(None) } else { self.translate_some(slots, outward, passage).map(Some) }
    }

    #[cold]
    fn translate_some(
        &self,
        slots: &[Reference],
        outward: bool,
        mut passage: impl FnMut(usize, u64) -> Passage<T>,
    ) -> Result<Box<Crossing<T>>, Errno> {
        let mut crossing = Box::new(Crossing::new());
        for (done, slot) in slots.iter().enumerate() {
            if let Err(refused) = self.add(&mut crossing, *slot, outward, |kind| passage(done, kind)) {
                self.finish(crossing);
                destroy(&slots[done..]);
                return Err(refused);
            }
        }
        Ok(crossing)
    }

    fn add(&self, crossing: &mut Crossing<T>, slot: Reference, outward: bool, passage: impl FnOnce(u64) -> Passage<T>) -> Result<(), Errno> {
        if let Some(index) = self.objects.index_of(slot) {
            match self.proxies.lock().lend(index) {
                Some(seen) => {
                    let known = (Name::Proxy(seen.number), Some(seen.tag));
                    crossing.push(self.objects.original(index), known, After::Leave(index, slot));
                }
                None => crossing.push(slot, (Name::Nothing, None), After::Destroy(slot)),
            }
            return Ok(());
        }
        let kind = slot.get_state().map_or(TargetType::Null as u64, |state| state.target);
        match passage(kind) {
            Passage::Proxy(tag) if kind == TargetType::Port as u64 => {
                let (taken, handle) = self.make(slot, outward, tag.clone())?;
                crossing.push(handle, (Name::Proxy(taken.number), Some(tag)), After::Withdraw(taken.index));
            }
            Passage::Direct => crossing.push(slot, (Name::Kind(kind), None), After::Destroy(slot)),
            // Only ports can have proxies.
            Passage::Proxy(_) | Passage::Refused => return Err(Errno::EACCES),
        }
        Ok(())
    }

    /// A new proxy for what is in `slot`, and the reference to hand on. `ENOMEM`: there are too many, or no memory for one.
    pub fn make(&self, slot: Reference, outward: bool, tag: T) -> Result<(Taken, Reference), Errno> {
        let mut proxies = self.proxies.lock();
        let taken = match proxies.take(outward, tag.clone()) {
            Some(taken) => taken,
            None => self.extend(&mut proxies, outward, tag).ok_or(Errno::ENOMEM)?,
        };
        match self.objects.build(taken.index, taken.word, slot) {
            Ok(handle) => Ok((taken, handle)),
            Err(_) => {
                proxies.free(taken.index);
                Err(Errno::ENOMEM)
            }
        }
    }

    /// Room for more proxies is taken; and the first of them.
    #[cold]
    fn extend(&self, proxies: &mut Proxies<T>, outward: bool, tag: T) -> Option<Taken> {
        if self.objects.is_full() || !self.objects.add((self.more)()?) {
            return None;
        }
        proxies.extend(PER_WINDOW);
        proxies.take(outward, tag)
    }

    /// The message has been sent on, or will not be: what was made for it goes.
    #[cold]
    pub fn finish(&self, crossing: Box<Crossing<T>>) {
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

    /// Nobody calls the proxy whose port has this word any more, or nobody answers.
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
