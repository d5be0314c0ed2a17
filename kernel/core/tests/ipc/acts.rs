//! What the model makes of each action.

use super::{PORTS, Test};
use crate::support::ipc_model::{Action, From, Name, Target, Wait};
use nacre_abi::Code;
use nacre_abi::call::{STOP_INTERRUPT, STOP_UNSERVED};
use nacre_abi::message::FOR_CLIENT;
use nacre_core::list;
use nacre_core::machine::thread_page::register;
use nacre_core::object::{self, Receivable};
use std::collections::VecDeque;

impl Test {
    /// Carries out an action in the model.
    pub fn model_act(&mut self, thread: usize, cpu: usize, action: Action, deadline: Option<u64>) {
        self.model.threads[thread].at = Some(action);
        let wrong = |test: &mut Test, code, argument| test.model.finish(thread, code, argument);
        match action {
            Action::Call(name) | Action::Send(name) => self.model_send(thread, action, name, deadline),
            Action::ReceiveReply => wrong(self, Code::Gone, 0),
            Action::Receive(from) | Action::ReplyReceive(from) => self.model_receive(thread, action, from, deadline),
            Action::Reply => match self.model.threads[thread].client {
                None => wrong(self, Code::NotConnected, 0),
                Some(client) => self.model_reply(thread, client),
            },
            Action::Detach(slot) => match self.model.threads[thread].client.take() {
                None => wrong(self, Code::NotConnected, 0),
                Some(client) => {
                    self.model.threads[client].server = None;
                    self.model.set_reference(thread, slot, Target::Reply(client));
                    wrong(self, Code::Ok, 0);
                }
            },
            Action::Stop(other, _) | Action::Destroy(other) if self.model.threads[other].exists && self.is_elsewhere(other, cpu) => {}
            Action::Sleep(time) if time != 0 => {
                let deadline = Some(self.now() + time);
                self.model.wait(thread, Wait::Sleep, action, deadline);
            }
            Action::Wait => self.model.wait(thread, Wait::Condition, action, deadline),
            _ => {
                let (code, argument) = self.model_simple(thread, action);
                if self.model.threads[thread].exists {
                    self.model.finish(thread, code, argument);
                }
            }
        }
    }

    /// Actions that end at once.
    fn model_simple(&mut self, thread: usize, action: Action) -> (Code, u8) {
        let absent = (Code::NotAnObject, 1);
        let model = &mut self.model;
        match action {
            Action::Notify(port, _) | Action::PortSet(port, ..) | Action::PortDestroy(port) | Action::Refer(port, _) if !model.ports[port].exists => return absent,
            Action::Stop(other, _) | Action::Start(other) | Action::Destroy(other) if !model.threads[other].exists => return absent,
            Action::SetDestroy(set) if !model.sets[set].0 => return absent,
            Action::Create(other) if model.threads[other].exists => return (Code::SlotOccupied, 1),
            Action::PortCreate(port, _) if model.ports[port].exists => return (Code::SlotOccupied, 1),
            Action::SetCreate(set) if model.sets[set].0 => return (Code::SlotOccupied, 1),
            Action::PortCreate(_, Some(set)) if !model.sets[set].0 => return (Code::NotAnObject, 3),
            Action::PortSet(_, Some(set), _) if !model.sets[set].0 => return (Code::NotAnObject, 4),
            Action::Notify(port, bits) => model.notify(port, bits),
            Action::Stop(other, flags) => {
                let waited = model.threads[other].wait != Wait::None || model.threads[other].awaits;
                if flags & STOP_UNSERVED != 0 && other != thread && model.threads[other].awaits && model.is_served(other) {
                    return (Code::Busy, 1);
                }
                model.threads[other].stopped = true;
                if other != thread {
                    model.cancel(other);
                    if flags & STOP_INTERRUPT != 0 && waited {
                        model.client_leaves(other);
                        model.finish(other, Code::Interrupted, 0);
                    }
                }
            }
            Action::Start(other) => {
                let left = self.view(other).register(register::R15);
                let deadline = (left != 0).then(|| self.now() + left);
                self.model.start(other, deadline);
            }
            Action::Destroy(other) => model.thread_end(other),
            Action::Create(other) => (model.threads[other].exists, model.threads[other].stopped) = (true, true),
            Action::PortDestroy(port) => model.port_end(port),
            Action::PortCreate(port, set) => (model.ports[port].exists, model.ports[port].set) = (true, set),
            Action::PortSet(port, set, pending) => {
                (model.ports[port].set, model.ports[port].pending) = (set, 0);
                model.notify(port, pending);
                model.look_again(port);
            }
            Action::SetDestroy(set) => model.set_end(set),
            Action::SetCreate(set) => model.sets[set].0 = true,
            Action::Signal(count) => {
                for _ in 0..count {
                    let Some(waiting) = model.condition.front().copied() else { break };
                    model.finish(waiting, Code::Ok, 0);
                }
            }
            Action::Refer(port, slot) => model.set_reference(thread, slot, Target::Port(port)),
            _ => {}
        }
        (Code::Ok, 0)
    }

