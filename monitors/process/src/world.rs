//! The processes, as numbers: who is whose child, in which group and session, what has ended and
//! what has come. No kernel call is made here: what is to be done to environments, agents and
//! waiters is a list of [`Effect`]s, which the manager carries out after each operation.
//!
//! A process is fresh (created, lives nowhere), running, or ended; one that has ended stays until
//! its parent has waited for it. Every process has a parent that has not ended, but for the first
//! one and those that a person has started from outside; no number means two things at a time, as
//! process, thread, group or session.
//!
//! A fresh process is a reservation of its maker. `begin` commits it. `abandon`, the last reference
//! to its port, the maker's end and the maker's `exec` abort it: an aborted process leaves no
//! zombie, sends no signal and releases its number at once.

mod change;
mod bounds;
mod domains;
mod end;
mod from_outside;
mod groups;
mod limits;
mod priorities;
#[cfg(test)]
mod random_tests;
mod send_signals;
mod shares;
mod signals;
#[cfg(test)]
mod share_tests;
#[cfg(test)]
mod tests;
mod wait;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{ASK_PRIVILEGED, BEGIN_ATTENDS, BEGIN_INHERITS, BEGIN_PROGRAM, BEGIN_SERVED};
pub use change::Change;
pub use limits::Limits;
pub use signals::{Sent, Signal};
pub use wait::ChangedChild;

/// The first process.
pub const FIRST: u64 = 1;
/// Numbers go up to here, then start again behind those of the first processes.
pub const HIGHEST: u64 = 32_767;
const LOWEST_AGAIN: u64 = 300;
/// 20 less the nice value that a process has at first.
const USUAL_PRIORITY: u64 = 20;
/// Maximum of bytes of a name.
const MAX_NAME: usize = 15;
/// Maximum of bytes that are kept of a command.
const MAX_COMMAND: usize = 1024;
/// Maximum of signals that may wait for a process, whatever its limit.
const MAX_SIGNALS: u64 = 1024;

/// Something that the manager is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The process has another parent.
    Adopted(u64),
    /// Take back what the process lives in.
    Destroy(u64),
    /// Forget the process: its number may be used again.
    Forget(u64),
    /// Tell its agent that signals have come.
    Notify(u64),
    /// Stop its first thread.
    Stop(u64),
    /// Let it go on.
    Continue(u64),
    /// A child of it has changed: look whether somebody waits for that.
    Changed(u64),
    /// The session has no terminal any more.
    Detached(u64),
    /// The first process has ended, with this status: all is over.
    Over(u64),
}

/// Stage in the life of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Reserved: the process lives nowhere yet.
    Fresh,
    /// Alive.
    Running,
    /// Ended, with this status as `wait4` tells it.
    Ended(u64),
}

/// Receiver of a process's signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalHandling {
    /// Signals take their default effect, because no thread fetches them.
    Nobody,
    /// An agent that will come.
    Awaited,
    /// Signal thread of the process.
    Agent,
}

/// Attributes that a process hands on to its children, beside group and session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits {
    /// Signals that it ignores, a bit for each.
    pub ignored: u64,
    /// `SA_NOCLDSTOP`, `SA_NOCLDWAIT`.
    pub child_flags: u64,
    /// User, effective and saved user.
    pub identity: [u64; 3],
    /// Real group of the user's, in questions to others.
    pub user_group: u64,
    /// Maximum of processes of its user.
    pub most_processes: u64,
    /// Maximum of signals that wait for it.
    pub most_signals: u64,
    /// 20 less its nice value.
    pub priority: u64,
    /// Maximum of processors that it is told of.
    pub most_processors: u64,
}

impl Traits {
    /// Traits of a process that has no parent.
    const USUAL: Traits = Traits {
        ignored: 0,
        child_flags: 0,
        identity: [0; 3],
        user_group: 0,
        most_processes: u64::MAX,
        most_signals: MAX_SIGNALS,
        priority: USUAL_PRIORITY,
        most_processors: u64::MAX,
    };
}

