//! Machines by their names: the part of the guardian that learns them and decides by them. What is
//! believed is the affair of `names`.

use crate::guardian::{Asked, Guardian};
use crate::policy::Decision;
use crate::subject::{NETWORK, Tag};
use alloc::vec::Vec;
use nacre_nest::interpose::{InterposedReply, InterposedRequest};
use nacre_proto::channel::{self, Address};
use nacre_proto::flags::MSG_MORE;
use nacre_sys::Reference;

impl Guardian {
    /// Decides on a call and its subject. A machine is allowed by its address or by one of its
    /// names, and denied by any of them.
    pub(crate) fn decide(&self, label: u32, subject: &[u8]) -> Decision {
        let own = self.policy.decide(label, subject);
        let is_denied = |decision: &Decision| !decision.allowed && decision.rule.is_some();
        let Some(clock) = self.clock.filter(|_| self.policy.is_naming(label) && !is_denied(&own)) else { return own };
        let subjects = self.machines.lock().subjects(subject, clock.now());
        let named: Vec<Decision> = subjects.iter().map(|subject| self.policy.decide_by_name(label, subject)).filter(|decision| decision.rule.is_some()).collect();
        match named.iter().find(|decision| is_denied(decision)) {
            Some(denied) => *denied,
            None if own.allowed => own,
            None => named.first().copied().unwrap_or(own),
        }
    }

    /// Notes a question for a name that the child sends.
    pub(crate) fn note_question(&self, letter: &InterposedRequest<'_, Tag>) {
        let is_send = letter.label == channel::send::LABEL && letter.seen.tag.as_deref().is_some_and(|subject| subject.name == NETWORK);
        if !is_send || self.clock.is_none() {
            return;
        }
        let [flags, name_size, control_size, _, _, part] = letter.words;
        let is_whole = flags & MSG_MORE == 0 && control_size == 0 && part == 0;
        if let Some(data) = letter.bytes().get(name_size as usize..).filter(|_| is_whole) {
            self.machines.lock().asks(data);
        }
    }

    /// Learns from the answer to a request of the child's, if that brings a datagram.
    pub(crate) fn learn(&self, asked: &Asked, returned: &InterposedReply<'_>) {
        if let Some(clock) = self.clock.filter(|_| asked.label == channel::receive::LABEL && asked.subject == NETWORK) {
            self.machines.lock().hears(asked.words[0], &returned.words, &returned.bytes(), clock.now());
        }
    }

    /// Asks the service of the network which addresses are those of the machine and of its wire.
    pub(crate) fn know_network(&self, service: Reference) {
        let card = channel::interface(service).ok();
        let own = card.as_ref().and_then(|card| card.address.to_le_bytes().first_chunk().copied());
        let own_6 = channel::interface_6(service).ok().map(|card| (u128::from(card.high) << 64 | u128::from(card.low)).to_be_bytes());
        *self.own_addresses.lock() = own.map(Address::Four).into_iter().chain(own_6.map(Address::Six)).collect();
        self.machines.lock().set_wire(own.zip(card.map(|card| card.prefix.min(32) as u8)));
    }
}
