//! Kernel objects of each process: its port, the memory that it lives in, its signal thread, and
//! its waiters. `world` decides all that happens to them. No call here waits for a process: the
//! manager calls only its own parent and that one's services.

use crate::commands::{COMMANDED, CONTROL, Commands};
use crate::exec::Execs;
use crate::exec::words::{self, STREAM};
use crate::lists::Lists;
use crate::names::Names;
use crate::parents::Parents;
use crate::tracing::Tracing;
use crate::visits::Visits;
use crate::world::{Effect, FIRST, World};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use nacre_abi::{Code, fault};
use nacre_abi::message::{MAX_BYTES, NO_REFERENCES, THREAD_ENDED};
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_nest::host::{Exception, keep, keep_and_watch, reflected, thread_state};
use nacre_nest::{Child, ChildPool, Services};
use nacre_proto::flags::{TERMINAL_HANGUP, TERMINAL_INTERRUPT, TERMINAL_QUIT, TERMINAL_SUSPEND, TERMINAL_WINDOW, WNOHANG};
use nacre_proto::process::{released, wait};
use nacre_proto::server::{self, Output};
use nacre_proto::{Errno, Event, Request, ServerEndpoint, control, file, memory, parent, process, segment, terminal};
use nacre_rt::Arguments;
use nacre_sys::clock::ticks;
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, PortSet, Reference, Space, Span, Status, Thread, ipc};

/// Bit of a port's word: the port is that of a session's terminal.
const TERMINAL: u64 = 1 << 63;
/// Maximum of threads of a process that wait for children.
const MAX_WAITERS: usize = 64;
/// Bits of words of ports that are not the port of a process.
const OTHERS: u64 = TERMINAL | CONTROL | STREAM;
/// Keys and changes of a terminal, and the signals that they are.
const KEYS: [(u64, u64); 5] = [(TERMINAL_INTERRUPT, 2), (TERMINAL_QUIT, 3), (TERMINAL_SUSPEND, 20), (TERMINAL_HANGUP, 1), (TERMINAL_WINDOW, 28)];
/// Events that a terminal is to report.
pub const EVENTS: u64 = TERMINAL_INTERRUPT | TERMINAL_QUIT | TERMINAL_SUSPEND | TERMINAL_HANGUP | TERMINAL_WINDOW;

/// Environment of a process.
pub enum Life {
    /// Process without an environment: it is fresh, or has ended.
    None,
    /// Environment that we have made, as it was made.
    First(Box<Child<Services>>),
    /// Environment that a library has made in the manager's memory.
    Made {
        /// The memory.
        segment: OwnedReference,
        /// The space that is in it.
        space: OwnedReference,
        /// The first thread.
        thread: OwnedReference,
    },
}

/// A process, but for its numbers.
pub struct ProcessEntry {
    /// Port of the process's parent protocol.
    pub port: OwnedPort,
    /// Environment of the process.
    pub life: Life,
    /// Memory for what it will live in.
    pub prepared: Option<OwnedReference>,
    /// Port that is notified when signals have come, and the bits.
    pub agent: Option<(OwnedReference, u64)>,
    /// Nanoseconds of processors that it had in what it lived in before.
    pub used: u64,
    /// Processor time of processes that it has waited for, and of theirs.
    pub children_used: u64,
    /// Streams of its own.
    pub streams: [Option<OwnedReference>; 3],
    /// The root directory of its own, or else that of the process that made it. Root counts what
    /// each uses apart.
    pub files: Option<Arc<OwnedReference>>,
    /// Pool that a monitor has set for this process and those that it makes.
    pub memory: Option<Arc<OwnedReference>>,
    /// `files` is its own.
    pub has_files: bool,
    /// Pipes and local sockets, on its own account, once it has asked for them.
    pub channels: Option<OwnedReference>,
    /// Sockets of the internet, on the process's account.
    pub network: Option<OwnedReference>,
    /// Memory for its kernel objects, once it has asked for some. References lie nowhere else but
    /// in what it lives in, and both are destroyed with it, so nothing that it made keeps itself.
    pub objects: Option<ChildPool>,
    /// Questions of other processes to its library.
    pub visits: Visits,
}

