//! Places in the memory of the library for Linux programs that debuggers look at, counted from the
//! base of `gs`, which leads to a thread's block. The library checks them when it is built.

/// Bytes below the block that hold the program's registers while its thread is in the library: 18
/// words, `rbx rbp r12 r13 r14 r15`, the number of the call, two words without a meaning, `rdi rsi
/// rdx r10 r8 r9`, the instruction pointer, the flags, and the stack pointer.
pub const FRAME_SIZE: u64 = 144;
/// Place of the instruction at which the library has stopped a thread to give it a signal.
pub const RESUME: u64 = 16;
/// Place of a half word that is not 0 once the thread has ended.
pub const PARKED: u64 = 48;
/// Place of a half word that holds the thread's number.
pub const THREAD_NUMBER: u64 = 76 + 4 * 186;
