//! References on their way through: those to proxies of ours become their originals, those to other ports become proxies, and all else
//! - regions, spaces, null - passes as it is.

use crate::objects::{Objects, PER_WINDOW};
use crate::proxies::{Proxies, Taken, index_of};
use alloc::boxed::Box;
use nacre_abi::message::MAX_REFERENCES;
use nacre_abi::object::TargetType;
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

/// There are too many proxies, or no memory for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

/// The references of one message.
pub struct Crossing {
    references: [Reference; SLOTS],
    names: [Name; SLOTS],
    after: [After; SLOTS],
    count: usize,
}

/// What translation works on.
#[derive(Clone, Copy)]
pub struct Translator<'a> {
    /// The objects of the proxies.
    pub objects: &'a Objects,
    /// The proxies.
    pub proxies: &'a Lock<Proxies>,
    /// Memory for the objects of more proxies.
    pub more: fn() -> Option<Window>,
}

impl Crossing {
    /// No references.
    pub const NONE: Crossing =
        Crossing { references: [Reference::NONE; SLOTS], names: [Name::Nothing; SLOTS], after: [After::Nothing; SLOTS], count: 0 };

    /// What is sent on.
    pub fn references(&self) -> &[Reference] {
        &self.references[..self.count]
    }

    /// What people see of them.
    pub fn names(&self) -> &[Name] {
        &self.names[..self.count]
    }

    fn push(&mut self, reference: Reference, name: Name, after: After) {
        self.references[self.count] = reference;
        self.names[self.count] = name;
        self.after[self.count] = after;
        self.count += 1;
    }
}

impl Translator<'_> {
    /// Translates what was received in `slots`; `None` if that is nothing. `outward`: a port among it belongs to the child. Every crossing must be finished.
    #[inline]
    pub fn translate(&self, slots: &[Reference], outward: bool) -> Result<Option<Box<Crossing>>, TooMany> {
        if slots.is_empty() { Ok(None) } else { self.translate_some(slots, outward).map(Some) }
    }

    #[cold]
    fn translate_some(&self, slots: &[Reference], outward: bool) -> Result<Box<Crossing>, TooMany> {
        let mut crossing = Box::new(Crossing::NONE);
        for (done, slot) in slots.iter().enumerate() {
            if let Err(refused) = self.add(&mut crossing, *slot, outward) {
                self.finish(crossing);
                destroy(&slots[done..]);
                return Err(refused);
            }
        }
        Ok(crossing)
    }

    fn add(&self, crossing: &mut Crossing, slot: Reference, outward: bool) -> Result<(), TooMany> {
        if let Some(index) = self.objects.index_of(slot) {
            match self.proxies.lock().lend(index) {
                Some(number) => crossing.push(self.objects.original(index), Name::Proxy(number), After::Leave(index, slot)),
                None => crossing.push(slot, Name::Nothing, After::Destroy(slot)),
            }
            return Ok(());
        }
        let kind = slot.get_state().map_or(TargetType::Null as u64, |state| state.target);
        if kind != TargetType::Port as u64 {
            crossing.push(slot, Name::Kind(kind), After::Destroy(slot));
            return Ok(());
        }
        let (taken, handle) = self.make(slot, outward)?;
        crossing.push(handle, Name::Proxy(taken.number), After::Withdraw(taken.index));
        Ok(())
    }

    /// A new proxy for what is in `slot`, and the reference to hand on.
    pub fn make(&self, slot: Reference, outward: bool) -> Result<(Taken, Reference), TooMany> {
        let mut proxies = self.proxies.lock();
        let taken = match proxies.take(outward) {
            Some(taken) => taken,
            None => self.extend(&mut proxies, outward).ok_or(TooMany)?,
        };
        match self.objects.build(taken.index, taken.word, slot) {
            Ok(handle) => Ok((taken, handle)),
            Err(_) => {
                proxies.free(taken.index);
                Err(TooMany)
            }
        }
    }

    /// Room for more proxies is taken; and the first of them.
    #[cold]
    fn extend(&self, proxies: &mut Proxies, outward: bool) -> Option<Taken> {
        if self.objects.is_full() || !self.objects.add((self.more)()?) {
            return None;
        }
        proxies.extend(PER_WINDOW);
        proxies.take(outward)
    }

    /// The message has been sent on, or will not be: what was made for it goes.
    #[cold]
    pub fn finish(&self, crossing: Box<Crossing>) {
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
