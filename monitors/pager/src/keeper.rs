//! The child's memory as the child sees it: pools and segments, by protocols `memory` and `segment`; and its faults.
//!
//! What is asked for as pageable is ours. All else - memory for kernel objects, memory that answers are received in, memory at whose words somebody waits - comes from a pool below, and is handed over as it is.

use crate::pools::Pools;
use crate::tables::{PAGES, Tables, Top};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::ops::Range;
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::RegionState;
use nacre_abi::{PAGE_SIZE, Rights, fault};
use nacre_dataspace::policy::Random;
use nacre_dataspace::{Bank, Counts, Extents, Policy, Store};
use nacre_proto::flags::{POOL_DATA, SEGMENT_OBJECTS, SEGMENT_PAGEABLE};
use nacre_proto::memory::{self, pool_create, pool_destroy, segment_create, share};
use nacre_proto::segment::{self, clear, destroy, meet, requeue, resize, wait, wake};
use nacre_proto::server::Output;
use nacre_proto::{Errno, Event, Handled, Request, Station};
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, OwnedRegion, Status};

/// The word of the port that is told of faults.
pub const FAULTS: u64 = 0;
/// Bit of a port's word: the holder shares the pool, and does not own it.
const SHARED: u64 = 1 << 62;
/// Bit of a port's word: no memory for kernel objects comes through the port.
const DATA: u64 = 1 << 61;
/// Key of the child's outermost pool.
const FIRST_POOL: u64 = 1;
/// Maximum of segments at a time. Each costs the pager some hundred bytes.
const MOST_SEGMENTS: usize = 8192;
/// Maximum of pages that chance puts away after a fault.
const DISTURBED: usize = 4;
/// Messages of both protocols carry no bytes.
const NO_BYTES: usize = 64;

/// The bank, whatever its policy and its store.
pub type AnyBank = Bank<Tables, Box<dyn Store + Send>, Box<dyn Policy + Send>>;

/// Pageable memory that somebody has.
struct Segment {
    pool: u64,
    pages: Range<u64>,
    region: OwnedRegion,
    _port: OwnedPort,
}

/// The server.
pub struct Keeper {
    set: OwnedPortSet,
    _faults: OwnedPort,
    top: Top,
    bank: AnyBank,
    extents: Extents,
    pools: Pools,
    segments: BTreeMap<u64, Segment>,
    /// Segments by their first page.
    starts: BTreeMap<u64, u64>,
    next_key: u64,
    chaos: Option<Random>,
}

impl Keeper {
    /// A server without pools, which receives at `set`.
    pub fn new(set: OwnedPortSet, faults: OwnedPort, top: Top, bank: AnyBank, chaos: Option<Random>) -> Keeper {
        Keeper {
            set,
            _faults: faults,
            top,
            bank,
            extents: Extents::new(PAGES),
            pools: Pools::default(),
            segments: BTreeMap::new(),
            starts: BTreeMap::new(),
            next_key: FIRST_POOL,
            chaos,
        }
    }

    /// Returns counts of events, and the bytes that the store uses.
    pub fn counts(&self) -> (Counts, u64) {
        (self.bank.counts(), self.bank.store().used())
    }

    /// The child's pool over `real`, which may have up to `limit` bytes that stay: references that cannot destroy it, one of them for data alone.
    pub fn first_pool(&mut self, real: OwnedReference, limit: u64) -> Result<[OwnedReference; 2], Errno> {
        let key = self.add_pool(None, 0, real, limit.saturating_add(self.bank.most() * PAGE_SIZE))?;
        let [_, shared, data] = &self.pools.get(key)?.ports;
        Ok([shared.new_reference(REFERENCE_USE)?, data.new_reference(REFERENCE_USE)?])
    }

    /// Serves for ever.
    pub fn run(&mut self, mut each: impl FnMut(&Keeper)) -> Result<(), Status> {
        let mut station = Station::new(NO_BYTES).map_err(|_| Status::new(nacre_abi::Code::NoMemory))?;
        loop {
            let event = station.next(self.set.handle().address(), nacre_sys::FOREVER)?;
            self.handle(event);
            each(self);
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Fault(mut request) if request.word() == FAULTS => {
                let [offset, needed, ..] = request.words();
                let label = if self.fault(offset / PAGE_SIZE, needed) { fault::RESUME } else { fault::REFUSE };
                request.answer(label, [0; 6]);
            }
            Event::Request(mut request) if request.word() != FAULTS => match request.protocol() {
                memory::NUMBER => memory::dispatch(self, &mut request),
                segment::NUMBER => segment::dispatch(self, &mut request),
                _ => request.refuse(Errno::ENOSYS),
            },
            Event::Request(mut request) => request.refuse(Errno::ENOSYS),
            Event::Notification { word, bits } if bits & NO_REFERENCES != 0 => self.forgotten(word),
            Event::Notification { .. } => {}
            Event::Fault(mut request) | Event::Exception(mut request) => request.answer(fault::REFUSE, [0; 6]),
        }
    }

