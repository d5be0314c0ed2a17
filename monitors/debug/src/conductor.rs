//! Lets the threads of a recorded program run one at a time, and writes down which when, or follows
//! what is written. A thread runs until it waits, yields, or has to wait for an answer for long.
//!
//! The conductor is the program's scheduler (`thread_donate`): threads run on its time alone. Time
//! is held in the program's space, so the conductor ends waits whose time has passed, too. What one
//! thread does to others, such as waking them, follows from what it does.

use crate::cues;
use crate::debugger;
use crate::halt::{Scheduled, is_of_program};
use crate::lineup::{Lineup, Place, awaits_answer};
use crate::manifest::MANIFEST;
use crate::score::{self, Arrival, Score};
use crate::tape::Tape;
use crate::turn::{Turn, does};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_NOTIFY};
use nacre_abi::waiting;
use nacre_nest::clock::Clock;
use nacre_nest::command::complain;
use nacre_proto::Errno;
use nacre_recording::Switch;
use nacre_rt::thread;
use nacre_sys::ipc::{self, Buffers};
use nacre_sys::lock::Lock;
use nacre_sys::{DonationEnd, FOREVER, OwnedPort, OwnedReference, PortSet, Status, Thread};

/// Time after which a thread is left at its next message, if others could run. Nanoseconds.
const QUANTUM: u64 = 20_000_000;
/// Time after which a thread that sends no message is looked at: it may wait in a loop. In
/// nanoseconds.
const LONG: u64 = 100_000_000;
/// Time for which an answer is waited for while others could run. Nanoseconds.
const PATIENCE: u64 = 300_000;
/// Such a time where all others compute, who would take long. Nanoseconds.
const LONG_PATIENCE: u64 = 10_000_000;
/// Time between two looks at what nobody tells of. Nanoseconds.
pub const AWHILE: u64 = 100_000;
/// Looks at a thread before the next one waits for news.
const MANY_LOOKS: u32 = 100;

/// Parts of the conductor that others need.
pub struct Desk {
    pub port: OwnedPort,
    /// Reference to the port, for threads that it schedules.
    pub reference: OwnedReference,
    pub tape: &'static Lock<Tape>,
    pub clock: Clock,
}

/// Address of the desk, once there is one.
static DESK: Lock<Option<&'static Desk>> = Lock::new(None);

/// Starts the conductor of what a recording has.
pub fn start(tape: &'static Lock<Tape>) -> Result<(), Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let reference = port.new_reference(REFERENCE_ALL)?;
    cues::set_bell(port.new_reference(REFERENCE_NOTIFY)?);
    let desk: &'static Desk = Box::leak(Box::new(Desk { port, reference, tape, clock: Clock::find()? }));
    *DESK.lock() = Some(desk);
    // It serves for as long as this program runs.
    drop(thread::spawn(serve, 0)?);
    Ok(())
}

/// A program begins, perhaps anew, with this thread, which has not been started. `word` is that of
/// its environment.
pub fn begin(first: Thread, word: u64) -> Result<(), Status> {
    let Some(desk) = *DESK.lock() else { return Ok(()) };
    cues::begin(score::messages(desk.tape.lock().switches()));
    first.set_scheduler(desk.reference.handle(), word)
}

/// A process begins beside others, with this thread, which does not run yet.
pub fn adopt(first: Thread, word: u64) -> Result<(), Status> {
    // Its number follows from when it begins, not from when it is announced.
    score::with(|score| score.adopts(word));
    DESK.lock().map_or(Ok(()), |desk| first.set_scheduler(desk.reference.handle(), word))
}

fn serve(_: usize) {
    let Some(desk) = *DESK.lock() else { return };
    let Ok(mut slot) = OwnedReference::null() else { return };
    loop {
        let is_replay = desk.tape.lock().is_replay();
        let mut course = Course { desk, is_replay, generation: score::with(|score| score.generation()), lineup: Lineup::default(), at: 0, slot, start: desk.clock.now(), since: 0, looked: 0, computes_since: 0, halt: None, is_left: true, is_put_off: false, pause: None, paused: BTreeSet::new(), stepped: 0, random: desk.clock.now() | 1 };
        course.run();
        slot = course.slot;
    }
}

