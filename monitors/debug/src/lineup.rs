//! Threads of a recorded program as their scheduler knows them.

use crate::debugger;
use crate::halt::{Scheduled, is_of_program};
use crate::threads::Located;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_abi::state::ThreadState;
use nacre_abi::{Code, PAGE_SIZE, Status, waiting};
use nacre_sys::{OwnedReference, Reference, Thread};

/// Size of the kernel's `syscall` instruction.
const CALL_SIZE: u64 = 2;

/// State of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The thread can run, or runs.
    Ready,
    /// The thread cannot go on: it will be announced.
    Blocked,
    /// The thread waits for another one of the program, at most until a time (0: for ever).
    Waits(u64),
    /// The thread awaits the answer to a message, and others run meanwhile.
    Calls(usize),
    /// The thread has gone.
    Gone,
}

/// A thread.
pub struct Member {
    reference: OwnedReference,
    /// Word of its process's environment.
    word: u64,
    /// Number that the debugger's list of threads knows it by.
    slot: u64,
    /// Address of the object in our own space.
    home: u64,
    pub place: Place,
    /// Number of its last wait, among those of all threads.
    wait: u64,
    /// True if it was left in the middle of what it computes.
    pub is_amid: bool,
    /// Nanoseconds that the wait takes at most which it is about to make again.
    pub limit: Option<u64>,
    /// Time until which it awaits an answer at most; 0: for ever.
    pub until: u64,
}

/// The threads, numbered from 0 in the order in which they began, and those that could run.
#[derive(Default)]
pub struct Lineup {
    members: Vec<Member>,
    ready: VecDeque<usize>,
    /// Number of waits so far.
    waits: u64,
}

/// Returns true if a thread that waits so has sent a message, or is about to.
pub fn awaits_answer(waiting: u64) -> bool {
    [waiting::SENDS, waiting::AWAITS_REPLY].contains(&waiting::kind(waiting))
}

impl Member {
    fn thread(&self) -> Thread {
        Thread::through(self.reference.handle())
    }

    /// Returns true if the thread is no more.
    fn is_lost(&self) -> bool {
        self.reference.is_null().unwrap_or(true)
    }

    fn is(&self, thread: Reference) -> bool {
        let page = self.home & !(PAGE_SIZE - 1);
        self.home != 0 && thread.reveal(page, PAGE_SIZE).is_ok_and(|found| found.is_some_and(|found| found.address == self.home))
    }

    /// Returns true if it is the thread of an environment that was found at an address.
    fn is_there(&self, word: u64, slot: u64) -> bool {
        self.place != Place::Gone && (self.word, self.slot) == (word, slot)
    }

    /// Returns what it waits for, as the kernel tells. `None`: it has gone.
    pub fn waiting(&self) -> Option<u64> {
        self.thread().waiting().ok()
    }

    /// Returns true if it is the first one of its process, which could not run and can by now.
    /// Others have made it, so to look for it takes long. Nobody else is new then: the announcement
    /// of a thread that was made comes before its maker can wake another one.
    fn has_woken(&self) -> bool {
        self.slot == 0 && self.place != Place::Ready && self.waiting().is_some_and(|waiting| waiting::kind(waiting) == waiting::RUNS)
    }

    /// The state of the thread, which is stopped, in its wait.
    fn stopped(&self) -> Result<ThreadState, Status> {
        self.thread().stop()?;
        self.thread().get_state()
    }

    /// Returns true if it waits for a limited time, and nobody knows yet for which.
    pub fn has_unknown_limit(&self, waiting: u64, is_replay: bool) -> bool {
        let is_new = is_of_program(waiting) || !is_replay && awaits_answer(waiting) && self.until == 0;
        waiting & waiting::TIMED != 0 && self.limit.is_none() && is_new
    }

    /// Notes that it awaits an answer, from now on if it was looked at for how long.
    pub fn begins_to_await(&mut self, now: u64) {
        if let Some(limit) = self.limit.take().filter(|limit| *limit != 0) {
            self.until = now.saturating_add(limit);
        }
    }