    /// Brings a page; false: there is none, or it cannot be had.
    fn fault(&mut self, page: u64, needed: u64) -> bool {
        let Some(end) = self.segment_at(page) else { return false };
        let brought = self.bank.fault(page, Rights(needed).contains(Rights::WRITE), end).is_ok();
        if let Some(random) = &mut self.chaos {
            self.bank.disturb(random, DISTURBED);
        }
        brought
    }

    /// The end of the segment that a page lies in.
    fn segment_at(&self, page: u64) -> Option<u64> {
        let (_, key) = self.starts.range(..=page).next_back()?;
        Some(self.segments.get(key)?.pages.end).filter(|end| page < *end)
    }

    /// The last reference to something has gone.
    fn forgotten(&mut self, word: u64) {
        if self.segments.contains_key(&word) {
            self.remove_segment(word);
        } else if word & SHARED == 0 && word != FIRST_POOL && self.pools.has(word & !DATA) {
            self.remove_pool(word & !DATA);
        }
    }

    fn key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key - 1
    }

    fn pool(&self, request: &Request<'_>) -> Result<u64, Errno> {
        let key = request.word() & !(SHARED | DATA);
        if self.pools.has(key) { Ok(key) } else { Err(Errno::ENOSYS) }
    }

    /// Adds a pool; `kind` is `DATA` if it is for data alone.
    fn add_pool(&mut self, parent: Option<u64>, kind: u64, real: OwnedReference, limit: u64) -> Result<u64, Errno> {
        let key = self.key();
        let port = |flags: u64| OwnedPort::new(key | kind | flags, self.set.handle());
        let ports = [port(0)?, port(SHARED)?, port(SHARED | DATA)?];
        self.pools.add(key, parent, real, limit, ports)?;
        Ok(key)
    }

    /// A pool goes, with all pools and segments in it.
    fn remove_pool(&mut self, key: u64) {
        loop {
            let within = self.pools.innermost(key);
            while let Some(segment) = self.segments.iter().find(|(_, segment)| segment.pool == within).map(|(key, _)| *key) {
                self.remove_segment(segment);
            }
            self.pools.remove(within);
            if within == key {
                return;
            }
        }
    }

    /// A segment goes: nobody reaches it any more, and its pages are free.
    fn remove_segment(&mut self, key: u64) {
        let Some(segment) = self.segments.remove(&key) else { return };
        self.starts.remove(&segment.pages.start);
        let Segment { pool, pages, region, .. } = segment;
        drop(region);
        self.give_back(pool, pages);
    }

    /// Pages that no region shows any more.
    fn give_back(&mut self, pool: u64, pages: Range<u64>) {
        let count = pages.end - pages.start;
        // Pages that the kernel does not let go of keep their addresses: nobody else may find what is in them.
        if self.bank.forget(pages.clone()).is_ok() {
            self.extents.give(pages.start, count);
        }
        self.bank.release(count);
        self.pools.count(pool, -(count as i64));
    }

    /// Addresses and a promise for `count` pages.
    fn take(&mut self, pool: u64, count: u64) -> Result<Range<u64>, Errno> {
        self.pools.check(pool, count)?;
        if !self.bank.promise(count) {
            return Err(Errno::ENOMEM);
        }
        let Some(start) = self.extents.take(count) else {
            self.bank.release(count);
            return Err(Errno::ENOMEM);
        };
        self.pools.count(pool, count as i64);
        Ok(start..start + count)
    }

    fn segment(&self, request: &Request<'_>) -> Result<&Segment, Errno> {
        self.segments.get(&request.word()).ok_or(Errno::ENOSYS)
    }

    fn make_segment(&mut self, pool: u64, pages: Range<u64>) -> Result<(OwnedReference, OwnedReference), Errno> {
        let key = self.key();
        let region = self.top.region(pages.start, pages.end - pages.start)?;
        let port = OwnedPort::new(key, self.set.handle())?;
        let references = (port.new_reference(REFERENCE_USE)?, Top::reference(&region)?);
        self.starts.insert(pages.start, key);
        self.segments.insert(key, Segment { pool, pages, region, _port: port });
        Ok(references)
    }
}

/// Whole pages for so many bytes.
fn pages(size: u64) -> Result<u64, Errno> {
    match size.div_ceil(PAGE_SIZE) {
        0 => Err(Errno::EINVAL),
        count if count < PAGES => Ok(count),
        _ => Err(Errno::ENOMEM),
    }
}

impl memory::Server for Keeper {
    fn segment_create(&mut self, request: &mut Request<'_>, size: u64, flags: u64) -> Handled<segment_create::Output> {
        let pool = self.pool(request)?;
        if flags & SEGMENT_OBJECTS != 0 && request.word() & DATA != 0 {
            return Err(Errno::EACCES);
        }
        if flags != SEGMENT_PAGEABLE {
            let made = memory::segment_create(self.pools.real(pool)?, size, flags)?;
            return segment_create::Output { size: made.size, holds: made.holds & SEGMENT_OBJECTS, segment: made.segment.into(), region: made.region.into() }.now();
        }
        let count = pages(size)?;
        if self.segments.len() >= MOST_SEGMENTS {
            return Err(Errno::ENOMEM);
        }
        let pages = self.take(pool, count)?;
        match self.make_segment(pool, pages.clone()) {
            Ok((segment, region)) => segment_create::Output { size: count * PAGE_SIZE, holds: SEGMENT_PAGEABLE, segment: segment.into(), region: region.into() }.now(),
            Err(errno) => {
                self.give_back(pool, pages);
                Err(errno)
            }
        }
    }

