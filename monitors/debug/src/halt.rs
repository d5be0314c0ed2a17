//! Where the conductor leaves a thread that neither waits nor sends.

/// Place at which a thread is to be left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// Number of instructions from here.
    Steps(u64),
    /// Number of instructions from this address on, where the library returns to the program.
    Behind(u64, u64),
    /// The first time that it comes to this address with registers and a stack of this digest.
    /// True: it makes the instruction there.
    Place(u64, u64, bool),
    /// The place where it is again at an address with registers and a stack of this digest, as in a
    /// loop that waits, or behind so many instructions.
    Loop(u64, u64, u32),
    /// The place is no more: it was left while it made single steps, and one may be on its way.
    Left,
}
