//! The memory that an environment lives in: a window of ours, with segments in it, each shown by a
//! region of ours. What holds kernel objects, or gets answers, lies in the first part of it; the
//! rest is [`Data`].

use crate::data::Data;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Call, PAGE_SIZE, Rights, Status};
use alloc::vec::Vec;
use nacre_dataspaces::extents::Extents;
use nacre_nest::SpawnError;
use nacre_nest::supply;
use nacre_proto::Errno;
use nacre_rt::memory::Segment;
use nacre_snapshot::Access;
use nacre_snapshot::image::DATA;
use nacre_sys::{OwnedPort, OwnedReference, OwnedRegion, Reference, Region, Space, Window, call_within};

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
/// Bytes by which an arena grows, at least. It grows by a half of what is there.
const STEP: u64 = 1 << 20;
/// Data begins at a multiple of this, so that large pages can show it.
const DATA_ALIGNMENT: u64 = 2 << 20;

/// Checks that so much memory could be had now. None is taken yet: an environment takes what it
/// needs.
pub fn check_memory(size: u64) -> Result<(), Errno> {
    let status = nacre_proto::memory::status(nacre_rt::memory::object_pool()?)?;
    if status.limit.saturating_sub(status.used) < size { Err(Errno::ENOMEM) } else { Ok(()) }
}

/// Returns the number of bytes that an arena takes at once, with its head; see [`Arena::take`].
pub fn taken_at_once(present: u64, tables: u64) -> u64 {
    tables.saturating_mul(PAGE_SIZE).saturating_add(DESK).saturating_add(present)
}

/// The arena. Its memory goes back when it is dropped.
pub struct Arena {
    /// All addresses without those of data, with the head.
    all: Window,
    /// Data of the environment, at distances from [`DATA`] on.
    pub data: Data,
    size: u64,
    /// Bytes from the start on that are there; the rest is taken when it is needed.
    present: u64,
    free: Extents,
    memory: Vec<Segment>,
}

impl Arena {
    /// Takes `present` bytes of memory, whole pages, for an environment that can have `size`, and
    /// `tables` pages for tables of spaces that are made anew; more is taken when it is needed.
    /// `place` is the number of the environment: no two arenas of one program have the same, and
    /// all have the same size.
    pub fn take(place: u64, size: u64, present: u64, tables: u64) -> Result<Arena, Errno> {
        let head = tables.checked_mul(PAGE_SIZE).and_then(|tables| tables.checked_add(DESK)).filter(|head| *head <= HEAD).ok_or(Errno::ENOMEM)?;
        let start = Arena::address(place, size).ok_or(Errno::ENOMEM)?;
        let all = Window::new(start, HEAD + size).ok_or(Errno::ENOMEM)?;
        let memory = Vec::from([Segment::map(start, head, Rights::OBJECTS)?]);
        let data = Data::new(Arena::data_window(start, size).ok_or(Errno::ENOMEM)?);
        let mut arena = Arena { all, data, size, present: 0, free: Extents::new(size / PAGE_SIZE), memory };
        if present > 0 {
            arena.grow(present, present)?;
        }
        for number in 0..3 {
            Reference::create(arena.slots() + 64 * number)?;
        }
        Ok(arena)
    }

    /// Returns the addresses for data of the arena whose head begins at `start`.
    fn data_window(start: u64, size: u64) -> Option<Window> {
        Window::new((start + HEAD + size).checked_next_multiple_of(DATA_ALIGNMENT)?, size)
    }

    /// Returns the address of an arena's head; none if there are no addresses left.
    fn address(place: u64, size: u64) -> Option<u64> {
        let distance = size.checked_mul(2)?.checked_add(HEAD + DATA_ALIGNMENT)?.checked_next_multiple_of(ALIGNMENT)?;
        let start = distance.checked_mul(place)?.checked_add(START)?;
        (start.checked_add(distance)? <= END).then_some(start)
    }

    /// Takes memory up to `end` bytes from the start, and at least `step` bytes if there are so
    /// many left.
    fn grow(&mut self, end: u64, step: u64) -> Result<(), Errno> {
        if end <= self.present {
            return Ok(());
        }
        let step = step.max(self.present / 2).min(self.size - self.present) & !(PAGE_SIZE - 1);
        let more = (end - self.present).max(step);
        self.memory.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
        self.memory.push(Segment::map(self.start() + self.present, more, Rights::OBJECTS.union(Rights::EXECUTE))?);
        // From then on it is known which pages were touched.
        nacre_sys::memory::clear(self.start() + self.present, more)?;
        self.present += more;
        Ok(())
    }

    /// Takes zeroed memory that is no data: its offset.
    fn take_plain(&mut self, size: u64) -> Result<u64, Errno> {
        let offset = self.free.take(size / PAGE_SIZE).ok_or(Errno::ENOMEM)? * PAGE_SIZE;
        let made = self.grow(offset + size, STEP).and_then(|()| self.clear(offset, size));
        made.inspect_err(|_| self.give(offset, size)).map(|()| offset)
    }

