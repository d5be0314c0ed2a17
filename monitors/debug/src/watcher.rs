//! Interposer of `debug`: lets all messages pass, and sees which processes begin, keep themselves
//! and end.

use crate::conductor;
use crate::cues;
use crate::debugger::{self, Debugger};
use crate::inferior::Inferior;
use crate::library::is_in_library;
use crate::manifest::MANIFEST;
use crate::processes::{Beginning, Parked};
use crate::rewinder;
use crate::score;
use crate::tape::{self, Tape};
use crate::turn::Turn;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::convert::Infallible;
use nacre_abi::Status;
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_USE};
use nacre_nest::command::{FAILED, complain};
use nacre_nest::host::{Exception, keep_and_watch};
use nacre_nest::interpose::{Arrival, InterposedReply, InterposedRequest, Interposer, ProxyInfo, ReferenceRule, Substitute, report_exception, report_killed};
use nacre_proto::{Errno, parent, process};
use nacre_sys::ipc::Received;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference, Space, Thread};

/// Signal that ends a process in any case.
const KILL: u64 = 9;
/// Number of a process where nobody numbers them.
const ALONE: u32 = 1;

/// The interposer.
pub struct Watcher {
    /// Name of the program, in messages about it.
    pub name: String,
    /// Number and parent port of the first process, if a manager numbers processes.
    first: Lock<Option<(u32, OwnedReference)>>,
    /// The first thread, which does not run before its exceptions come to us.
    parked: Lock<Option<Parked>>,
    /// Makers of processes that have not begun.
    makers: Lock<BTreeMap<u32, u32>>,
    /// Recording that is written or read.
    tape: Option<&'static Lock<Tape>>,
}

/// Part of a request that is kept until its answer comes.
pub struct Asked {
    label: u32,
    /// Number of the process that the port belongs to.
    process: u32,
    keeper: Option<OwnedReference>,
    /// The process is about to begin, with a thread that is parked until then.
    begins: Option<Option<Parked>>,
    /// Place of the message in the recording.
    turn: Option<Turn>,
}

fn passage(arrival: Arrival, process: u32) -> ReferenceRule<u32, Infallible> {
    if arrival.kind == TargetType::Port as u64 { ReferenceRule::Proxy(process) } else { ReferenceRule::Plain }
}

impl Watcher {
    /// Watches over a program.
    pub fn new(name: String, tape: Option<&'static Lock<Tape>>) -> Watcher {
        Watcher { name, tape, first: Lock::new(None), parked: Lock::new(None), makers: Lock::new(BTreeMap::new()) }
    }

    fn first(&self) -> u32 {
        self.first.lock().as_ref().map_or(ALONE, |(number, _)| *number)
    }

    /// Word of the first process's environment.
    fn word(&self) -> u64 {
        let first = self.first();
        debugger::with(|state| state.debugger.word_of(first)).flatten().unwrap_or(0)
    }

    /// Number of the process with a tag.
    fn number(&self, tag: u32) -> u32 {
        if tag == 0 { self.first() } else { tag }
    }

    fn exits(&self, tag: u32, status: u64) {
        let number = self.number(tag);
        debugger::with(|state| state.ended(number, parent::checked_status(status)));
        if number == self.first() {
            self.tape(|tape| tape.ended(parent::checked_status(status)));
            if self.tape.is_some() && !self.keeps_child() {
                self.end_others(number);
            }
        }
    }

    /// The recording ends with its first process: those that are left have nobody to run them.
    fn end_others(&self, first: u32) {
        let others = debugger::with(|state| state.debugger.inferiors.keys().copied().filter(|number| *number != first).collect::<Vec<u32>>());
        for number in others.unwrap_or_default() {
            // One that has ended needs no end.
            let _ = process::kill(Reference::PARENT, number.into(), 0, KILL, 0, 0);
        }
    }

