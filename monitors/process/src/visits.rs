//! What processes ask each other's libraries: their limits, memory and open files. A thread in the
//! space of the process that is asked carries a question to its library and brings the answer; it
//! is made with the first question, and waits for more until its space goes. Whoever is asked may
//! not answer: that keeps nobody waiting but who has asked, whom signals free.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_abi::state::ThreadState;
use nacre_proto::Errno;
use nacre_proto::process::{ask, ask_file, visit};
use nacre_proto::server::{self, Output};
use nacre_sys::{OwnedReference, OwnedThread, Space, Span, Thread};

/// Maximum number of processes that ask one process at a time.
const MOST: usize = 64;
/// Flags of a fresh thread: interrupts on, and the bit that is always set.
const FLAGS: u64 = 0x202;

/// Question that a process asks another.
pub struct Visit {
    /// The process that asks.
    pub asker: u64,
    /// Question, its three words, and the user and group of the asker.
    pub words: [u64; 5],
    /// Further bytes of the question.
    pub data: Vec<u8>,
    /// Reply that the asker waits for; `None`: the manager asks, for a list.
    pub asked: Option<OwnedReference>,
    /// Set if the answer is a reference.
    pub wants_file: bool,
}

/// All that is asked of one process.
#[derive(Default)]
pub struct Visits {
    /// Address at which the thread begins; 0: nobody answers.
    visited: u64,
    thread: Option<OwnedThread>,
    /// The thread waits here.
    waiting: Option<OwnedReference>,
    /// The first was handed out, if somebody `is_asked`.
    visits: VecDeque<Visit>,
    is_asked: bool,
    /// Answer to the manager's last question: a word and bytes.
    pub told: Option<(u64, Vec<u8>)>,
}

impl Visit {
    fn has_gone(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.is_null().unwrap_or(true))
    }

    fn refuse(self, errno: Errno) {
        if let Some(asked) = self.asked {
            // Whoever has gone on does not care.
            let _ = server::refuse(asked, errno);
        }
    }
}

impl Visits {
    /// The process lives in another space, which has not been asked yet; the old one has gone.
    pub fn moved(&mut self, visited: u64) {
        self.visited = visited;
        (self.thread, self.waiting, self.is_asked) = (None, None, false);
        if visited == 0 {
            self.refuse_all(Errno::EPERM);
        }
    }

    /// Ends all questions: the process lives nowhere any more.
    pub fn end(&mut self) {
        self.refuse_all(Errno::ESRCH);
        self.moved(0);
    }

    /// Refuses every question.
    pub fn refuse_all(&mut self, errno: Errno) {
        self.visits.drain(..).for_each(|visit| visit.refuse(errno));
    }

    /// Refuses a question if there are too many: one process asks at most as many as there is still
    /// room for. Questions whose askers have gone are forgotten.
    pub fn check(&mut self, asker: u64) -> Result<(), Errno> {
        let first = usize::from(self.is_asked);
        let mut number = 0;
        self.visits.retain(|visit| {
            number += 1;
            number <= first || !visit.has_gone()
        });
        let own = self.visits.iter().filter(|visit| visit.asker == asker).count();
        match MOST.saturating_sub(self.visits.len()) {
            _ if self.visited == 0 => Err(Errno::EPERM),
            free if own >= free => Err(Errno::EAGAIN),
            _ => Ok(()),
        }
    }

    /// The thread can take the next question. To the last one there will be no answer, if there was
    /// none.
    pub fn wait(&mut self, reply: OwnedReference) {
        if let Some(visit) = self.take() {
            visit.refuse(Errno::EPROTO);
        }
        self.waiting = Some(reply);
        self.hand_out();
    }

    /// Asks the question for the manager, if anybody answers and it is not asked already.
    pub fn ask(&mut self, question: u64) {
        self.told = None;
        if self.visited != 0 && !self.is_awaited() {
            self.push(Visit { asker: 0, words: [question, 0, 0, 0, 0], data: Vec::new(), asked: None, wants_file: false });
        }
    }

    /// Returns true if the manager's question is not answered yet.
    pub fn is_awaited(&self) -> bool {
        self.visits.iter().any(|visit| visit.asked.is_none())
    }

    /// Adds a question behind the others.
    pub fn push(&mut self, visit: Visit) {
        self.visits.push_back(visit);
        self.hand_out();
    }

    fn hand_out(&mut self) {
        let (Some(visit), false) = (self.visits.front(), self.is_asked) else { return };
        let Some(waiting) = self.waiting.take() else { return };
        let [question, first, second, third, owner] = visit.words;
        self.is_asked = visit::Output { question, first, second, third, owner }.send(waiting, Span::from(&visit.data[..])).is_ok();
    }

    /// Takes the question that was handed out and is answered now.
    fn take(&mut self) -> Option<Visit> {
        // An answer to nothing leaves those who wait for theirs.
        if core::mem::take(&mut self.is_asked) { self.visits.pop_front() } else { None }
    }

    /// The answer to what was handed out.
    pub fn answer(&mut self, error: u64, [first, second]: [u64; 2], data: &[u8]) {
        let Some(visit) = self.take() else { return };
        match (u32::try_from(error), visit.asked) {
            (error, None) => self.told = (error == Ok(0)).then(|| (first, data.to_vec())),
            (Ok(0), Some(asked)) if !visit.wants_file => drop(ask::Output { first, second }.send(asked, Span::from(data))),
            (Ok(error @ 1..4096), asked) => Visit { asked, ..visit }.refuse(Errno(error)),
            (_, asked) => Visit { asked, ..visit }.refuse(Errno::EPROTO),
        }
    }

    /// Answers the question that was handed out with a reference.
    pub fn answer_file(&mut self, [first, second]: [u64; 2], file: OwnedReference) {
        let Some(visit) = self.take() else { return };
        match visit.asked {
            Some(asked) if visit.wants_file => drop(ask_file::Output { first, second, file: file.into() }.send(asked, Span::EMPTY)),
            asked => Visit { asked, ..visit }.refuse(Errno::EPROTO),
        }
    }

    /// Makes the thread, if there is something to ask and there is none. The thread runs code of
    /// the process, so it runs on time of the process: it is scheduled as `model`, its first
    /// thread, is.
    pub fn set_off(&mut self, space: Space, model: Thread) -> Result<(), Errno> {
        if self.visits.is_empty() || self.thread.is_some() {
            return Ok(());
        }
        let thread = OwnedThread::make(|slot| Thread::create(slot, space))?;
        let state = ThreadState { flags: ThreadState::STOPPED, rip: self.visited, rflags: FLAGS, ..ThreadState::default() };
        let scheduled = thread.handle().set_state(&state).and_then(|()| thread.handle().schedule_as(model));
        let started = scheduled.and_then(|()| thread.handle().start());
        if started.is_err() {
            // Without its first thread the process answers nobody.
            self.visited = 0;
        }
        // Once it is there it goes with its space: its end would be told as that of the process.
        self.thread = Some(thread);
        Ok(started?)
    }
}

impl Drop for Visits {
    fn drop(&mut self) {
        self.end();
    }
}
