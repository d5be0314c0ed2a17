//! The memory that an environment lives in: a window of ours, with segments in it, each shown by a
//! region of ours.

use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Call, PAGE_SIZE, Rights, Status};
use alloc::vec::Vec;
use nacre_dataspaces::extents::Extents;
use nacre_nest::SpawnError;
use nacre_nest::supply;
use nacre_proto::Errno;
use nacre_rt::memory::Segment;
use nacre_snapshot::Access;
use nacre_sys::{OwnedReference, OwnedRegion, Reference, Region, Space, Window, call_within};

/// First address of the first arena.
const START: u64 = 0x1800_0000_0000;
/// First address behind the last arena.
const END: u64 = nacre_rt::memory::HEAP_START;
/// Bytes of addresses before an arena: two pages for states, one for references of ours, tables.
const HEAD: u64 = 1 << 30;
/// Bytes of those that are no tables.
const DESK: u64 = 3 * PAGE_SIZE;
/// Arenas begin at multiples of this.
const ALIGNMENT: u64 = 1 << 30;
/// Bytes by which an arena grows, at least.
const STEP: u64 = 1 << 20;

/// The arena. Its memory goes back when it is dropped.
pub struct Arena {
    /// All addresses, with the head.
    all: Window,
    size: u64,
    /// Bytes from the start on that are there; the rest is taken when it is needed.
    present: u64,
    free: Extents,
    memory: Vec<Segment>,
}

impl Arena {
    /// Takes `present` bytes of memory, whole pages, for an environment that can have `size`, and
    /// `tables` pages for tables of spaces that are made anew. `place` is the number of the
    /// environment: no two arenas of one program have the same, and all have the same size.
    pub fn take(place: u64, size: u64, present: u64, tables: u64) -> Result<Arena, Errno> {
        let head = tables.checked_mul(PAGE_SIZE).and_then(|tables| tables.checked_add(DESK)).filter(|head| *head <= HEAD).ok_or(Errno::ENOMEM)?;
        let start = Arena::address(place, size).ok_or(Errno::ENOMEM)?;
        let all = Window::new(start, HEAD + size).ok_or(Errno::ENOMEM)?;
        let memory = Vec::from([Segment::map(start, head, Rights::OBJECTS)?]);
        let mut arena = Arena { all, size, present: 0, free: Extents::new(size / PAGE_SIZE), memory };
        if present > 0 {
            arena.grow(present, present)?;
        }
        for number in 0..3 {
            Reference::create(arena.slots() + 64 * number)?;
        }
        Ok(arena)
    }

    /// Returns the address of an arena's head; none if there are no addresses left.
    fn address(place: u64, size: u64) -> Option<u64> {
        let distance = size.checked_add(HEAD)?.checked_next_multiple_of(ALIGNMENT)?;
        let start = distance.checked_mul(place)?.checked_add(START)?;
        (start.checked_add(distance)? <= END).then_some(start)
    }

    /// Takes memory up to `end` bytes from the start, and at least `step` bytes if there are so
    /// many left.
    fn grow(&mut self, end: u64, step: u64) -> Result<(), Errno> {
        if end <= self.present {
            return Ok(());
        }
        let more = (end - self.present).max(step.min(self.size - self.present));
        self.memory.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
        self.memory.push(Segment::map(self.start() + self.present, more, Rights::OBJECTS.union(Rights::EXECUTE))?);
        // From then on it is known which pages were touched.
        nacre_sys::memory::clear(self.start() + self.present, more)?;
        self.present += more;
        Ok(())
    }

    /// First address.
    pub fn start(&self) -> u64 {
        self.buffer() + HEAD
    }

    /// Takes everything back: nothing in it runs any more.
    pub fn reclaim(&self) {
        let _ = nacre_sys::memory::reclaim(self.start(), self.present);
    }

    /// Returns the number of bytes that the environment can have.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of bytes that were taken for it.
    pub fn present(&self) -> u64 {
        self.present
    }

    /// Address of two pages for states.
    pub fn buffer(&self) -> u64 {
        self.all.start()
    }

