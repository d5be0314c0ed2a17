//! A reference model of messages: plain queues and owned values. It knows nothing of CPUs or of who
//! runs; only who waits for what, what every thread's last call answered, and where every reference
//! leads.

use nacre_abi::message::{FOR_CLIENT, Info, NO_REFERENCES};
use nacre_abi::{Code, Status};
use std::collections::VecDeque;

/// Reason why a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    None,
    Send(usize),
    ReceivePort(usize),
    ReceiveSet(usize),
    Reply,
    Condition,
    Sleep,
}

/// A call that a thread makes, with what of it does not stand in [`Thread::message`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Call(Name),
    Send(Name),
    ReceiveReply,
    Receive(From),
    Reply,
    ReplyReceive(From),
    Detach(usize),
    Notify(usize, u64),
    Stop(usize, u64),
    Start(usize),
    Destroy(usize),
    Create(usize),
    Sleep(u64),
    PortDestroy(usize),
    PortCreate(usize, Option<usize>),
    PortSet(usize, Option<usize>, u64),
    SetDestroy(usize),
    SetCreate(usize),
    Wait,
    Signal(u64),
    Refer(usize, usize),
}

/// Way in which a call names a port: directly, or by one of the caller's references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    Port(usize),
    Slot(usize),
}

/// Source from which a call receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    Port(usize),
    Set(usize),
}

/// Target of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Null,
    Port(usize),
    Reply(usize),
}

/// Message of a thread: what it sends, and what it has room for.
#[derive(Clone, Default, Debug)]
pub struct Message {
    pub label: u64,
    pub words: [u64; 6],
    pub bytes: Vec<u8>,
    pub references: Vec<usize>,
    pub capacity: usize,
    pub slots: Vec<usize>,
}

/// Registers after a finished call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub status: Status,
    /// Received message: `rdi`, `rsi`, and as many words as count.
    pub received: Option<(u64, u64, Vec<u64>)>,
    pub bytes: Vec<u8>,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    pub exists: bool,
    pub stopped: bool,
    pub wait: Wait,
    /// The call that it stands at, waiting or not.
    pub at: Option<Action>,
    pub message: Message,
    pub answer: Option<Answer>,
    pub client: Option<usize>,
    pub server: Option<usize>,
    pub awaits: bool,
    pub deadline: Option<u64>,
    pub references: Vec<Target>,
    /// References that were made for a reply stay what they are when that was given.
    pub reply_kind: Vec<bool>,
}

impl Thread {
    fn used_reply(&self, slot: usize) -> bool {
        self.reply_kind[slot]
    }
}

/// A port.
#[derive(Clone, Debug, Default)]
pub struct Port {
    pub exists: bool,
    pub pending: u64,
    pub senders: VecDeque<usize>,
    pub receivers: VecDeque<usize>,
    pub set: Option<usize>,
}

/// Everything.
pub struct Model {
    pub threads: Vec<Thread>,
    pub ports: Vec<Port>,
    pub sets: Vec<(bool, VecDeque<usize>)>,
    pub condition: VecDeque<usize>,
}

/// The server's own word of a port.
pub fn word_of(port: usize) -> u64 {
    0x9000 + port as u64
}

impl Model {
    /// The port's first receiver, or its set's.
    fn receiver_of(&self, port: usize) -> Option<usize> {
        let port = &self.ports[port];
        port.receivers.front().or_else(|| self.sets[port.set?].1.front()).copied()
    }

    fn unqueue(&mut self, thread: usize) {
        let drop = |queue: &mut VecDeque<usize>| queue.retain(|other| *other != thread);
        self.ports.iter_mut().for_each(|port| [&mut port.senders, &mut port.receivers].into_iter().for_each(drop));
        self.sets.iter_mut().for_each(|set| drop(&mut set.1));
        drop(&mut self.condition);
    }

    /// A thread's call is over.
    pub fn finish(&mut self, thread: usize, code: Code, argument: u8) {
        self.answer(thread, Answer { status: Status::argument(code, argument), received: None, bytes: Vec::new() });
    }

    fn answer(&mut self, thread: usize, answer: Answer) {
        self.unqueue(thread);
        let thread = &mut self.threads[thread];
        (thread.wait, thread.at, thread.deadline, thread.answer) = (Wait::None, None, None, Some(answer));
        thread.awaits = false;
    }

    /// A thread's wait is undone: it stands at its call.
    pub fn cancel(&mut self, thread: usize) {
        self.unqueue(thread);
        (self.threads[thread].wait, self.threads[thread].deadline) = (Wait::None, None);
    }

