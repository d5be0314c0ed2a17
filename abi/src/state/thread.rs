//! State of a thread. Links: `[space, client, scheduler]`: the client is whom it owes a reply, or
//! null; the scheduler is the port of who gives it time, or null: if it has none, and if whoever
//! reads the state has the same.

/// Number of register words of a thread: sixteen general registers, then `rip rflags fs_base
/// gs_base foreign_entry`.
pub const REGISTERS: usize = 21;

/// Maximum number of bytes of FPU state (the standard form of XSAVE) that follow a [`ThreadState`].
pub const FPU_SIZE: u64 = 2752;

super::state! {
    /// A flow of control. A thread that waits in a call stands at the `syscall` instruction of that
    /// call, about to make (what is left of) it.
    ThreadState, Thread, version 2, 32 words {
        /// Bit 0: stopped. Bit 1: it has used the FPU. Bit 2: it waits for its server's reply. Bit
        /// 3: stopped by an exception nobody keeps. Bit 4: a scheduler gives it time. Bit 5: that
        /// scheduler knows that it is ready.
        flags,
        /// Bytes of FPU state that follow, 0 if the FPU was never used or there was no room.
        fpu_size,
        /// Number of the call, then its status.
        rax,
        /// General register.
        rbx,
        /// General register; lost by calls.
        rcx,
        /// General register.
        rdx,
        /// General register.
        rsi,
        /// General register.
        rdi,
        /// General register.
        rbp,
        /// Stack pointer.
        rsp,
        /// General register.
        r8,
        /// General register.
        r9,
        /// General register.
        r10,
        /// General register; lost by calls.
        r11,
        /// General register.
        r12,
        /// General register.
        r13,
        /// General register.
        r14,
        /// General register.
        r15,
        /// Instruction pointer, below [`USER_END`](crate::USER_END).
        rip,
        /// Flags; bits that only a kernel may change are ignored.
        rflags,
        /// Base of `fs`, the thread pointer of Linux programs.
        fs_base,
        /// Base of `gs`.
        gs_base,
        /// Address at which foreign calls continue; 0: they fail.
        foreign_entry,
        /// Fault that no keeper has answered yet: 0 none, 1 a region lacks a page, 2 an exception.
        fault,
        /// Offset in the region of a fault, or kind of an exception.
        fault_first,
        /// Rights that the access needs of a fault, or the machine's error code of an exception.
        fault_second,
        /// The address that was accessed.
        fault_third,
        /// The word that its scheduler knows it by.
        scheduler_word,
        /// Nanoseconds that it has had of processors; 0, and not taken over, where the machine's
        /// time is hidden. 0 in an exception's message.
        time,
        /// 0.
        reserved_first,
        /// 0.
        reserved_second,
    }
}

impl ThreadState {
    /// Number of the word that holds `rax`, the first of [`REGISTERS`] registers.
    pub const FIRST_REGISTER: usize = 3;
    /// Flag in `flags`: the thread is stopped.
    pub const STOPPED: u64 = 1;
    /// Flag in `flags`: FPU state exists.
    pub const FPU_USED: u64 = 2;
    /// Flag in `flags`: a server has taken the message of the thread's `ipc_call`, and the thread
    /// waits for the reply.
    pub const AWAITS_REPLY: u64 = 4;
    /// Flag in `flags`: a fault or exception for which there is no keeper has stopped the thread.
    pub const ABANDONED: u64 = 8;
    /// Flag in `flags`: a scheduler gives the thread time.
    pub const SCHEDULED: u64 = 16;
    /// Flag in `flags`: the thread's scheduler knows that it is ready.
    pub const KNOWN: u64 = 32;
    /// Value of `fault`: a region lacks a page.
    pub const FAULT_REGION: u64 = 1;
    /// Value of `fault`: an exception.
    pub const FAULT_EXCEPTION: u64 = 2;

    /// Returns the words that are addresses of the thread's space.
    pub const fn addresses(&self) -> [u64; 4] {
        [self.rip, self.fs_base, self.gs_base, self.foreign_entry]
    }

    /// Returns the number of the call that the thread makes.
    pub const fn call(&self) -> u64 {
        self.rax
    }

    /// Returns the flags of the processor.
    pub const fn processor_flags(&self) -> u64 {
        self.rflags
    }
}
