//! The way between the network card and the protocols, beside the sockets of the clients.

use crate::driver::{Service, Way};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::message::MAX_BYTES;
use nacre_channel::hub::Hub;
use nacre_channel::service::InnerEnds;
use nacre_internet::Stack;
use nacre_nest::clock::Clock;
use nacre_proto::nic::{add_frame, frames};
use nacre_sys::lock::{Condition, Lock};
use nacre_sys::{FOREVER, OwnedReference};

/// Free memory below which there are no new connections.
const ROOM: usize = 1 << 20;
/// Number of times that the card is asked for frames before others have their turn.
const MAX_ROUNDS: usize = 16;
/// Time in nanoseconds to wait, at most, while the card takes no frame.
const HELD: u64 = 1_000_000;

/// Frames that came and went, and connections that stand: read by the monitor's seat.
pub static FRAMES_IN: AtomicU64 = AtomicU64::new(0);
/// Frames that were sent.
pub static FRAMES_OUT: AtomicU64 = AtomicU64::new(0);
/// Connections.
pub static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// Set once it is known which address the machine has.
static HAS_SETTLED: Lock<bool> = Lock::new(false);
/// Condition at which whoever wants to know the address waits.
static SETTLED: Condition = Condition::new();

/// Waits until it is known which address the machine has, but not for longer than `limit`
/// nanoseconds.
pub fn wait_for_address(clock: Clock, limit: u64) {
    let end = clock.now().saturating_add(limit);
    let mut has_settled = HAS_SETTLED.lock();
    while !*has_settled {
        let left = end.saturating_sub(clock.now());
        if left == 0 {
            return;
        }
        has_settled = SETTLED.wait_for(has_settled, left);
    }
}

/// The card and the protocols. The head of this module describes them.
pub struct Card {
    /// The way to the card's driver.
    way: Way<Service>,
    stack: Stack,
    clock: Clock,
    /// Frames may have come.
    is_called: bool,
    /// Bytes of the largest frame.
    largest: usize,
    /// Frames as the card gives them.
    bytes: Vec<u8>,
    /// Time at which something is due, though nobody calls.
    due: Option<u64>,
    /// Set once whoever waits for the address was told.
    has_told: bool,
}

impl Card {
    /// The protocols over a card whose frames have at most `largest` bytes.
    pub fn new(way: Way<Service>, stack: Stack, clock: Clock, largest: usize) -> Card {
        Card { way, stack, clock, is_called: true, largest, bytes: vec![0; MAX_BYTES as usize], due: Some(0), has_told: false }
    }

    /// Takes frames that have come, if the card has called.
    fn receive(&mut self, hub: &mut Hub<OwnedReference>, now: u64) {
        if !core::mem::take(&mut self.is_called) {
            return;
        }
        let Some(count) = self.way.receive(&mut self.bytes, now) else { return };
        let received = &self.bytes[..count];
        // What had no room comes with the next answer. If there was room, there is none more.
        self.is_called = received.len() + 2 + self.largest > MAX_BYTES as usize;
        for frame in frames(received).flatten() {
            FRAMES_IN.fetch_add(1, Ordering::Relaxed);
            hub.count_traffic([1, frame.len() as u64, 0, 0]);
            self.stack.arrive(hub, frame);
        }
    }

    /// Sends the frames that are to go, as far as the card takes them.
    fn send(&mut self, hub: &mut Hub<OwnedReference>, now: u64) {
        while !self.stack.leaving().is_empty() {
            let (mut bytes, mut count) = (Vec::new(), 0);
            for frame in self.stack.leaving().iter() {
                if bytes.len() + 2 + frame.len() > MAX_BYTES as usize {
                    break;
                }
                add_frame(&mut bytes, frame);
                count += 1;
            }
            match self.way.send(&bytes, count, now) {
                Some(0) => return,
                Some(count) => {
                    FRAMES_OUT.fetch_add(count as u64, Ordering::Relaxed);
                    let bytes = self.stack.leaving().drain(..count).map(|frame| frame.len() as u64).sum();
                    hub.count_traffic([0, 0, count as u64, bytes]);
                }
                // They are lost, as on a wire that was cut.
                None => self.stack.leaving().clear(),
            }
        }
    }
}

impl InnerEnds for Card {
    fn patience(&mut self) -> u64 {
        if self.way.driver().is_none() {
            self.stack.leaving().clear();
        }
        let held = if self.stack.leaving().is_empty() { FOREVER } else { HELD };
        let now = self.clock.now();
        let due = self.due.map_or(FOREVER, |due| due.saturating_sub(now).max(1));
        // 0 stands for no limit.
        match (held, due) {
            (FOREVER, due) => due,
            (held, FOREVER) => held,
            (held, due) => held.min(due),
        }
    }

    fn called(&mut self) {
        self.is_called = true;
    }

    fn turn(&mut self, hub: &mut Hub<OwnedReference>, touched: &BTreeSet<u64>) {
        let now = self.clock.now();
        self.is_called |= self.way.look(now).unwrap_or(false);
        // Most messages are about sockets of this machine alone.
        let is_idle = !self.is_called && touched.is_empty() && !hub.wants_outside() && self.stack.leaving().is_empty();
        if is_idle && self.due.is_none_or(|due| now < due) {
            return;
        }
        self.stack.set_room(nacre_rt::heap::has_room(ROOM));
        // The other side goes on as soon as it is answered: that is not left for the end.
        let (mut touched, nobody) = (touched, BTreeSet::new());
        for _ in 0..MAX_ROUNDS {
            self.receive(hub, now);
            self.stack.turn(hub, touched, now);
            self.send(hub, now);
            touched = &nobody;
            if !self.is_called {
                break;
            }
        }
        if !self.has_told && self.stack.has_settled() {
            self.has_told = true;
            *HAS_SETTLED.lock() = true;
            SETTLED.signal();
        }
        let has_more = self.is_called || self.stack.has_arrived();
        let due = if has_more { Some(now) } else { self.stack.patience(now).map(|due| now.saturating_add(due)) };
        self.due = due.into_iter().chain(self.way.due()).min();
        CONNECTIONS.store(self.stack.connections() as u64, Ordering::Relaxed);
    }
}