/// One process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Parent, or 0 for the first process and those that were started from outside.
    pub parent: u64,
    /// Process group.
    pub group: u64,
    /// Session.
    pub session: u64,
    /// Stage of its life.
    pub state: State,
    /// The signal that has stopped it.
    pub stopped: Option<u64>,
    /// Attributes that its children inherit.
    pub traits: Traits,
    /// Name.
    pub name: Vec<u8>,
    /// The words of its command, each with a final zero.
    pub command: Vec<u8>,
    /// Numbers of its threads beside the first.
    pub threads: BTreeSet<u64>,
    /// Numbers of the domains that it is a member of, outermost first.
    domain: Vec<u64>,
    /// Bounds that it counts for, outermost first.
    bounds: Vec<bounds::Bound>,
    /// Number of the monitor that serves it, with whose end it ends; 0: none but this manager.
    server: u64,
    /// True once it has begun a process that it serves.
    is_server: bool,
    exit_signal: u64,
    attendance: SignalHandling,
    has_executed: bool,
    /// True once the process was given up before it began: its end is told to nobody.
    is_aborted: bool,
    /// A stop or its end that nobody has waited for.
    news: Option<Change>,
    queue: VecDeque<Signal>,
    death_signal: u64,
    is_reaper: bool,
    /// The first process has it from a parent that has ended, and does not care for it as a shell
    /// for its jobs.
    is_adopted: bool,
}

/// A session with a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terminal {
    /// The device that it is; 0: it has gone.
    device: u64,
    foreground: u64,
}

/// All processes.
#[derive(Debug)]
pub struct World {
    processes: BTreeMap<u64, Process>,
    terminals: BTreeMap<u64, Terminal>,
    effects: Vec<Effect>,
    /// Processes that end, with their statuses. The first one is being worked on.
    ending: VecDeque<(u64, u64)>,
    limits: Limits,
    /// Threads beside the first of each process.
    threads: usize,
    last_number: u64,
    /// First number behind `last_number` that may be in use.
    used_next: u64,
    last_domain: u64,
    /// Number of the bound that was made last.
    last_bound: u64,
}

impl World {
    /// A world with its first process, which is fresh, leads its session, and may have its
    /// terminal, which is this device.
    pub fn new(limits: Limits, terminal: Option<u64>) -> World {
        let mut world = World {
            processes: BTreeMap::new(),
            terminals: BTreeMap::new(),
            effects: Vec::new(),
            ending: VecDeque::new(),
            limits,
            threads: 0,
            last_number: FIRST,
            used_next: 0,
            last_domain: 0,
            last_bound: 0,
        };
        world.processes.insert(FIRST, Process::new(0, (FIRST, FIRST), 0, Traits::USUAL));
        if let Some(device) = terminal {
            world.terminals.insert(FIRST, Terminal { device, foreground: FIRST });
        }
        world
    }

    /// Returns the actions that are due since the last call, in order.
    pub fn effects(&mut self) -> Vec<Effect> {
        core::mem::take(&mut self.effects)
    }

    /// A process that there is, ended or not.
    pub fn process(&self, pid: u64) -> Result<&Process, Errno> {
        self.processes.get(&pid).ok_or(Errno::ESRCH)
    }

    fn process_mut(&mut self, pid: u64) -> Result<&mut Process, Errno> {
        self.processes.get_mut(&pid).ok_or(Errno::ESRCH)
    }

    /// A process that has not ended.
    fn living(&mut self, pid: u64) -> Result<&mut Process, Errno> {
        self.process_mut(pid).ok().filter(|process| !process.has_ended()).ok_or(Errno::ESRCH)
    }

    /// A number that means nothing now, and did not for as long as possible.
    fn fresh_number(&mut self) -> Result<u64, Errno> {
        if self.last_number + 1 >= self.used_next {
            self.find_free_numbers()?;
        }
        self.last_number += 1;
        Ok(self.last_number)
    }

    /// Finds the next numbers that nobody uses, from the last one on and then from the start. None
    /// of them comes into use but by `fresh_number`: groups and sessions have the numbers of
    /// processes.
    fn find_free_numbers(&mut self) -> Result<(), Errno> {
        for start in [self.last_number + 1, LOWEST_AGAIN] {
            let of = |(pid, process): (&u64, &Process)| [*pid, process.group, process.session];
            let threads = self.processes.values().flat_map(|process| process.threads.range(start..).copied());
            let mut used: Vec<u64> = self.processes.iter().flat_map(of).chain(threads).filter(|number| *number >= start).collect();
            used.push(HIGHEST + 1);
            used.sort_unstable();
            let mut free = start;
            for number in used {
                if number > free {
                    (self.last_number, self.used_next) = (free - 1, number);
                    return Ok(());
                }
                free = number + 1;
            }
        }
        Err(Errno::EAGAIN)
    }

