//! Places in the memory of the library for Linux programs that debuggers look at, counted from the
//! base of `gs`, which leads to a thread's block. The library checks them when it is built.

/// Bytes below the block that hold the program's registers while its thread is in the library: 18
/// words, `rbx rbp r12 r13 r14 r15`, the number of the call, two words without a meaning, `rdi rsi
/// rdx r10 r8 r9`, the instruction pointer, the flags, and the stack pointer.
pub const FRAME_SIZE: u64 = 144;
/// Place of the program's stack pointer while the entry has none of its own yet.
pub const SCRATCH: u64 = 8;
/// Place of the instruction at which the library has stopped a thread to give it a signal.
pub const RESUME: u64 = 16;
/// Place of a half word that is not 0 once the thread has ended.
pub const PARKED: u64 = 48;
/// Place of a half word that holds the thread's number.
pub const THREAD_NUMBER: u64 = 76 + 4 * 186;

/// Bytes before the address at which the kernel continues system calls where eight half words lie:
/// [`ENTRIES_MAGIC`], and distances from that address. They lead behind the entry's count of calls;
/// to the entry of calls with known answers that do not come through the kernel, and its second
/// instruction; to that of other such calls, and its second instruction; and to the way out that
/// restores all registers from the frame at the stack pointer. The last is 0.
pub const ENTRIES: u64 = 48;
/// First of them.
pub const ENTRIES_MAGIC: u32 = 0x4e61_6567;
