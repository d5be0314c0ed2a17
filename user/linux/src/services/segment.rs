//! Memory of the memory server.

use crate::abi::errno::{ENOMEM, Errno};
use crate::services::file_memory;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicUsize, Ordering};
use nacre_proto::flags::{SEGMENT_OBJECTS, SEGMENT_OVERCOMMIT, SEGMENT_PAGEABLE, SEGMENT_PROMISED};
use nacre_proto::{dataspace, memory, segment};
use nacre_rt::heap;
use nacre_rt::memory::{object_pool, pool};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference};

/// Size up to which memory is there at once, in bytes.
const AT_ONCE_MOST: u64 = 0x4_0000;

/// Maximum number of segments of a process whose pages are promised when they are touched. So a
/// program that maps all that it can leaves segments to others in its world.
const MAX_OVERCOMMITTED: usize = 1024;

/// Number of such segments.
static OVERCOMMITTED: AtomicUsize = AtomicUsize::new(0);

/// A word of a segment that was waited at, or woken, so often.
pub struct Point {
    pub offset: u64,
    pub used: u32,
    /// Condition at which threads wait without messages, once the word is used often.
    pub condition: Option<OwnedReference>,
}

/// Time at which pages of memory are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Paging {
    /// Pages are there from the start, and stay.
    #[default]
    Stays,
    /// Pages come when they are touched, and stay: promised memory.
    Comes,
    /// Pages come when they are touched, and may go: a file's, as it changes, or a pager's.
    Goes,
}

impl Paging {
    /// The one with this number.
    pub fn of(number: u64) -> Paging {
        match number {
            0 => Paging::Stays,
            1 => Paging::Comes,
            _ => Paging::Goes,
        }
    }

    /// Notes that the process has such memory: where pages may go, answers have to land elsewhere.
    fn noted(self) -> Paging {
        if self == Paging::Goes {
            nacre_proto::landing::need();
        }
        self
    }
}

/// Memory that can be mapped: a segment of the pool, a file's contents, or what the parent mapped.
pub struct Segment {
    /// The segment's port; what is not of the pool has none.
    port: Option<OwnedReference>,
    region: OwnedReference,
    /// Set if other processes have the segment too. It lives as long as the last of them.
    common: Cell<bool>,
    /// Size in bytes.
    pub size: u64,
    /// Set if the segment may be mapped writable.
    writable: bool,
    /// Time at which pages are there.
    paging: Paging,
    /// Set if it may be more than the pool has: a touch may find nothing.
    is_overcommitted: bool,
    /// Words of it at which processes wait for each other.
    pub points: RefCell<Vec<Point>>,
}

/// Manager of memory that is taken later. Empty: the first one.
static LATER_MANAGER: Lock<Vec<u8>> = Lock::new(Vec::new());

impl Segment {
    /// Takes zeroed memory from the pool.
    pub fn fresh(size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::take(pool()?, size, 0)
    }

    /// Takes zeroed memory that can be donated for page tables. It ends with the process.
    pub fn for_tables(size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::take(object_pool()?, size, SEGMENT_OBJECTS)
    }

    /// Takes zeroed memory from the pool whose pages may come and go: the program's own, at which
    /// nobody waits. Much is promised, little is there at once: a fault costs more than the memory
    /// is worth.
    pub fn pageable(size: u64) -> Result<Rc<Segment>, Errno> {
        let promised = if size > AT_ONCE_MOST { SEGMENT_PROMISED } else { 0 };
        Segment::promised_or_beyond(size, SEGMENT_PAGEABLE | promised)
    }

    /// Takes pageable memory that is filled at once: there is nothing to promise, unless it is
    /// much.
    pub fn filled(size: u64) -> Result<Rc<Segment>, Errno> {
        const FILLED_MOST: u64 = 0x10_0000;
        if size > FILLED_MOST { Segment::pageable(size) } else { Segment::promised_or_beyond(size, SEGMENT_PAGEABLE) }
    }

    /// Takes pageable memory. If a pager has promised all that it has, but there is room for as
    /// much, what is touched is paid for: others may never touch what they were promised.
    fn promised_or_beyond(size: u64, flags: u64) -> Result<Rc<Segment>, Errno> {
        Segment::managed(size, flags).or_else(|_| Segment::managed(size, SEGMENT_PAGEABLE | SEGMENT_OVERCOMMIT))
    }

    /// Takes pageable memory that may be more than the pool has: what is touched is paid for.
    pub fn overcommitted(size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::managed(size, SEGMENT_PAGEABLE | SEGMENT_PROMISED | SEGMENT_OVERCOMMIT)
    }