    /// A thread begins to wait.
    pub fn wait(&mut self, thread: usize, wait: Wait, at: Action, deadline: Option<u64>) {
        let it = &mut self.threads[thread];
        (it.wait, it.at, it.deadline) = (wait, Some(at), deadline);
        match wait {
            Wait::Send(port) => self.ports[port].senders.push_back(thread),
            Wait::ReceivePort(port) => self.ports[port].receivers.push_back(thread),
            Wait::ReceiveSet(set) => self.sets[set].1.push_back(thread),
            Wait::Condition => self.condition.push_back(thread),
            _ => {}
        }
    }

    fn is_connected(&self, client: usize) -> bool {
        self.threads[client].server.is_some() || self.threads.iter().any(|thread| thread.references.contains(&Target::Reply(client)))
    }

    /// Ends the debt of a reply to `client`.
    pub fn disconnect(&mut self, client: usize) {
        if let Some(server) = self.threads[client].server.take() {
            self.threads[server].client = None;
        }
        for reference in self.threads.iter_mut().flat_map(|thread| &mut thread.references) {
            if *reference == Target::Reply(client) {
                *reference = Target::Null;
            }
        }
    }

    /// Returns true if a thread stands at a call that it makes for its client.
    fn calls_for_client(&self, thread: usize) -> bool {
        let thread = &self.threads[thread];
        let calls = matches!((thread.wait, thread.at), (Wait::Send(_), Some(Action::Call(_)))) || thread.awaits;
        calls && thread.message.label & FOR_CLIENT != 0
    }

    /// `client` waits no more, nor do those who wait for its sake.
    pub fn client_leaves(&mut self, client: usize) {
        let server = self.threads[client].server;
        self.disconnect(client);
        if let Some(server) = server.filter(|server| self.calls_for_client(*server)) {
            self.client_leaves(server);
            self.finish(server, Code::Interrupted, 0);
        }
    }

    /// Returns true if a thread works for `client`.
    pub fn is_served(&self, client: usize) -> bool {
        self.threads[client].server.is_some_and(|server| !self.calls_for_client(server) || self.is_served(server))
    }

    /// Fails the call of `client`, because its server will not reply.
    pub fn client_fail(&mut self, client: usize) {
        self.disconnect(client);
        if self.threads[client].wait == Wait::Reply {
            self.finish(client, Code::Gone, 0);
        }
    }

    /// Lets a reference lead elsewhere.
    pub fn set_reference(&mut self, thread: usize, slot: usize, target: Target) {
        let old = std::mem::replace(&mut self.threads[thread].references[slot], Target::Null);
        match old {
            Target::Port(port) if !self.threads.iter().any(|thread| thread.references.contains(&Target::Port(port))) => self.notify(port, NO_REFERENCES),
            Target::Reply(client) => self.client_fail(client),
            _ => {}
        }
        self.threads[thread].references[slot] = target;
        self.threads[thread].reply_kind[slot] = matches!(target, Target::Reply(_));
    }

    /// Adds pending bits.
    pub fn notify(&mut self, port: usize, bits: u64) {
        self.ports[port].pending |= bits;
        if self.ports[port].pending != 0
            && let Some(receiver) = self.receiver_of(port)
        {
            self.give_notification(receiver, port);
        }
    }

    fn give_notification(&mut self, receiver: usize, port: usize) {
        let bits = std::mem::take(&mut self.ports[port].pending);
        let received = Some((word_of(port), Info::NOTIFICATION, vec![bits]));
        self.answer(receiver, Answer { status: Status::OK, received, bytes: Vec::new() });
    }

    /// Returns the error if the message of `from` does not fit the room of `to`.
    fn misfit(&self, from: usize, to: usize) -> Option<Code> {
        let (sends, takes) = (&self.threads[from].message, &self.threads[to].message);
        if sends.bytes.len() > takes.capacity {
            return Some(Code::MessageTooLong);
        }
        if sends.references.len() > takes.slots.len() {
            return Some(Code::NoSlots);
        }
        self.sends_reply(from).then_some(Code::Denied)
    }

    /// Returns true if a thread tries to send a reply reference, which is not allowed.
    fn sends_reply(&self, from: usize) -> bool {
        let thread = &self.threads[from];
        thread.message.references.iter().any(|slot| thread.used_reply(*slot))
    }

    /// Moves a message that fits, or as much of a reply as does. What the receiver is answered.
    fn deliver(&mut self, from: usize, to: usize, word: u64, flags: u64, code: Code) {
        self.unqueue(to);
        let sends = self.threads[from].message.clone();
        let takes = self.threads[to].message.clone();
        let bytes = sends.bytes[..sends.bytes.len().min(takes.capacity)].to_vec();
        let mut count = 0;
        for (source, slot) in sends.references.iter().zip(&takes.slots) {
            count += 1;
            if (from, source) != (to, slot) {
                let target = self.threads[from].references[*source];
                self.set_reference(to, *slot, target);
            }
        }
        let info = Info::received(sends.label as u32, bytes.len() as u64, count, flags);
        let status = Status::argument(code, if code == Code::Ok { 0 } else { 9 });
        self.answer(to, Answer { status, received: Some((word, info.0, sends.words.to_vec())), bytes });
    }