/// A thread that waits for a child.
struct Waiter {
    pid: u64,
    which: i64,
    options: u64,
    reply: OwnedReference,
}

/// References that every process gets.
pub struct Shared {
    /// The root directory.
    pub files: OwnedReference,
    /// A pool that ends with us. Processes cannot destroy it, and take data alone from it.
    pub memory: OwnedReference,
    /// The clock, if there is one.
    pub clock: Option<OwnedReference>,
    /// Pipes and local sockets.
    pub channels: OwnedReference,
    /// Sockets of the internet, if our parent has them and somebody has asked.
    pub network: Option<OwnedReference>,
    /// Our own streams.
    pub streams: [Option<OwnedReference>; 3],
}

/// The manager.
pub struct Manager {
    /// The numbers.
    pub world: World,
    /// References that every process gets.
    pub shared: Shared,
    /// Pool of memory that may hold kernel objects. Nobody else gets it.
    pub(crate) pool: OwnedReference,
    pub(crate) bodies: BTreeMap<u64, ProcessEntry>,
    pub(crate) commands: Commands,
    /// Processes that a person has started from outside.
    pub(crate) execs: Execs,
    pub(crate) lists: Lists,
    pub(crate) tracing: Tracing,
    /// Arguments and environment of ours: such a process has the same environment.
    pub(crate) arguments: Arguments,
    /// Ports at which the terminals of sessions report keys.
    terminals: BTreeMap<u64, OwnedPort>,
    pub(crate) parents: Parents,
    pub(crate) names: Names,
    waiters: Vec<Waiter>,
    /// Makers that wait for these children to be programs of their own, or to end.
    makers: Vec<(u64, OwnedReference)>,
    set: OwnedPortSet,
    over: Option<u64>,
    /// Time-stamp at which the manager began, by which worlds are told apart.
    pub(crate) born: u64,
    /// Nanoseconds of processors that processes have had of which nothing is left.
    pub(crate) used_before: u64,
}

impl Life {
    /// The space that is in it.
    pub fn space(&self) -> Option<Space> {
        match self {
            Life::None => None,
            Life::First(child) => Some(child.space()),
            Life::Made { space, .. } => Some(Space::through(space.handle())),
        }
    }

    /// Returns the first thread.
    pub(crate) fn thread(&self) -> Option<Thread> {
        match self {
            Life::None => None,
            Life::First(child) => Some(child.thread()),
            Life::Made { thread, .. } => Some(Thread::through(thread.handle())),
        }
    }

    /// Takes it back whole: what time its first thread had. Nobody is told any more of its threads'
    /// ends.
    fn destroy(self) -> u64 {
        // A thread that is not there any more tells nothing.
        let used = self.thread().and_then(|thread| thread.time().ok()).unwrap_or(0);
        if let Some(space) = self.space() {
            // One that is not there any more has no threads either.
            let _ = keep(space, Reference::NONE);
        }
        if let Life::Made { segment, .. } = &self {
            let _ = segment::destroy(segment.handle());
        }
        used
    }
}

impl ProcessEntry {
    fn new(pid: u64, set: &OwnedPortSet) -> Result<ProcessEntry, Errno> {
        let port = OwnedPort::new(pid, set.handle())?;
        Ok(ProcessEntry { port, life: Life::None, prepared: None, agent: None, used: 0, children_used: 0, streams: [const { None }; 3], files: None, memory: None, has_files: false, channels: None, network: None, objects: None, visits: Visits::default() })
    }

    /// Sends exceptions of the space to this port. The manager still hears of the space's end.
    pub(crate) fn keep(&self, keeper: Reference) -> Result<(), Errno> {
        Ok(keep_and_watch(self.life.space().ok_or(Errno::EINVAL)?, keeper, self.port.handle().as_keeper())?)
    }