/// Course of one run of a program.
pub struct Course {
    pub desk: &'static Desk,
    pub is_replay: bool,
    pub generation: u64,
    pub lineup: Lineup,
    /// Number of switches that were followed.
    pub at: usize,
    /// Place for the reference of an announcement.
    pub slot: OwnedReference,
    /// Time when the program began, and the thread that runs.
    pub start: u64,
    pub since: u64,
    /// Time when it was last looked at whether it waits in a loop.
    pub looked: u64,
    /// Time since when it computes without waiting.
    pub computes_since: u64,
    /// Place where it is to be left.
    pub halt: Option<Switch>,
    /// Another thread is about to run.
    pub is_left: bool,
    /// True if what it computes until then is put off.
    pub is_put_off: bool,
    /// Message at which it is left earlier than it was, since nobody sees what it computes behind
    /// it.
    pub pause: Option<usize>,
    /// Such messages whose threads have not run again.
    pub paused: BTreeSet<usize>,
    /// Time for which threads counted their instructions.
    pub stepped: u64,
    /// State of a generator of random numbers.
    pub random: u64,
}

impl Course {
    /// Runs a program. Returns when it begins anew.
    fn run(&mut self) -> Option<()> {
        let mut current = self.await_ready(0)?;
        loop {
            self.lineup.take(current);
            if core::mem::take(&mut self.is_left) {
                self.begins(current);
            }
            current = match self.halt.take_if(|_| core::mem::take(&mut self.is_put_off)) {
                Some(halt) => self.put_off(current, halt)?,
                None => self.turn(current)?,
            };
        }
    }

    /// Returns `None` if another program runs.
    pub fn check(&mut self) -> Option<()> {
        let (generation, adopted, departed) = score::with(|score| (score.generation(), score.take_adopted(), score.take_departed()));
        (generation == self.generation).then_some(())?;
        adopted.into_iter().for_each(|word| self.lineup.adopt(word));
        departed.into_iter().for_each(|word| self.lineup.depart(word));
        Some(())
    }

    /// Takes what has come to the port, or comes within some time. Returns false if nothing has.
    pub fn takes(&mut self, timeout: u64) -> Option<bool> {
        self.check()?;
        let received = ipc::receive(self.desk.port.handle().address(), Buffers::new(&mut [][..], &[self.slot.handle()]), timeout);
        // Who is announced may have begun meanwhile.
        self.check()?;
        if let Ok(received) = &received
            && received.references() == 1
        {
            if let Some(word) = received.ready() {
                self.lineup.announced(Scheduled { word, reference: self.slot.handle(), number: usize::MAX });
            }
            // The slot is for the next one.
            let _ = self.slot.handle().clear();
        }
        Some(received.is_ok())
    }

    /// Waits until something comes to the port, at most for some time.
    fn receive(&mut self, timeout: u64) -> Option<()> {
        self.takes(timeout).map(drop)
    }

    /// Takes all that has come.
    pub fn drain(&mut self) -> Option<()> {
        while self.takes(1)? {}
        Some(())
    }

    /// Waits until a thread is ready; its number.
    fn await_ready(&mut self, number: usize) -> Option<usize> {
        while self.lineup.place(number) != Place::Ready && !self.lineup.has_gone(number) {
            self.receive(FOREVER)?;
        }
        Some(number)
    }

