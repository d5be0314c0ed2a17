//! Where the conductor leaves a thread that neither waits nor sends: when it computes for long, or,
//! now and then, behind some instructions.

use crate::conductor::{AWHILE, Course};
use crate::debugger;
use crate::halt::{self, Scheduled};
use crate::lineup::Place;
use crate::score::{self, Arrival};
use crate::turn::does;
use alloc::format;
use nacre_recording::Switch;
use nacre_sys::{DonationEnd, FOREVER};

/// Such a time of a thread of which no other thread of its environment could see how far it has
/// come: a replay finds no place then. In nanoseconds.
const ALONE: u64 = 40_000_000;
/// Time after which a thread that sends no message is left in any case. A replay takes long to find
/// the place. Nanoseconds.
const LONGEST: u64 = 300_000_000;
/// Maximum number of instructions that a thread makes before it is left, if they are counted.
const MAX_STEPS: u64 = 700;
/// Time that threads may count instructions in any case, in nanoseconds, and the part of all time.
const LEAST_STEPPED: u64 = 300_000_000;
const PART_STEPPED: u64 = 10;
/// Times that a thread comes to the address where it is to be left, in a replay, before it is left
/// earlier if nobody sees that.
const MANY_VISITS: u32 = 1000;

impl Course {
    /// A thread is about to run.
    pub fn begins(&mut self, current: usize) {
        (self.since, self.halt) = (self.desk.clock.now(), None);
        // What it awaited is over.
        self.lineup.get(current).into_iter().for_each(|member| member.until = 0);
        (self.looked, self.computes_since) = (self.since, self.since);
        let halt = if self.is_replay { self.desk.tape.lock().switches().get(self.at).copied() } else { self.some_steps(current) };
        let Some(thread) = self.lineup.scheduled(current) else { return };
        let is_set = match halt {
            Some(Switch::Steps(steps)) => debugger::with(|state| state.debugger.counts(thread, steps)),
            Some(Switch::At(address, digest)) => {
                let is_unseen = self.is_unseen(current);
                self.is_put_off = is_unseen && self.desk.tape.lock().has_come_to(self.at);
                self.pause = self.desk.tape.lock().last_before(self.at);
                self.pause.iter().for_each(|message| score::with(|score| score.pauses(*message)));
                let needs_place = !self.is_put_off && self.pause.is_none();
                if needs_place { self.awaits(thread, address, digest) } else { Some(Some(())) }
            }
            _ => None,
        };
        self.halt = halt.filter(|_| is_set.flatten().is_some());
        if self.is_replay && self.halt.is_none() && let Some(halt @ (Switch::Steps(_) | Switch::At(..))) = halt {
            self.diverge(&format!("thread {} cannot be stopped where {}", current + 1, does(halt)));
        }
    }

    /// Returns true if nobody sees how far a thread has come at the next step of the course: no
    /// other one of its environment runs before it does, or it runs no more.
    pub fn is_unseen(&self, current: usize) -> bool {
        let tape = self.desk.tape.lock();
        let runs = tape.switches()[self.at.min(tape.switches().len())..].iter().filter_map(|switch| if let Switch::Runs(number) = switch { Some(*number as usize) } else { None });
        let mut others = runs.clone().take_while(|number| *number != current);
        !runs.clone().any(|number| number == current) || others.all(|number| self.lineup.are_strangers(number, current))
    }

    /// Now and then, a thread is left behind some instructions, so that races show.
    pub fn some_steps(&mut self, current: usize) -> Option<Switch> {
        let is_cheap = self.stepped <= LEAST_STEPPED || self.stepped < (self.since - self.start) / PART_STEPPED;
        // A replay may have put off what it computed before.
        let is_amid = self.lineup.get(current).is_none_or(|member| member.is_amid);
        if !self.lineup.has_ready() || !is_cheap || is_amid {
            return None;
        }
        for shift in [13, 7, 17] {
            self.random ^= if shift == 7 { self.random >> shift } else { self.random << shift };
        }
        (self.random % 2 == 0).then_some(Switch::Steps(1 + (self.random >> 8) % MAX_STEPS))
    }