    fn pool_create(&mut self, request: &mut Request<'_>, limit: u64) -> Handled<pool_create::Output> {
        let parent = self.pool(request)?;
        let real = memory::pool_create(self.pools.real(parent)?, limit)?.pool;
        let key = self.add_pool(Some(parent), request.word() & DATA, real, limit)?;
        match self.pools.get(key)?.ports[0].new_reference(REFERENCE_USE) {
            Ok(reference) => pool_create::Output { pool: reference.into() }.now(),
            Err(status) => {
                self.pools.remove(key);
                Err(status.into())
            }
        }
    }

    fn status(&mut self, request: &mut Request<'_>) -> Handled<memory::status::Output> {
        let (limit, used) = self.pools.status(self.pool(request)?)?;
        memory::status::Output { limit, used }.now()
    }

    fn pool_destroy(&mut self, request: &mut Request<'_>) -> Handled<pool_destroy::Output> {
        let pool = self.pool(request)?;
        if request.word() & SHARED != 0 || pool == FIRST_POOL {
            return Err(Errno::EPERM);
        }
        self.remove_pool(pool);
        pool_destroy::Output::default().now()
    }

    fn share(&mut self, request: &mut Request<'_>, flags: u64) -> Handled<share::Output> {
        if flags & !POOL_DATA != 0 {
            return Err(Errno::EINVAL);
        }
        let [_, shared, data] = &self.pools.get(self.pool(request)?)?.ports;
        let port = if flags & POOL_DATA != 0 || request.word() & DATA != 0 { data } else { shared };
        share::Output { pool: port.new_reference(REFERENCE_USE)?.into() }.now()
    }
}

impl segment::Server for Keeper {
    fn status(&mut self, request: &mut Request<'_>) -> Handled<segment::status::Output> {
        let pages = &self.segment(request)?.pages;
        segment::status::Output { size: (pages.end - pages.start) * PAGE_SIZE }.now()
    }

    fn resize(&mut self, request: &mut Request<'_>, size: u64) -> Handled<resize::Output> {
        let count = pages(size)?;
        let (pool, now, state) = {
            let segment = self.segment(request)?;
            (segment.pool, segment.pages.clone(), segment.region.get_state()?)
        };
        let end = now.start + count;
        if end > now.end {
            self.pools.check(pool, end - now.end)?;
            if !self.bank.promise(end - now.end) {
                return Err(Errno::ENOMEM);
            }
            if !self.extents.take_at(now.end, end - now.end) {
                self.bank.release(end - now.end);
                return Err(Errno::ENOMEM);
            }
            self.pools.count(pool, (end - now.end) as i64);
        }
        let set = self.segment(request)?.region.set_state(&RegionState { size: count * PAGE_SIZE, ..state });
        // Pages that the region does not show any more are let go.
        let (kept, gone) = match set {
            Ok(()) => (end, end..now.end),
            Err(_) => (now.end, now.end..end),
        };
        if let Some(segment) = self.segments.get_mut(&request.word()) {
            segment.pages.end = kept;
        }
        if !gone.is_empty() {
            self.give_back(pool, gone);
        }
        set?;
        resize::Output { size: count * PAGE_SIZE }.now()
    }

    fn destroy(&mut self, request: &mut Request<'_>) -> Handled<destroy::Output> {
        self.segment(request)?;
        self.remove_segment(request.word());
        destroy::Output::default().now()
    }

    fn clear(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> Handled<clear::Output> {
        let pages = self.segment(request)?.pages.clone();
        let end = offset.checked_add(size).filter(|end| *end <= (pages.end - pages.start) * PAGE_SIZE).ok_or(Errno::EINVAL)?;
        if !(offset | size).is_multiple_of(PAGE_SIZE) {
            return Err(Errno::EINVAL);
        }
        self.bank.forget(pages.start + offset / PAGE_SIZE..pages.start + end / PAGE_SIZE).map_err(|_| Errno::EAGAIN)?;
        clear::Output::default().now()
    }

    fn wait(&mut self, _: &mut Request<'_>, _: u64, _: u64, _: u64) -> Handled<wait::Output> {
        Err(Errno::EINVAL)
    }

    fn wake(&mut self, _: &mut Request<'_>, _: u64, _: u64, _: u64) -> Handled<wake::Output> {
        Err(Errno::EINVAL)
    }

    fn requeue(&mut self, _: &mut Request<'_>, _: u64, _: u64, _: u64, _: u64) -> Handled<requeue::Output> {
        Err(Errno::EINVAL)
    }

    fn meet(&mut self, _: &mut Request<'_>, _: u64) -> Handled<meet::Output> {
        Err(Errno::EINVAL)
    }
}