    fn model_send(&mut self, thread: usize, action: Action, name: Name, deadline: Option<u64>) {
        let is_call = matches!(action, Action::Call(_));
        let target = match name {
            Name::Port(port) if self.model.ports[port].exists => Target::Port(port),
            Name::Port(_) => return self.model.finish(thread, Code::NotAnObject, 1),
            Name::Slot(slot) => self.model.threads[thread].references[slot],
        };
        match target {
            Target::Null => self.model.finish(thread, Code::NullReference, 1),
            Target::Reply(_) if is_call => self.model.finish(thread, Code::WrongType, 1),
            Target::Reply(client) => self.model_reply(thread, client),
            Target::Port(_) if is_call && self.model.threads[thread].message.label & FOR_CLIENT != 0 && self.model.threads[thread].client.is_none() => {
                self.model.finish(thread, Code::Interrupted, 0)
            }
            Target::Port(port) => {
                if !self.model.send(thread, port, is_call) {
                    self.model.wait(thread, Wait::Send(port), action, deadline);
                } else if self.model.threads[thread].server.is_some() && is_call && self.model.threads[thread].answer.is_none() {
                    self.model.wait(thread, Wait::Reply, Action::ReceiveReply, deadline);
                }
            }
        }
    }

    /// A reply, and the end of the call that gives it.
    fn model_reply(&mut self, thread: usize, client: usize) {
        self.model.reply(thread, client);
        if self.model.threads[thread].answer.is_none() {
            self.model.finish(thread, Code::Ok, 0);
        }
    }

    /// The ports of a set in the order in which the kernel will look at them.
    fn ready_order(&self, set: usize) -> VecDeque<usize> {
        let machine = self.world.machine();
        let anchor = Receivable::new(machine, self.world.physical(self.set_address(set))).ready();
        let (mut ports, mut node) = (VecDeque::new(), list::next(machine, anchor));
        while node != anchor {
            let at = object::port_of_ready_node(node);
            ports.extend((0..PORTS).find(|port| self.port_at(*port) == at));
            node = list::next(machine, node);
        }
        ports
    }

    fn model_receive(&mut self, thread: usize, action: Action, from: From, deadline: Option<u64>) {
        let exists = match from {
            From::Port(port) => self.model.ports[port].exists,
            From::Set(set) => self.model.sets[set].0,
        };
        if !exists {
            return self.model.finish(thread, Code::NotAnObject, 1);
        }
        let mut ready = match from {
            From::Port(port) => VecDeque::from([port]),
            From::Set(set) => self.ready_order(set),
        };
        if let Action::ReplyReceive(_) = action {
            let Some(client) = self.model.threads[thread].client else { return self.model.finish(thread, Code::NotConnected, 0) };
            self.model_reply(thread, client);
            if self.model.threads[thread].answer.take_if(|answer| answer.status.is_ok()).is_none() {
                return;
            }
            // What the reply did may have made more ports ready.
            if let From::Set(set) = from {
                ready.extend((0..PORTS).filter(|port| self.model.ports[*port].set == Some(set) && !ready.contains(port)).collect::<Vec<_>>());
            }
        }
        if let Some(client) = self.model.threads[thread].client {
            self.model.client_fail(client);
        }
        while let Some(port) = ready.pop_front() {
            if !self.model.has_something(port) {
                continue;
            }
            if self.model.take(thread, port) {
                return;
            }
            ready.push_back(port);
        }
        let wait = match from {
            From::Port(port) => Wait::ReceivePort(port),
            From::Set(set) => Wait::ReceiveSet(set),
        };
        self.model.wait(thread, wait, Action::Receive(from), deadline);
    }
}
