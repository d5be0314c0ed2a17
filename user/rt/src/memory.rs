//! Memory from the parent's pool, mapped into the program's own space.

use core::sync::atomic::{AtomicU64, Ordering};

use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_proto::memory::segment_create;
use nacre_proto::{Errno, flags, parent};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, Reference, Region, Space, SpanMut, slots};

/// Start of the addresses of the heap and of threads' stacks.
pub const HEAP_START: u64 = 0x2000_0000_0000;
/// End of those addresses.
pub const HEAP_END: u64 = 0x4000_0000_0000;

/// The next address that was never used.
static NEXT: AtomicU64 = AtomicU64::new(HEAP_START);
/// Reference to the pool, 0 until it was asked for.
static POOL: AtomicU64 = AtomicU64::new(0);
/// Reference to the pool for kernel objects, 0 until it was asked for.
static OBJECT_POOL: AtomicU64 = AtomicU64::new(0);

/// Slots for one more segment: they are set aside so that the program can get object memory when it
/// has no slot left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserve {
    pub(crate) pool: Reference,
    pub(crate) segment: Reference,
    pub(crate) region: Reference,
    pub(crate) mapping: u64,
}

impl Reserve {
    /// Takes the slots.
    pub(crate) fn take() -> Option<Reserve> {
        let reference = || slots::allocate(ObjectType::Reference).map(Reference);
        // Slots that were taken before one lacks are lost; it takes a program that has none left.
        let mapping = slots::allocate(ObjectType::Mapping).ok()?;
        Some(Reserve { pool: reference().ok()?, segment: reference().ok()?, region: reference().ok()?, mapping })
    }

    /// Gives back what was not used: all but the slots of the segment and the mapping.
    fn release_unused(self, pool_used: bool) {
        if !pool_used {
            slots::free(self.pool.0, ObjectType::Reference);
        }
        if self.region.destroy().is_ok() {
            slots::free(self.region.0, ObjectType::Reference);
        }
    }
}

/// The pool that the parent lets the program use.
pub fn pool() -> Result<Reference, Errno> {
    match POOL.load(Ordering::Acquire) {
        0 => Ok(remember(&POOL, parent::find(Reference::PARENT, flags::SERVICE_MEMORY)?.found)),
        known => Ok(Reference(known)),
    }
}

/// The pool of the program's own, which ends with it, for memory that may hold kernel objects.
pub fn object_pool() -> Result<Reference, Errno> {
    match OBJECT_POOL.load(Ordering::Acquire) {
        0 => Ok(remember(&OBJECT_POOL, parent::find(Reference::PARENT, flags::SERVICE_OBJECTS)?.found)),
        known => Ok(Reference(known)),
    }
}

/// The pool that the parent lets the program use, if it has been asked for.
pub fn known_pool() -> Option<Reference> {
    Some(Reference(POOL.load(Ordering::Acquire))).filter(|pool| *pool != Reference::NONE)
}

/// The program uses this pool from now on, unless it has one.
pub fn use_pool(pool: OwnedReference) {
    remember(&POOL, pool);
}

fn remember(place: &AtomicU64, found: OwnedReference) -> Reference {
    match place.compare_exchange(0, found.handle().0, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => found.leak(),
        Err(first) => Reference(first),
    }
}

/// Takes a segment that is to be mapped with these rights.
fn take(size: u64, rights: Rights) -> Result<segment_create::Reply, Errno> {
    let (pool, flags) = if rights.contains(Rights::OBJECTS) { (object_pool()?, flags::SEGMENT_OBJECTS) } else { (pool()?, 0) };
    nacre_proto::memory::segment_create(pool, size, flags)
}

/// Takes `size` bytes of addresses where heap and stacks may lie, and a page behind them that stays
/// empty.
pub fn addresses(size: u64) -> Option<u64> {
    let taken = size.checked_next_multiple_of(PAGE_SIZE)?.checked_add(PAGE_SIZE)?;
    let start = NEXT.fetch_add(taken, Ordering::Relaxed);
    (start.checked_add(taken)? <= HEAP_END).then_some(start)
}

/// A segment of a pool, mapped: it goes when this is dropped.
#[derive(Debug)]
pub struct Segment {
    // Dropped in this order: first nothing is mapped any more, then the memory goes back.
    mapping: OwnedMapping,
    region: OwnedReference,
    port: OwnedReference,
    start: u64,
    size: u64,
}

impl Segment {
    /// Takes a segment of at least `size` bytes from the parent's pool and maps it at `start`, for
    /// reading and writing and with `more` rights.
    pub fn map(start: u64, size: u64, more: Rights) -> Result<Segment, Errno> {
        Segment::show(take(size, more)?, start, more)
    }

    /// Does the same with a segment of `pool`, which may hold kernel objects.
    pub fn map_from(pool: Reference, start: u64, size: u64) -> Result<Segment, Errno> {
        Segment::show(nacre_proto::memory::segment_create(pool, size, flags::SEGMENT_OBJECTS)?, start, Rights::OBJECTS)
    }

    fn show(reply: segment_create::Reply, start: u64, more: Rights) -> Result<Segment, Errno> {
        let rights = Rights::READ.union(Rights::WRITE).union(more);
        let mapping = OwnedMapping::new(Space::OWN, start, reply.size, Region::through(reply.region.handle()), 0, rights)?;
        Ok(Segment { mapping, region: reply.region, port: reply.segment, start, size: reply.size })
    }

    /// First address.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The segment's port.
    pub fn port(&self) -> Reference {
        self.port.handle()
    }

    /// The segment's region.
    pub fn region(&self) -> Reference {
        self.region.handle()
    }

    /// Keeps the memory for ever; the reference to the region goes.
    pub fn leak(self) -> (u64, u64) {
        self.mapping.leak();
        self.port.leak();
        (self.start, self.size)
    }
}

/// Takes `size` bytes for kernel objects into the slots of `reserve` and maps them at `start`, for
/// ever; the size. No other slot is needed.
pub(crate) fn obtain_with(reserve: Reserve, start: u64, size: u64) -> Result<u64, Errno> {
    let (pool, found_now) = pool_with(reserve)?;
    let message = Message::new(segment_create::LABEL, [size, flags::SEGMENT_OBJECTS, 0, 0, 0, 0]);
    let slots = [reserve.segment, reserve.region];
    let received = ipc::call(pool, &message, Buffers::new(SpanMut::EMPTY, &slots), nacre_sys::FOREVER)?;
    Errno::result(received.label())?;
    let (size, rights) = (received.words[0], Rights::READ.union(Rights::WRITE).union(Rights::OBJECTS));
    Mapping::create(reserve.mapping, Space::OWN, start, size, Region::through(reserve.region), 0, rights)?;
    reserve.release_unused(found_now);
    Ok(size)
}

/// The pool for kernel objects, and whether its reference stands in the reserve's slot from now on.
fn pool_with(reserve: Reserve) -> Result<(Reference, bool), Errno> {
    let known = OBJECT_POOL.load(Ordering::Acquire);
    if known != 0 {
        return Ok((Reference(known), false));
    }
    let message = Message::new(parent::find::LABEL, [flags::SERVICE_OBJECTS, 0, 0, 0, 0, 0]);
    let received = ipc::call(Reference::PARENT, &message, Buffers::new(SpanMut::EMPTY, &[reserve.pool]), nacre_sys::FOREVER)?;
    Errno::result(received.label())?;
    OBJECT_POOL.store(reserve.pool.0, Ordering::Release);
    Ok((reserve.pool, true))
}
