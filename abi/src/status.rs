//! What a call answers in its first register: a code, and the number of the argument it is about.

/// Reason why a call failed. `Ok` is zero; the numbers never change meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// The call was carried out.
    Ok = 0,
    /// The call's number is unknown, and the thread has no entry for foreign calls.
    UnknownCall = 1,
    /// The address is outside the caller's space, not aligned, or nothing (or too little right) is
    /// mapped there.
    BadAddress = 2,
    /// There is no live kernel object at the address.
    NotAnObject = 3,
    /// The object, or what the reference leads to, is of another type.
    WrongType = 4,
    /// A live object already occupies the slot, or part of it.
    SlotOccupied = 5,
    /// The slot's memory may not hold objects: the mapping lacks the right, or it is device memory.
    NotObjectMemory = 6,
    /// A start or size is not a multiple of a page, is zero, overflows, or leaves its region.
    BadRange = 7,
    /// Rights that the source does not have, or bits that have no meaning.
    BadRights = 8,
    /// A value outside what the manual lists for this argument.
    BadArgument = 9,
    /// The buffer is too small for what must be written; nothing was written.
    BufferTooSmall = 10,
    /// The other party was destroyed before it finished its part.
    Gone = 11,
    /// The time given for the operation passed.
    TimedOut = 12,
    /// Too few pages were offered for a space's tables: whoever makes the space must donate more.
    /// (A pool that is used up later is no error: tables are a cache.)
    NoMemory = 13,
    /// Composition leads through more layers than the kernel follows.
    TooDeep = 14,
    /// The range overlaps a mapping that is already there.
    Overlap = 15,
    /// The reference does not carry the right to do this.
    Denied = 16,
    /// There is no client waiting for a reply from this thread.
    NotConnected = 17,
    /// The receiver's buffer is too small for the bytes (call, send), or bytes were cut off
    /// (reply).
    MessageTooLong = 18,
    /// The receiver offers too few slots for the references (call, send), or some were dropped
    /// (reply).
    NoSlots = 19,
    /// The reference is null.
    NullReference = 20,
    /// The state's header names a version that this kernel does not know.
    BadVersion = 21,
    /// The thread must be stopped first.
    NotStopped = 22,
    /// Another wait was ended by `thread_stop` with the flag that asks for it.
    Interrupted = 23,
    /// The object cannot be destroyed, moved or changed while it is used this way.
    Busy = 24,
}

impl Code {
    /// Every code, in order of its number.
    pub const ALL: [Code; 25] = [
        Code::Ok,
        Code::UnknownCall,
        Code::BadAddress,
        Code::NotAnObject,
        Code::WrongType,
        Code::SlotOccupied,
        Code::NotObjectMemory,
        Code::BadRange,
        Code::BadRights,
        Code::BadArgument,
        Code::BufferTooSmall,
        Code::Gone,
        Code::TimedOut,
        Code::NoMemory,
        Code::TooDeep,
        Code::Overlap,
        Code::Denied,
        Code::NotConnected,
        Code::MessageTooLong,
        Code::NoSlots,
        Code::NullReference,
        Code::BadVersion,
        Code::NotStopped,
        Code::Interrupted,
        Code::Busy,
    ];
}

/// The first result register of every call: bits 0-7 the [`Code`], bits 8-15 the number of the
/// argument it is about (1 = the first argument, in `rdi`; 0 = none in particular).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub u64);

impl Status {
    /// Success.
    pub const OK: Status = Status(0);

    /// A status about no particular argument.
    pub const fn new(code: Code) -> Status {
        Status(code as u64)
    }

    /// A status about argument `argument` (1 is the first).
    pub const fn argument(code: Code, argument: u8) -> Status {
        Status(code as u64 | (argument as u64) << 8)
    }

    /// The code, or `None` for a number this version does not know.
    pub fn code(self) -> Option<Code> {
        Code::ALL.get((self.0 & 0xff) as usize).copied()
    }

    /// Returns the number of the argument that the status is about; 0: none in particular.
    pub const fn about(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Returns true if the call succeeded.
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// `Ok(())` for success, the status itself otherwise.
    pub const fn result(self) -> Result<(), Status> {
        if self.0 == 0 { Ok(()) } else { Err(self) }
    }
}

impl core::fmt::Debug for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match (self.code(), self.about()) {
            (Some(code), 0) => write!(f, "{code:?}"),
            (Some(code), n) => write!(f, "{code:?}(argument {n})"),
            (None, _) => write!(f, "Status({:#x})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_codes_stand_at_their_number() {
        for (number, code) in Code::ALL.iter().enumerate() {
            assert_eq!(*code as usize, number);
        }
    }
}
