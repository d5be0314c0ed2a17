//! Actions as registers and memory, and back: what a thread was answered.

use super::{THREADS, Test, WORDS};
use crate::support::ipc_model::{Action, From, Message, Name, Target, Wait};
use crate::support::world::CODE;
use nacre_abi::Call;
use nacre_abi::message::RECEIVE_ONLY;
use nacre_core::list;
use nacre_core::machine::{Physical, thread_page::register};
use nacre_core::object::{self, Port, Reference, WaitKind};

impl Test {
    /// Puts an action into the registers and memory of a thread.
    pub fn prepare(&mut self, thread: usize, action: Action, message: &Message, timeout: u64) {
        let (port, set) = (|port| self.port_address(port), |set| self.set_address(set));
        let named = |name| match name {
            Name::Port(number) => port(number),
            Name::Slot(slot) => self.slot_address(thread, slot),
        };
        let from = |from| match from {
            From::Port(number) => port(number),
            From::Set(number) => set(number),
        };
        let buffer = self.buffers[thread];
        let (call, arguments) = match action {
            Action::Call(name) => (Call::IpcCall, vec![named(name)]),
            Action::Send(name) => (Call::IpcSend, vec![named(name)]),
            Action::ReceiveReply => (Call::IpcReceiveReply, vec![]),
            Action::Receive(place) => (Call::IpcReceive, vec![from(place)]),
            Action::Reply => (Call::IpcReply, vec![]),
            Action::ReplyReceive(place) => (Call::IpcReplyReceive, vec![from(place)]),
            Action::Detach(slot) => (Call::IpcDetach, vec![self.slot_address(thread, slot)]),
            Action::Notify(number, bits) => (Call::PortNotify, vec![port(number), bits]),
            Action::Stop(other, flags) => (Call::ThreadStop, vec![self.threads[other], flags]),
            Action::Start(other) => (Call::ThreadStart, vec![self.threads[other]]),
            Action::Destroy(other) => (Call::ThreadDestroy, vec![self.threads[other]]),
            Action::Create(other) => (Call::ThreadCreate, vec![self.threads[other], 0]),
            Action::Sleep(time) => (Call::ThreadSleep, vec![time]),
            Action::PortDestroy(number) => (Call::PortDestroy, vec![port(number)]),
            Action::PortCreate(number, into) => (Call::PortCreate, vec![port(number), 0x9000 + number as u64, into.map_or(0, set)]),
            Action::PortSet(number, into, pending) => {
                self.world.write(buffer + 0x600, &[nacre_abi::state::PortState::HEADER, 0x9000 + number as u64, pending, 0]);
                self.world.write(buffer + 0x640, &[into.map_or(0, set)]);
                (Call::PortSetState, vec![port(number), buffer + 0x600, 32, buffer + 0x640])
            }
            Action::SetDestroy(number) => (Call::PortSetDestroy, vec![set(number)]),
            Action::SetCreate(number) => (Call::PortSetCreate, vec![set(number)]),
            Action::Wait => (Call::ConditionWait, vec![self.objects + 0xc00, buffer + 0x700, 0]),
            Action::Signal(count) => (Call::ConditionSignal, vec![self.objects + 0xc00, count]),
            Action::Refer(number, slot) => (Call::PortReference, vec![port(number), self.slot_address(thread, slot), 3]),
        };
        let view = self.view(thread);
        self.world.prepare(view, call, &arguments);
        view.set_register(register::R15, timeout);
        let is_message = call as u64 >= Call::IpcCall as u64 && call as u64 <= Call::IpcReplyReceive as u64;
        if is_message {
            view.set_register(register::RSI, message.label);
            WORDS.iter().zip(message.words).for_each(|(register, word)| view.set_register(*register, word));
            self.write_descriptor(thread, message);
            let sends = !message.bytes.is_empty() || !message.references.is_empty();
            let takes = message.capacity != 0 || !message.slots.is_empty();
            let only = if sends || message.label % 2 == 0 { 0 } else { RECEIVE_ONLY };
            view.set_register(register::R14, if sends || takes { buffer | only } else { 0 });
        }
    }