    /// Gives time to a thread. Returns who is next.
    fn turn(&mut self, current: usize) -> Option<usize> {
        self.check()?;
        // What was handed on was an exception that it had before.
        score::with(|score| score.is_handed_on = false);
        if self.is_replay {
            self.wait_again()?;
        }
        let quantum = if self.is_replay { FOREVER } else { QUANTUM };
        let donated = self.lineup.thread(current).map(|thread| thread.donate(self.desk.port.handle().address(), quantum));
        let Some(Ok(donation)) = donated else {
            self.lineup.set(current, Place::Gone);
            return self.leave(current, Switch::Waits, None);
        };
        match donation.end {
            // What else has come ends the next donation at once.
            DonationEnd::Arrived => self.receive(1)?,
            DonationEnd::Busy => self.receive(AWHILE)?,
            DonationEnd::TimedOut => {
                self.drain()?;
                if self.is_wanted() {
                    score::with(Score::is_due);
                    // One that counts its instructions takes long for them.
                    let long = if self.lineup.is_alone(current) { QUANTUM } else { LONG };
                    let patience = if self.halt.is_none() { long } else { 20 * LONG };
                    if self.desk.clock.now() >= self.looked.saturating_add(patience) {
                        self.looks_for_loop(current)?;
                    }
                }
            }
            DonationEnd::Yielded => {
                self.drain()?;
                self.lineup.put_back(current);
                return self.leave(current, Switch::Yields, None);
            }
            DonationEnd::Blocked => {
                self.lineup.set(current, Place::Blocked);
                return self.blocked(current);
            }
        }
        Some(current)
    }

    /// Returns true if somebody else could run.
    fn is_wanted(&self) -> bool {
        let is_overdue = || self.lineup.first_deadline().is_some_and(|(until, _)| until <= self.desk.clock.now());
        self.lineup.has_ready() || score::with(|score| score.has_arrived()) || is_overdue()
    }

    /// A thread cannot go on. Returns who is next.
    fn blocked(&mut self, current: usize) -> Option<usize> {
        let (since, mut looks) = (self.desk.clock.now(), 0);
        loop {
            self.check()?;
            let member = self.lineup.get(current)?;
            if member.place == Place::Ready {
                if member.limit.is_none() {
                    member.until = 0;
                }
                return Some(current);
            }
            let waiting = member.waiting();
            member.forgets_limit(waiting);
            let Some(waiting) = waiting.filter(|_| member.place != Place::Gone) else {
                member.place = Place::Gone;
                return self.leave(current, Switch::Waits, None);
            };
            match waiting::kind(waiting) {
                _ if member.has_unknown_limit(waiting, self.is_replay) => {
                    // One that has gone is looked at again.
                    let _ = member.look(waiting);
                }
                _ if is_of_program(waiting) => {
                    let limit = member.limit.take().unwrap_or(0);
                    let until = if limit == 0 || self.is_replay { 0 } else { self.desk.clock.now().saturating_add(limit).max(1) };
                    self.lineup.set(current, Place::Waits(until));
                    return self.leave(current, Switch::Waits, None);
                }
                _ if awaits_answer(waiting) => {
                    member.begins_to_await(self.desk.clock.now());
                    let end = member.until;
                    // It does not compute all the time, as one does that stops at each step.
                    (self.looked, self.computes_since) = (self.desk.clock.now(), self.desk.clock.now());
                    let patience = if self.lineup.computes() && !score::with(|score| score.has_arrived()) { LONG_PATIENCE } else { PATIENCE };
                    let now = self.desk.clock.now();
                    let is_late = end != 0 && now >= end;
                    let is_left = !self.is_replay && (is_late || self.is_wanted() && now >= since.saturating_add(patience));
                    if let Some(turn) = score::with(|score| score.leave(is_left)) {
                        if self.pause == Some(turn.number) {
                            return self.pause(current, turn.number);
                        }
                        self.lineup.set(current, Place::Calls(turn.number));
                        return self.leave(current, Switch::Calls(turn.number), Some(&turn));
                    }
                    looks += 1;
                    self.receive(self.patience(looks, end))?;
                }
                waiting::STOPPED if score::with(|score| core::mem::take(&mut score.has_reached)) => return self.has_reached(current),
                // Another thread of the program has it.
                waiting::FAULTS if waiting & waiting::EXCEPTION != 0 && self.lineup.has_ready() && score::with(|score| score.is_handed_on) => {
                    self.lineup.set(current, Place::Waits(0));
                    return self.leave(current, Switch::Waits, None);
                }
                _ => self.receive(AWHILE)?,
            }
        }
    }

