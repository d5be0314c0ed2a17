//! Messages against a reference model: several threads on one and two CPUs do random things to ports, sets, references and each other; after every step every thread
//! must wait for what the model says, and have been answered what the model says.

mod support;

use nacre_abi::{Call, Code, Rights};
use nacre_core::list;
use nacre_core::machine::{Frame, Physical, thread_page::register};
use nacre_core::object::{self, Port, Receivable, Reference, WaitKind};
use std::collections::VecDeque;
use support::ipc_model::{Action, From, Message, Model, Name, Target, Thread, Wait};
use support::world::{CODE, World};
use support::{Random, check};

const THREADS: usize = 6;
const PORTS: usize = 4;
const SETS: usize = 2;
const SLOTS: usize = 5;
const WORDS: [usize; 6] = [register::RDX, register::R8, register::R9, register::R10, register::R12, register::R13];

struct Test {
    world: World,
    model: Model,
    threads: Vec<u64>,
    buffers: Vec<u64>,
    objects: u64,
    slots: u64,
}

impl Test {
    fn new(cpus: usize) -> Test {
        let world = World::new(cpus);
        world.map_ram();
        let (objects, slots) = (world.page(), world.page());
        (0..SETS as u64).for_each(|set| _ = world.ok(Call::PortSetCreate, &[objects + 0x800 + 0x80 * set]));
        (0..PORTS as u64).for_each(|port| _ = world.ok(Call::PortCreate, &[objects + 0x80 * port, 0x9000 + port, 0]));
        world.ok(Call::ConditionCreate, &[objects + 0xc00]);
        (0..(THREADS * SLOTS) as u64).for_each(|slot| _ = world.ok(Call::ReferenceCreate, &[slots + 64 * slot]));
        let buffers = (0..THREADS).map(|_| world.page()).collect();
        // Root's own thread is number 0; its page cannot be named directly.
        let threads: Vec<u64> = (0..THREADS).map(|number| if number == 0 { 0 } else { world.make_thread(0) }).collect();
        threads[1..].iter().for_each(|thread| _ = world.ok(Call::ThreadStart, &[*thread]));
        world.kick_all();
        let thread = Thread {
            exists: true,
            stopped: false,
            wait: Wait::None,
            at: None,
            message: Message::default(),
            answer: None,
            client: None,
            server: None,
            awaits: false,
            deadline: None,
            references: vec![Target::Null; SLOTS],
            reply_kind: vec![false; SLOTS],
        };
        let model = Model {
            threads: vec![thread; THREADS],
            ports: vec![support::ipc_model::Port { exists: true, ..Default::default() }; PORTS],
            sets: vec![(true, VecDeque::new()); SETS],
            condition: VecDeque::new(),
        };
        Test { world, model, threads, buffers, objects, slots }
    }

    fn thread_at(&self, number: usize) -> Physical {
        if number == 0 { Physical(support::machine::RAM_START + 0x2000) } else { self.world.physical(self.threads[number]) }
    }