    /// Forgets the limit of an earlier wait, if it waits for whatever time it takes.
    pub fn forgets_limit(&mut self, waiting: Option<u64>) {
        if waiting.is_some_and(|waiting| waiting & waiting::TIMED == 0 && (is_of_program(waiting) || awaits_answer(waiting))) {
            (self.limit, self.until) = (None, 0);
        }
    }

    /// Looks at how long it waits. It makes its wait again.
    pub fn look(&mut self, waiting: u64) -> Result<(), Status> {
        let state = self.stopped()?;
        self.limit = Some(if waiting::kind(waiting) == waiting::SLEEPS { state.rdi } else { state.r15 });
        self.thread().start()
    }

    /// Returns true if the kernel says that it waits as it was left.
    pub fn is_waiting(&self, waiting: u64) -> bool {
        match self.place {
            Place::Calls(_) => awaits_answer(waiting),
            _ => is_of_program(waiting),
        }
    }

    /// Puts the end of its wait off until another time.
    pub fn put_off(&mut self, until: u64) {
        match self.place {
            Place::Calls(_) => self.until = until,
            _ => self.place = Place::Waits(until),
        }
    }

    /// Ends its wait, for which the time has passed.
    pub fn time_out(&mut self) -> Result<(), Status> {
        let waiting = self.thread().waiting()?;
        if !self.is_waiting(waiting) {
            return Err(Status::new(Code::Busy));
        }
        let is_sleep = waiting::kind(waiting) == waiting::SLEEPS;
        let state = self.stopped()?;
        // An answer that it does not await any more is nobody's.
        let flags = state.flags & (ThreadState::STOPPED | ThreadState::FPU_USED);
        self.until = 0;
        let status = if is_sleep { Status::OK } else { Status::new(Code::TimedOut) };
        let state = ThreadState { flags, fpu_size: 0, scheduler_word: 0, rax: status.0, rip: state.rip.wrapping_add(CALL_SIZE), ..state };
        self.place = Place::Blocked;
        self.thread().set_state(&state)?;
        self.thread().start()
    }
}

impl Lineup {
    /// The thread with a number.
    pub fn get(&mut self, number: usize) -> Option<&mut Member> {
        self.members.get_mut(number)
    }

    /// Place of the thread with a number.
    pub fn place(&self, number: usize) -> Place {
        self.members.get(number).map_or(Place::Gone, |member| member.place)
    }

    /// Returns true if the thread with a number was there and is no more.
    pub fn has_gone(&self, number: usize) -> bool {
        self.members.get(number).is_some_and(|member| member.place == Place::Gone)
    }

    /// The thread with a number, for the kernel.
    pub fn thread(&self, number: usize) -> Option<Thread> {
        self.members.get(number).map(Member::thread)
    }

    /// Returns true if no other thread of its environment could run.
    pub fn is_alone(&self, number: usize) -> bool {
        self.ready.iter().all(|other| *other == number || self.are_strangers(*other, number))
    }

    /// Returns true if only threads could run that were left in the middle of what they compute.
    pub fn computes(&self) -> bool {
        self.ready.iter().all(|number| self.members.get(*number).is_some_and(|member| member.is_amid))
    }

    /// Returns true if two threads live in different environments, or one has not begun.
    pub fn are_strangers(&self, one: usize, other: usize) -> bool {
        let word = |number: usize| self.members.get(number).map(|member| member.word);
        word(one).is_none_or(|one| word(other).is_none_or(|other| one != other))
    }

    /// The thread with a number, for the debugger.
    pub fn scheduled(&self, number: usize) -> Option<Scheduled> {
        self.members.get(number).map(|member| Scheduled { word: member.word, reference: member.reference.handle(), number })
    }

    /// An environment is no more: its threads run no more.
    pub fn depart(&mut self, word: u64) {
        let Lineup { members, ready, .. } = self;
        members.iter_mut().filter(|member| member.word == word).for_each(|member| member.place = Place::Gone);
        ready.retain(|number| members.get(*number).is_some_and(|member| member.word != word));
    }

    /// Sets what a thread is doing.
    pub fn set(&mut self, number: usize, place: Place) {
        if let Some(member) = self.members.get_mut(number) {
            member.place = place;
            if let Place::Waits(_) = place {
                self.waits += 1;
                member.wait = self.waits;
            }
        }
    }

