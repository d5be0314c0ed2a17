//! All that is debugged, and the session that does it. One lock guards both: the thread that
//! receives exceptions, the one that reads the line, and the workers of the relay take turns.

use crate::breakpoints::Pages;
use crate::copier::Copier;
use crate::files::Files;
use crate::halt::Scheduled;
use crate::history::History;
use crate::inferior::{Arrival, Inferior};
use crate::rewinder::Rewinder;
use crate::score;
use crate::signalled::Choice;
use crate::tape::Tape;
use crate::threads::Located;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_gdb::{Events, Session, Stop, ThreadId};
use nacre_nest::host::KILLED;
use nacre_nest::interpose::stage::write_all;
use nacre_proto::Errno;
use nacre_sys::lock::{Condition, Lock};
use nacre_sys::{OwnedPortSet, OwnedReference, PortSet};

/// Processes, and what is needed to debug them.
pub struct Debugger {
    /// The processes, by their numbers.
    pub inferiors: BTreeMap<u32, Inferior>,
    /// The thread that copies memory.
    pub copier: Copier,
    /// Memory for breakpoints.
    pub pages: Pages,
    /// Files that gdb reads.
    pub files: Files,
    /// Recording of the program, which says what its counter says.
    pub tape: Option<&'static Lock<Tape>>,
    /// History of a replay.
    pub history: History,
    /// State of what goes back in a replay.
    pub rewinder: Rewinder,
    /// Set of the ports that hear of exceptions.
    set: OwnedPortSet,
    /// A program waits before its first instruction until gdb lets it go on.
    pub waits: bool,
    /// Processes that are about to begin, or to become programs elsewhere.
    pub beginning: BTreeMap<u32, Inferior>,
    /// Events that gdb wants to be told of.
    pub events: Events,
    /// Signals that gdb has spoken of.
    pub signals: Choice,
    /// gdb asks for a stop.
    pub is_interrupted: bool,
    /// Change of watched memory that gdb is told of although it has let the program go on.
    pub late: Option<(ThreadId, u64)>,
    /// Processes that gdb ends.
    pub killed: Vec<u32>,
    /// Processes that have ended, with their statuses.
    pub ended: Vec<(u32, u64)>,
}

/// The processes and the session.
pub struct State {
    /// The processes.
    pub debugger: Debugger,
    /// The session.
    pub session: Session,
    /// Line to gdb, if there is one.
    line: Option<OwnedReference>,
    /// Bytes that came before the first stop.
    early: Vec<u8>,
}

/// Signal of a stop that gdb has asked for.
const INTERRUPT: u8 = 2;

static STATE: Lock<Option<State>> = Lock::new(None);
/// Signalled when something changes that a thread waits for by [`wait_for`].
pub static CHANGED: Condition = Condition::new();

/// Calls a function with the state, if there is one.
pub fn with<T>(what: impl FnOnce(&mut State) -> T) -> Option<T> {
    STATE.lock().as_mut().map(|state| {
        let done = what(state);
        state.debugger.let_go();
        done
    })
}

/// Waits until a function finds in the state what it looks for. It is called again after each
/// change.
pub fn wait_for<T>(mut what: impl FnMut(&mut State) -> Option<T>) -> T {
    let mut state = STATE.lock();
    loop {
        let found = state.as_mut().and_then(&mut what);
        state.iter_mut().for_each(|state| state.debugger.let_go());
        if let Some(found) = found {
            return found;
        }
        state = CHANGED.wait(state);
    }
}

/// Makes the state of a session over this line, and beside this recording.
pub fn start(line: Option<OwnedReference>, files: OwnedReference, waits: bool, tape: Option<&'static Lock<Tape>>) -> Result<PortSet, Errno> {
    let set = OwnedPortSet::new()?;
    let handle = set.handle();
    let debugger = Debugger { inferiors: BTreeMap::new(), copier: Copier::start()?, pages: Pages::take()?, files: Files::new(files), tape, history: History::default(), rewinder: Rewinder::default(), set, waits, beginning: BTreeMap::new(), events: Events::default(), signals: Choice::default(), is_interrupted: false, late: None, killed: Vec::new(), ended: Vec::new() };
    *STATE.lock() = Some(State { debugger, session: Session::default(), line, early: Vec::new() });
    Ok(handle)
}

