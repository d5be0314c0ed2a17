//! A reference: the client's end. It leads to an object by a link, or to a range of I/O ports or
//! interrupt lines, or to the clock, or - once - to a client that waits for a reply.

use crate::machine::{Machine, Physical};
use crate::list;
use crate::view::view;
use nacre_abi::ObjectType;
use nacre_abi::object::TargetType;

view! {
    /// A reference.
    Reference, 8 words {
        header, set_header: u64 = 0;
        /// Number of the `TargetType`.
        kind, set_kind: u64 = 1;
        rights, set_rights: u64 = 2;
        /// First I/O port or interrupt line.
        first, set_first: u64 = 6;
        /// Number of references.
        count, set_count: u64 = 7;
    } places {
        /// Link to the target.
        target = 3;
    }
}

impl Reference<'_> {
    /// Makes the words of a null reference.
    pub fn init<M: Machine>(self, machine: &M) {
        self.set_kind(0);
        list::link_init(machine, self.target());
    }

    /// The object that it leads to, if it leads to one of type `object`.
    #[inline(always)]
    pub fn object<M: Machine>(self, machine: &M, object: ObjectType) -> Option<Physical> {
        if self.kind() == super::target_type(object) as u64 { list::link_target(machine, self.target()) } else { None }
    }

    /// Returns true if the reference leads to no object now.
    pub fn is_null<M: Machine>(self, machine: &M) -> bool {
        let resource = self.kind() >= TargetType::IoPorts as u64;
        !resource && list::link_target(machine, self.target()).is_none()
    }
}
