//! A process's memory in our own space: a region of its whole space, of which a part is mapped when
//! it is looked at, and the places where its threads lie.

use crate::copier::Copier;
use alloc::vec::Vec;
use nacre_abi::object::TargetType;
use nacre_abi::state::{MappingState, ObjectEntry};
use nacre_abi::{ObjectType, PAGE_SIZE, Rights, USER_END};
use nacre_nest::object_view::ObjectView;
use nacre_nest::places::Place;
use nacre_proto::Errno;
use nacre_sys::{Mapping, OwnedMapping, Reference, Space, Window};

/// Bytes of a part that is mapped at a time.
const PART: u64 = 64 << 10;

/// Memory of one process.
pub struct View {
    objects: ObjectView,
    part: Place,
}

impl View {
    /// Views a space.
    pub fn new(space: Space) -> Result<View, Errno> {
        Ok(View { objects: ObjectView::new(space)?, part: Place::take(PART).ok_or(Errno::ENOMEM)? })
    }

    /// Maps the part that an address lies in, and calls `copy` with a window of the page at the
    /// address, or what is left of it.
    fn with_page<T>(&self, address: u64, size: u64, copy: impl FnOnce(Window) -> Option<T>) -> Option<T> {
        let start = address & !(PART - 1);
        let (window, rights) = (self.part.window(), Rights::READ.union(Rights::WRITE));
        let _mapping = OwnedMapping::new(Space::SELF, window.start(), PART, self.objects.region(), start, rights).ok()?;
        copy(window.part(address - start, size)?)
    }

    /// Reads memory: how many bytes could be read.
    pub fn read(&self, copier: &Copier, address: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        for (at, size) in pieces(address, into.len()) {
            let piece = &mut into[done..done + size];
            let copied = self.with_page(at, size as u64, |window| copier.read(window.part(0, size as u64)?, piece).then_some(()));
            if copied.is_none() {
                break;
            }
            done += size;
        }
        done
    }

    /// Reads a word.
    pub fn word(&self, copier: &Copier, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(copier, address, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
    }

    /// Writes memory. False: not all could be written.
    pub fn write(&self, copier: &Copier, address: u64, bytes: &[u8]) -> bool {
        let mut done = 0;
        for (at, size) in pieces(address, bytes.len()) {
            let piece = &bytes[done..done + size];
            if self.with_page(at, size as u64, |window| copier.write(window.part(0, size as u64)?, piece).then_some(())).is_none() {
                return false;
            }
            done += size;
        }
        done == bytes.len()
    }

    /// Returns the addresses in our own space of the threads that the process has made.
    pub fn threads(&self) -> Vec<u64> {
        self.objects.threads()
    }

    /// Returns the mappings of the process that it knows of: its own, and those that it has
    /// references to.
    pub fn mappings(&self) -> Vec<MappingState> {
        self.known_mappings().filter_map(|mapping| mapping.get_state().ok()).collect()
    }

    fn known_mappings(&self) -> impl Iterator<Item = Mapping> {
        let is_mapping = |entry: &ObjectEntry| match ObjectType::from_number(entry.kind) {
            Some(ObjectType::Mapping) => true,
            Some(ObjectType::Reference) => Reference(entry.address).get_state().is_ok_and(|state| state.target == TargetType::Mapping as u64),
            _ => false,
        };
        self.objects.objects().into_iter().filter(is_mapping).map(|entry| Mapping(entry.address))
    }

    /// Returns the mapping by which the process has the memory at an address, if it knows of it: an
    /// overlay, if there is one.
    pub fn mapping_at(&self, address: u64) -> Option<Mapping> {
        let mut found = None;
        for mapping in self.known_mappings() {
            let Ok(state) = mapping.get_state() else { continue };
            match address.checked_sub(state.start).is_some_and(|inside| inside < state.size) {
                true if Rights(state.rights).is_over() => return Some(mapping),
                true => found = Some(mapping),
                false => {}
            }
        }
        found
    }

    /// Returns the address in our own space of the thread that a reference leads to, if the process
    /// has made it.
    pub fn place_of(&self, thread: Reference) -> Option<u64> {
        self.objects.place_of(thread)
    }
}

/// Splits a range at pages; what leaves the user's addresses is left out.
fn pieces(address: u64, size: usize) -> impl Iterator<Item = (u64, usize)> {
    let end = address.saturating_add(size as u64).min(USER_END);
    let mut at = address;
    core::iter::from_fn(move || {
        let next = (at & !(PAGE_SIZE - 1)).saturating_add(PAGE_SIZE).min(end);
        let piece = (at < end).then(|| (at, (next - at) as usize));
        at = next;
        piece
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_split_at_pages() {
        let split = |address, size| pieces(address, size).collect::<Vec<_>>();
        assert_eq!(split(0xffe, 4), [(0xffe, 2), (0x1000, 2)]);
        assert_eq!(split(0x1000, 0x1000), [(0x1000, 0x1000)]);
        assert_eq!(split(USER_END - 2, 9), [(USER_END - 2, 2)]);
        assert_eq!((split(u64::MAX, 9), split(5, 0)), (Vec::new(), Vec::new()));
    }
}
