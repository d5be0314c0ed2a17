//! What a socket of the internet says of others at its port.

use nacre_proto::flags::{BIND_ALONE, BIND_REUSE_PORT};

/// Condition under which others may have the port of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// `BIND_REUSE_ADDRESS` and its like.
    flags: u64,
    /// User of the socket's owner.
    user: u64,
}

impl Sharing {
    /// Makes one of the flags of `bind` and the user who binds.
    pub fn new(flags: u64, user: u64) -> Sharing {
        Sharing { flags, user }
    }

    /// Returns true if nobody may have the port before.
    pub(super) fn is_alone(self) -> bool {
        self.flags & BIND_ALONE != 0
    }

    /// Returns true if both say this.
    pub(super) fn both_have(self, other: Sharing, flag: u64) -> bool {
        self.flags & other.flags & flag != 0
    }

    /// Returns true if both are of one user, and let others of that user share in what comes.
    pub(super) fn divides_with(self, other: Sharing) -> bool {
        self.both_have(other, BIND_REUSE_PORT) && self.user == other.user
    }
}
