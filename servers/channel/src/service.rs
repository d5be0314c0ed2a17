//! Protocol `channel`, and `file` at the ends: who waits for an end, who watches it, and what
//! closes when nobody refers to it.
//!
//! An operation that has to wait is kept at its end, and tried again whenever that was touched; if
//! whoever asked has gone meanwhile, nothing is done for it, and an end that it was to be given
//! closes with the only reference.

mod answers;
mod boards;
mod keyed;
mod mailboxes;
mod outside;
mod received;
mod shared;
mod shared_rings;
mod terminals;

use crate::hub::{Hub, Line, Sending};
use crate::keyed::Keyed;
use crate::queue::{Received, ReceiveRequest};
use boards::Boards;
pub use outside::InnerEnds;
use outside::Nobody;
use shared_rings::Sharing;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_abi::fault;
use nacre_abi::message::{MAX_BYTES, MAX_REFERENCES, NO_REFERENCES};
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::{O_NONBLOCK, POLLERR, POLLHUP};
use nacre_proto::keyed as protocol;
use nacre_proto::server::{self, Output};
use nacre_proto::{Answer, Errno, Event, HandlerResult, Request, ServerEndpoint, channel, directory, file, mailbox, terminal};
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, Port, Status, ipc};

/// The word of the service's own port; ends have other ones.
const SERVICE: u64 = 0;
/// The word of the port at which it is told that it is over.
const END: u64 = u64::MAX;
/// The word of the port at which whoever has inner ends is called.
const BESIDE: u64 = u64::MAX - 1;
/// Bit in the word of a port at which one process finds the service.
const ACCOUNT: u64 = 1 << 62;

/// Returns true if the port with this word is the service's, and not that of an end or of a process
/// that uses keys.
fn is_service(word: u64) -> bool {
    word == SERVICE || word & ACCOUNT != 0
}
/// Maximum number of accounts.
const MAX_ACCOUNTS: usize = 8192;
/// Maximum number of accounts below one, and of accounts above one.
const MAX_BELOW: usize = 512;
const MAX_ABOVE: usize = 8;
/// Maximum number of threads that wait at an end.
const MAX_WAITING: usize = 64;
/// Maximum number of ports that watch an end.
const MAX_WATCHERS: usize = 64;

/// Operation on an end.
enum EndRequest {
    /// `file.read` (plain) or `channel.receive`.
    Receive { wish: ReceiveRequest, answer: Form },
    /// `file.write` (plain) or `channel.send`.
    Send { sending: Sending, references: Vec<OwnedReference> },
    /// `channel.connect`.
    Connect {
        name: Vec<u8>,
        owner: [u64; 3],
        /// The outside has been asked.
        is_begun: bool,
    },
    /// `channel.accept`.
    Accept { flags: u64 },
    /// `channel.fifo`, which waits for its other side: the reference that is to be answered.
    Open { held: Option<OwnedReference> },
}

/// Form of an answer with received data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As `file.read` does.
    Plain,
    /// As `channel.receive` does.
    Whole,
    /// The bytes alone.
    Bare,
    /// The bytes and their sender.
    Signed,
}

/// Result of an operation.
enum Done {
    /// Result of `Receive`.
    Received(Received<OwnedReference>),
    /// Result of `Send`.
    Sent(usize),
    /// Result of `Connect`.
    Connected,
    /// Result of `Accept` and `Open`: an end and what leads to it, and the name of the other one.
    End(u64, OwnedReference, Vec<u8>),
}

/// Somebody who waits.
struct Waiter {
    doing: EndRequest,
    reply: OwnedReference,
    /// Set if the call waits for a lock, and for nothing else.
    dont_wait: bool,
}

impl EndRequest {
    /// Bytes and references that it keeps while it waits.
    fn load(&self) -> (usize, usize) {
        match self {
            EndRequest::Send { sending, references } => (sending.data.len() + sending.control.len() + sending.to.len(), references.len()),
            _ => (0, 0),
        }
    }

    fn is_send(&self) -> bool {
        matches!(self, EndRequest::Send { .. })
    }
}

/// Somebody who wants to be told when there may be an event.
struct Watcher {
    /// Events to report; `ANY_CHANGE`: every change.
    events: u64,
    teller: Teller,
}

/// The way in which a watcher is told.
enum Teller {
    /// Bits at a port.
    Port(OwnedReference, u64),
    /// A number on a board.
    Board(u64, u64),
}

impl Teller {
    fn tell(&self, boards: &mut Boards) {
        match self {
            // One that has gone need not hear of it.
            Teller::Port(port, bits) => drop(ipc::notify(port.handle(), *bits)),
            Teller::Board(number, id) => boards.tell(*number, *id),
        }
    }