    /// Time until one should look again at a thread that awaits an answer, until a time if that is
    /// not 0.
    fn patience(&self, looks: u32, end: u64) -> u64 {
        let others = self.lineup.first_deadline().map(|(until, _)| until);
        match others.into_iter().chain((end != 0).then_some(end)).min() {
            _ if self.is_replay || looks < MANY_LOOKS => AWHILE,
            Some(until) => until.saturating_sub(self.desk.clock.now()).max(AWHILE),
            None => FOREVER,
        }
    }

    /// The thread that ran is left. Returns who is next.
    pub fn leave(&mut self, current: usize, cause: Switch, turn: Option<&Turn>) -> Option<usize> {
        self.is_left = true;
        if !self.is_replay && (self.halt.take().is_some() || matches!(cause, Switch::Steps(_))) {
            self.stepped += self.desk.clock.now().saturating_sub(self.since);
            if let Some(thread) = self.lineup.scheduled(current) {
                debugger::with(|state| state.debugger.counts_no_more(thread));
            }
        }
        if self.is_replay {
            return self.follow(current, cause);
        }
        if let Some(member) = self.lineup.get(current) {
            member.is_amid = matches!(cause, Switch::Steps(_) | Switch::At(..));
        }
        self.desk.tape.lock().switches_to(cause, turn);
        loop {
            self.drain()?;
            while let Some(arrival) = score::with(|score| score.take(None)) {
                if let Arrival::Notice(port, bits) = arrival {
                    self.desk.tape.lock().switches_to(Switch::Notified(port, bits), None);
                }
                self.goes_on(arrival)?;
            }
            while let Some((until, number)) = self.lineup.first_deadline()
                && until <= self.desk.clock.now()
            {
                let now = self.desk.clock.now();
                let member = self.lineup.get(number)?;
                if member.waiting().is_some_and(|waiting| !member.is_waiting(waiting)) {
                    // The program has stopped it, to give it a signal as a rule.
                    member.put_off(now.saturating_add(PATIENCE));
                    continue;
                }
                self.desk.tape.lock().switches_to(Switch::TimedOut(number as u64), None);
                self.time_out(number)?;
            }
            if let Some(next) = self.lineup.next() {
                self.desk.tape.lock().switches_to(Switch::Runs(next as u64), None);
                return Some(next);
            }
            let deadline = self.lineup.first_deadline().map(|(until, _)| until.saturating_sub(self.desk.clock.now()).max(1));
            // One that the program has stopped is not announced again.
            self.receive(if self.lineup.has_ready() { AWHILE } else { deadline.unwrap_or(FOREVER) })?;
        }
    }

    /// Lets what came from outside go on to the program. The thread that awaits it becomes ready.
    fn goes_on(&mut self, arrival: Arrival) -> Option<()> {
        score::release(arrival);
        while !score::with(|score| score.take_done(arrival)) {
            self.receive(AWHILE)?;
        }
        // A thread that was interrupted awaits no answer any more.
        if let Arrival::Answer(message) = arrival
            && let Some(number) = self.lineup.calling(message)
        {
            self.check()?;
            if !self.lineup.has_gone(number) {
                self.lineup.set(number, Place::Blocked);
                self.await_ready(number)?;
            }
        }
        self.drain()
    }

    /// Waits until something is here that the recording has.
    pub fn await_arrival(&mut self, arrival: Arrival) -> Option<()> {
        // A message that was not answered ends when its thread waits no more.
        let never = |message: &usize| self.desk.tape.lock().is_never_answered(*message);
        let unanswered = if let Arrival::Answer(message) = arrival { Some(message).filter(never) } else { None };
        let mut looks = 0;
        while score::with(|score| score.take(Some(arrival))).is_none() {
            self.receive(if unanswered.is_some() { AWHILE } else { FOREVER })?;
            looks += u32::from(unanswered.is_some_and(|message| self.lineup.still_awaits(message)));
            if looks > MANY_LOOKS {
                self.diverge("a thread awaits an answer, where the recording says that it waits no more");
            }
        }
        self.goes_on(arrival)
    }

