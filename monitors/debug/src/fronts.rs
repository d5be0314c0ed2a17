//! Fronts of watched pages: a program cannot write to a page that has one.

use crate::breakpoints::{Covered, Pages, cover};
use crate::copier::Copier;
use crate::view::View;
use nacre_abi::state::MappingState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, Region, Space};

/// Rights that a front leaves.
const LEFT: u64 = Rights::READ.union(Rights::EXECUTE).union(Rights::OVER).0;

/// Front of a page.
pub enum Front {
    /// A copy of the page, before it.
    Copy(Covered),
    /// A mapping of the same memory that cannot be written, before it.
    Same(OwnedMapping),
    /// The program's own mapping of the page, which is an overlay: nothing can stand before it.
    Changed(Mapping, MappingState),
}

/// Memory of the process, and what copies of its pages need.
pub struct Place<'a> {
    /// The space.
    pub space: Space,
    /// Memory of the process.
    pub view: &'a View,
    /// The thread that copies memory.
    pub copier: &'a Copier,
    /// Pages for copies.
    pub pages: &'a mut Pages,
}

impl Front {
    /// Puts a copy before a page. `None`: that cannot be.
    pub fn copy(place: &mut Place<'_>, page: u64) -> Option<Front> {
        cover((place.space, place.view), (place.copier, place.pages), page, Rights::READ).ok().map(Front::Copy)
    }

    /// Keeps a program from writing to a page that it has by this mapping. `None`: the mapping does
    /// not have the page any more, or something else stands before it.
    pub fn of_mapping(space: Space, mapping: Mapping, page: u64) -> Option<Front> {
        let (region, owner) = (OwnedReference::null().ok()?, OwnedReference::null().ok()?);
        let state = mapping.get_state_and_links(&[region.handle(), owner.handle()]).ok()?;
        let inside = page.checked_sub(state.start).filter(|inside| *inside < state.size)?;
        let rights = Rights(state.rights & LEFT);
        if rights.is_over() {
            mapping.set_state(&MappingState { rights: rights.0, ..state }).ok()?;
            return Some(Front::Changed(mapping, state));
        }
        let offset = state.offset.checked_add(inside)?;
        OwnedMapping::new(space, page, PAGE_SIZE, Region::through(region.handle()), offset, rights.union(Rights::OVER)).ok().map(Front::Same)
    }

    /// Lets the program write to the page.
    pub fn take_away(self, pages: &mut Pages) {
        match self {
            Front::Copy(covered) => covered.uncover(pages),
            Front::Same(mapping) => drop(mapping),
            Front::Changed(mapping, before) => {
                let left = MappingState { rights: before.rights & LEFT, ..before };
                // One that is not as it was left is the program's to change.
                if mapping.get_state() == Ok(left) {
                    let _ = mapping.set_state(&before);
                }
            }
        }
    }
}
