//! Outcome of a kernel call: success, an error status, or a reason to make the call again.

use nacre_abi::{Code, Status};

/// Action of a CPU that leaves the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Runs the thread that the last `switch_thread` named.
    User,
    /// Halts until an interrupt.
    Idle,
}

/// Reason why a call ends before its success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The call fails with this status. Nothing has changed.
    Status(Status),
    /// The caller blocks, has faulted or is stopped. Its registers stand at the call, so that it
    /// makes the call again.
    Wait,
    /// The call has used up its budget, or conflicts with an operation that another call began. The
    /// caller makes it again after pending interrupts.
    Again,
    /// The call needs another CPU to act first. The caller makes it again after the other threads
    /// that want this CPU.
    Yield,
}

impl From<Status> for Stop {
    fn from(status: Status) -> Stop {
        Stop::Status(status)
    }
}

/// Success of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// The caller continues with status `Ok`.
    Return,
    /// The call has set the registers of every thread involved.
    Settled,
}

/// Result of a call, or of a part of it.
pub type Attempt<T> = Result<T, Stop>;

/// Fails a call with an error about one of its arguments.
pub(crate) fn wrong<T>(code: Code, argument: impl Into<u8>) -> Attempt<T> {
    Err(Stop::Status(Status::argument(code, argument.into())))
}