    /// Returns true if both put the same number on the same board.
    fn is_same(&self, other: &Teller) -> bool {
        matches!((self, other), (Teller::Board(number, id), Teller::Board(same, also)) if (number, id) == (same, also))
    }
}

/// Value in place of events that stands for any change.
const ANY_CHANGE: u64 = u64::MAX;

/// An end as those who hold it see it.
struct Place {
    port: OwnedPort,
    waiters: VecDeque<Waiter>,
    watchers: VecDeque<Watcher>,
}

/// The end that a reference leads to, if it is one of ours.
fn end_of(places: &BTreeMap<u64, Place>, reference: &OwnedReference) -> Option<u64> {
    let revealed = reference.handle().reveal(0, nacre_abi::USER_END).ok()??;
    let key = Port(revealed.address).get_state().ok()?.word;
    (places.get(&key)?.port.handle().address() == revealed.address).then_some(key)
}

/// The references of a request.
fn kept(request: &mut Request<'_>) -> Result<Vec<OwnedReference>, Errno> {
    (0..request.references().len()).map(|index| request.keep(index)).collect()
}

/// Answers at once if it is done.
fn done_or_later<T: Output>(done: bool, output: T) -> HandlerResult<T> {
    if done { output.now() } else { Ok(Answer::Later) }
}

/// The server.
pub struct Service {
    hub: Hub<OwnedReference>,
    places: BTreeMap<u64, Place>,
    /// Port that hears of each terminal, and the events that it hears of.
    attendants: BTreeMap<u64, (u64, OwnedReference)>,
    /// System V objects, and the ports of processes that ask for them.
    keyed: Keyed<OwnedReference, OwnedReference>,
    members: BTreeMap<u64, OwnedPort>,
    /// Ports at which processes find the service, each with an account of its own, behind those
    /// above it.
    accounts: BTreeMap<u64, (OwnedPort, Line)>,
    boards: Boards,
    clock: Option<OwnedReference>,
    /// Pipes whose bytes processes share.
    sharing: Sharing,
    set: OwnedPortSet,
    port: OwnedPort,
    end: OwnedPort,
    /// Port at which whoever has inner ends is called.
    beside: Option<OwnedPort>,
    /// Touched ends that nobody has references to.
    inner: BTreeSet<u64>,
}

impl Service {
    /// A server without ends.
    pub fn new() -> Result<Service, Errno> {
        let set = OwnedPortSet::new()?;
        let port = OwnedPort::new(SERVICE, set.handle())?;
        let end = OwnedPort::new(END, set.handle())?;
        let (hub, keyed, sharing) = (Hub::default(), Keyed::default(), Sharing::default());
        Ok(Service { hub, places: BTreeMap::new(), attendants: BTreeMap::new(), keyed, members: BTreeMap::new(), accounts: BTreeMap::new(), boards: Boards::new(), clock: None, sharing, set, port, end, beside: None, inner: BTreeSet::new() })
    }

    /// Sets the clock that gives the times of changes.
    pub fn set_clock(&mut self, clock: OwnedReference) {
        self.clock = Some(clock);
    }

    /// The ends and queues.
    pub fn hub(&mut self) -> &mut Hub<OwnedReference> {
        &mut self.hub
    }

    /// Lets processes share the bytes of pipes, in memory of this pool.
    pub fn set_memory(&mut self, pool: OwnedReference) {
        self.sharing.set_memory(pool);
    }

    /// A reference for those who want channels.
    pub fn reference(&self) -> Result<OwnedReference, Errno> {
        Ok(self.port.new_reference(REFERENCE_USE)?)
    }

    /// A reference at which any notification says that it is over.
    pub fn end(&self) -> Result<OwnedReference, Errno> {
        Ok(self.end.new_reference(REFERENCE_NOTIFY)?)
    }

    /// A port at which any notification calls whoever has inner ends. Those who have references to
    /// it call, and the last of them by its end.
    pub fn beside(&mut self) -> Result<Port, Errno> {
        let port = OwnedPort::new(BESIDE, self.set.handle())?;
        Ok(self.beside.insert(port).handle())
    }

    /// Serves until it is over. After that the memory that it shares may go.
    pub fn run(&mut self) -> Result<(), Status> {
        self.run_with(&mut Nobody)
    }

