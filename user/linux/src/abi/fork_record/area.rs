//! An area of memory in an inheritance: which addresses, with which rights, and what is there.

use crate::abi::fork_record::{Reader, Writer};
use nacre_abi::PAGE_SIZE;

/// An area of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Rights of the program.
    pub rights: u64,
    /// Contents of the area.
    pub fill: Fill,
}

/// Contents of an area. Mappings are counted in the order of the areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Reserved addresses without memory.
    Reserved,
    /// Memory that the process lives in.
    Own,
    /// Memory that the process takes at its start: nobody has touched what is there before.
    Fresh,
    /// A part of a segment, from this offset on, shared with others or only read.
    Part {
        /// Index of the segment.
        segment: u64,
        /// Offset in the segment.
        offset: u64,
        /// Visibility of writes.
        sharing: Sharing,
    },
}

/// Visibility of writes to a part of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Read-only: there are no writes.
    Shown,
    /// All who have it, forks' children too.
    Shared,
    /// The maker, whose memory it is; of a fork's child it is private memory.
    Lent,
}

impl Sharing {
    fn read(from: &mut Reader<'_>) -> Option<Sharing> {
        Some(match from.below(3)? {
            0 => Sharing::Shown,
            1 => Sharing::Shared,
            _ => Sharing::Lent,
        })
    }
}

impl Area {
    pub(super) fn write(&self, to: &mut Writer) {
        to.words(&[self.start, self.end, self.rights]);
        match self.fill {
            Fill::Reserved => to.word(0),
            Fill::Own => to.word(1),
            Fill::Part { segment, offset, sharing } => to.words(&[2, segment, offset, sharing as u64]),
            Fill::Fresh => to.word(3),
        }
    }

    pub(super) fn read(from: &mut Reader<'_>, segments: u64) -> Option<Area> {
        let [start, end] = from.words()?;
        let rights = from.below(8)?;
        let fill = match from.below(4)? {
            0 => Fill::Reserved,
            1 => Fill::Own,
            3 => Fill::Fresh,
            _ => Fill::Part { segment: from.below(segments)?, offset: from.word()?, sharing: Sharing::read(from)? },
        };
        let whole = start.is_multiple_of(PAGE_SIZE) && end.is_multiple_of(PAGE_SIZE) && start < end;
        whole.then_some(Area { start, end, rights, fill })
    }
}
