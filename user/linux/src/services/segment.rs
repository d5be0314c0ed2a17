//! Memory of the memory server.

use crate::abi::errno::{ENOMEM, Errno};
use crate::services::file_memory;
use crate::services::memory_shortage;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use nacre_proto::flags::{SEGMENT_OBJECTS, SEGMENT_PAGEABLE};
use nacre_proto::{memory, segment};
use nacre_rt::memory::{object_pool, pool};
use nacre_sys::{OwnedReference, Reference};

/// A word of a segment that was waited at, or woken, so often.
pub struct Point {
    pub offset: u64,
    pub used: u32,
    /// Condition at which threads wait without messages, once the word is used often.
    pub condition: Option<OwnedReference>,
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
    /// Set if pages are brought when they are touched, and may leave: the segment is a changing
    /// file's, or a pager's.
    paged: bool,
    /// Words of it at which processes wait for each other.
    pub points: RefCell<Vec<Point>>,
}

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
    /// nobody waits.
    pub fn pageable(size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::take(pool()?, size, SEGMENT_PAGEABLE)
    }

    fn take(pool: Reference, size: u64, flags: u64) -> Result<Rc<Segment>, Errno> {
        let reply = memory::segment_create(pool, size, flags).map_err(|_| {
            memory_shortage::memory_is_short();
            ENOMEM
        })?;
        let paged = is_paged(reply.holds & SEGMENT_PAGEABLE != 0);
        Ok(Rc::new(Segment {
            port: Some(reply.segment),
            region: reply.region,
            common: Cell::new(false),
            size: reply.size,
            writable: true,
            paged,
            points: RefCell::default(),
        }))
    }

    /// The contents of a file as its server holds them, to be read.
    pub fn of_file(region: OwnedReference, size: u64) -> Rc<Segment> {
        Rc::new(Segment { port: None, region, common: Cell::new(false), size, writable: false, paged: false, points: RefCell::default() })
    }

    /// The memory behind something that the parent mapped.
    pub fn given(region: OwnedReference, writable: bool) -> Rc<Segment> {
        Rc::new(Segment { port: None, region, common: Cell::new(false), size: 0, writable, paged: false, points: RefCell::default() })
    }

    /// The data segment that the process was born with, of which nobody else has anything.
    pub fn born(port: OwnedReference, region: OwnedReference, size: u64) -> Rc<Segment> {
        Rc::new(Segment { port: Some(port), region, common: Cell::new(false), size, writable: true, paged: is_paged(true), points: RefCell::default() })
    }

    /// Memory that others have too.
    pub fn common(port: Option<OwnedReference>, region: OwnedReference, size: u64, [writable, paged]: [bool; 2]) -> Rc<Segment> {
        Rc::new(Segment { port, region, common: Cell::new(true), size, writable, paged: is_paged(paged), points: RefCell::default() })
    }

    /// The reference that keeps it, at which processes wait for each other.
    pub fn port(&self) -> Option<Reference> {
        self.port.as_ref().map(|port| port.handle())
    }

    /// Returns true if pages are brought when they are touched, and may leave.
    pub fn is_paged(&self) -> bool {
        self.paged
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
        if self.common.get() {
            file_memory::settle(self);
        }
        if let Some(port) = self.port.as_ref().filter(|_| !self.common.get()) {
            // If the pool does not answer, the segment goes with its last reference.
            let _ = segment::destroy(port.handle());
        }
    }
}

/// Memory whose pages may go has answers land elsewhere.
fn is_paged(paged: bool) -> bool {
    if paged {
        nacre_proto::landing::need();
    }
    paged
}
