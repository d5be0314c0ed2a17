//! Processes that begin beside those that are debugged, and processes that become other programs.

use crate::debugger::Debugger;
use crate::inferior::{Arrival, Inferior};
use crate::score;
use crate::signalled::Shown;
use alloc::vec::Vec;
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_USE};
use nacre_gdb::ThreadId;
use nacre_proto::Errno;
use nacre_proto::flags::BEGIN_PROGRAM;
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Space, Status, Thread};

/// A thread that does not run although its manager starts it: announcements that it is ready come
/// to a port, and nobody receives them.
pub struct Parked {
    _port: OwnedPort,
    thread: OwnedReference,
}

impl Parked {
    /// Parks a thread.
    pub fn new(thread: Thread) -> Result<Parked, Errno> {
        let port = OwnedPort::new(0, PortSet::NONE)?;
        thread.set_scheduler(port.handle().as_keeper(), 0)?;
        Ok(Parked { _port: port, thread: OwnedReference::made_by(|slot| thread.reference(slot, REFERENCE_USE | REFERENCE_CONTROL))? })
    }

    /// Lets it run.
    pub fn leave(self) {
        // One that has gone does not run.
        let _ = Thread::through(self.thread.handle()).schedule_as(Thread::FIRST);
    }

    /// Lets it run as `schedule` wants it.
    pub fn leave_to(self, schedule: impl FnOnce(Thread) -> Result<(), Status>) -> Result<(), Status> {
        schedule(Thread::through(self.thread.handle()))
    }

    /// Starts it, where no manager does that.
    pub fn start(&self) -> Result<(), Status> {
        Thread::through(self.thread.handle()).start()
    }
}

/// A process that its maker asks the manager to begin.
pub struct Beginning<'a> {
    /// Number of the process.
    pub number: u32,
    /// Process that has made it.
    pub maker: Option<u32>,
    /// Port of the process, where others can ask something in its name.
    pub port: Reference,
    /// References to its space and to its first thread.
    pub child: &'a [Reference],
    /// Flags of the request.
    pub flags: u64,
    /// True if it begins in a replay, where nobody manages it but we.
    pub is_offspring: bool,
}

impl Debugger {
    /// A process is about to begin, or to become a program in another environment. Its thread does
    /// not run before [`Debugger::begun`] if it is debugged.
    pub fn begins(&mut self, beginning: &Beginning<'_>) -> Option<Parked> {
        let [space, thread] = *beginning.child else { return None };
        let child = (Space::through(space), Thread::through(thread));
        let made = match self.inferiors.contains_key(&beginning.number) {
            true => self.becomes(beginning, child),
            false => self.is_forked(beginning, child),
        };
        let mut inferior = made.ok()??;
        if beginning.is_offspring {
            (inferior.is_offspring, inferior.is_managed) = (true, false);
        }
        let is_stopped = self.is_kept(&inferior);
        let parked = if is_stopped { Parked::new(child.1).ok() } else { None };
        self.beginning.insert(beginning.number, inferior);
        parked
    }

    /// The manager has answered: the process has begun, or (false) it has not.
    pub fn begun(&mut self, number: u32, has_begun: bool) {
        let Some(mut inferior) = self.beginning.remove(&number) else { return };
        if !has_begun {
            inferior.breakpoints.clear(&mut self.pages);
            if let Some(old) = self.inferiors.get_mut(&number) {
                old.is_replaced = false;
            }
            self.release(inferior.arrival);
            return;
        }
        if self.is_kept(&inferior) {
            // What cannot be kept runs undebugged.
            let _ = inferior.take_over();
        }
        if let Some(old) = self.inferiors.insert(number, inferior) {
            score::with(|score| score.departs(old.word));
        }
    }

    /// Returns true if exceptions of a process come to us.
    fn is_kept(&self, inferior: &Inferior) -> bool {
        self.tape.is_some() || inferior.is_attached || inferior.first_stop.is_some() || inferior.is_leaving
    }

    /// Word of the environment that a process lives in.
    pub fn word_of(&self, number: u32) -> Option<u64> {
        self.inferiors.get(&number).map(|inferior| inferior.word)
    }

    /// The first process begins: those that others have made before are no more.
    pub fn forget_others(&mut self, first: u32) {
        let Debugger { inferiors, pages, .. } = self;
        inferiors.iter_mut().filter(|(number, _)| **number != first).for_each(|(_, inferior)| {
            inferior.breakpoints.clear(pages);
            inferior.watches.clear(pages);
        });
        inferiors.retain(|number, _| *number == first);
    }

