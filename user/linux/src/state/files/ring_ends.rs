//! The process's end of a pipe or stream socket that is shared with other processes.

use crate::abi::errno::{EIO, ENOMEM, Errno};
use alloc::rc::Rc;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_proto::channel;
use nacre_sys::{Condition, OwnedMapping, OwnedReference, Reference, Region, Space};
use nacre_sys::ring::{self, Ring, Side};

/// Number of times to look at a lock that another process holds.
const SPINS: usize = 200;
/// Number of reads and writes after which the library asks for the ring.
const FIRST: u32 = 16;
/// Maximum number of threads that one call wakes, and of such calls.
const WOKEN: u64 = 64;
const CALLS: usize = 64;

/// The service that has the rings, once the process uses one; 0 before.
pub static SERVICE: AtomicU64 = AtomicU64::new(0);

/// Rings of an open file: of bytes that come, and of bytes that go. A pipe uses the first.
pub struct Rings {
    pub ways: [RefCell<Sharing>; 2],
    is_channel: bool,
}

impl Rings {
    /// Makes the rings of an open file that has none yet.
    pub fn new(is_channel: bool) -> Rings {
        Rings { ways: Default::default(), is_channel }
    }
}

impl Drop for Rings {
    /// Waits until the service has heard that the end is gone, so that every later look into a ring
    /// finds it gone. The end's reference went before, and the service hears of that before it
    /// answers this call.
    fn drop(&mut self) {
        let service = SERVICE.load(Ordering::Relaxed);
        if self.is_channel && service != 0 {
            // It is no socket: the answer says no more than that.
            let _ = channel::error(Reference(service));
        }
    }
}

/// Ring of an open file, or the way to it.
pub enum Sharing {
    /// Count of uses at which the library asks for the ring.
    From(u32),
    /// Shared ring.
    With(Rc<Joined>),
}

impl Default for Sharing {
    fn default() -> Sharing {
        Sharing::From(FIRST)
    }
}

/// A ring that is mapped.
pub struct Joined {
    // Dropped in this order: first nothing is mapped any more, then its server hears of it.
    _mapping: OwnedMapping,
    _region: OwnedReference,
    _hold: OwnedReference,
    _place: Place,
    pub ring: Ring,
    pub conditions: [OwnedReference; 2],
    number: u64,
    seat: usize,
}

impl Joined {
    pub fn ask(end: Reference, way: u64) -> Result<Joined, Errno> {
        let reply = channel::share(end, way)?;
        let place = Place::take(ring::size(reply.places.min(ring::MAX_PLACES))).ok_or(ENOMEM)?;
        let window = place.window();
        let region = Region::through(reply.region.handle());
        let mapping = OwnedMapping::new(Space::SELF, window.start(), window.size(), region, 0, Rights::READ.union(Rights::WRITE)).map_err(|_| ENOMEM)?;
        let ring = Ring::new(window, reply.places).ok_or(EIO)?;
        let conditions = [reply.arrivals, reply.departures];
        let (number, seat) = (reply.number, reply.seat as usize);
        Ok(Joined { _mapping: mapping, _region: reply.region, _hold: reply.hold, _place: place, ring, conditions, number, seat })
    }

    pub fn has_flag(&self, flag: u32) -> bool {
        self.ring.seat(self.seat) & u64::from(flag) != 0
    }

    /// Wakes who waits for what has changed.
    pub fn wake(&self, side: Side) {
        let condition = Condition::through(self.conditions[side as usize].handle());
        if self.ring.wants_call(side) {
            // A condition that has gone wakes nobody: its server has gone.
            let _ = (0..CALLS).take_while(|_| condition.signal(WOKEN) == Ok(WOKEN)).count();
        }
    }

    /// Takes the lock, if nobody keeps it for long.
    pub fn lock(&self) -> bool {
        (0..SPINS).any(|_| {
            let taken = self.ring.lock(self.number);
            if !taken {
                core::hint::spin_loop();
            }
            taken
        })
    }
}
