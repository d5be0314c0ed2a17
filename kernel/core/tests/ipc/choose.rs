//! What the threads do next.

use super::{PORTS, SETS, SLOTS, THREADS, Test};
use crate::support::Random;
use nacre_abi::call::{STOP_INTERRUPT, STOP_UNSERVED};
use nacre_abi::message::FOR_CLIENT;
use crate::support::ipc_model::{Action, From, Message, Name, Target};

impl Test {
    /// Something that fits the state that a thread is in, now and then: random choices alone seldom
    /// get far.
    pub fn choose_fitting(&self, me: usize, random: &mut Random) -> Option<Action> {
        let thread = &self.model.threads[me];
        let idle = (1..THREADS).find(|other| !self.model.threads[*other].exists || self.model.threads[*other].stopped);
        let reply = (0..SLOTS).find(|slot| matches!(thread.references[*slot], Target::Reply(_)));
        let set = random.below(SETS as u64) as usize;
        let port = random.below(PORTS as u64) as usize;
        if me == 0 && random.once_in(8) {
            // Somebody may wait for ever.
            return Some(Action::Stop(1 + random.below(THREADS as u64 - 1) as usize, random.of(&[STOP_INTERRUPT, STOP_INTERRUPT | STOP_UNSERVED])));
        }
        match (random.below(7), thread.client, reply, idle) {
            (0 | 1, Some(_), ..) => Some(Action::ReplyReceive([From::Port(port), From::Set(set)][random.below(2) as usize])),
            (2, Some(_), ..) => Some(Action::Reply),
            (6, Some(_), ..) => Some(Action::Call(Name::Port(port))),
            (3, Some(_), ..) => Some(Action::Detach(random.below(SLOTS as u64) as usize)),
            (4, _, Some(slot), _) => Some(Action::Send(Name::Slot(slot))),
            (5, _, _, Some(other)) if self.model.threads[other].exists => Some(Action::Start(other)),
            (5, _, _, Some(other)) => Some(Action::Create(other)),
            _ if !self.model.ports[port].exists => Some(Action::PortCreate(port, None)),
            _ if !self.model.sets[set].0 => Some(Action::SetCreate(set)),
            _ => None,
        }
    }

    /// A random thing to do.
    pub fn choose(&self, random: &mut Random) -> Action {
        let port = random.below(PORTS as u64) as usize;
        let slot = random.below(SLOTS as u64) as usize;
        let thread = 1 + random.below(THREADS as u64 - 1) as usize;
        let set = random.below(SETS as u64) as usize;
        let some_set = [None, Some(set)][random.below(2) as usize];
        let name = if random.once_in(3) { Name::Slot(slot) } else { Name::Port(port) };
        let from = [From::Port(port), From::Set(set)][random.below(2) as usize];
        match random.below(40) {
            0..8 => Action::Call(name),
            8..12 => Action::Send(name),
            12..19 => Action::Receive(from),
            19..22 => Action::Reply,
            22..26 => Action::ReplyReceive(from),
            26 => Action::Detach(slot),
            27 => Action::Notify(port, 1 << random.below(4)),
            28 => Action::Stop(thread, random.below(4)),
            29..31 => Action::Start(thread),
            31 if random.once_in(2) => Action::Destroy(thread),
            31 | 32 => Action::Create(thread),
            33 => Action::Sleep(random.of(&[0, 100, 3000])),
            34 if random.once_in(3) => Action::PortDestroy(port),
            34 => Action::PortCreate(port, some_set),
            35 => Action::PortSet(port, some_set, random.of(&[0, 0, 6])),
            36 if random.once_in(4) => Action::SetDestroy(set),
            36 => Action::SetCreate(set),
            37 => Action::Wait,
            38 => Action::Signal(random.below(3)),
            _ => Action::Refer(port, slot),
        }
    }

    pub fn choose_message(&self, random: &mut Random) -> Message {
        let slots = |random: &mut Random, most| (0..random.below(most)).map(|_| random.below(SLOTS as u64) as usize).collect();
        if random.once_in(3) {
            return Message { label: random.word() & (0xffff_ffff | FOR_CLIENT), words: std::array::from_fn(|_| random.word()), ..Message::default() };
        }
        Message {
            label: random.word() & (0xffff_ffff | FOR_CLIENT),
            words: std::array::from_fn(|_| random.word()),
            bytes: (0..random.of(&[0, 0, 1, 7, 100])).map(|_| random.below(256) as u8).collect(),
            references: slots(random, 3),
            capacity: random.of(&[0, 8, 128, 128, 128, 128, 128, 128]),
            slots: if random.once_in(6) { slots(random, 2) } else { slots(random, 4).into_iter().chain([0, 4]).collect() },
        }
    }
}
