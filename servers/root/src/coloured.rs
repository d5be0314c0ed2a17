//! Memory of some colours: runs of frames, shown one behind the other at addresses of this
//! program's
//! space, for others to map from there. This program never touches the memory by these addresses.

use crate::memory;
use crate::table::Key;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedMapping, OwnedReference, OwnedRegion, Reference, Space};

/// Addresses at which coloured memory is shown, behind those of promises.
const ADDRESSES: Range<u64> = 0x7000_0000_0000..0x7800_0000_0000;
/// Largest number of colours.
pub const MAX_COLOURS: u64 = 1024;
/// Bytes that a run costs its pool beside its memory, and the account of its client. Each run takes
/// a mapping.
const RUN_COST: u64 = 512;

/// Addresses in use: starts and sizes.
static PLACES: Lock<BTreeMap<u64, u64>> = Lock::new(BTreeMap::new());

/// Addresses for memory. Dropping them makes them free.
struct Place(u64);

impl Place {
    fn take(size: u64) -> Option<Place> {
        let mut places = PLACES.lock();
        let mut base = ADDRESSES.start;
        for (start, taken) in places.iter() {
            if start - base >= size {
                break;
            }
            base = start + taken;
        }
        (ADDRESSES.end - base >= size).then(|| {
            places.insert(base, size);
            Place(base)
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        PLACES.lock().remove(&self.0);
    }
}

/// Runs of frames: address and size, in the order in which they are shown.
struct Runs(Vec<(u64, u64)>);

/// Coloured memory. Others have its region. Its parts go in the order in which they stand here:
/// nobody
/// reaches a frame that is given back.
pub struct Coloured {
    region: Option<OwnedRegion>,
    mappings: Vec<OwnedMapping>,
    /// Bytes that are shown.
    shown: u64,
    size: u64,
    runs: Runs,
    place: Place,
}

/// Coloured memory, and who has paid for it.
pub struct Colouring {
    /// The pool, and how many bytes.
    pub paid: (Key, u64),
    /// The account of the client, and how many bytes.
    pub counted: (Key, u64),
    /// The memory.
    pub memory: Coloured,
}

/// Returns true if colours from `first` on are `count` of `colours`.
pub fn are_colours(colours: u64, first: u64, count: u64) -> bool {
    colours.is_power_of_two() && colours <= MAX_COLOURS && count != 0 && first < colours && count <= colours - first
}

/// Upper bound of the bytes that memory of this size costs its pool in addition to the memory
/// itself.
pub fn cost(size: u64, count: u64) -> u64 {
    // Frames that are in use divide runs, so the number is a guess. `Coloured::new` keeps to it.
    (size / PAGE_SIZE).div_ceil(count).saturating_mul(2).saturating_add(1).saturating_mul(RUN_COST)
}

impl Coloured {
    /// Takes `size` bytes, whole pages, in frames of the chosen colours, in runs that cost at most
    /// `room` bytes. Nobody sees them before [`show_some`](Coloured::show_some) has shown them all.
    pub fn new(size: u64, colours: u64, chosen: Range<u64>, room: u64) -> Result<Coloured, Errno> {
        let most = cost(size, chosen.end - chosen.start).min(room) / RUN_COST;
        let place = Place::take(size).ok_or(Errno::ENOMEM)?;
        let mut mappings = Vec::new();
        let runs = Runs(memory::take_coloured(size, colours, chosen, most as usize).ok_or(Errno::ENOMEM)?);
        mappings.try_reserve_exact(runs.0.len()).map_err(|_| Errno::ENOMEM)?;
        Ok(Coloured { region: None, mappings, shown: 0, size, runs, place })
    }

    /// Shows up to `most` more runs, as zeros. Returns true if all are shown.
    pub fn show_some(&mut self, most: usize) -> Result<bool, Errno> {
        for _ in 0..most {
            let Some(run) = self.runs.0.get(self.mappings.len()) else { break };
            memory::clear_run(*run)?;
            self.mappings.push(memory::show(run.0, self.place.0 + self.shown, run.1)?);
            self.shown += run.1;
        }
        if self.shown != self.size {
            return Ok(false);
        }
        let rights = Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE);
        self.region = Some(OwnedRegion::new(Space::OWN, self.place.0, self.size, rights, Reference::NONE)?);
        Ok(true)
    }

    /// Bytes that its runs cost the account of its client.
    pub fn cost_of_runs(&self) -> u64 {
        self.runs.0.len() as u64 * RUN_COST
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// A reference to its region, to be mapped.
    pub fn region_reference(&self) -> Result<OwnedReference, Errno> {
        Ok(self.region.as_ref().ok_or(Errno::EIO)?.new_reference(REFERENCE_USE)?)
    }

    /// The machine's address of the byte at `offset`, and how many bytes lie there in one run.
    pub fn locate(&self, offset: u64) -> Option<(u64, u64)> {
        let mut at = 0;
        self.runs.0.iter().find_map(|(start, size)| {
            let within = offset.checked_sub(at)?;
            at += size;
            (within < *size).then(|| (start + within, size - within))
        })
    }

    /// Takes the memory from all who have it mapped, and gives some of its runs back. Returns what
    /// is
    /// left to give back, if anything is.
    pub fn dismantle(mut self, most: usize) -> Option<Coloured> {
        self.region = None;
        for _ in 0..most {
            self.mappings.pop();
            self.runs.give_last()?;
        }
        Some(self)
    }
}

impl Runs {
    /// Gives the last run back, which nobody reaches any more. `None`: there is none.
    fn give_last(&mut self) -> Option<()> {
        let (start, size) = self.0.pop()?;
        memory::free(start, size);
        Some(())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        while self.give_last().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_remainders_of_a_power_of_two() {
        assert!(are_colours(16, 0, 4) && are_colours(16, 12, 4) && are_colours(1, 0, 1) && are_colours(MAX_COLOURS, 1, 1));
        assert!(!are_colours(12, 0, 4) && !are_colours(16, 13, 4) && !are_colours(16, 16, 1) && !are_colours(0, 0, 0));
        assert!(!are_colours(16, 0, 0) && !are_colours(2 * MAX_COLOURS, 0, 1) && !are_colours(16, 1, u64::MAX));
    }

    #[test]
    fn addresses_are_used_again() {
        let first = Place::take(0x3000).unwrap();
        let second = Place::take(0x1000).unwrap();
        assert_eq!((first.0, second.0), (ADDRESSES.start, ADDRESSES.start + 0x3000));
        drop(first);
        assert_eq!(Place::take(0x2000).map(|place| place.0), Some(ADDRESSES.start));
        assert!(Place::take(ADDRESSES.end - ADDRESSES.start + 1).is_none());
    }
}