    fn time_out(&mut self, number: usize) -> Option<()> {
        match self.lineup.get(number)?.time_out() {
            Ok(()) => self.await_ready(number).map(drop),
            Err(_) if self.is_replay => self.diverge(&format!("thread {} does not wait", number + 1)),
            Err(_) => {
                self.lineup.set(number, Place::Gone);
                Some(())
            }
        }
    }

    /// Does what the recording says where the thread that ran was left. Returns who is next.
    fn follow(&mut self, current: usize, cause: Switch) -> Option<usize> {
        match self.next_switch() {
            Some(switch) if switch == cause => {}
            // The program has ended, and its threads are gone.
            None if self.lineup.has_gone(current) => loop {
                self.receive(FOREVER)?;
            },
            other => self.diverge(&format!("thread {}: {}, where the recording says that {}", current + 1, does(cause), other.map_or("no thread does".into(), does))),
        }
        loop {
            match self.next_switch() {
                Some(Switch::Answered(message)) => self.await_arrival(Arrival::Answer(message))?,
                Some(Switch::Notified(port, bits)) => {
                    if !cues::notify(port, bits) {
                        self.diverge(&format!("the program has given nobody its port {port}"));
                    }
                    self.await_arrival(Arrival::Notice(port, bits))?;
                }
                Some(Switch::TimedOut(number)) => {
                    self.check_thread(number)?;
                    self.time_out(number as usize)?;
                }
                Some(Switch::Runs(number)) => {
                    self.check_thread(number)?;
                    if let Place::Calls(message) = self.lineup.place(number as usize)
                        && self.paused.remove(&message)
                    {
                        self.await_arrival(Arrival::Answer(message))?;
                    }
                    if let Some(current) = self.await_woken(number as usize)? {
                        return Some(current);
                    }
                }
                // The program ended while all waited.
                None => self.receive(FOREVER)?,
                Some(other) => self.diverge(&format!("no thread runs, where the recording says that {}", does(other))),
            }
        }
    }

    /// Waits until a thread is ready that others have woken; its number. `None`: it only began its
    /// wait again, as one does that a manager has stopped and let go on, and goes on waiting.
    fn await_woken(&mut self, number: usize) -> Option<Option<usize>> {
        let mut looks = 0;
        while self.lineup.place(number) != Place::Ready {
            self.receive(AWHILE)?;
            let waiting = self.lineup.get(number).and_then(|member| member.waiting());
            // An answer comes to one that calls before it runs, or not at all.
            let calls = matches!(self.lineup.place(number), Place::Calls(_));
            looks += u32::from(calls || waiting.is_none_or(is_of_program));
            if looks > MANY_LOOKS {
                let tape = self.desk.tape.lock();
                if !calls && tape.switches().get(self.at) == Some(&Switch::Waits) && tape.has_come_to(self.at) {
                    self.at += 1;
                    return Some(None);
                }
                let messages = tape.sent();
                drop(tape);
                self.diverge(&format!("behind message {messages}, thread {} waits, where the recording says that it runs", number + 1));
            }
        }
        Some(Some(number))
    }

    /// A thread that the recording has must be there, or the replay is another.
    fn check_thread(&mut self, number: u64) -> Option<()> {
        self.drain()?;
        if self.lineup.place(number as usize) == Place::Gone {
            self.diverge(&format!("there is no thread {}", number + 1));
        }
        Some(())
    }

    fn next_switch(&mut self) -> Option<Switch> {
        let switch = self.desk.tape.lock().switches().get(self.at).copied();
        self.at += 1;
        switch
    }

    pub fn diverge(&self, what: &str) -> ! {
        complain(MANIFEST.name, &format!("the replay differs from the recording: {what}"));
        nacre_rt::exit(crate::turn::DIVERGED)
    }
}
