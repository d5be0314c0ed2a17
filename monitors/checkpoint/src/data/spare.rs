//! Memory that our parent gave: chunks of data, and frames of which an environment takes runs for
//! pages of its own.

use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_dataspaces::extents::Extents;
use nacre_nest::places::Place;
use nacre_proto::Errno;
use nacre_rt::memory::Segment;
use nacre_sys::{Region, Window};

/// Fewest bytes that are taken for pages of an environment's own, and most that are taken beyond
/// need.
const STEPS: [u64; 2] = [32 * PAGE_SIZE, 16 << 20];

/// Zeroed memory, which lies where no environment sees it.
pub struct Store {
    // Nothing is mapped any more when the place is given back.
    segment: Segment,
    place: Place,
}

impl Store {
    /// Takes memory of this size, whole pages.
    pub fn take(size: u64) -> Result<Store, Errno> {
        let place = Place::take(size).ok_or(Errno::ENOMEM)?;
        let segment = Segment::map(place.window().start(), size, Rights::OBJECTS.union(Rights::EXECUTE))?;
        // From then on it is known which pages were touched.
        nacre_sys::memory::clear(segment.start(), size)?;
        Ok(Store { segment, place })
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.place.window().size()
    }

    /// The memory's region.
    pub fn region(&self) -> Region {
        Region::through(self.segment.region())
    }
}

/// A run of frames of an environment's own.
pub struct Run {
    store: usize,
    window: Window,
    region: Region,
    offset: u64,
}

impl Run {
    /// Window in which we see it, and can write to it.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The region that shows it.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Offset in that region.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// Frames for pages of an environment's own. Those that are free hold zeros.
#[derive(Default)]
pub struct Spare {
    stores: Vec<(Store, Extents)>,
}

impl Spare {
    /// Returns the number of bytes that were taken.
    pub fn size(&self) -> u64 {
        self.stores.iter().map(|(store, _)| store.size()).sum()
    }

    /// Takes a run of zeroed frames, of this many bytes.
    pub fn take(&mut self, size: u64) -> Result<Run, Errno> {
        let count = size / PAGE_SIZE;
        let found = self.stores.iter_mut().enumerate().find_map(|(number, (_, free))| Some((number, free.take(count)?)));
        let (store, page) = match found {
            Some(found) => found,
            None => {
                let more = size.max((self.size() / 2).clamp(STEPS[0], STEPS[1]) & !(PAGE_SIZE - 1));
                self.stores.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
                let mut free = Extents::new(more / PAGE_SIZE);
                let page = free.take(count).ok_or(Errno::ENOMEM)?;
                self.stores.push((Store::take(more)?, free));
                (self.stores.len() - 1, page)
            }
        };
        let (of, offset) = (&self.stores[store].0, page * PAGE_SIZE);
        let window = of.place.window().part(offset, size).ok_or(Errno::ENOMEM)?;
        Ok(Run { store, window, region: of.region(), offset })
    }

    /// Takes a run back that nobody sees any more.
    pub fn give(&mut self, run: Run) {
        let (offset, size) = (run.offset, run.window.size());
        // One that keeps its contents is not used again.
        if let Some((_, free)) = self.stores.get_mut(run.store)
            && nacre_sys::memory::clear(run.window.start(), size).is_ok()
        {
            free.give(offset / PAGE_SIZE, size / PAGE_SIZE);
        }
    }
}
