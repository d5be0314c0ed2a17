//! The memory that a tree lives in: two windows of ours, in one of which it is, and segments in
//! them, each shown by a region of ours.

use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_ALL;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::SpawnError;
use nacre_nest::supply;
use nacre_proto::Errno;
use nacre_rt::memory::Segment;
use nacre_sys::{OwnedReference, OwnedRegion, Reference, Region, Space, Window};

/// All that is set aside.
const ARENA: u64 = 0x1800_0000_0000;
/// Bytes of a window.
pub const WINDOW_SIZE: u64 = 64 << 20;
/// Addresses of the windows.
pub const WINDOWS: [u64; 2] = [ARENA, ARENA + WINDOW_SIZE];
/// Two pages for states.
pub const BUFFER: u64 = ARENA + 2 * WINDOW_SIZE;
/// Pages for tables of spaces that are made anew, in turn.
pub const POOLS: [u64; 2] = [BUFFER + (1 << 20), BUFFER + (1 << 20) + POOL_SIZE];
const POOL_SIZE: u64 = 16 << 20;
const ARENA_SIZE: u64 = 2 * WINDOW_SIZE + (1 << 20) + 2 * POOL_SIZE;

/// Takes it all, for as long as this program runs.
pub fn set_aside() -> Result<(), Errno> {
    Segment::map(ARENA, ARENA_SIZE, Rights::OBJECTS.union(Rights::EXECUTE)).map(|segment| {
        segment.leak();
    })
}

/// Memory that was given out.
pub struct Piece {
    /// Offset in a window.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Region of the piece, in the window where the tree is.
    pub region: OwnedRegion,
}

/// A region of the bytes from `offset` of a window.
pub fn region(window: usize, offset: u64, size: u64) -> Result<OwnedRegion, Errno> {
    Ok(OwnedRegion::new(Space::OWN, WINDOWS[window] + offset, size, Rights::ALL, Reference::NONE)?)
}

impl Piece {
    /// A reference to the region, to give away.
    pub fn reference(&self) -> Result<OwnedReference, Errno> {
        Ok(self.region.new_reference(REFERENCE_ALL)?)
    }

    /// The bytes from its start on, where they are now.
    pub fn at(&self, window: usize) -> u64 {
        WINDOWS[window] + self.offset
    }
}

/// The lowest place for `size` bytes beside `taken`, which is not in order.
pub fn place<'a>(taken: impl Iterator<Item = &'a Piece>, size: u64) -> Option<u64> {
    let mut ranges: Vec<(u64, u64)> = taken.map(|piece| (piece.offset, piece.size)).collect();
    ranges.sort_unstable();
    let mut start = 0;
    for (offset, length) in ranges {
        if offset - start >= size {
            break;
        }
        start = offset + length;
    }
    (start + size <= WINDOW_SIZE).then_some(start)
}

/// Takes zeroed memory.
pub fn take<'a>(taken: impl Iterator<Item = &'a Piece>, window: usize, size: u64) -> Result<Piece, Errno> {
    let size = size.next_multiple_of(PAGE_SIZE);
    let offset = place(taken, size).ok_or(Errno::ENOMEM)?;
    nacre_sys::memory::clear(WINDOWS[window] + offset, size)?;
    Ok(Piece { offset, size, region: region(window, offset, size)? })
}

/// Memory for the first space: never given back by itself.
pub struct First {
    window: Window,
    region: Region,
}

impl First {
    /// A piece, as the nesting library wants it.
    pub fn new(piece: &Piece, window: usize) -> Result<First, SpawnError> {
        let at = Window::new(piece.at(window), piece.size).ok_or(SpawnError::TooLarge(piece.size, None))?;
        Ok(First { window: at, region: piece.region.handle() })
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
