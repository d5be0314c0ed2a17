//! Progress of the one revocation that may be under way.

use crate::machine::Physical;
use core::cell::Cell;

const NULL: Physical = Physical(0);

/// Next step of a revocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Idle: no revocation is under way.
    None,
    /// Takes the next space from the list.
    Space,
    /// Clears the tables of the space, from `cleared` on.
    Tables,
    /// Follows the mappings made from `region`, from the node `mapping` on.
    Mappings,
}

/// Cursors of the revocation under way.
pub(crate) struct Revocation {
    /// Number of the revocation that was begun last.
    pub number: Cell<u64>,
    /// Next step.
    pub phase: Cell<Phase>,
    /// First space of the list of those still to visit.
    pub list: Cell<Physical>,
    /// The space that is visited; null if only one region is revoked.
    pub space: Cell<Physical>,
    /// First address of the space, or first offset in the one region, that is revoked.
    pub low: Cell<u64>,
    /// End of that range.
    pub high: Cell<u64>,
    /// Address up to which the tables of the space are clear.
    pub cleared: Cell<u64>,
    /// Set if the tables showed anything of the range.
    pub found: Cell<bool>,
    /// Region whose mappings are followed.
    pub region: Cell<Physical>,
    /// Node of its mappings that comes next.
    pub mapping: Cell<Physical>,
}

impl Revocation {
    /// Creates an idle revocation.
    pub const fn new() -> Revocation {
        Revocation {
            number: Cell::new(0),
            phase: Cell::new(Phase::None),
            list: Cell::new(NULL),
            space: Cell::new(NULL),
            low: Cell::new(0),
            high: Cell::new(0),
            cleared: Cell::new(0),
            found: Cell::new(false),
            region: Cell::new(NULL),
            mapping: Cell::new(NULL),
        }
    }
}
