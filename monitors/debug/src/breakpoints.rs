//! Breakpoints: a page of ours stands in front of the process's page, with the instruction in it.
//! So neither the file that the page came from nor any other process sees it.

use crate::copier::Copier;
use crate::view::View;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::Errno;
use nacre_rt::memory::Segment;
use nacre_sys::{OwnedMapping, OwnedRegion, Reference, Space, Window};

/// The instruction.
pub const BREAK: u8 = 0xcc;
/// Maximum number of pages with breakpoints, of all processes together.
const PAGES: u64 = 256;

/// Pages for copies.
pub struct Pages {
    window: Window,
    region: OwnedRegion,
    free: Vec<u64>,
    _segment: Segment,
    _place: Place,
}

impl Pages {
    /// Takes memory for all of them.
    pub fn take() -> Result<Pages, Errno> {
        let place = Place::take(PAGES * PAGE_SIZE).ok_or(Errno::ENOMEM)?;
        let window = place.window();
        let segment = Segment::map(window.start(), window.size(), Rights::EXECUTE)?;
        let region = OwnedRegion::new(Space::OWN, window.start(), window.size(), Rights::READ.union(Rights::EXECUTE), Reference::NONE)?;
        Ok(Pages { window, region, free: (0..PAGES).rev().map(|number| number * PAGE_SIZE).collect(), _segment: segment, _place: place })
    }
}

/// A page that a copy stands in front of.
pub struct Covered {
    /// Offset of the copy among our pages.
    copy: u64,
    mapping: OwnedMapping,
    /// Offsets of the breakpoints in the page, the bytes that they stand for, and how many there
    /// are: one of gdb's and those of steps.
    places: BTreeMap<u64, (u8, u32)>,
}

/// The breakpoints of a process.
#[derive(Default)]
pub struct Breakpoints {
    pages: BTreeMap<u64, Covered>,
    /// A page that the program writes to, and the offsets of its breakpoints.
    open: Option<(u64, BTreeMap<u64, (u8, u32)>)>,
}

const fn split(address: u64) -> (u64, u64) {
    (address & !(PAGE_SIZE - 1), address & (PAGE_SIZE - 1))
}

impl Breakpoints {
    /// Returns true if there is a breakpoint at an address.
    pub fn has(&self, address: u64) -> bool {
        let (page, offset) = split(address);
        self.pages.get(&page).is_some_and(|covered| covered.places.contains_key(&offset))
    }

    /// Puts a breakpoint at an address of the space that `view` shows.
    pub fn insert(&mut self, (space, view): (Space, &View), (copier, pages): (&Copier, &mut Pages), address: u64) -> Result<(), Errno> {
        let (page, offset) = split(address);
        if let Some((_, places)) = self.open.as_mut().filter(|(open, _)| *open == page) {
            places.entry(offset).or_insert((0, 0)).1 += 1;
            return Ok(());
        }
        if !self.pages.contains_key(&page) {
            let covered = cover((space, view), (copier, pages), page, Rights::READ.union(Rights::EXECUTE))?;
            self.pages.insert(page, covered);
        }
        let covered = self.pages.get_mut(&page).ok_or(Errno::EFAULT)?;
        if let Some((_, count)) = covered.places.get_mut(&offset) {
            *count += 1;
            return Ok(());
        }
        let mut byte = [0];
        pages.window.read(covered.copy + offset, &mut byte).ok_or(Errno::EFAULT)?;
        covered.places.insert(offset, (byte[0], 1));
        pages.window.write(covered.copy + offset, &[BREAK]).ok_or(Errno::EFAULT)
    }

