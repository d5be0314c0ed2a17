//! What may be done with memory, and with the target of a reference.

/// Flag of `memory_reclaim`: fills the memory with zeros as well, each page when it is first
/// touched.
pub const RECLAIM_CLEAR: u64 = 1;

/// Rights over memory, carried by regions and mappings. A mapping never has more than its region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Rights(pub u64);

impl Rights {
    /// Empty set of rights.
    pub const NONE: Rights = Rights(0);
    /// Read the bytes.
    pub const READ: Rights = Rights(1);
    /// Write the bytes.
    pub const WRITE: Rights = Rights(2);
    /// Fetch instructions.
    pub const EXECUTE: Rights = Rights(4);
    /// Create kernel objects in the memory and donate it to the kernel; needs `WRITE` too.
    pub const OBJECTS: Rights = Rights(8);
    /// Overlay, a right of mappings only: the mapping stands in front of the mappings of the same
    /// range.
    pub const OVER: Rights = Rights(16);
    /// View, a right of mappings only: the mapping shows nothing but the pages that its owner
    /// enters one by one, with `view_enter`.
    pub const VIEW: Rights = Rights(32);
    /// Every right over memory.
    pub const ALL: Rights = Rights(15);

    /// Returns true if all of `other` is in `self`.
    pub const fn contains(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    /// The rights that both have.
    pub const fn intersect(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// The rights that either has.
    pub const fn union(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }

    /// The rights without [`Rights::OVER`].
    pub const fn of_memory(self) -> Rights {
        self.intersect(Rights::ALL)
    }

    /// Returns true if a mapping with these rights is an overlay.
    pub const fn is_over(self) -> bool {
        self.contains(Rights::OVER)
    }

    /// Returns true if a mapping with these rights is a view.
    pub const fn is_view(self) -> bool {
        self.contains(Rights::VIEW)
    }

    /// `None` if `bits` has bits without a meaning for memory.
    pub const fn from_bits(bits: u64) -> Option<Rights> {
        if bits & !15 == 0 { Some(Rights(bits)) } else { None }
    }
}

/// Flag of a page that is entered into a view: only privileged code sees it, which is the kernel of
/// a guest.
pub const VIEW_PRIVILEGED: u64 = 16;
/// Flag of a page that is entered into a view: the same holds for all of the 2 MiB around it, and
/// may be entered at once.
pub const VIEW_LARGE: u64 = 32;
/// Maximum number of pages that one call enters into a view.
pub const VIEW_ENTRIES: u64 = 32;

/// Rights of a reference: call the port or send to it, map the region, use the device.
pub const REFERENCE_USE: u64 = 1;
/// Rights of a reference: all that the holder of the object itself may do (states, destruction,
/// creation in a space).
pub const REFERENCE_CONTROL: u64 = 2;
/// Rights of a reference: notify the port. A server that keeps a port in order to notify it takes
/// no
/// reference without this right. A server's own objects are handed out without it, so a process
/// cannot
/// have servers keep each other's objects.
pub const REFERENCE_NOTIFY: u64 = 4;
/// All rights of a reference.
pub const REFERENCE_ALL: u64 = 7;
