//! Places for pages outside our own memory.

use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_dataspaces::generations::{Blocks, Failed};
use nacre_dataspaces::store::{Full, Lost, Numbers};
use nacre_dataspaces::{PAGE, Page, Store};
use nacre_nest::places::Place;
use nacre_proto::flags::SEGMENT_PAGEABLE;
use nacre_proto::{file, memory};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Window};

const PAGE_BYTES: u64 = PAGE as u64;

/// Pages in a file, one behind the other. Others may change the file: then the child reads what
/// they wrote, or has lost the page.
pub struct InFile {
    file: OwnedReference,
    numbers: Numbers,
    pages: u64,
}

impl InFile {
    /// Keeps up to `pages` pages in `file`.
    pub fn new(file: OwnedReference, pages: u64) -> InFile {
        InFile { file, numbers: Numbers::default(), pages }
    }
}

impl Store for InFile {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        let number = self.numbers.take(self.pages)?;
        match file::write(self.file.handle(), number * PAGE_BYTES, &page[..]) {
            Ok(reply) if reply.count == PAGE_BYTES => Ok(number),
            _ => {
                self.numbers.give(number);
                Err(Full)
            }
        }
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        match file::read(self.file.handle(), number * PAGE_BYTES, PAGE_BYTES, &mut into[..]) {
            Ok(reply) if reply.data == PAGE => Ok(()),
            _ => Err(Lost),
        }
    }

    fn drop(&mut self, number: u64) {
        self.numbers.give(number);
    }

    fn capacity(&self) -> u64 {
        self.pages
    }

    fn used(&self) -> u64 {
        self.numbers.taken() * PAGE_BYTES
    }
}

/// A file of the layer below, for generations.
pub struct BlockFile {
    file: OwnedReference,
    blocks: u64,
}

impl BlockFile {
    /// Uses the first `blocks` pages of `file`.
    pub fn new(file: OwnedReference, blocks: u64) -> BlockFile {
        BlockFile { file, blocks }
    }
}

impl Blocks for BlockFile {
    fn count(&self) -> u64 {
        self.blocks
    }

    fn read(&mut self, block: u64, into: &mut Page) -> Result<(), Failed> {
        match file::read(self.file.handle(), block * PAGE_BYTES, PAGE_BYTES, &mut into[..]) {
            Ok(reply) if reply.data == PAGE => Ok(()),
            _ => Err(Failed),
        }
    }

    fn write(&mut self, block: u64, from: &Page) -> Result<(), Failed> {
        match file::write(self.file.handle(), block * PAGE_BYTES, &from[..]) {
            Ok(reply) if reply.count == PAGE_BYTES => Ok(()),
            _ => Err(Failed),
        }
    }

    fn settle(&mut self) -> Result<(), Failed> {
        file::sync(self.file.handle()).map(drop).map_err(|_| Failed)
    }
}

/// Pages of a piece.
const PIECE: u64 = 256;

/// A piece of memory of the layer below.
struct Piece {
    window: Window,
    _kept: (OwnedMapping, OwnedReference, OwnedReference, Place),
}

/// Pages in memory that whoever is below may page.
pub struct InMemory {
    pool: OwnedReference,
    pieces: Vec<Piece>,
    numbers: Numbers,
    pages: u64,
}

impl InMemory {
    /// Keeps up to `pages` pages in memory of `pool`, which is taken when it is needed.
    pub fn new(pool: OwnedReference, pages: u64) -> InMemory {
        InMemory { pool, pieces: Vec::new(), numbers: Numbers::default(), pages }
    }

    fn grow(&mut self) -> Option<()> {
        self.pieces.try_reserve(1).ok()?;
        let piece = piece(self.pool.handle())?;
        self.pieces.push(piece);
        Some(())
    }

    fn part(&self, number: u64) -> Option<Window> {
        self.pieces.get((number / PIECE) as usize)?.window.part(number % PIECE * PAGE_BYTES, PAGE_BYTES)
    }
}

fn piece(pool: Reference) -> Option<Piece> {
    let size = PIECE * PAGE_BYTES;
    let taken = memory::segment_create(pool, size, SEGMENT_PAGEABLE).ok()?;
    let place = Place::take(size)?;
    let window = place.window();
    let mapping = OwnedMapping::new(Space::SELF, window.start(), size, Region::through(taken.region.handle()), 0, Rights::READ.union(Rights::WRITE)).ok()?;
    Some(Piece { window, _kept: (mapping, taken.segment, taken.region, place) })
}

impl Store for InMemory {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        let number = self.numbers.take(self.pages)?;
        if self.part(number).is_none() {
            // One that does not grow answers so below.
            let _ = self.grow();
        }
        if self.part(number).and_then(|window| window.write(0, page)).is_none() {
            self.numbers.give(number);
            return Err(Full);
        }
        Ok(number)
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        self.part(number).and_then(|window| window.read(0, into)).ok_or(Lost)
    }

    fn drop(&mut self, number: u64) {
        self.numbers.give(number);
    }

    fn capacity(&self) -> u64 {
        self.pages
    }

    fn used(&self) -> u64 {
        self.numbers.taken() * PAGE_BYTES
    }
}