    /// Replaces the environment, and drops the old one. Returns true if there was one.
    pub(crate) fn live(&mut self, life: Life, visited: u64) -> Result<bool, Errno> {
        keep(life.space().ok_or(Errno::EINVAL)?, self.port.handle().as_keeper())?;
        let old = core::mem::replace(&mut self.life, life);
        self.agent = None;
        let is_another = !matches!(old, Life::None);
        self.used = self.used.saturating_add(old.destroy());
        if is_another {
            self.end_objects();
        }
        self.visits.moved(visited);
        Ok(is_another)
    }

    /// Starts the first thread.
    pub(crate) fn start(&self) {
        if let Some(thread) = self.life.thread() {
            // A thread that is not there does not run: its affair.
            let _ = thread.start();
        }
    }

    /// Takes back memory for kernel objects, and with it all that the process has made there.
    fn end_objects(&mut self) {
        if let Some(pool) = self.objects.take() {
            let _ = memory::pool_destroy(pool.own.handle());
        }
    }

    /// Memory that was prepared goes.
    pub(crate) fn forget_prepared(&mut self) {
        if let Some(segment) = self.prepared.take() {
            let _ = segment::destroy(segment.handle());
        }
    }
}

impl Manager {
    /// A manager with the body of the first process, which lives nowhere yet.
    pub fn new(world: World, shared: Shared, pool: OwnedReference, arguments: Arguments) -> Result<Manager, Errno> {
        let set = OwnedPortSet::new()?;
        let bodies = BTreeMap::from([(FIRST, ProcessEntry::new(FIRST, &set)?)]);
        let commands = Commands::start(set.handle());
        Ok(Manager { world, shared, pool, bodies, commands, execs: Execs::default(), lists: Lists::default(), tracing: Tracing::default(), arguments, terminals: BTreeMap::new(), parents: Parents::new()?, names: Names::default(), waiters: Vec::new(), makers: Vec::new(), set, over: None, born: ticks(), used_before: 0 })
    }

    /// The set of all ports.
    pub(crate) fn set(&self) -> PortSet {
        self.set.handle()
    }

    /// The port of a process, for it and for who makes it.
    pub(crate) fn port(&self, pid: u64) -> Result<OwnedReference, Errno> {
        let body = self.bodies.get(&pid).ok_or(Errno::ESRCH)?;
        Ok(body.port.new_reference(REFERENCE_USE)?)
    }

    /// A body for a process that `parent` has made. It has its parent's streams.
    pub(crate) fn add_body(&mut self, pid: u64, parent: u64) -> Result<OwnedReference, Errno> {
        let mut body = ProcessEntry::new(pid, &self.set)?;
        if let Some(parent) = self.bodies.get(&parent) {
            (body.files, body.memory) = (parent.files.clone(), parent.memory.clone());
            for (to, from) in body.streams.iter_mut().zip(&parent.streams) {
                *to = from.as_ref().map(|from| OwnedReference::copy_of(from.handle(), REFERENCE_USE)).transpose()?;
            }
        }
        self.bodies.insert(pid, body);
        self.tell_parent(pid);
        self.port(pid)
    }

    /// Everybody can read whose child the process is.
    fn tell_parent(&self, pid: u64) {
        if let Ok(process) = self.world.process(pid) {
            self.parents.set(pid, process.parent);
        }
    }

    /// A port for the terminal of a session, which is to tell us of its keys there.
    pub fn add_terminal(&mut self, session: u64) -> Result<OwnedReference, Errno> {
        let port = OwnedPort::new(TERMINAL | session, self.set.handle())?;
        let reference = port.new_reference(REFERENCE_NOTIFY)?;
        self.terminals.insert(session, port);
        Ok(reference)
    }

    /// A process of which a child was made runs.
    pub fn begin_program(&mut self, pid: u64, child: Child<Services>, flags: u64, name: &[u8]) -> Result<(), Errno> {
        let visited = child.visited();
        let body = self.bodies.get_mut(&pid).ok_or(Errno::ESRCH)?;
        body.live(Life::First(Box::new(child)), visited)?;
        self.world.begin(pid, flags, 0)?;
        self.world.set_name(pid, name)?;
        self.bodies.get(&pid).ok_or(Errno::ESRCH)?.start();
        Ok(())
    }

