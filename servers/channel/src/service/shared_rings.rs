//! Memory of rings that processes share.

use crate::hub::may_take;
use alloc::collections::{BTreeMap, BTreeSet};
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_proto::{Errno, memory};
use nacre_sys::ring::{self, Ring};
use nacre_sys::{Condition, Owned, OwnedCondition, OwnedMapping, OwnedPort, OwnedReference, Region, Space};

/// Maximum number of rings, of bytes of them, and of users of all.
const MAX_RINGS: usize = 1024;
const MAX_BYTES: usize = 64 << 20;
const MAX_USERS: usize = 8192;
/// Number of rings up to which an account has few of them, and bytes of a usual one.
const FEW_RINGS: usize = 8;
const USUAL_RING: usize = 96 << 10;
/// Threads that one call of the kernel wakes.
const WOKEN: u64 = 64;
/// Calls of the kernel after which no more threads are woken.
const CALLS: usize = 64;

/// Memory of a ring.
pub struct Memory {
    // Dropped in this order: first nothing is mapped any more.
    _mapping: OwnedMapping,
    /// Region that users map.
    pub region: OwnedReference,
    _segment: OwnedReference,
    _place: Place,
    /// Conditions of reader and writer.
    pub conditions: [OwnedCondition; 2],
    /// Places of the ring.
    pub places: u64,
    /// Users of the ring.
    pub users: BTreeSet<u64>,
    /// Account of the end whose pipe it is.
    pub account: u64,
}

impl Memory {
    /// Takes the memory of a ring with `places` places from a pool, and maps it.
    pub fn take(pool: &OwnedReference, places: u64, account: u64) -> Result<(Memory, Ring), Errno> {
        let size = ring::size(places);
        let place = Place::take(size).ok_or(Errno::ENOMEM)?;
        let taken = memory::segment_create(pool.handle(), size, 0)?;
        let (window, region) = (place.window(), Region::through(taken.region.handle()));
        let mapping = OwnedMapping::new(Space::OWN, window.start(), window.size(), region, 0, Rights::READ.union(Rights::WRITE))?;
        let ring = Ring::new(window, places).ok_or(Errno::EINVAL)?;
        let conditions = [Owned::make(Condition::create)?, Owned::make(Condition::create)?];
        Ok((Memory { _mapping: mapping, region: taken.region, _segment: taken.segment, _place: place, conditions, places, users: BTreeSet::new(), account }, ring))
    }

    /// Wakes everybody who waits at a condition.
    pub fn wake(&self, side: usize) {
        for _ in 0..CALLS {
            if self.conditions[side].signal(WOKEN).unwrap_or(0) < WOKEN {
                break;
            }
        }
    }
}

/// All rings.
#[derive(Default)]
pub struct Sharing {
    /// Pool that the memory of rings is taken from.
    pub pool: Option<OwnedReference>,
    /// Memory of each ring.
    pub rings: BTreeMap<u64, Memory>,
    /// Users of all rings.
    pub users: BTreeMap<u64, User>,
}

/// User of a ring.
pub struct User {
    /// Number of the ring.
    pub ring: u64,
    /// Account of the end through which the user came.
    pub account: u64,
    /// Port whose last reference goes with the user.
    pub _port: OwnedPort,
}

impl Sharing {
    /// Returns true if an account may have one more ring of `size` bytes.
    pub fn may_have_ring(&self, account: u64, size: u64) -> bool {
        let sizes = |memory: &Memory| (1, ring::size(memory.places) as usize);
        let sum = |all: (usize, usize), one: (usize, usize)| (all.0 + one.0, all.1 + one.1);
        let used = self.rings.values().map(sizes).fold((0, 0), sum);
        let held = self.rings.values().filter(|memory| memory.account == account).map(sizes).fold((0, 0), sum);
        may_take(account, (MAX_RINGS, FEW_RINGS), used.0, held.0, 1) && may_take(account, (MAX_BYTES, FEW_RINGS * USUAL_RING), used.1, held.1, size as usize)
    }

    /// Returns true if an account may use one more ring.
    pub fn may_have_user(&self, account: u64) -> bool {
        let held = self.users.values().filter(|user| user.account == account).count();
        may_take(account, (MAX_USERS, 4 * FEW_RINGS), self.users.len(), held, 1)
    }

    /// Sets the pool that the memory of rings is taken from.
    pub fn set_memory(&mut self, pool: OwnedReference) {
        self.pool = Some(pool);
    }
}