    fn connect(&mut self, client: usize, server: usize) {
        self.threads[client].server = Some(server);
        self.threads[client].awaits = true;
        self.threads[server].client = Some(client);
    }

    /// A thread sends to a port; whether it was taken or refused at once.
    pub fn send(&mut self, from: usize, port: usize, is_call: bool) -> bool {
        let Some(to) = self.receiver_of(port) else { return false };
        if let Some(code) = self.misfit(from, to) {
            self.finish(from, code, 9);
            return true;
        }
        self.deliver(from, to, word_of(port), if is_call { Info::NEEDS_REPLY } else { 0 }, Code::Ok);
        if is_call {
            self.connect(from, to);
        } else {
            self.finish(from, Code::Ok, 0);
        }
        true
    }

    /// A server answers a client. If the server itself does something wrong it is told so, and its
    /// call is over.
    pub fn reply(&mut self, server: usize, client: usize) {
        if self.sends_reply(server) {
            return self.finish(server, Code::Denied, 9);
        }
        let code = self.misfit(server, client).unwrap_or(Code::Ok);
        let waiting = self.threads[client].clone();
        self.deliver(server, client, 0, 0, code);
        if !self.is_connected(client) {
            // A reference in the message took the place of the one that was answered by.
            if waiting.wait == Wait::Reply {
                self.finish(client, Code::Gone, 0);
            } else {
                (self.threads[client].at, self.threads[client].answer, self.threads[client].awaits) = (waiting.at, waiting.answer, true);
            }
        }
        self.disconnect(client);
    }

    /// Returns true if something can be received from a port.
    pub fn has_something(&self, port: usize) -> bool {
        self.ports[port].pending != 0 || !self.ports[port].senders.is_empty()
    }

    /// A thread takes what comes first from a port; false if a sender's message did not fit, and so
    /// it got an error.
    pub fn take(&mut self, to: usize, port: usize) -> bool {
        if self.ports[port].pending != 0 {
            self.give_notification(to, port);
            return true;
        }
        let from = self.ports[port].senders[0];
        if let Some(code) = self.misfit(from, to) {
            self.finish(from, code, 9);
            return false;
        }
        let is_call = matches!(self.threads[from].at, Some(Action::Call(_)));
        self.deliver(from, to, word_of(port), if is_call { Info::NEEDS_REPLY } else { 0 }, Code::Ok);
        if is_call {
            let deadline = self.threads[from].deadline;
            self.cancel(from);
            self.wait(from, Wait::Reply, Action::ReceiveReply, deadline);
            self.connect(from, to);
        } else {
            self.finish(from, Code::Ok, 0);
        }
        true
    }

    /// Something has come to a port otherwise than by a meeting.
    pub fn look_again(&mut self, port: usize) {
        while self.has_something(port)
            && let Some(receiver) = self.receiver_of(port)
        {
            self.cancel(receiver);
        }
    }

    /// A thread is destroyed.
    pub fn thread_end(&mut self, thread: usize) {
        self.cancel(thread);
        self.client_leaves(thread);
        if let Some(client) = self.threads[thread].client {
            self.client_fail(client);
        }
        let it = &mut self.threads[thread];
        (it.exists, it.stopped, it.at, it.answer, it.awaits) = (false, true, None, None, false);
    }

    /// A stopped thread may go on; one that awaits a reply waits for it at once, or finds out that
    /// nobody owes it.
    pub fn start(&mut self, thread: usize, deadline: Option<u64>) {
        let it = &mut self.threads[thread];
        if !std::mem::take(&mut it.stopped) || !it.awaits {
            return;
        }
        if self.is_connected(thread) {
            self.wait(thread, Wait::Reply, Action::ReceiveReply, deadline);
        } else {
            self.finish(thread, Code::Gone, 0);
        }
    }

    /// A port is destroyed.
    pub fn port_end(&mut self, port: usize) {
        for reference in self.threads.iter_mut().flat_map(|thread| &mut thread.references) {
            if *reference == Target::Port(port) {
                *reference = Target::Null;
            }
        }
        let old = std::mem::take(&mut self.ports[port]);
        old.senders.into_iter().chain(old.receivers).for_each(|thread| self.finish(thread, Code::Gone, 0));
    }

    /// A set is destroyed.
    pub fn set_end(&mut self, set: usize) {
        self.ports.iter_mut().filter(|port| port.set == Some(set)).for_each(|port| port.set = None);
        let receivers = std::mem::take(&mut self.sets[set].1);
        receivers.into_iter().for_each(|thread| self.finish(thread, Code::Gone, 0));
        self.sets[set].0 = false;
    }
}
