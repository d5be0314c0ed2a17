//! Numbers of signals, and flags of `sigaction` and `sigaltstack`.

use crate::abi::signal_info::bit;

/// Ends a program without asking it.
pub const SIGKILL: u64 = 9;
/// An access to memory that is not there.
pub const SIGSEGV: u64 = 11;
/// A pipe that nobody reads.
pub const SIGPIPE: u64 = 13;
/// Lets a stopped program go on.
pub const SIGCONT: u64 = 18;
const SIGSTOP: u64 = 19;
/// The signals that stop: `SIGSTOP`, `SIGTSTP`, `SIGTTIN`, `SIGTTOU`.
pub const STOPS: u64 = bit(SIGSTOP) | bit(20) | bit(21) | bit(22);
/// `SIGCHLD`, `SIGCONT`, `SIGURG`, `SIGWINCH`.
pub const IGNORED: u64 = bit(17) | bit(SIGCONT) | bit(23) | bit(28);
/// Signals that cannot be blocked or handled.
pub const ALWAYS: u64 = bit(SIGKILL) | bit(SIGSTOP);
pub const HANDLER_DEFAULT: u64 = 0;
/// The handler that is none: the signal takes no effect.
pub const HANDLER_IGNORE: u64 = 1;
/// The handler runs on the alternate stack.
pub const SA_ONSTACK: u64 = 0x0800_0000;
/// A call that the signal cut off is made again.
pub const SA_RESTART: u64 = 0x1000_0000;
pub const SA_NODEFER: u64 = 0x4000_0000;
pub const SA_RESETHAND: u64 = 0x8000_0000;
/// Flag of an alternate stack: the thread is on it.
pub const SS_ONSTACK: u64 = 1;
/// There is none.
pub const SS_DISABLE: u64 = 2;
/// Flag of an alternate stack: it is disabled while a handler runs.
pub const SS_AUTODISARM: u64 = 1 << 31;
pub const SIGCHLD: u64 = 17;
/// `SA_NOCLDSTOP`, `SA_NOCLDWAIT`.
pub const CHILD_FLAGS: u64 = 3;
/// Signal to a background process that reads from its terminal.
pub const SIGTTIN: u64 = 21;
/// Signal to a background process that changes or writes to its terminal.
pub const SIGTTOU: u64 = 22;
