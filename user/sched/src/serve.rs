//! The loop of a scheduler: announcements in, time out. Several threads may run it at once, each on
//! a processor of its own.

use crate::own_cost::OwnCost;
use crate::policy::Policy;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_abi::Status;
use nacre_sys::ipc::{self, Buffers, Received};
use nacre_sys::lock::Lock;
use nacre_sys::{DonationEnd, OwnedReference, Port, Reference, Thread};

/// Maximum length of a piece of time that a thread gets at once, in nanoseconds.
const PIECE: u64 = 5_000_000;
/// Time to wait for a thread that runs elsewhere, in nanoseconds.
const AWHILE: u64 = 200_000;
/// Maximum number of threads of a client that wait for their turn. Threads beyond it are given no
/// time.
const MAX_THREADS: usize = 4096;
/// Slots for threads that are there from the start, so that others who take all memory do not keep
/// the first threads from running.
const SPARE_SLOTS: usize = 64;

/// A thread that is ready, and what it has had of its piece.
struct Ready {
    thread: OwnedReference,
    used: u64,
}

/// The threads of one client.
struct Queue {
    ready: VecDeque<Ready>,
    /// Number of threads that are given time now.
    running: usize,
    /// Nanoseconds that its threads were given so far.
    given: u64,
}

/// State that the threads of a scheduler share.
struct State<P> {
    policy: P,
    clients: Vec<Queue>,
    /// Number of its threads that wait for a client's thread to become ready.
    idle: usize,
}

/// Schedules threads whose scheduler is `port`; the word that each is known by is the number of its
/// client.
pub struct Scheduler<P> {
    state: Lock<State<P>>,
    port: Port,
}

impl<P: Policy> State<P> {
    /// Takes the first thread of the client whose turn it is, which is charged for a whole piece.
    /// If there is none, the caller is idle.
    fn take(&mut self) -> Option<(usize, Ready)> {
        let State { policy, clients, idle } = self;
        let client = policy.pick(&|client| clients.get(client).is_some_and(|queue| !queue.ready.is_empty()));
        let Some((client, queue)) = client.and_then(|client| Some((client, clients.get_mut(client)?))) else {
            *idle += 1;
            return None;
        };
        let ready = queue.ready.pop_front()?;
        queue.running += 1;
        policy.charge(client, PIECE - ready.used);
        Some((client, ready))
    }

    /// A thread has had some of its piece, and is ready or not. If it is ready and nothing is left
    /// of the piece it goes last.
    fn put_back(&mut self, client: usize, mut ready: Ready, end: DonationEnd, used: u64) {
        let State { policy, clients, .. } = self;
        let Some(queue) = clients.get_mut(client) else { return };
        queue.running -= 1;
        queue.given = queue.given.wrapping_add(used);
        policy.refund(client, (PIECE - ready.used).saturating_sub(if end == DonationEnd::Busy { AWHILE } else { used }));
        ready.used += used;
        if end == DonationEnd::Arrived && ready.used < PIECE {
            queue.ready.push_front(ready);
        } else if end != DonationEnd::Blocked {
            queue.ready.push_back(Ready { used: 0, ..ready });
        }
        if queue.ready.is_empty() && queue.running == 0 {
            policy.remove(client);
        }
    }

    /// A thread of a client is ready. One that is `first` was told that a port of its has no
    /// references any more, and goes before the one that let the last go.
    fn add(&mut self, client: usize, thread: OwnedReference, first: bool) {
        let Some(queue) = self.clients.get_mut(client).filter(|queue| queue.ready.len() < MAX_THREADS) else { return };
        let ready = Ready { thread, used: 0 };
        if first { queue.ready.push_front(ready) } else { queue.ready.push_back(ready) }
        self.policy.add(client);
    }

    /// Returns true if a client's thread waits for a processor, and a thread of the scheduler for
    /// work.
    fn is_slack(&self) -> bool {
        self.idle > 0 && self.clients.iter().any(|queue| !queue.ready.is_empty())
    }
}