    /// Serves as [`Service::run`] does, with somebody who has inner ends.
    pub fn run_with(&mut self, outside: &mut dyn InnerEnds) -> Result<(), Status> {
        let mut endpoint = ServerEndpoint::new(MAX_BYTES as usize).map_err(|_| Status::new(nacre_abi::Code::NoMemory))?;
        loop {
            match endpoint.next(self.set.handle().address(), outside.patience()) {
                Ok(Event::Notification { word: END, .. }) => return Ok(()),
                Ok(Event::Notification { word: BESIDE, .. }) => outside.called(),
                Ok(event) => self.handle(event),
                Err(status) if status.code() == Some(nacre_abi::Code::TimedOut) => {}
                Err(status) => return Err(status),
            }
            self.settle();
            let touched = core::mem::take(&mut self.inner);
            outside.turn(&mut self.hub, &touched);
            self.settle();
            self.tell_attendants();
            self.settle_keyed();
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Request(mut request) => self.dispatch(&mut request),
            Event::Notification { word, bits } if bits & NO_REFERENCES != 0 && word & ACCOUNT != 0 => self.end_account(word),
            Event::Notification { word, bits } if bits & NO_REFERENCES != 0 && word != SERVICE => self.close(word),
            Event::Notification { .. } => {}
            Event::Exception(mut request) | Event::Fault(mut request) => request.answer(fault::REFUSE, [0; 6]),
        }
    }

    fn dispatch(&mut self, request: &mut Request<'_>) {
        let is_end = !is_service(request.word());
        match request.protocol() {
            channel::NUMBER => channel::dispatch(self, request),
            protocol::NUMBER => protocol::dispatch(self, request),
            mailbox::NUMBER => mailbox::dispatch(self, request),
            file::NUMBER if is_end => file::dispatch(self, request),
            terminal::NUMBER if is_end => terminal::dispatch(self, request),
            directory::NUMBER if is_end => request.refuse(Errno::ENOTDIR),
            _ => request.refuse(Errno::ENOSYS),
        }
    }

    /// Refuses what did not come through a port of the service's. What is made now is made on that
    /// port's account.
    fn check_service(&mut self, request: &Request<'_>) -> Result<(), Errno> {
        let line = self.line(request.word());
        self.hub.charge_line(line);
        if is_service(request.word()) { Ok(()) } else { Err(Errno::ENOSYS) }
    }

    /// Returns the account that has this word, behind those above it. The service's own port has
    /// none.
    fn line(&self, word: u64) -> Line {
        self.accounts.get(&word).map_or_else(Line::default, |(_, line)| line.clone())
    }

    /// Adds an account for one more process, which makes ends below that of the port with this
    /// word, and returns its number and a reference to its port.
    fn add_account(&mut self, above: u64) -> Result<(u64, OwnedReference), Errno> {
        let above = self.line(above);
        let below = |line: &Line| above.first().is_some_and(|first| line.first() == Some(first));
        if above.len() >= MAX_ABOVE || !above.is_empty() && self.accounts.values().filter(|(_, line)| below(line)).count() > MAX_BELOW {
            return Err(Errno::EPERM);
        }
        if self.accounts.len() >= MAX_ACCOUNTS {
            return Err(Errno::ENFILE);
        }
        let word = ACCOUNT | self.hub.key();
        let port = OwnedPort::new(word, self.set.handle())?;
        let reference = port.new_reference(REFERENCE_USE)?;
        let line = above.iter().copied().chain([word]).collect();
        self.accounts.insert(word, (port, line));
        Ok((word, reference))
    }

    /// A process has ended. What its threads were sending goes, since it may keep the end at which
    /// it waits.
    fn end_account(&mut self, word: u64) {
        self.accounts.remove(&word);
        self.forget_budgets();
        self.boards.remove(word);
        let waited: Vec<u64> = self.places.iter().filter(|(_, place)| !place.waiters.is_empty()).map(|(key, _)| *key).collect();
        waited.into_iter().for_each(|key| self.forget_gone(key));
    }

    /// A port for an end, and the first reference to it.
    fn place(&mut self, key: u64) -> Result<OwnedReference, Errno> {
        let port = OwnedPort::new(key, self.set.handle())?;
        let reference = port.new_reference(REFERENCE_USE)?;
        self.places.insert(key, Place { port, waiters: VecDeque::new(), watchers: VecDeque::new() });
        Ok(reference)
    }

    /// Returns a reference to an end as [`Service::place`] does. The end goes if there can be none.
    fn place_or_close(&mut self, key: u64) -> Result<OwnedReference, Errno> {
        self.place(key).inspect_err(|_| self.hub.close(key))
    }

    fn close(&mut self, key: u64) {
        for waiter in self.places.remove(&key).into_iter().flat_map(|place| place.waiters) {
            self.hub.let_go(key, waiter.doing.load());
        }
        self.hub.close(key);
        self.leave_keyed(key);
        self.leave_ring(key);
    }