    /// Address of three references of ours.
    pub fn slots(&self) -> u64 {
        self.buffer() + 2 * PAGE_SIZE
    }

    /// Address of pages for tables of spaces.
    pub fn tables(&self) -> u64 {
        self.buffer() + DESK
    }

    /// The window of a part of the arena.
    pub fn window(&self, offset: u64, size: u64) -> Option<Window> {
        self.all.part(HEAD.checked_add(offset)?, size)
    }

    /// Gives back the addresses of a piece.
    pub fn give(&mut self, offset: u64, size: u64) {
        self.free.give(offset / PAGE_SIZE, size / PAGE_SIZE);
    }

    /// Notes which pieces are taken: these ranges, in order, and none over another.
    pub fn set_taken(&mut self, ranges: impl Iterator<Item = (u64, u64)>) {
        self.free = Extents::new(0);
        let mut start = 0;
        for (offset, size) in ranges.chain([(self.size, 0)]) {
            if offset > start {
                self.give(start, offset - start);
            }
            start = offset + size;
        }
    }

    /// A region of a part of the arena.
    pub fn region(&self, offset: u64, size: u64, holds_objects: bool) -> Result<OwnedRegion, Errno> {
        let rights = if holds_objects { Rights::ALL } else { Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE) };
        Ok(OwnedRegion::new(Space::OWN, self.start() + offset, size, rights, Reference::NONE)?)
    }
}

/// Calls and memory, for whoever reads the environment out. Words outside the arena are nothing.
impl Access for Arena {
    fn call(&mut self, call: Call, arguments: [u64; 8]) -> (Status, u64, u64) {
        self.all.part(0, 2 * PAGE_SIZE).map_or((Status::new(nacre_abi::Code::BadAddress), 0, 0), |buffer| call_within(buffer, call, arguments))
    }

    fn read(&mut self, address: u64) -> u64 {
        self.all.read_word(address.wrapping_sub(self.buffer())).unwrap_or(0)
    }

    fn write(&mut self, address: u64, value: u64) {
        let _ = self.all.write_word(address.wrapping_sub(self.buffer()), value);
    }

    fn read_page(&mut self, address: u64, into: &mut [u8]) {
        let _ = self.all.read(address.wrapping_sub(self.buffer()), into);
    }
}

/// Memory that was given out.
pub struct Piece {
    /// Offset in the arena.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Number of the pool that it was taken from.
    pub pool: u64,
    /// The piece may hold kernel objects. Servers inside share other memory with their clients.
    pub holds_objects: bool,
    /// Region of the piece.
    pub region: OwnedRegion,
}

impl Piece {
    /// Takes zeroed memory, whole pages, for which this pool has paid.
    pub fn take(arena: &mut Arena, size: u64, pool: u64, holds_objects: bool) -> Result<Piece, Errno> {
        let offset = arena.free.take(size / PAGE_SIZE).ok_or(Errno::ENOMEM)? * PAGE_SIZE;
        let made = arena.grow(offset + size, STEP).and_then(|()| Ok(nacre_sys::memory::clear(arena.start() + offset, size)?)).and_then(|()| arena.region(offset, size, holds_objects));
        match made {
            Ok(region) => Ok(Piece { offset, size, pool, holds_objects, region }),
            Err(errno) => {
                arena.give(offset, size);
                Err(errno)
            }
        }
    }

    /// A reference to the region, to give away. Whoever controls the region could make it show
    /// other memory of ours.
    pub fn reference(&self) -> Result<OwnedReference, Errno> {
        Ok(self.region.new_reference(REFERENCE_USE)?)
    }
}

/// Memory for the first program of the environment: it stays.
pub struct First {
    window: Window,
    region: Region,
}

impl First {
    /// A piece, as the nesting library wants it.
    pub fn new(arena: &Arena, piece: &Piece) -> Result<First, SpawnError> {
        let window = arena.window(piece.offset, piece.size).ok_or(SpawnError::TooLarge(piece.size, None))?;
        Ok(First { window, region: piece.region.handle() })
    }
}

impl supply::Segment for First {
    fn window(&self) -> Window {
        self.window
    }

    fn region(&self) -> Region {
        self.region
    }
}
