//! Private memory that two processes see and write, as `CLONE_VM` has it. Each treats it as its
//! own: a fork of either copies it, at once, for the other may write meanwhile.

use crate::abi::fork_record::area::Sharing;
use crate::services::segment::Segment;
use crate::state::memory::Memory;
use crate::state::memory::mapped_part::{Fill, Part};
use alloc::rc::Rc;
use nacre_abi::state::MappingState;

impl Part {
    /// Makes the part of a known segment, from `offset` on.
    pub fn of_segment(self, segment: Rc<Segment>, offset: u64, sharing: Sharing) -> Part {
        let state = MappingState { offset, ..self.state };
        let [shared, lent] = [Sharing::Shared, Sharing::Lent].map(|one| one == sharing);
        Part { writable: segment.is_writable() && (shared || lent), segment: Some(segment), state, shared, lent, ..self }
    }

    /// Returns the part as one of the process's data segment, if it has one.
    pub fn of_data(self, data: Option<&Rc<Segment>>, offset: u64) -> Part {
        let Some(segment) = data.cloned() else { return self };
        Part { state: MappingState { offset, ..self.state }, segment: Some(segment), ..self }
    }

    /// Returns who sees writes, once the part is shown to a child.
    pub fn sharing(&self) -> Sharing {
        match (self.shared, self.writable) {
            (true, _) => Sharing::Shared,
            (false, true) => Sharing::Lent,
            _ => Sharing::Shown,
        }
    }
}

impl Memory {
    /// Notes that another process has the private memory too and writes it. A later fork must copy
    /// it at once.
    pub fn lend(&mut self) {
        for area in self.map.areas_mut() {
            if let Fill::Own(part) = &mut area.backing {
                part.lent = !part.shared;
            }
        }
    }
}