    /// Lets a thread stop at a place, or earlier if nobody sees that.
    fn awaits(&self, thread: Scheduled, address: u64, digest: u64) -> Option<Option<()>> {
        let early = self.is_unseen(thread.number).then_some((MANY_VISITS, self.at));
        let place = halt::Place { address, digest, is_lifted: false, early };
        debugger::with(|state| state.debugger.awaits_place(thread, place))
    }

    /// Leaves a thread at the last message before its place, of which the answer comes when it runs
    /// next. If somebody sees how far it comes, or the answer brings ports, which are numbered in
    /// the order of answers, it goes on to the place, where there is memory now.
    pub fn pause(&mut self, current: usize, message: usize) -> Option<usize> {
        self.pause = None;
        self.lineup.set(current, Place::Calls(message));
        if !self.is_unseen(current) || self.desk.tape.lock().brings_references(message) {
            let (thread, halt) = (self.lineup.scheduled(current)?, self.halt?);
            if let Switch::At(address, digest) = halt
                && self.awaits(thread, address, digest).flatten().is_none()
            {
                self.diverge(&format!("thread {} cannot be stopped where {}", current + 1, does(halt)));
            }
            self.await_arrival(Arrival::Answer(message))?;
            return Some(current);
        }
        let halt = self.halt.take()?;
        self.paused.insert(message);
        self.leave(current, halt, None)
    }

    /// Leaves a thread at once: what it computes and nobody sees, it computes when it runs next.
    pub fn put_off(&mut self, current: usize, halt: Switch) -> Option<usize> {
        self.check()?;
        self.lineup.put_back(current);
        self.leave(current, halt, None)
    }

    /// A thread computes for long: it is left where it is, if that is a loop that waits for others.
    pub fn looks_for_loop(&mut self, current: usize) -> Option<()> {
        let thread = self.lineup.scheduled(current)?;
        let place = debugger::with(|state| {
            state.debugger.counts_no_more(thread);
            state.debugger.place_here(thread)
        });
        let place = place.flatten();
        // Without one, it is looked at again after some time.
        self.halt = place.map(|(address, digest)| Switch::At(address, digest));
        self.looked = self.desk.clock.now();
        Some(())
    }

    /// A thread is where it was to be left. Returns who is next.
    pub fn has_reached(&mut self, current: usize) -> Option<usize> {
        let thread = self.lineup.scheduled(current)?;
        let is_no_loop = !self.is_replay && matches!(self.halt, Some(Switch::At(..))) && !score::with(|score| score.is_loop);
        if is_no_loop {
            // It has gone on from where it was looked at.
            let longest = if self.lineup.is_alone(current) { ALONE } else { LONGEST };
            let is_late = self.desk.clock.now() >= self.computes_since.saturating_add(longest);
            let place = if is_late { debugger::with(|state| state.debugger.stands_at(thread)).flatten() } else { None };
            self.halt = place.map(|(address, digest)| Switch::At(address, digest));
        }
        debugger::with(|state| state.debugger.goes_on(thread));
        self.lineup.set(current, Place::Ready);
        let halt = match self.halt.take() {
            Some(halt) => halt,
            None if is_no_loop => return Some(current),
            None => Switch::Yields,
        };
        self.lineup.put_back(current);
        self.leave(current, halt, None)
    }

    /// Threads that gdb has stopped in their waits, and let go on, make their waits again before
    /// others run, in the order in which they began them.
    pub fn wait_again(&mut self) -> Option<()> {
        let places = debugger::with(|state| state.debugger.take_waiters()).unwrap_or_default();
        if places.is_empty() {
            return Some(());
        }
        self.drain()?;
        for number in self.lineup.waiters(&places) {
            self.run_to_wait(number)?;
            self.lineup.take(number);
            self.lineup.set(number, Place::Waits(0));
        }
        Some(())
    }

    fn run_to_wait(&mut self, number: usize) -> Option<()> {
        while let Some(thread) = self.lineup.thread(number) {
            self.check()?;
            match thread.donate(self.desk.port.handle().address(), FOREVER).map(|donation| donation.end) {
                Ok(DonationEnd::Arrived) => drop(self.takes(1)?),
                Ok(DonationEnd::Busy) => drop(self.takes(AWHILE)?),
                Ok(DonationEnd::TimedOut | DonationEnd::Yielded) => self.drain()?,
                Ok(DonationEnd::Blocked) | Err(_) => break,
            }
        }
        Some(())
    }
}