    fn view(&self, number: usize) -> object::Thread<'_> {
        self.world.thread(self.thread_at(number))
    }

    fn number_of(&self, at: Physical) -> Option<usize> {
        (0..THREADS).find(|number| self.thread_at(*number) == at)
    }

    fn port_address(&self, port: usize) -> u64 {
        self.objects + 0x80 * port as u64
    }

    fn set_address(&self, set: usize) -> u64 {
        self.objects + 0x800 + 0x80 * set as u64
    }

    fn slot_address(&self, thread: usize, slot: usize) -> u64 {
        self.slots + 64 * (thread * SLOTS + slot) as u64
    }

    fn port_at(&self, port: usize) -> Physical {
        self.world.physical(self.port_address(port))
    }

    /// Something that fits the state that a thread is in, now and then: random choices alone seldom get far.
    fn choose_fitting(&self, me: usize, random: &mut Random) -> Option<Action> {
        let thread = &self.model.threads[me];
        let idle = (1..THREADS).find(|other| !self.model.threads[*other].exists || self.model.threads[*other].stopped);
        let reply = (0..SLOTS).find(|slot| matches!(thread.references[*slot], Target::Reply(_)));
        let set = random.below(SETS as u64) as usize;
        let port = random.below(PORTS as u64) as usize;
        match (random.below(6), thread.client, reply, idle) {
            (0 | 1, Some(_), ..) => Some(Action::ReplyReceive([From::Port(port), From::Set(set)][random.below(2) as usize])),
            (2, Some(_), ..) => Some(Action::Reply),
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
    fn choose(&self, random: &mut Random) -> Action {
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
            28 => Action::Stop(thread, random.once_in(2)),
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

    fn choose_message(&self, random: &mut Random) -> Message {
        let slots = |random: &mut Random, most| (0..random.below(most)).map(|_| random.below(SLOTS as u64) as usize).collect();
        Message {
            label: random.word() & 0xffff_ffff,
            words: std::array::from_fn(|_| random.word()),
            bytes: (0..random.of(&[0, 0, 1, 7, 100])).map(|_| random.below(256) as u8).collect(),
            references: slots(random, 3),
            capacity: random.of(&[0, 8, 128, 128, 128, 128, 128, 128]),
            slots: if random.once_in(6) { slots(random, 2) } else { slots(random, 4).into_iter().chain([0, 4]).collect() },
        }
    }

    /// Puts an action into the registers and memory of a thread.
    fn prepare(&mut self, thread: usize, action: Action, message: &Message, timeout: u64) {
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
            Action::Stop(other, interrupt) => (Call::ThreadStop, vec![self.threads[other], interrupt.into()]),
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
            view.set_register(register::R14, buffer);
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

    fn is_elsewhere(&self, thread: usize, cpu: usize) -> bool {
        let on = self.view(thread).cpu();
        on != 0 && on != cpu as u64 + 1
    }

    fn now(&self) -> u64 {
        self.world.machine().time.get()
    }

    /// What the model makes of an action.
    fn model_act(&mut self, thread: usize, cpu: usize, action: Action, deadline: Option<u64>) {
        self.model.threads[thread].at = Some(action);
        let wrong = |test: &mut Test, code, argument| test.model.finish(thread, code, argument);
        match action {
            Action::Call(name) | Action::Send(name) => self.model_send(thread, action, name, deadline),
            Action::ReceiveReply if self.model.threads[thread].awaits => self.model.wait(thread, Wait::Reply, action, deadline),
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
            Action::Stop(other, interrupt) => {
                let waited = model.threads[other].wait != Wait::None || model.threads[other].awaits;
                model.threads[other].stopped = true;
                if other != thread {
                    model.cancel(other);
                    if interrupt && waited {
                        model.disconnect(other);
                        model.finish(other, Code::Interrupted, 0);
                    }
                }
            }
            Action::Start(other) => model.threads[other].stopped = false,
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
        if self.view(client).cpu() != 0 {
            self.model.client_fail(client);
        } else {
            self.model.reply(thread, client);
        }
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

    /// Enters the kernel; threads that other CPUs had asked to stop do so now.
    fn entering(&mut self, enter: impl FnOnce(&World)) {
        let is_asked = |thread: &usize| self.world.machine().kind(self.thread_at(*thread)) != Frame::PLAIN && self.view(*thread).has(object::Thread::EVICT);
        let asked: Vec<usize> = (0..THREADS).filter(is_asked).collect();
        enter(&self.world);
        for thread in asked {
            if !self.view(thread).has(object::Thread::EVICT) {
                self.model.threads[thread].stopped = true;
            }
        }
    }

    fn pass(&mut self, time: u64) {
        self.entering(|world| world.kick_all());
        self.entering(|world| world.pass(time));
        let now = self.now();
        let mut due: Vec<usize> = (0..THREADS).filter(|thread| self.model.threads[*thread].deadline.is_some_and(|at| at <= now)).collect();
        due.sort_by_key(|thread| self.model.threads[*thread].deadline);
        for thread in due {
            match self.model.threads[thread].wait {
                Wait::Sleep => self.model.finish(thread, Code::Ok, 0),
                Wait::Reply => {
                    self.model.disconnect(thread);
                    self.model.finish(thread, Code::TimedOut, 0);
                }
                _ => self.model.finish(thread, Code::TimedOut, 0),
            }
        }
    }

    fn step(&mut self, random: &mut Random, cpus: usize) -> String {
        let cpu = random.below(cpus as u64) as usize;
        let running = self.world.running(cpu).and_then(|thread| self.number_of(thread.at));
        let Some(thread) = running.filter(|_| !random.once_in(20)) else {
            let time = random.of(&[1, 500, 2000, 20_000_000]);
            self.pass(time);
            return format!("{time} ns pass");
        };
        let (action, timeout) = match self.model.threads[thread].at {
            Some(action) => (action, self.view(thread).register(register::R15)),
            None => {
                let action = self.choose_fitting(thread, random).unwrap_or_else(|| self.choose(random));
                // Root's thread never waits for ever, so that somebody can always go on.
                let timeout = if thread == 0 { 1000 } else { random.of(&[0, 1000, 4000, 4000, 4000, 4000, 4000, 4000]) };
                self.model.threads[thread].message = self.choose_message(random);
                let message = self.model.threads[thread].message.clone();
                self.prepare(thread, action, &message, timeout);
                (action, timeout)
            }
        };
        let text = format!("cpu {cpu} thread {thread}: {action:?} {:x?} timeout {timeout}", self.model.threads[thread].message);
        if self.view(thread).has(object::Thread::EVICT) {
            self.model.threads[thread].at = Some(action);
        } else {
            let deadline = (timeout != 0).then(|| self.now() + timeout);
            self.model_act(thread, cpu, action, deadline);
        }
        self.entering(|world| world.enter(cpu));
        if let Action::Create(other) = action
            && self.model.threads[other].exists
            && self.model.threads[other].at.is_none()
            && self.view(other).register(register::RIP) == 0
        {
            self.view(other).set_register(register::RIP, CODE + 2);
        }
        text
    }

    fn verify(&mut self) {
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

fn run(seed: u64, cpus: usize, steps: u64) {
    let mut test = Test::new(cpus);
    let mut random = Random::new(seed);
    let mut history = VecDeque::new();
    for step in 0..steps {
        let text = test.step(&mut random, cpus);
        history.push_back(text);
        if history.len() > 12 {
            history.pop_front();
        }
        let sound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            test.verify();
            check(&test.world);
        }));
        if let Err(panic) = sound {
            println!("seed {seed}, {cpus} CPUs, step {step}, after:\n{}", Vec::from(history).join("\n"));
            std::panic::resume_unwind(panic);
        }
    }
    let _ = Rights::ALL;
}

#[test]
fn messages_are_as_the_model_says() {
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let first: u64 = number("SEED", 1);
    for seed in first..first + number("SEEDS", 24) {
        run(seed, 1 + (seed % 2) as usize, 1500);
    }
}
