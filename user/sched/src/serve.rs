//! The loop of a scheduler: announcements in, time out.

use crate::policy::Policy;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_abi::Status;
use nacre_sys::ipc::{self, Buffers, Received};
use nacre_sys::{DonationEnd, OwnedReference, Port, Thread};

/// Longest piece of time that a thread gets at once, in nanoseconds.
const PIECE: u64 = 5_000_000;
/// How long to wait for a thread that runs elsewhere.
const AWHILE: u64 = 200_000;
/// Most threads of a client that wait for their turn; who comes when there are more is given no time.
const MOST_THREADS: usize = 4096;

/// The ready threads of one client.
#[derive(Default)]
struct Queue {
    threads: VecDeque<OwnedReference>,
    /// What the first has had of its piece.
    used: u64,
}

/// Schedules threads whose scheduler is `port`; the word that each is known by is the number of its client.
pub struct Scheduler<P> {
    policy: P,
    port: Port,
    clients: Vec<Queue>,
    /// Where the reference of the next announcement goes.
    slot: OwnedReference,
}

impl<P: Policy> Scheduler<P> {
    /// A scheduler of so many clients.
    pub fn new(policy: P, port: Port, clients: usize) -> Result<Scheduler<P>, Status> {
        let clients = (0..clients).map(|_| Queue::default()).collect();
        Ok(Scheduler { policy, port, clients, slot: OwnedReference::null()? })
    }

    /// Gives time for ever. Returns when the port is gone.
    pub fn run(&mut self) -> Status {
        loop {
            let result = match self.policy.pick() {
                Some(client) => self.turn(client),
                None => self.receive(nacre_sys::FOREVER),
            };
            if let Err(status) = result {
                return status;
            }
        }
    }

    /// Takes one announcement; none within `timeout` is no error.
    fn receive(&mut self, timeout: u64) -> Result<(), Status> {
        match ipc::receive(self.port.address(), Buffers::new(&mut [][..], &[self.slot.handle()]), timeout) {
            Ok(received) => self.announced(&received),
            Err(status) if status.code() == Some(nacre_abi::Code::TimedOut) => Ok(()),
            Err(status) => Err(status),
        }
    }

    fn announced(&mut self, received: &Received) -> Result<(), Status> {
        let client = received.ready().unwrap_or(u64::MAX) as usize;
        let Some(queue) = self.clients.get_mut(client).filter(|queue| received.references() == 1 && queue.threads.len() < MOST_THREADS) else { return Ok(()) };
        let thread = core::mem::replace(&mut self.slot, OwnedReference::null()?);
        queue.threads.push_back(thread);
        self.policy.add(client);
        Ok(())
    }

    /// Gives time to the first thread of a client.
    fn turn(&mut self, client: usize) -> Result<(), Status> {
        let queue = &mut self.clients[client];
        let Some(first) = queue.threads.front() else {
            self.policy.remove(client);
            return Ok(());
        };
        // A thread that is gone is blocked for ever.
        let (end, used) = match Thread(first.handle().0).donate(self.port.address(), PIECE - queue.used) {
            Ok(donation) => (donation.end, donation.used),
            Err(_) => (DonationEnd::Blocked, 0),
        };
        queue.used += used;
        if end == DonationEnd::Blocked {
            queue.threads.pop_front();
            queue.used = 0;
        } else if end != DonationEnd::Arrived || queue.used >= PIECE {
            queue.threads.rotate_left(1);
            queue.used = 0;
        }
        let empty = queue.threads.is_empty();
        self.policy.charge(client, if end == DonationEnd::Busy { AWHILE } else { used });
        if empty {
            self.policy.remove(client);
        }
        match end {
            // What has come may be gone again: its sender was stopped. Then there is nothing to wait for.
            DonationEnd::Arrived => self.receive(1),
            DonationEnd::Busy => self.receive(AWHILE),
            _ => Ok(()),
        }
    }
}
