//! Where the conductor leaves a thread that neither waits nor sends.

use nacre_abi::waiting;
use nacre_sys::Reference;

/// A thread as its scheduler knows it.
#[derive(Clone, Copy)]
pub struct Scheduled {
    /// Word of its process's environment.
    pub word: u64,
    /// Reference to it.
    pub reference: Reference,
    /// Number of it, if it has one.
    pub number: usize,
}

/// Place in a program: the first time that the thread comes to an address with registers and a
/// stack of a digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The address.
    pub address: u64,
    /// The digest.
    pub digest: u64,
    /// True if it makes the instruction there.
    pub is_lifted: bool,
    /// Number of visits to the address, and of a step of the course, where nobody sees how far the
    /// thread has come: behind so many it is left before the place, if it has done all that the
    /// recording has before that step.
    pub early: Option<(u32, usize)>,
}

/// Place at which a thread is to be left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// Number of instructions from here.
    Steps(u64),
    /// Number of instructions from this address on, where the library returns to the program.
    Behind(u64, u64),
    /// A place of the recording.
    Place(Place),
    /// The place where it is again at an address with registers and a stack of this digest, as in a
    /// loop that waits, or behind so many instructions.
    Loop(u64, u64, u32),
    /// The place is no more: it was left while it made single steps, and one may be on its way.
    Left,
}

/// Returns true if a thread that waits so is woken by another one of the program, or by time.
pub fn is_of_program(waiting: u64) -> bool {
    [waiting::LOCK, waiting::RECEIVES, waiting::SLEEPS].contains(&waiting::kind(waiting))
}