    /// First address.
    pub fn start(&self) -> u64 {
        self.buffer() + HEAD
    }

    /// Shares the data of this environment with a copy of it, which lives in `copy`.
    pub fn share_data(&mut self, copy: &mut Arena) -> Result<(), Errno> {
        let window = Arena::data_window(copy.buffer(), copy.size).ok_or(Errno::ENOMEM)?;
        copy.data = self.data.share(window)?;
        Ok(())
    }

    /// Takes everything back: nothing in it runs any more.
    pub fn reclaim(&self) {
        let _ = nacre_sys::memory::reclaim(self.start(), self.present);
    }

    /// Returns the number of bytes that the environment can have.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of bytes that were taken for it alone.
    pub fn present(&self) -> u64 {
        self.present + self.data.present()
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
        match offset.checked_sub(DATA) {
            Some(offset) => self.data.window(offset, size),
            None => self.all.part(HEAD.checked_add(offset)?, size),
        }
    }

    /// The address of a part.
    fn address_of(&self, offset: u64) -> u64 {
        offset.checked_sub(DATA).map_or(self.start() + offset, |offset| self.data.start() + offset)
    }

    /// Gives back the addresses of a piece, in which there are no objects any more.
    pub fn give(&mut self, offset: u64, size: u64) {
        match offset.checked_sub(DATA) {
            Some(offset) => self.data.give(offset, size),
            None => self.free.give(offset / PAGE_SIZE, size / PAGE_SIZE),
        }
    }

    /// Destroys the objects of a piece.
    pub fn reclaim_piece(&self, piece: &Piece) {
        if piece.data().is_none() {
            let _ = nacre_sys::memory::reclaim(self.start() + piece.offset, piece.size);
        }
    }

    /// Makes a part of a piece zeros.
    pub fn clear(&mut self, offset: u64, size: u64) -> Result<(), Errno> {
        match offset.checked_sub(DATA) {
            Some(offset) => self.data.clear(offset, size),
            None => Ok(nacre_sys::memory::clear(self.start() + offset, size)?),
        }
    }

    /// Notes which pieces are taken: these ranges, in order, and none over another.
    pub fn set_taken(&mut self, ranges: &[(u64, u64)]) {
        let (others, data) = ranges.split_at(ranges.partition_point(|(offset, _)| *offset < DATA));
        self.free = Extents::new(0);
        let mut start = 0;
        for (offset, size) in others.iter().copied().chain([(self.size, 0)]) {
            if offset > start {
                self.give(start, offset - start);
            }
            start = offset + size;
        }
        let data: Vec<(u64, u64)> = data.iter().map(|(offset, size)| (offset - DATA, *size)).collect();
        self.data.set_taken(&data);
    }

    /// A region of a part of the arena. `keeper`, which data has, is asked when somebody wants to
    /// write to data that is read-only for the moment.
    fn region(&self, offset: u64, size: u64, holds_objects: bool, keeper: Option<&OwnedPort>) -> Result<OwnedRegion, Errno> {
        let rights = if holds_objects { Rights::ALL } else { Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE) };
        let keeper = keeper.map_or(Reference::NONE, |keeper| keeper.handle().as_keeper());
        Ok(OwnedRegion::new(Space::OWN, self.address_of(offset), size, rights, keeper)?)
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
    /// Region of the piece. It goes before the port that keeps it.
    pub region: OwnedRegion,
    /// Port that hears of writes to data that is read-only.
    _keeper: Option<OwnedPort>,
}

/// Kind of memory that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Kernel objects may be made in it.
    Objects,
    /// Servers inside share it with their clients, and answers land in it.
    Shared,
    /// Data of a program.
    Data,
}

impl Piece {
    /// Takes zeroed memory, whole pages, for which this pool has paid. Of data, `keeper` is asked
    /// when somebody wants to write who cannot now.
    pub fn take(arena: &mut Arena, size: u64, pool: u64, kind: Use, keeper: Option<OwnedPort>) -> Result<Piece, Errno> {
        let holds_objects = kind == Use::Objects;
        let offset = if kind == Use::Data { DATA + arena.data.take(size)? } else { arena.take_plain(size)? };
        Piece::again(arena, (offset, size), pool, holds_objects, keeper).inspect_err(|_| arena.give(offset, size))
    }

    /// The piece at this offset and of this size, which was given out before.
    pub fn again(arena: &Arena, (offset, size): (u64, u64), pool: u64, holds_objects: bool, keeper: Option<OwnedPort>) -> Result<Piece, Errno> {
        let region = arena.region(offset, size, holds_objects, keeper.as_ref())?;
        Ok(Piece { offset, size, pool, holds_objects, region, _keeper: keeper })
    }

    /// Offsets in the data of the first byte and of the first one behind it; `None` if it is not
    /// data.
    pub fn data(&self) -> Option<(u64, u64)> {
        self.offset.checked_sub(DATA).map(|offset| (offset, offset + self.size))
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