    fn write_descriptor(&self, thread: usize, message: &Message) {
        let buffer = self.buffers[thread];
        let addresses = |slots: &[usize]| -> Vec<u64> { slots.iter().map(|slot| self.slot_address(thread, *slot)).collect() };
        let sizes = [message.bytes.len() as u64, message.references.len() as u64, message.slots.len() as u64];
        let words = [buffer + 0x200, sizes[0], buffer + 0x401, message.capacity as u64, buffer + 0x40, sizes[1], buffer + 0x80, sizes[2]];
        self.world.write(buffer, &words);
        self.world.write(buffer + 0x40, &addresses(&message.references));
        self.world.write(buffer + 0x80, &addresses(&message.slots));
        for (index, part) in message.bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.world.write(buffer + 0x200 + 8 * index as u64, &[u64::from_le_bytes(word)]);
        }
    }

    pub fn verify(&mut self) {
        for thread in 0..THREADS {
            let answer = self.model.threads[thread].answer.take();
            let it = &self.model.threads[thread];
            if !it.exists {
                continue;
            }
            let view = self.view(thread);
            let wait = match it.wait {
                Wait::None => WaitKind::None,
                Wait::Send(_) => WaitKind::Send,
                Wait::ReceivePort(_) | Wait::ReceiveSet(_) => WaitKind::Receive,
                Wait::Reply => WaitKind::Reply,
                Wait::Condition => WaitKind::Lock,
                Wait::Sleep => WaitKind::Sleep,
            };
            assert!(view.waits_for(wait), "thread {thread} waits for {} instead of {:?}; {it:?}", view.wait(), it.wait);
            assert_eq!(view.has(object::Thread::STOPPED), it.stopped, "thread {thread} stopped");
            assert_eq!(view.register(register::RIP), if it.at.is_some() { CODE } else { CODE + 2 }, "where thread {thread} stands; {it:?}");
            let numbers = [it.server, it.client].map(|other| other.map_or(Physical(0), |other| self.thread_at(other)));
            assert_eq!([view.server(), view.client()], numbers, "whom thread {thread} is connected to");
            if let Some(answer) = answer {
                assert_eq!(nacre_abi::Status(view.register(register::RAX)), answer.status, "status of thread {thread}");
                if let Some((word, info, words)) = answer.received {
                    assert_eq!((view.register(register::RDI), view.register(register::RSI)), (word, info), "what thread {thread} received");
                    let got: Vec<u64> = WORDS.iter().take(words.len()).map(|register| view.register(*register)).collect();
                    assert_eq!(got, words, "words that thread {thread} received");
                    let from = self.world.physical(self.buffers[thread]).0 + 0x401;
                    let byte = |at: u64| (self.world.machine().peek(at & !7) >> (8 * (at % 8))) as u8;
                    assert_eq!((0..answer.bytes.len() as u64).map(|at| byte(from + at)).collect::<Vec<_>>(), answer.bytes);
                }
            }
            for (slot, target) in it.references.iter().enumerate() {
                let reference = Reference::new(self.world.machine(), self.world.physical(self.slot_address(thread, slot)));
                let expected = match target {
                    Target::Null => None,
                    Target::Port(port) => Some(self.port_at(*port)),
                    Target::Reply(client) => Some(self.thread_at(*client)),
                };
                assert_eq!(list::link_target(self.world.machine(), reference.target()), expected, "reference {slot} of thread {thread}");
            }
        }
        for (number, port) in self.model.ports.iter().enumerate().filter(|(_, port)| port.exists) {
            assert_eq!(Port::new(self.world.machine(), self.port_at(number)).pending(), port.pending, "pending bits of port {number}");
        }
    }
}