    /// Reserves a child of `parent`, which must have begun itself.
    pub fn create(&mut self, parent: u64, exit_signal: u64) -> Result<u64, Errno> {
        let of = self.living(parent)?;
        if of.state == State::Fresh || exit_signal > signals::HIGHEST {
            return Err(Errno::EINVAL);
        }
        let (traits, family, name, command) = (of.traits, (of.group, of.session), of.name.clone(), of.command.clone());
        let (domain, bounds, server) = (of.domain.clone(), of.bounds.clone(), of.server);
        self.check_process(parent)?;
        let pid = self.fresh_number()?;
        self.processes.insert(pid, Process { name, command, domain, bounds, server, ..Process::new(parent, family, exit_signal, traits) });
        Ok(pid)
    }

    /// The process lives in a new environment. Signals that have come take effect now, unless an
    /// agent is to come.
    pub fn begin(&mut self, pid: u64, flags: u64, ignored: u64) -> Result<(), Errno> {
        match self.living(pid)?.state {
            State::Running => self.abort_children(pid),
            _ if flags & BEGIN_SERVED != 0 => self.serve(pid)?,
            _ => {}
        }
        let process = self.living(pid)?;
        process.state = State::Running;
        if flags & BEGIN_INHERITS == 0 {
            process.traits.ignored = ignored & !signals::UNSTOPPABLE;
        }
        process.attendance = if flags & BEGIN_ATTENDS != 0 { SignalHandling::Awaited } else { SignalHandling::Nobody };
        if flags & BEGIN_PROGRAM != 0 {
            self.renewed(pid)?;
        }
        if flags & BEGIN_ATTENDS == 0 {
            self.settle(pid);
        }
        Ok(())
    }

    /// The process is another program, where it lives already. An agent that it has still serves
    /// it.
    pub fn renew(&mut self, pid: u64, ignored: u64) -> Result<(), Errno> {
        let process = self.living(pid)?;
        if process.state == State::Fresh {
            return Err(Errno::EINVAL);
        }
        process.traits.ignored = ignored & !signals::UNSTOPPABLE;
        self.abort_children(pid);
        self.renewed(pid)
    }

    fn renewed(&mut self, pid: u64) -> Result<(), Errno> {
        let process = self.living(pid)?;
        process.has_executed = true;
        process.traits.child_flags = 0;
        self.end_threads(pid);
        Ok(())
    }

    /// Returns true if a child needs nothing of its parent any more: it runs another program, or
    /// has ended.
    pub fn is_released(&self, maker: u64, pid: u64) -> Result<bool, Errno> {
        let child = self.process(pid)?;
        if child.parent == maker { Ok(child.has_executed || child.has_ended()) } else { Err(Errno::ESRCH) }
    }

    /// An agent has come.
    pub fn attach(&mut self, pid: u64) -> Result<(), Errno> {
        let process = self.living(pid)?;
        process.attendance = SignalHandling::Agent;
        if !process.queue.is_empty() {
            self.effects.push(Effect::Notify(pid));
        }
        Ok(())
    }

    /// Notes the signals that a process ignores, and what it wants to know of its children.
    pub fn dispositions(&mut self, pid: u64, ignored: u64, child_flags: u64) -> Result<(), Errno> {
        let ignored = ignored & !signals::UNSTOPPABLE;
        let process = self.living(pid)?;
        (process.traits.ignored, process.traits.child_flags) = (ignored, child_flags);
        process.queue.retain(|signal| ignored & signals::bit(signal.number) == 0);
        Ok(())
    }

    /// Sets user, effective and saved user, and the user's group.
    pub fn identity(&mut self, pid: u64, identity: [u64; 3], user_group: u64) -> Result<(), Errno> {
        let traits = &mut self.living(pid)?.traits;
        (traits.identity, traits.user_group) = (identity, user_group);
        Ok(())
    }

