//! Register words of a thread, numbered as in [`ThreadState`](crate::state::ThreadState): by the
//! names of x86-64, and by their role in calls. Only the second kind is for code that any machine
//! runs.

#[allow(missing_docs)]
pub const RAX: usize = 0;
#[allow(missing_docs)]
pub const RBX: usize = 1;
#[allow(missing_docs)]
pub const RCX: usize = 2;
#[allow(missing_docs)]
pub const RDX: usize = 3;
#[allow(missing_docs)]
pub const RSI: usize = 4;
#[allow(missing_docs)]
pub const RDI: usize = 5;
#[allow(missing_docs)]
pub const RBP: usize = 6;
#[allow(missing_docs)]
pub const RSP: usize = 7;
#[allow(missing_docs)]
pub const R8: usize = 8;
#[allow(missing_docs)]
pub const R9: usize = 9;
#[allow(missing_docs)]
pub const R10: usize = 10;
#[allow(missing_docs)]
pub const R11: usize = 11;
#[allow(missing_docs)]
pub const R12: usize = 12;
#[allow(missing_docs)]
pub const R13: usize = 13;
#[allow(missing_docs)]
pub const R14: usize = 14;
#[allow(missing_docs)]
pub const R15: usize = 15;
#[allow(missing_docs)]
pub const RIP: usize = 16;
#[allow(missing_docs)]
pub const RFLAGS: usize = 17;
#[allow(missing_docs)]
pub const FS_BASE: usize = 18;
#[allow(missing_docs)]
pub const GS_BASE: usize = 19;
#[allow(missing_docs)]
pub const FOREIGN_ENTRY: usize = 20;

/// Number of the call, until it returns.
pub const CALL: usize = RAX;
/// Status of the call, once it has returned.
pub const STATUS: usize = RAX;
/// Arguments of a call, in order.
pub const ARGUMENTS: [usize; 10] = [RDI, RSI, RDX, R8, R9, R10, R12, R13, R14, R15];
/// First argument.
pub const ARGUMENT_1: usize = ARGUMENTS[0];
/// Second argument.
pub const ARGUMENT_2: usize = ARGUMENTS[1];
/// Third argument.
pub const ARGUMENT_3: usize = ARGUMENTS[2];
/// First result of a call.
pub const RESULT_1: usize = RDX;
/// Second result of a call.
pub const RESULT_2: usize = R8;
/// Word of the port that a message came to.
pub const PORT_WORD: usize = RDI;
/// [`Info`](crate::message::Info) of a message.
pub const INFO: usize = RSI;
/// Words of a message.
pub const WORDS: [usize; 6] = [RDX, R8, R9, R10, R12, R13];
/// Descriptor of a message.
pub const DESCRIPTOR: usize = R14;
/// Timeout of a call that waits.
pub const TIMEOUT: usize = R15;
/// Address of the next instruction.
pub const PROGRAM_COUNTER: usize = RIP;
/// Flags of the processor.
pub const PROCESSOR_FLAGS: usize = RFLAGS;
/// Bases that a thread may set.
pub const BASES: [usize; 2] = [FS_BASE, GS_BASE];