    /// Serves until the first process has ended: its status, as `parent.exit` has it.
    pub fn run(&mut self) -> Result<u64, Status> {
        let mut endpoint = ServerEndpoint::new(MAX_BYTES as usize).map_err(|_| Status::new(nacre_abi::Code::NoMemory))?;
        loop {
            let patience = self.patience();
            match endpoint.next(self.set.handle().address(), patience) {
                Ok(event) => {
                    self.handle(event);
                    self.lists.passed(0);
                }
                Err(status) if status.code() == Some(Code::TimedOut) => self.lists.passed(patience),
                Err(status) => return Err(status),
            }
            self.carry_out();
            self.lists_go_on();
            self.execs_go_on();
            self.tracing_goes_on();
            self.carry_out();
            if let Some(status) = self.over {
                self.execs_end();
                self.bodies.clear();
                return Ok(if status & 0x7f == 0 { status >> 8 } else { 256 + (status & 0xff) });
            }
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Request(mut request) => match request.protocol() {
                parent::NUMBER if request.word() & OTHERS == 0 => parent::dispatch(self, &mut request),
                process::NUMBER if request.word() & OTHERS == 0 => process::dispatch(self, &mut request),
                file::NUMBER if request.word() & OTHERS == STREAM => file::dispatch(self, &mut request),
                terminal::NUMBER if request.word() & OTHERS == STREAM => request.refuse(Errno::ENOTTY),
                control::NUMBER => control::dispatch(self, &mut request),
                _ => request.refuse(Errno::ENOSYS),
            },
            Event::Exception(mut request) => self.exception(&mut request),
            Event::Fault(mut request) => request.answer(fault::REFUSE, [0; 6]),
            Event::Notification { word, bits } if word & TERMINAL != 0 => self.terminal_event(word & !TERMINAL, bits),
            Event::Notification { word: COMMANDED, .. } => self.commanded(),
            Event::Notification { word, .. } if word & CONTROL != 0 => self.leaves_seat(word & !CONTROL),
            Event::Notification { word, bits } if word & STREAM != 0 => {
                if let Some(exec) = self.execs.all.get_mut(&words::number(word)) {
                    exec.notified(word, bits, &self.commands);
                }
            }
            Event::Notification { word, bits } if bits & (NO_REFERENCES | THREAD_ENDED) != 0 => self.world.lost(word),
            Event::Notification { .. } => {}
        }
    }

    /// Ends the process as by the signal, because it has no keeper of its own.
    fn exception(&mut self, request: &mut Request<'_>) {
        let exception = Exception::from_words(request.words());
        if let Some(state) = thread_state(request.bytes()).and_then(|state| reflected(&exception, state)) {
            let bytes: Vec<u8> = state.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
            request.put(&bytes);
            request.answer(fault::RESUME, [0; 6]);
            return;
        }
        request.answer(fault::STOP, [0; 6]);
        self.world.exit(request.word(), exception.exit_status());
    }

    fn terminal_event(&mut self, session: u64, bits: u64) {
        for (_, signal) in KEYS.into_iter().filter(|(bit, _)| bits & bit != 0) {
            self.world.terminal_signal(session, signal);
        }
    }

    /// Does what the last operation has led to.
    pub fn carry_out(&mut self) {
        let effects = self.world.effects();
        // Before anything can be seen of the parent's end, its children have another one.
        effects.iter().for_each(|effect| {
            if let Effect::Adopted(pid) = effect {
                self.tell_parent(*pid)
            }
        });
        for effect in effects {
            match effect {
                Effect::Adopted(_) => {}
                Effect::Destroy(pid) => self.destroy(pid),
                Effect::Forget(pid) => self.forget(pid),
                Effect::Notify(pid) => self.notify(pid),
                Effect::Stop(pid) => drop(self.thread(pid).map(Thread::stop)),
                Effect::Continue(pid) => drop(self.thread(pid).map(Thread::start)),
                Effect::Changed(parent) => self.changed(parent),
                Effect::Detached(session) => drop(self.terminals.remove(&session)),
                Effect::Over(status) => self.over = Some(status),
            }
        }
    }