    /// A question as it may be passed on, and the user and (above 32 bits) the group of the asker:
    /// what the world knows of it, not what it says of itself.
    pub fn claims(&self, asker: u64, question: u64) -> Result<(u64, u64), Errno> {
        let Traits { identity: [user, effective, _], user_group, .. } = self.process(asker)?.traits;
        let question = if effective == 0 { question } else { question & !ASK_PRIVILEGED };
        Ok((question, user & 0xffff_ffff | user_group << 32))
    }

    /// Sets the maximum number of processes and threads of the user, and of signals that wait.
    pub fn limits(&mut self, pid: u64, processes: u64, signals: u64) -> Result<(), Errno> {
        let traits = &mut self.living(pid)?.traits;
        (traits.most_processes, traits.most_signals) = (processes, signals.min(MAX_SIGNALS));
        Ok(())
    }

    /// Limits the processors that a process is told of.
    pub fn processors(&mut self, pid: u64, count: u64) -> Result<(), Errno> {
        let traits = &mut self.living(pid)?.traits;
        if count == 0 {
            return Err(Errno::EINVAL);
        }
        traits.most_processors = traits.most_processors.min(count);
        Ok(())
    }

    /// Notes the signal that a process gets when its parent ends, and whether it adopts orphans.
    pub fn family(&mut self, pid: u64, death_signal: u64, is_reaper: bool) -> Result<(), Errno> {
        if death_signal > signals::HIGHEST {
            return Err(Errno::EINVAL);
        }
        let process = self.living(pid)?;
        (process.death_signal, process.is_reaper) = (death_signal, is_reaper);
        Ok(())
    }

    /// Sets a process's name and, behind a zero, its command.
    pub fn set_name(&mut self, pid: u64, text: &[u8]) -> Result<(), Errno> {
        let process = self.living(pid)?;
        let end = text.iter().position(|byte| *byte == 0);
        let name = &text[..end.unwrap_or(text.len())];
        process.name = name[..name.len().min(MAX_NAME)].to_vec();
        if let Some(end) = end {
            let command = &text[end + 1..];
            process.command = command[..command.len().min(MAX_COMMAND)].to_vec();
        }
        Ok(())
    }

    /// A number for one more thread.
    pub fn thread_create(&mut self, pid: u64) -> Result<u64, Errno> {
        self.living(pid)?;
        self.check_thread(pid)?;
        let number = self.fresh_number()?;
        self.living(pid)?.threads.insert(number);
        self.threads += 1;
        Ok(number)
    }

    /// Notes the end of a thread.
    pub fn thread_end(&mut self, pid: u64, thread: u64) -> Result<(), Errno> {
        let process = self.living(pid)?;
        if !process.threads.remove(&thread) {
            return Err(Errno::ESRCH);
        }
        process.queue.retain(|signal| signal.thread != thread);
        self.threads -= 1;
        Ok(())
    }

    fn end_threads(&mut self, pid: u64) {
        if let Ok(process) = self.process_mut(pid) {
            let count = core::mem::take(&mut process.threads).len();
            self.threads -= count;
        }
    }

    fn remove(&mut self, pid: u64) {
        self.processes.remove(&pid);
        self.effects.push(Effect::Forget(pid));
    }
}

impl Process {
    fn new(parent: u64, (group, session): (u64, u64), exit_signal: u64, traits: Traits) -> Process {
        Process {
            parent,
            group,
            session,
            state: State::Fresh,
            stopped: None,
            traits,
            name: Vec::new(),
            command: Vec::new(),
            threads: BTreeSet::new(),
            domain: Vec::new(),
            bounds: Vec::new(),
            server: 0,
            is_server: false,
            exit_signal,
            attendance: SignalHandling::Nobody,
            has_executed: false,
            is_aborted: false,
            news: None,
            queue: VecDeque::new(),
            death_signal: 0,
            is_reaper: false,
            is_adopted: false,
        }
    }

    /// Returns true if the process is a zombie.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// Linux's letter for its state.
    pub fn letter(&self) -> u8 {
        match self.state {
            State::Ended(_) => b'Z',
            _ if self.stopped.is_some() => b'T',
            _ => b'S',
        }
    }
}