    /// Takes a breakpoint away. Returns false if there is none.
    pub fn remove(&mut self, pages: &mut Pages, address: u64) -> bool {
        let (page, offset) = split(address);
        if let Some((_, places)) = self.open.as_mut().filter(|(open, _)| *open == page) {
            let left = places.get_mut(&offset).map(|(_, count)| {
                *count -= 1;
                *count
            });
            left.filter(|left| *left == 0).and_then(|_| places.remove(&offset));
            return left.is_some();
        }
        let Some(covered) = self.pages.get_mut(&page) else { return false };
        let Some((byte, count)) = covered.places.get_mut(&offset) else { return false };
        *count -= 1;
        if *count > 0 {
            return true;
        }
        let byte = *byte;
        covered.places.remove(&offset);
        let _ = pages.window.write(covered.copy + offset, &[byte]);
        if covered.places.is_empty()
            && let Some(covered) = self.pages.remove(&page)
        {
            covered.uncover(pages);
        }
        true
    }

    /// Takes the instruction of a breakpoint away, so that a thread makes the program's there, or
    /// puts it back.
    pub fn lift(&self, pages: &Pages, address: u64, is_lifted: bool) {
        let (page, offset) = split(address);
        if let Some(covered) = self.pages.get(&page)
            && let Some((byte, _)) = covered.places.get(&offset)
        {
            let _ = pages.window.write(covered.copy + offset, &[if is_lifted { *byte } else { BREAK }]);
        }
    }

    /// Returns true if a copy stands in front of the page that an address lies in.
    pub fn covers(&self, address: u64) -> bool {
        self.pages.contains_key(&split(address).0)
    }

    /// Returns true if a page is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes the copy away for as long as the program writes to its page.
    pub fn open(&mut self, pages: &mut Pages, address: u64) {
        let page = split(address).0;
        if let Some(covered) = self.pages.remove(&page) {
            self.open = Some((page, covered.places.clone()));
            covered.uncover(pages);
        }
    }

    /// Puts a copy of what the page has now in front of it.
    pub fn close(&mut self, place: (Space, &View), (copier, pages): (&Copier, &mut Pages)) {
        let Some((page, places)) = self.open.take() else { return };
        for (offset, (_, count)) in places {
            for _ in 0..count {
                // Where it cannot be any more, it is not.
                let _ = self.insert(place, (copier, pages), page + offset);
            }
        }
    }

    /// Takes all breakpoints away.
    pub fn clear(&mut self, pages: &mut Pages) {
        self.open = None;
        core::mem::take(&mut self.pages).into_values().for_each(|covered| covered.uncover(pages));
    }

    /// Puts the bytes into `bytes`, read at `address`, that breakpoints stand for.
    pub fn hide(&self, address: u64, bytes: &mut [u8]) {
        for (page, covered) in self.pages.range(split(address).0..) {
            if *page >= address.saturating_add(bytes.len() as u64) {
                break;
            }
            for (offset, (byte, _)) in &covered.places {
                let place = (page + offset).checked_sub(address).and_then(|at| bytes.get_mut(at as usize));
                place.into_iter().for_each(|place| *place = *byte);
            }
        }
    }
}

impl Covered {
    /// Takes the copy away.
    pub fn uncover(self, pages: &mut Pages) {
        drop(self.mapping);
        pages.free.push(self.copy);
    }
}

/// Puts a copy of a page in front of it, which the program has these rights to.
pub fn cover((space, view): (Space, &View), (copier, pages): (&Copier, &mut Pages), page: u64, rights: Rights) -> Result<Covered, Errno> {
    let mut bytes = vec![0; PAGE_SIZE as usize];
    if view.read(copier, page, &mut bytes) != bytes.len() {
        return Err(Errno::EFAULT);
    }
    let copy = pages.free.pop().ok_or(Errno::ENOMEM)?;
    let made = pages.window.write(copy, &bytes).ok_or(Errno::EFAULT).and_then(|()| {
        Ok(OwnedMapping::new(space, page, PAGE_SIZE, pages.region.handle(), copy, rights.union(Rights::OVER))?)
    });
    match made {
        Ok(mapping) => Ok(Covered { copy, mapping, places: BTreeMap::new() }),
        Err(errno) => {
            pages.free.push(copy);
            Err(errno)
        }
    }
}