impl State {
    /// Takes bytes of the line, and answers.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.early.extend_from_slice(bytes);
        self.settle();
    }

    /// Answers what has come, once there is somebody to ask about, and does what it leads to.
    pub fn settle(&mut self) {
        if self.debugger.is_ready() && !self.early.is_empty() {
            let mut bytes = core::mem::take(&mut self.early);
            while !bytes.is_empty() {
                // What comes behind the end of a connection is another gdb's.
                let (end, is_first) = nacre_gdb::gone(&bytes);
                let rest = bytes.split_off(end);
                if !self.session.is_connected() && !is_first && bytes.contains(&b'$') {
                    self.debugger.attach_all();
                }
                let answer = self.session.feed(&bytes, &mut self.debugger);
                self.say(&answer);
                bytes = rest;
            }
        }
        for process in core::mem::take(&mut self.debugger.killed) {
            self.debugger.end(process, KILLED);
        }
        for (process, status) in core::mem::take(&mut self.debugger.ended) {
            self.ended(process, status);
        }
        let is_interrupted = core::mem::take(&mut self.debugger.is_interrupted);
        if !self.tells_late_change() && is_interrupted {
            self.is_interrupted(INTERRUPT);
        }
        self.tell_of_start();
        // A gdb may have come or gone.
        CHANGED.broadcast();
    }

    /// A process has ended: all others stop.
    pub fn ended(&mut self, process: u32, status: u64) {
        let Some(mut inferior) = self.debugger.inferiors.remove(&process) else { return };
        inferior.breakpoints.clear(&mut self.debugger.pages);
        inferior.watches.clear(&mut self.debugger.pages);
        score::with(|score| score.departs(inferior.word));
        self.debugger.release(inferior.arrival);
        if let Some(tape) = self.debugger.tape {
            tape.lock().process_ends(process);
        }
        if inferior.is_attached {
            self.debugger.stop_all();
            self.tell(if status < 256 { Stop::Exited(process, status as u8) } else { Stop::Killed(process, (status & 0x7f) as u8) });
        }
    }

    /// Tells gdb of a stop.
    pub fn tell(&mut self, stop: Stop) {
        let told = self.session.stopped(stop, &mut self.debugger);
        self.say(&told);
    }

    fn say(&self, bytes: &[u8]) {
        if let Some(line) = &self.line {
            write_all(line.handle(), bytes);
        }
    }
}

impl Debugger {
    /// Set of the ports that hear of exceptions.
    pub fn set(&self) -> PortSet {
        self.set.handle()
    }

    /// Stops all threads of all processes that are debugged.
    pub fn stop_all(&mut self) {
        let is_alone = self.rewinder.travels();
        let Debugger { inferiors, copier, pages, .. } = self;
        for inferior in inferiors.values_mut().filter(|inferior| inferior.is_attached) {
            inferior.hold(copier);
            // To look at all objects takes long, and a recording has one thread.
            if is_alone { inferior.threads.stop_known() } else { inferior.threads.stop(&inferior.view) }
            inferior.threads.number((&inferior.view, copier));
            inferior.withdraw();
            inferior.settle_writer(copier, pages);
        }
    }

    /// Returns true if there is a program, and it has reached its first stop.
    fn is_ready(&self) -> bool {
        !self.inferiors.is_empty() && self.inferiors.values().all(|inferior| inferior.first_stop.is_none() || inferior.arrival != Arrival::Nothing)
    }

    /// A gdb has come: it debugs all processes, which it finds stopped.
    fn attach_all(&mut self) {
        let is_new = self.inferiors.values().any(|inferior| !inferior.is_attached);
        for inferior in self.inferiors.values_mut().filter(|inferior| !inferior.is_attached) {
            inferior.is_attached = inferior.take_over().is_ok();
        }
        self.stop_all();
        if is_new {
            self.is_found();
        }
    }

    /// Ends a process with a status, as if it had done so itself.
    pub fn end(&mut self, process: u32, status: u64) {
        if let Some(inferior) = self.inferiors.get(&process) {
            inferior.exits(status);
            self.ended.push((process, status));
        }
    }

    /// Number of the process whose port has this word.
    pub fn process_of(&self, word: u64) -> Option<u32> {
        self.inferiors.values().find(|inferior| inferior.word == word).map(|inferior| inferior.number)
    }

    /// The first thread of the environment with this word.
    pub fn first_of(&mut self, word: u64) -> Option<Located> {
        self.inferiors.get_mut(&self.process_of(word)?)?.threads.iter().next()?.located()
    }

    /// The thread of a recorded program that a reference leads to.
    pub fn thread_of(&mut self, thread: Scheduled) -> Option<Located> {
        let inferior = self.inferiors.get_mut(&self.process_of(thread.word)?)?;
        inferior.threads.find(&inferior.view, thread.reference)?.located()
    }

    /// Takes the threads that gdb has let go on from a wait: the words of their environments, and
    /// their places.
    pub fn take_waiters(&mut self) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        for inferior in self.inferiors.values_mut() {
            let word = inferior.word;
            found.extend(inferior.threads.iter_mut().filter_map(|entry| core::mem::take(&mut entry.waits_again).then_some((word, entry.slot))));
        }
        found
    }

    /// The process and the thread with these numbers.
    pub fn entry(&mut self, thread: ThreadId) -> Option<(&Copier, &mut Inferior)> {
        let inferior = self.inferiors.get_mut(&thread.process)?;
        inferior.threads.get(thread.thread)?;
        Some((&self.copier, inferior))
    }
}