    /// Returns the numbers of processes that are no more, though nobody has said so.
    pub fn lost(&self) -> Vec<u32> {
        self.inferiors.values().filter(|inferior| inferior.space().get_state().is_err()).map(|inferior| inferior.number).collect()
    }

    /// Lets the process go on whose child does not arrive.
    pub fn release(&mut self, arrival: Arrival) {
        let Arrival::Fork(maker) = arrival else { return };
        if let Some(maker) = self.inferiors.get_mut(&maker.process) {
            maker.threads.iter_mut().filter(|entry| entry.is_ours).for_each(|entry| entry.start());
        }
    }

    fn becomes(&mut self, beginning: &Beginning<'_>, child: (Space, Thread)) -> Result<Option<Inferior>, Errno> {
        let mut inferior = Inferior::new(beginning.number, child, beginning.port, (self.set(), &self.copier))?;
        let Debugger { inferiors, copier, pages, events, .. } = self;
        let Some(old) = inferiors.get_mut(&beginning.number) else { return Ok(None) };
        old.is_replaced = true;
        old.breakpoints.clear(pages);
        old.watches.clear(pages);
        inferior.is_attached = old.is_attached;
        let first = inferior.first_stop.take().filter(|_| inferior.is_attached && events.execs);
        if let Some(first) = first.filter(|first| inferior.insert(copier, pages, *first)) {
            (inferior.first_stop, inferior.arrival) = (Some(first), Arrival::Exec);
            inferior.caught = old.caught.clone();
        }
        Ok(Some(inferior))
    }

    fn is_forked(&mut self, beginning: &Beginning<'_>, child: (Space, Thread)) -> Result<Option<Inferior>, Errno> {
        let (set, is_taped) = (self.set(), self.tape.is_some());
        let Debugger { inferiors, copier, pages, events, .. } = self;
        // A child needs a monitor that has made it. In a replay its parent runs first, as it did.
        let is_debugged = |maker: &&mut Inferior| maker.is_attached && maker.is_foreign && events.forks && !is_taped;
        let maker = beginning.maker.and_then(|maker| inferiors.get_mut(&maker)).filter(is_debugged);
        let Some(maker) = maker else {
            let mut made = is_taped.then(|| Inferior::new(beginning.number, child, beginning.port, (set, copier))).transpose()?;
            made.iter_mut().for_each(|made| made.first_stop = None);
            return Ok(made);
        };
        let mut inferior = Inferior::new(beginning.number, child, beginning.port, (set, copier))?;
        let first = inferior.first_stop.take();
        if beginning.flags & BEGIN_PROGRAM == 0 {
            maker.find_gates_of_running(copier);
            inferior.take_places(maker);
            inferior.await_leaving((copier, pages));
        } else {
            inferior.first_stop = first.filter(|first| inferior.insert(copier, pages, *first));
        }
        if inferior.first_stop.is_none() && !inferior.is_leaving {
            return Ok(Some(inferior).filter(|_| is_taped));
        }
        let stopped: Vec<u32> = maker.threads.iter().filter(|entry| entry.is_ours).map(|entry| entry.number).collect();
        maker.hold(copier);
        maker.threads.stop(&maker.view);
        maker.threads.number((&maker.view, copier));
        let thread = maker.maker(copier).ok_or(Errno::ESRCH)?;
        if beginning.flags & BEGIN_PROGRAM != 0 {
            // A monitor answers the program's library, which asks before the first instruction.
            maker.threads.iter_mut().filter(|entry| entry.is_ours && !stopped.contains(&entry.number)).for_each(|entry| entry.start());
        }
        inferior.arrival = Arrival::Fork(ThreadId { process: maker.number, thread });
        Ok(Some(inferior))
    }

    /// A process becomes another program in the space that it has.
    pub fn is_renewed(&mut self, number: u32) {
        let Debugger { inferiors, copier, pages, events, .. } = self;
        let Some(inferior) = inferiors.get_mut(&number) else { return };
        // gdb goes back in what it debugs alone.
        self.rewinder.is_another |= inferior.is_attached;
        inferior.find_gates_of_running(copier);
        inferior.breakpoints.clear(pages);
        if inferior.watches.live.is_some() {
            // They were memory of the old program.
            inferior.watches.clear(pages);
        }
        inferior.wanted.clear();
        inferior.shown = Shown::default();
        for entry in inferior.threads.iter_mut() {
            (entry.awaited, entry.returns, entry.call) = (None, None, None);
        }
        if inferior.is_attached && events.execs {
            inferior.arrival = Arrival::Exec;
            inferior.await_leaving((copier, pages));
        }
    }
}