    /// Does what can be done now; `None`: it has to wait.
    fn attempt(&mut self, key: u64, doing: &mut EndRequest) -> Result<Option<Done>, Errno> {
        match doing {
            EndRequest::Receive { wish, .. } => Ok(self.hub.receive(key, *wish)?.map(Done::Received)),
            EndRequest::Send { sending, references } => {
                let places = &self.places;
                self.hub.check_cycles(key, Some(&sending.to), references, |reference| end_of(places, reference))?;
                Ok(self.hub.send(key, sending, references)?.map(Done::Sent))
            }
            EndRequest::Connect { is_begun: true, .. } => Ok(self.hub.outcome(key)?.then_some(Done::Connected)),
            EndRequest::Connect { name, owner, is_begun } => {
                let done = self.hub.connect(key, name, *owner)?;
                *is_begun = self.hub.is_connecting(key);
                Ok(done.then_some(Done::Connected))
            }
            EndRequest::Accept { flags } => {
                let Some((end, name)) = self.hub.accept(key, *flags)? else { return Ok(None) };
                Ok(Some(Done::End(end, self.place_or_close(end)?, name)))
            }
            EndRequest::Open { .. } if !self.hub.is_open(key)? => Ok(None),
            EndRequest::Open { held } => Ok(Some(Done::End(key, held.take().ok_or(Errno::EBADF)?, Vec::new()))),
        }
    }

    /// Returns true if a call may not wait.
    fn cannot_wait(&self, key: u64, dont_wait: bool) -> Result<bool, Errno> {
        let is_full = self.places.get(&key).is_none_or(|place| place.waiters.len() >= MAX_WAITING);
        Ok(is_full || self.must_not_wait(key, dont_wait)? && !self.hub.is_locked(key))
    }

    fn must_not_wait(&self, key: u64, dont_wait: bool) -> Result<bool, Errno> {
        Ok(dont_wait || self.hub.flags(key)? & O_NONBLOCK != 0)
    }

    /// FileAttributes again for everybody at the ends that were touched.
    fn settle(&mut self) {
        loop {
            self.call_users();
            let touched = self.hub.touched();
            if touched.is_empty() {
                return;
            }
            for key in touched {
                if self.beside.is_some() && !self.places.contains_key(&key) {
                    self.inner.insert(key);
                }
                self.settle_waiters(key);
                self.settle_watchers(key);
            }
        }
    }

    /// Forgets those who waited at an end and have gone, with what they wanted to send.
    fn forget_gone(&mut self, key: u64) {
        let Some(place) = self.places.get_mut(&key) else { return };
        let hub = &mut self.hub;
        place.waiters.retain(|waiter| {
            let has_gone = waiter.reply.is_null().unwrap_or(true);
            if has_gone {
                hub.let_go(key, waiter.doing.load());
            }
            !has_gone
        });
    }

    fn settle_waiters(&mut self, key: u64) {
        let Some(place) = self.places.get_mut(&key) else { return };
        if !place.waiters.is_empty() || !place.watchers.is_empty() {
            self.hub.want(key);
        }
        let waiters = core::mem::take(&mut place.waiters);
        let mut kept = VecDeque::new();
        for mut waiter in waiters {
            self.hub.let_go(key, waiter.doing.load());
            if waiter.reply.is_null().unwrap_or(true) {
                continue;
            }
            match self.attempt(key, &mut waiter.doing) {
                Ok(None) if waiter.dont_wait && !self.hub.is_locked(key) => drop(server::refuse(waiter.reply, Errno::EAGAIN)),
                Ok(None) => {
                    self.hub.hold(key, waiter.doing.load(), waiter.doing.is_send());
                    kept.push_back(waiter);
                }
                Ok(Some(done)) => self.answer_later(key, waiter, done),
                Err(errno) => drop(server::refuse(waiter.reply, errno)),
            }
        }
        if let Some(place) = self.places.get_mut(&key) {
            kept.append(&mut place.waiters);
            place.waiters = kept;
        }
    }

    fn settle_watchers(&mut self, key: u64) {
        let (Ok(events), Some(place), boards) = (self.hub.events(key), self.places.get_mut(&key), &mut self.boards) else { return };
        place.watchers.retain(|watcher| {
            let is_due = watcher.events == ANY_CHANGE || events & (watcher.events | POLLERR | POLLHUP) != 0;
            if is_due {
                watcher.teller.tell(boards);
            }
            !is_due
        });
    }

    fn watch(&mut self, key: u64, watcher: Watcher) -> Result<(), Errno> {
        let watchers = &mut self.places.get_mut(&key).ok_or(Errno::EBADF)?.watchers;
        watchers.retain(|other| !other.teller.is_same(&watcher.teller));
        if watchers.len() >= MAX_WATCHERS
            && let Some(oldest) = watchers.pop_front()
        {
            oldest.teller.tell(&mut self.boards);
        }
        watchers.push_back(watcher);
        Ok(())
    }
}

/// Maximum number of references that a message brings.
const SLOTS: usize = MAX_REFERENCES as usize;