    /// A signal was sent by this message: processes that it has ended are no more.
    fn may_have_killed(&self, turn: &Turn) {
        let lost = if self.keeps_child() {
            self.tape(|tape| tape.losses(turn)).unwrap_or_default()
        } else {
            // A manager ends them before it answers the next question.
            let _ = process::numbers(Reference::PARENT, 0);
            debugger::with(|state| state.debugger.lost()).unwrap_or_default()
        };
        for number in lost {
            self.tape(|tape| tape.lost(turn, number));
            if self.keeps_child() && number == self.first() {
                nacre_rt::exit::exit_by_signal(KILL);
            }
            debugger::with(|state| state.ended(number, nacre_nest::host::KILLED));
        }
    }

    /// A process of a replay says that it ends, or who keeps it: to us, who are its manager.
    fn manages(&self, letter: &mut InterposedRequest<'_, u32>) -> Result<(), Errno> {
        match letter.label {
            parent::exit::LABEL => {
                self.exits(letter.seen.tag, letter.words[0]);
                // It hears of nothing any more.
                Err(Errno::EIO)
            }
            parent::keep::LABEL => {
                letter.answer = Some(Substitute::default());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Calls a function with the recording, if there is one.
    fn tape<T>(&self, what: impl FnOnce(&mut Tape) -> T) -> Option<T> {
        self.tape.map(|tape| what(&mut tape.lock()))
    }

    /// The first thread of a recorded program is the conductor's.
    fn is_conducted(&self, result: Result<(), Status>) {
        if let Err(status) = result {
            nacre_rt::report!("debug: cannot schedule {}: {status:?}", self.name);
        }
    }

    /// Returns true if the process with a tag has begun.
    fn lives(&self, tag: u32) -> bool {
        let number = self.number(tag);
        debugger::with(|state| state.debugger.word_of(number)).flatten().is_some()
    }

    /// A process has begun, and its thread may run.
    fn lets_run(&self, number: u32, parked: Option<Parked>) {
        let Some(parked) = parked else { return };
        let word = debugger::with(|state| state.debugger.word_of(number)).flatten();
        let (Some(word), Some(_)) = (word, self.tape) else { return parked.leave() };
        if self.keeps_child() {
            self.is_conducted(parked.start());
        }
        self.is_conducted(parked.leave_to(|thread| conductor::adopt(thread, word)));
    }

    /// Returns the error of a request that cannot be recorded.
    #[cold]
    fn refused(&self, label: u32, words: &[u64; 6]) -> Option<Errno> {
        let (errno, what) = tape::refusal(label, words)?;
        self.tape(|tape| tape.refuses(what));
        Some(errno)
    }

    /// The first process is there: it is debugged from its first instruction on, if it waits.
    fn add(&self, debugger: &mut Debugger, child: (Space, Thread), keeper: Option<Reference>) -> Result<(), Errno> {
        let first = self.first.lock();
        let (number, port) = first.as_ref().map_or((ALONE, Reference::PARENT), |(number, port)| (*number, port.handle()));
        let mut inferior = Inferior::new(number, child, port, (debugger.set(), &debugger.copier))?;
        // A program of Linux begins in the library.
        if self.tape.is_some() && child.1.get_state().is_ok_and(|state| !is_in_library(state.rip)) {
            // What runs in a monitor has threads of its own, which nobody would conduct.
            complain(MANIFEST.name, &format!("{} is no program of Linux, and cannot be recorded", self.name));
            nacre_rt::exit(FAILED);
        }
        inferior.is_managed = first.is_some();
        if let Some(keeper) = keeper {
            inferior.set_relay(keeper)?;
        }
        if debugger.waits && let Some(address) = inferior.first_stop {
            if !inferior.insert(&debugger.copier, &mut debugger.pages, address) {
                inferior.first_stop = None;
            }
            inferior.is_attached = true;
        } else {
            inferior.first_stop = None;
        }
        if inferior.is_attached || self.tape.is_some() {
            match keeper {
                Some(_) => inferior.take_over()?,
                None => *self.parked.lock() = Some(Parked::new(child.1)?),
            }
        }
        debugger.inferiors.insert(number, inferior);
        Ok(())
    }
}

impl Interposer for Watcher {
    /// Number of the process that a port belongs to; 0 is the first one.
    type Tag = u32;
    type Asked = Asked;
    type Proof = Infallible;
    const ATTENUATES: bool = false;

    fn monitor(&self) -> &'static str {
        MANIFEST.name
    }

    #[inline]
    fn lets_words_pass(&self) -> bool {
        self.tape.is_none()
    }

    fn keeps_child(&self) -> bool {
        // What it asks of a manager is answered by the recording.
        self.tape(|tape| tape.is_replay()).unwrap_or(false)
    }

    fn answers_others(&self) -> bool {
        // Nobody conducts the thread that would ask.
        self.tape.is_none()
    }

    fn random(&self) -> Option<[u8; 16]> {
        self.tape(|tape| tape.random())
    }

    #[inline]
    fn words(&self, seen: &ProxyInfo<u32>, label: u32, words: &[u64; 6]) -> Result<(), Errno> {
        if label == parent::exit::LABEL && !seen.outward {
            self.exits(seen.tag, words[0]);
        }
        Ok(())
    }

    fn is_process(&self, port: Reference, pid: u64) {
        *self.first.lock() = OwnedReference::copy_of(port, REFERENCE_USE).ok().map(|port| (pid as u32, port));
    }

    fn is_made(&self, space: Space, thread: Thread, keeper: Option<Reference>) {
        self.tape(Tape::begins);
        let first = self.first();
        debugger::with(|state| state.debugger.forget_others(first));
        if self.tape.is_some()
            && let Err(status) = tape::hide_time(space)
        {
            nacre_rt::report!("debug: cannot hide the time from {}: {status:?}", self.name);
        }
        let added = debugger::with(|state| self.add(&mut state.debugger, (space, thread), keeper));
        if self.tape.is_some() && keeper.is_some() {
            self.is_conducted(conductor::begin(thread, self.word()));
        }
        if let Some(Err(errno)) = added {
            nacre_rt::report!("debug: cannot debug {}: {errno}", self.name);
        }
    }

    fn is_begun(&self) {
        let number = self.first();
        debugger::with(|state| state.debugger.inferiors.get_mut(&number).map(Inferior::take_over));
        match self.parked.lock().take() {
            Some(parked) if self.tape.is_some() => self.is_conducted(parked.leave_to(|thread| conductor::begin(thread, self.word()))),
            Some(parked) => parked.leave(),
            None => {}
        }
    }

    fn keep(&self, space: Space, keeper: Reference, watcher: Reference) -> Result<(), Status> {
        let number = self.first();
        let kept = debugger::with(|state| state.debugger.inferiors.get_mut(&number).map(|inferior| inferior.set_keeper(keeper)));
        match kept.flatten() {
            Some(Ok(())) => Ok(()),
            _ => keep_and_watch(space, keeper, watcher),
        }
    }

    fn sent(&self, seen: &ProxyInfo<u32>, arrival: Arrival) -> ReferenceRule<u32, Infallible> {
        passage(arrival, seen.tag)
    }

    #[inline]
    fn request(&self, letter: &mut InterposedRequest<'_, u32>) -> Result<Asked, Errno> {
        let mut asked = Asked { label: letter.label, process: letter.seen.tag, keeper: None, begins: None, turn: None };
        if self.tape.is_some() {
            if letter.seen.outward {
                // What others ask of the program is not recorded.
                return Err(Errno::ENOSYS);
            }
            if let Some(errno) = self.refused(letter.label, &letter.words) {
                return Err(errno);
            }
            if letter.label == process::begin::LABEL && self.lives(letter.seen.tag) {
                // Its threads end somewhere in what they do.
                self.tape(|tape| tape.refuses("becomes another one in a new environment, as one with several threads does"));
                return Err(Errno::EAGAIN);
            }
            if self.keeps_child() {
                debugger::with(|state| state.debugger.sends());
            }
            letter.new_ports().for_each(|(number, port)| cues::gives(number, port));
            // Of its own child's keeper a relay hears otherwise.
            if ![parent::exit::LABEL, parent::keep::LABEL].contains(&letter.label) {
                asked.turn = self.tape(|tape| tape.asked(letter));
                asked.turn.iter().for_each(|turn| score::with(|score| score.sends(turn)));
            }
        }
        if self.keeps_child() && !letter.seen.outward && letter.seen.tag != 0 {
            self.manages(letter)?;
        } else if letter.label == parent::exit::LABEL && !letter.seen.outward && self.keeps_child() {
            rewinder::awaits_end()?;
        }
        match letter.label {
            parent::exit::LABEL if !letter.seen.outward => self.exits(letter.seen.tag, letter.words[0]),
            parent::keep::LABEL => asked.keeper = letter.references().first().and_then(|keeper| OwnedReference::copy_of(*keeper, REFERENCE_CONTROL).ok()),
            // What breakpoints stand for is of the old program.
            process::renew::LABEL => {
                let number = self.number(letter.seen.tag);
                debugger::with(|state| state.debugger.is_renewed(number));
            }
            process::begin::LABEL => {
                let number = self.number(letter.seen.tag);
                let maker = self.makers.lock().remove(&number);
                let beginning = Beginning { number, maker, port: letter.original, child: letter.references(), flags: letter.words[0], is_offspring: self.keeps_child() };
                asked.begins = debugger::with(|state| state.debugger.begins(&beginning));
                if self.tape.is_some() {
                    // Threads that the manager makes there would run beside the others.
                    letter.words[2] = 0;
                }
            }
            _ => {}
        }
        Ok(asked)
    }

    #[inline]
    fn arrives(&self, asked: &Asked) {
        asked.turn.iter().for_each(cues::arrives);
    }

    fn returned(&self, asked: &mut Asked, reply: &Received, arrival: Arrival) -> ReferenceRule<u32, Infallible> {
        if asked.label != process::create::LABEL {
            return passage(arrival, asked.process);
        }
        // The port of a new process is that process's parent.
        let made = reply.words[0] as u32;
        self.makers.lock().insert(made, self.number(asked.process));
        passage(arrival, made)
    }

    #[inline]
    fn answered(&self, _: usize, asked: Asked, returned: &Result<InterposedReply<'_>, Status>) {
        if let Some(turn) = asked.turn {
            self.tape(|tape| tape.answered(&turn, returned));
            // Who kills itself has no answer.
            if asked.label == process::kill::LABEL && !matches!(returned, Ok(reply) if reply.label != 0) {
                self.may_have_killed(&turn);
            }
            cues::answered(&turn);
            if let Some(messages) = self.tape(|tape| tape.replayed()).flatten() {
                debugger::with(|state| state.debugger.passed(messages));
            }
        }
        if let Some(parked) = asked.begins {
            let (number, has_failed) = (self.number(asked.process), matches!(returned, Ok(reply) if reply.label != 0));
            debugger::with(|state| state.debugger.begun(number, !has_failed));
            self.lets_run(number, parked.filter(|_| !has_failed || self.tape.is_none()));
        }
        if let (Some(keeper), Ok(InterposedReply { label: 0, .. })) = (asked.keeper, returned) {
            let number = self.number(asked.process);
            debugger::with(|state| state.debugger.inferiors.get_mut(&number).map(|inferior| inferior.is_kept(keeper)));
        }
    }

    fn notified(&self, _: usize, seen: &ProxyInfo<u32>, original: Reference, bits: u64) -> bool {
        if self.tape.is_none() || !seen.outward {
            return true;
        }
        cues::notified(seen.number, original, bits);
        false
    }

    fn exception(&self, _: usize, exception: &Exception) -> u64 {
        report_exception(&self.name, exception);
        self.exits(0, exception.exit_status());
        exception.exit_status()
    }

    fn killed(&self, _: usize) -> u64 {
        self.exits(0, nacre_nest::host::KILLED);
        report_killed(&self.name)
    }

    fn signalled(&self, signal: u64) {
        self.exits(0, 256 + signal);
    }

    fn ended(&self) {}
}
