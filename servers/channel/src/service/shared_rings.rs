//! Memory of rings that processes share.

use alloc::collections::{BTreeMap, BTreeSet};
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_proto::{Errno, memory};
use nacre_sys::ring::{self, Ring};
use nacre_sys::{Condition, Owned, OwnedCondition, OwnedMapping, OwnedPort, OwnedReference, Region, Space};

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
}

impl Memory {
    /// Takes the memory of a ring with `places` places from a pool, and maps it.
    pub fn take(pool: &OwnedReference, places: u64) -> Result<(Memory, Ring), Errno> {
        let size = ring::size(places);
        let place = Place::take(size).ok_or(Errno::ENOMEM)?;
        let taken = memory::segment_create(pool.handle(), size, 0)?;
        let (window, region) = (place.window(), Region::through(taken.region.handle()));
        let mapping = OwnedMapping::new(Space::OWN, window.start(), window.size(), region, 0, Rights::READ.union(Rights::WRITE))?;
        let ring = Ring::new(window, places).ok_or(Errno::EINVAL)?;
        let conditions = [Owned::make(Condition::create)?, Owned::make(Condition::create)?];
        Ok((Memory { _mapping: mapping, region: taken.region, _segment: taken.segment, _place: place, conditions, places, users: BTreeSet::new() }, ring))
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
    /// Ring and port of each user.
    pub users: BTreeMap<u64, (u64, OwnedPort)>,
}

impl Sharing {
    /// Sets the pool that the memory of rings is taken from.
    pub fn set_memory(&mut self, pool: OwnedReference) {
        self.pool = Some(pool);
    }
}