    /// Takes pageable memory, and moves it to the manager that all has.
    fn managed(size: u64, flags: u64) -> Result<Rc<Segment>, Errno> {
        let segment = Segment::take(pool()?, size, flags)?;
        let manager = LATER_MANAGER.lock().clone();
        if let Some(port) = segment.port().filter(|_| segment.is_paged() && !manager.is_empty()) {
            dataspace::transfer(port, &manager[..])?;
        }
        Ok(segment)
    }

    /// Lets all pageable memory that is taken later belong to this manager.
    pub fn set_later_manager(manager: &[u8]) {
        *LATER_MANAGER.lock() = manager.to_vec();
    }

    fn take(pool: Reference, size: u64, flags: u64) -> Result<Rc<Segment>, Errno> {
        let is_overcommitted = flags & SEGMENT_OVERCOMMIT != 0;
        if is_overcommitted && OVERCOMMITTED.load(Ordering::Relaxed) >= MAX_OVERCOMMITTED {
            return Err(ENOMEM);
        }
        let reply = memory::segment_create(pool, size, flags).map_err(|_| {
            heap::note_shortage();
            ENOMEM
        })?;
        let paging = match reply.holds {
            holds if holds & SEGMENT_PAGEABLE != 0 => Paging::Goes,
            holds if holds & SEGMENT_PROMISED != 0 => Paging::Comes,
            _ => Paging::Stays,
        };
        if is_overcommitted {
            OVERCOMMITTED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Rc::new(Segment {
            port: Some(reply.segment),
            region: reply.region,
            common: Cell::new(false),
            size: reply.size,
            writable: true,
            paging: paging.noted(),
            is_overcommitted,
            points: RefCell::default(),
        }))
    }

    /// The contents of a file as its server holds them, to be read.
    pub fn of_file(region: OwnedReference, size: u64) -> Rc<Segment> {
        Rc::new(Segment { port: None, region, common: Cell::new(false), size, writable: false, paging: Paging::Stays, is_overcommitted: false, points: RefCell::default() })
    }

    /// The memory behind something that the parent mapped.
    pub fn given(region: OwnedReference, writable: bool) -> Rc<Segment> {
        Rc::new(Segment { port: None, region, common: Cell::new(false), size: 0, writable, paging: Paging::Stays, is_overcommitted: false, points: RefCell::default() })
    }

    /// The data segment that the process was born with, of which nobody else has anything.
    pub fn born(port: OwnedReference, region: OwnedReference, size: u64) -> Rc<Segment> {
        Rc::new(Segment { port: Some(port), region, common: Cell::new(false), size, writable: true, paging: Paging::Goes.noted(), is_overcommitted: false, points: RefCell::default() })
    }

    /// Memory that others have too.
    pub fn common(port: Option<OwnedReference>, region: OwnedReference, size: u64, writable: bool, paging: Paging) -> Rc<Segment> {
        Rc::new(Segment { port, region, common: Cell::new(true), size, writable, paging: paging.noted(), is_overcommitted: false, points: RefCell::default() })
    }

    /// The reference that keeps it, at which processes wait for each other.
    pub fn port(&self) -> Option<Reference> {
        self.port.as_ref().map(|port| port.handle())
    }

    /// Returns true if its pages come when they are touched.
    pub fn is_paged(&self) -> bool {
        self.paging != Paging::Stays
    }

    /// Returns true if a touch of it may find that there is no memory.
    pub fn may_be_short(&self) -> bool {
        self.paging == Paging::Comes || self.is_overcommitted
    }

    /// Time at which pages are there.
    pub fn paging(&self) -> Paging {
        self.paging
    }

    /// The next part from `offset` on that may hold something but zeros; its start and its end are
    /// the same if there is none.
    pub fn next_part(&self, offset: u64) -> (u64, u64) {
        let all = (offset, u64::MAX);
        match self.port.as_ref().filter(|_| self.paging == Paging::Comes) {
            Some(port) => segment::next(port.handle(), offset).map_or(all, |part| (part.start, part.end)),
            None => all,
        }
    }

    /// The reference that keeps it, if there is one, for others to have too.
    pub fn shared_port(&self) -> Option<Reference> {
        self.common.set(true);
        self.port.as_ref().map(|port| port.handle())
    }

    /// The region to map.
    pub fn region(&self) -> Reference {
        self.region.handle()
    }

    /// Returns true if the segment may be mapped writable.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Bytes of it; of a file, those that are the file's.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.is_overcommitted {
            OVERCOMMITTED.fetch_sub(1, Ordering::Relaxed);
        }
        if self.common.get() {
            file_memory::settle(self);
        }
        if let Some(port) = self.port.as_ref().filter(|_| !self.common.get()) {
            // If the pool does not answer, the segment goes with its last reference.
            let _ = segment::destroy(port.handle());
        }
    }
}