    /// The numbers of threads of which these are the environments and places, in the order in which
    /// they began to wait.
    pub fn waiters(&self, places: &[(u64, u64)]) -> Vec<usize> {
        let is_among = |member: &Member| places.iter().any(|(word, slot)| member.is_there(*word, *slot));
        let mut found: Vec<usize> = (0..self.members.len()).filter(|number| is_among(&self.members[*number])).collect();
        found.sort_by_key(|number| self.members[*number].wait);
        found
    }

    /// The first thread of an environment gets a number.
    pub fn adopt(&mut self, word: u64) {
        if let Some(found) = debugger::with(|state| state.debugger.first_of(word)).flatten() {
            self.add(word, found);
        }
    }

    /// Adds a thread, which is not ready yet; its number.
    fn add(&mut self, word: u64, Located { slot, home, reference }: Located) -> usize {
        self.members.push(Member { reference, word, slot, home, place: Place::Blocked, wait: 0, is_amid: false, limit: None, until: 0 });
        self.members.len() - 1
    }

    /// A thread is ready, as the kernel says.
    pub fn announced(&mut self, thread: Scheduled) {
        let Some(number) = self.number(thread) else { return };
        if self.place(number) != Place::Ready {
            self.put_back(number);
        }
    }

    /// Number of a thread, which is new or known.
    fn number(&mut self, thread: Scheduled) -> Option<usize> {
        let lives = |member: &Member| member.place != Place::Gone;
        if let Some(number) = self.members.iter().position(|member| lives(member) && member.is(thread.reference))
            && !self.members[number].is_lost()
        {
            return Some(number);
        }
        if let Some(number) = self.members.iter().position(|member| lives(member) && member.word == thread.word && member.has_woken()) {
            return Some(number);
        }
        let found = debugger::with(|state| state.debugger.thread_of(thread)).flatten()?;
        if let Some(number) = self.members.iter().position(|member| member.is_there(thread.word, found.slot)) {
            let member = &mut self.members[number];
            if member.is_lost() {
                // Another thread is where it was.
                (member.reference, member.home) = (found.reference, found.home);
            }
            return Some(number);
        }
        Some(self.add(thread.word, found))
    }

    /// Takes the thread that has been ready for longest, for it to run.
    pub fn next(&mut self) -> Option<usize> {
        // One that the program has stopped does not run.
        let runs = |number: &usize| self.members.get(*number).and_then(Member::waiting).is_some_and(|waiting| waiting::kind(waiting) != waiting::STOPPED);
        let at = self.ready.iter().position(runs)?;
        self.ready.remove(at)
    }

    /// Takes a thread that is ready, for it to run. False: it is not.
    pub fn take(&mut self, number: usize) -> bool {
        let at = self.ready.iter().position(|ready| *ready == number);
        at.is_some_and(|at| self.ready.remove(at).is_some())
    }

    /// The thread that ran could go on, and goes behind the others.
    pub fn put_back(&mut self, number: usize) {
        self.set(number, Place::Ready);
        self.ready.push_back(number);
    }

    /// Returns true if a thread could run that does not.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The thread that awaits the answer to a message.
    pub fn calling(&self, message: usize) -> Option<usize> {
        self.members.iter().position(|member| member.place == Place::Calls(message))
    }

    /// Returns true if a thread waits for the answer to a message, as the kernel says.
    pub fn still_awaits(&self, message: usize) -> bool {
        let member = self.calling(message).and_then(|number| self.members.get(number));
        member.and_then(Member::waiting).is_some_and(awaits_answer)
    }

    /// The thread whose wait ends first, and when.
    pub fn first_deadline(&self) -> Option<(u64, usize)> {
        let deadline = |(number, member): (usize, &Member)| match member.place {
            Place::Waits(until) if until != 0 => Some((until, number)),
            Place::Calls(_) if member.until != 0 => Some((member.until, number)),
            _ => None,
        };
        self.members.iter().enumerate().filter_map(deadline).min()
    }
}