    fn thread(&self, pid: u64) -> Option<Thread> {
        self.bodies.get(&pid)?.life.thread()
    }

    fn destroy(&mut self, pid: u64) {
        self.waiters.retain(|waiter| waiter.pid != pid);
        self.leaves_seat(pid);
        self.commands.forget(pid);
        self.release(pid);
        if let Some(body) = self.bodies.get_mut(&pid) {
            body.forget_prepared();
            body.agent = None;
            body.streams = [const { None }; 3];
            (body.channels, body.network, body.memory) = (None, None, None);
            let used = core::mem::replace(&mut body.life, Life::None).destroy();
            body.used = body.used.saturating_add(used);
            body.end_objects();
            body.visits.end();
        }
    }

    fn notify(&self, pid: u64) {
        if let Some((agent, bits)) = self.bodies.get(&pid).and_then(|body| body.agent.as_ref()) {
            // An agent that has gone hears nothing.
            let _ = ipc::notify(agent.handle(), *bits);
        }
    }

    /// Answers those who wait for a child of `parent`. A change counts as told only if the answer
    /// has arrived.
    fn changed(&mut self, parent: u64) {
        let (waiting, others): (Vec<Waiter>, Vec<Waiter>) = core::mem::take(&mut self.waiters).into_iter().partition(|waiter| waiter.pid == parent);
        self.waiters = others;
        for waiter in waiting {
            match self.world.wait(parent, waiter.which, waiter.options) {
                Ok(None) => self.waiters.push(waiter),
                Ok(Some(found)) => {
                    if self.answer(&found).send(waiter.reply, Span::EMPTY).is_ok() {
                        self.waited(parent, &found, waiter.options);
                    }
                }
                Err(errno) => drop(server::refuse(waiter.reply, errno)),
            }
        }
        // Forgetting these children is the only effect that answers can have.
        for effect in self.world.effects() {
            if let Effect::Forget(pid) = effect {
                self.forget(pid);
            }
        }
    }

    /// `wait`: the answer if there is one at once.
    pub(crate) fn wait_now(&mut self, pid: u64, which: i64, options: u64) -> Result<Option<wait::Output>, Errno> {
        match self.world.wait(pid, which, options)? {
            Some(found) => {
                let answer = self.answer(&found);
                self.waited(pid, &found, options);
                Ok(Some(answer))
            }
            None if options & WNOHANG != 0 => Ok(Some(wait::Output::default())),
            None => Ok(None),
        }
    }

    /// Returns true if one more thread of the process may wait. Forgets waiters that were
    /// interrupted.
    pub(crate) fn may_wait(&mut self, pid: u64) -> bool {
        self.waiters.retain(|waiter| waiter.pid != pid || !waiter.reply.is_null().unwrap_or(true));
        self.waiters.iter().filter(|waiter| waiter.pid == pid).count() < MAX_WAITERS
    }

    /// Returns true if one more thread may wait until the child needs nothing of its maker. Threads
    /// that have been interrupted are forgotten.
    pub(crate) fn may_wait_for_release(&mut self, child: u64) -> bool {
        self.makers.retain(|(_, reply)| !reply.is_null().unwrap_or(true));
        self.makers.iter().filter(|(pid, _)| *pid == child).count() < MAX_WAITERS
    }

    /// Answers when the child needs nothing of its maker any more.
    pub(crate) fn release_later(&mut self, child: u64, reply: OwnedReference) {
        self.makers.push((child, reply));
    }

    /// The child needs nothing of its maker any more.
    pub(crate) fn release(&mut self, child: u64) {
        let (released, others): (Vec<_>, Vec<_>) = core::mem::take(&mut self.makers).into_iter().partition(|(pid, _)| *pid == child);
        self.makers = others;
        for (_, reply) in released {
            // A maker that has gone does not care.
            let _ = released::Output::default().send(reply, Span::EMPTY);
        }
    }

    /// Answers when a child has changed.
    pub(crate) fn wait_later(&mut self, pid: u64, which: i64, options: u64, reply: OwnedReference) {
        self.waiters.push(Waiter { pid, which, options, reply });
    }
}