impl<P: Policy> Scheduler<P> {
    /// A scheduler of so many clients. The memory of its queues is taken here, so that it goes on
    /// when there is no other left. `None`: there is not so much.
    pub fn new(policy: P, port: Port, clients: usize) -> Option<Scheduler<P>> {
        let queue = |_| {
            let mut ready = VecDeque::new();
            ready.try_reserve_exact(MAX_THREADS).ok()?;
            Some(Queue { ready, running: 0, given: 0 })
        };
        let clients = (0..clients).map(queue).collect::<Option<_>>()?;
        // The slots are kept for later by being taken all at once.
        let spare: Vec<OwnedReference> = (0..SPARE_SLOTS).map_while(|_| OwnedReference::null().ok()).collect();
        drop(spare);
        Some(Scheduler { state: Lock::new(State { policy, clients, idle: 0 }), port })
    }

    /// Gives the calling thread's time for ever. `time` tells the nanoseconds that this thread has
    /// had for itself, or 0 if nobody knows. Returns when the port is gone, or there is no memory
    /// for references any more.
    pub fn run(&self, mut time: impl FnMut() -> u64) -> Status {
        let slot = &mut match OwnedReference::null() {
            Ok(slot) => slot,
            Err(status) => return status,
        };
        let mut cost = OwnCost::new(time());
        loop {
            let (taken, slack) = {
                let mut state = self.state.lock();
                (state.take(), state.is_slack())
            };
            let result = match taken {
                Some((client, ready)) => self.wake(slack).and_then(|()| self.turn(client, ready, slot)),
                None => self.wait(slot).map(|()| None),
            };
            match result {
                Ok(Some(payer)) => self.charge_for_turn(payer, cost.of_turn(&mut time)),
                Ok(None) => {}
                Err(status) => return status,
            }
        }
    }

    /// Nanoseconds that each client was given so far.
    pub fn given(&self) -> Vec<u64> {
        self.state.lock().clients.iter().map(|queue| queue.given).collect()
    }

    /// Charges a client for the scheduler's own work.
    fn charge_for_turn(&self, payer: usize, cost: u64) {
        if cost != 0 {
            self.state.lock().policy.overhead(payer, cost);
        }
    }

    /// Wakes one of the threads that wait for a client's thread to become ready.
    fn wake(&self, wanted: bool) -> Result<(), Status> {
        if wanted { ipc::notify(Reference(self.port.address()), 1) } else { Ok(()) }
    }

    fn wait(&self, slot: &mut OwnedReference) -> Result<(), Status> {
        let result = self.receive(nacre_sys::FOREVER, slot).map(drop);
        self.state.lock().idle -= 1;
        result
    }

    /// Takes one announcement, to `slot`: the client whose thread is ready. None within `timeout`
    /// is no error.
    fn receive(&self, timeout: u64, slot: &mut OwnedReference) -> Result<Option<usize>, Status> {
        match ipc::receive(self.port.address(), Buffers::new(&mut [][..], &[slot.handle()]), timeout) {
            Ok(received) => Ok(self.announced(&received, slot)),
            Err(status) if status.code() == Some(nacre_abi::Code::TimedOut) => Ok(None),
            Err(status) => Err(status),
        }
    }

    fn announced(&self, received: &Received, slot: &mut OwnedReference) -> Option<usize> {
        if received.references() != 1 {
            return None;
        }
        match (received.ready(), OwnedReference::null()) {
            (Some(client), Ok(fresh)) => self.state.lock().add(client as usize, core::mem::replace(slot, fresh), received.words[1] != 0),
            // Without a slot for the next one, this thread is given no time.
            _ => drop(slot.handle().destroy()),
        }
        received.ready().map(|client| client as usize)
    }

    /// Gives time to a thread of a client. Returns the client that pays for this work: one whose
    /// thread became ready and cut the turn short, or the one that had the turn. Otherwise threads
    /// that wake and yield all the time would take time from the others.
    fn turn(&self, client: usize, ready: Ready, slot: &mut OwnedReference) -> Result<Option<usize>, Status> {
        // A thread that is gone is blocked for ever.
        let (end, used) = match Thread(ready.thread.handle().0).donate(self.port.address(), PIECE - ready.used) {
            Ok(donation) => (donation.end, donation.used),
            Err(_) => (DonationEnd::Blocked, 0),
        };
        self.state.lock().put_back(client, ready, end, used);
        match end {
            // What has come may be gone again: its sender was stopped, or another of these threads
            // has it. Then there is nothing to wait for.
            DonationEnd::Arrived => self.receive(1, slot).map(|arrived| arrived.or(Some(client))),
            DonationEnd::Busy => self.receive(AWHILE, slot).map(|_| None),
            _ => Ok(Some(client)),
        }
    }
}
