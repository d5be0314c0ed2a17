//! Memory that refers to itself: a segment in which a reference to the segment's own port stands,
//! so that the reference keeps the segment and the segment keeps the reference. A thread in it
//! needs nothing from the process that made it.

use crate::tools::{TABLE_PAGES, find, program_state, why};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::flags::{O_RDWR, SEGMENT_OBJECTS, SERVICE_FILES, SERVICE_MEMORY, SERVICE_OBJECTS, SHARE_WRITE};
use nacre_proto::{Errno, directory, file, memory, parent, process};
use nacre_rt::memory::addresses;
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, Reference, Region, Space, Thread};

/// Fewest pages of such memory: references, a thread, a space, mappings, and tables.
pub const FEWEST_PAGES: u64 = TABLES + TABLE_PAGES;
/// Limit of a pool within a pool, in bytes.
const POOL: u64 = 64 << 20;

// Pages of the segment.
const REFERENCES: u64 = 0;
const THREAD: u64 = 1;
const SPACE: u64 = 2;
const MAPPINGS: u64 = 3;
const TABLES: u64 = 4;

/// Addresses in the space of the thread.
const CODE: u64 = 0x10_0000;
const COUNTER: u64 = 0x20_0000;

/// Adds 1 to the word at `COUNTER`, for ever.
fn code() -> Vec<u8> {
    // mov rax, COUNTER; again: lock inc qword [rax]; jmp again
    [&[0x48, 0xb8][..], &COUNTER.to_le_bytes(), &[0xf0, 0x48, 0xff, 0x00, 0xeb, 0xfa]].concat()
}

/// A segment that holds a reference to its own port.
pub struct Kept {
    start: u64,
    references: u64,
}

impl Kept {
    /// Takes `pages` pages from `pool` and ties the knot. `EINVAL` or another refusal: the pool
    /// gives no object memory.
    pub fn new(pool: Reference, pages: u64) -> Result<Kept, Errno> {
        let taken = memory::segment_create(pool, pages * PAGE_SIZE, SEGMENT_OBJECTS)?;
        let start = addresses(pages * PAGE_SIZE).ok_or(Errno::ENOMEM)?;
        OwnedMapping::new(Space::OWN, start, pages * PAGE_SIZE, Region::through(taken.region.handle()), 0, Rights::ALL)?.leak();
        let mut kept = Kept { start, references: 0 };
        kept.keep(taken.segment.handle())?;
        Ok(kept)
    }

    fn page(&self, number: u64) -> u64 {
        self.start + number * PAGE_SIZE
    }

    /// Puts a copy of a reference into the memory.
    pub fn keep(&mut self, reference: Reference) -> Result<(), Errno> {
        let slot = self.page(REFERENCES) + self.references * ObjectType::Reference.size();
        reference.reference(Reference(slot), REFERENCE_USE)?;
        self.references += 1;
        Ok(())
    }

    /// Runs a thread in memory that counts in the first word of the file at `path`.
    pub fn run_counter(&mut self, path: &[u8]) -> Result<(), String> {
        let files = find(SERVICE_FILES).map_err(why("the files"))?;
        let opened = directory::open(files.handle(), O_RDWR, 0, path).map_err(why("the counter"))?;
        let shared = file::share(opened.file.handle(), PAGE_SIZE, SHARE_WRITE).map_err(why("the counter's memory"))?;
        let program = self.program()?;
        let space = Space::create(self.page(SPACE), self.page(TABLES), TABLE_PAGES, Reference::NONE).map_err(why("a space"))?;
        let mut at = self.page(MAPPINGS);
        let read_write = Rights::READ.union(Rights::WRITE);
        for (address, region, rights) in [(CODE, &program, Rights::READ.union(Rights::EXECUTE)), (COUNTER, &shared.region, read_write)] {
            Mapping::create(at, space, address, PAGE_SIZE, Region::through(region.handle()), 0, rights).map_err(why("a mapping"))?;
            at += ObjectType::Mapping.size();
        }
        self.keep(shared.hold.handle()).map_err(why("keeping the counter"))?;
        let thread = Thread::create(self.page(THREAD), space).map_err(why("a thread"))?;
        thread.set_state(&program_state(CODE)).map_err(why("its registers"))?;
        thread.start().map_err(why("its start"))
    }

    /// The region of a kept page with the thread's program.
    fn program(&mut self) -> Result<OwnedReference, String> {
        let pool = find(SERVICE_MEMORY).map_err(why("memory"))?;
        let taken = memory::segment_create(pool.handle(), PAGE_SIZE, 0).map_err(why("memory for a program"))?;
        let place = Place::take(PAGE_SIZE).ok_or("no addresses are left")?;
        let (start, region) = (place.window().start(), Region::through(taken.region.handle()));
        let shown = OwnedMapping::new(Space::OWN, start, PAGE_SIZE, region, 0, Rights::READ.union(Rights::WRITE)).map_err(why("its memory"))?;
        place.window().write(0, &code()).ok_or("cannot write the program")?;
        drop(shown);
        self.keep(taken.segment.handle()).map_err(why("keeping the program"))?;
        Ok(taken.region)
    }
}

/// Pools that a process can find: its own, those within them, shares of them, and the same at the
/// port of a child that has not begun.
pub fn pools() -> Vec<OwnedReference> {
    let mut all: Vec<OwnedReference> = Vec::new();
    let reserved = process::create(Reference::PARENT, 0).ok().map(|made| made.port.leak());
    for port in [Some(Reference::PARENT), reserved].into_iter().flatten() {
        for service in [SERVICE_MEMORY, SERVICE_OBJECTS] {
            all.extend(parent::find(port, service).ok().map(|reply| reply.found));
        }
    }
    for number in 0..all.len() {
        let inner = memory::pool_create(all[number].handle(), POOL).ok().map(|reply| reply.pool);
        all.extend(inner);
    }
    for number in 0..all.len() {
        let shared = memory::share(all[number].handle(), 0).ok().map(|reply| reply.pool);
        all.extend(shared);
    }
    all
}

/// Takes kept memory of `pages` pages from each pool that gives some. Each holds a reference to its
/// pool as well.
pub fn take_all(pages: u64) -> Result<Vec<Kept>, String> {
    let mut all = Vec::new();
    for pool in pools() {
        let Ok(mut kept) = Kept::new(pool.handle(), pages) else { continue };
        kept.keep(pool.handle()).map_err(why("keeping a pool"))?;
        all.push(kept);
    }
    if all.is_empty() { Err(format!("no pool gives {pages} pages for objects")) } else { Ok(all) }
}
