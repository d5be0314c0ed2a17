//! The frame of a guest: the page through which `thread_enter` takes the state of a processor that
//! runs in another space, and gives it back.
//!
//! All words are 64 bits. The kernel reads the frame when the guest is entered and writes it before
//! anything else when the guest is left, so a thread that is stopped has all of its guest in
//! memory. The layout of segments and the numbers of exits are those of AMD's SVM (AMD64
//! Architecture Programmer's Manual, volume 2, chapter 15 and appendices B and C), also where the
//! processor is Intel's.

/// Version of this layout, in word [`VERSION`].
pub const FRAME_VERSION: u64 = 1;

/// Word numbers of the frame, where each is not told with its array.
pub mod word {
    /// [`FRAME_VERSION`](super::FRAME_VERSION).
    pub const VERSION: usize = 0;
    /// Address of the guest's space, or of a reference to it with CONTROL.
    pub const SPACE: usize = 1;
    /// Set (not 0) if the guest is to be left: the call ends with
    /// [`PENDING`](super::event::PENDING). Whoever wants a guest to be left sets it, stops the
    /// thread and starts it again.
    pub const PENDING: usize = 2;
    /// Reason why the guest was left: a number of [`event`](super::event).
    pub const EVENT: usize = 3;
    /// The processor's number of the exit.
    pub const EXIT: usize = 4;
    /// Two words of information of the exit.
    pub const INFORMATION: [usize; 2] = [5, 6];
    /// An event that was being delivered when the guest was left, in the form of `INJECT`.
    pub const INTERRUPTED: usize = 7;
    /// Address of the next instruction, or 0 where the processor does not tell. A processor that
    /// tells returns there from a software interrupt that `INJECT` names.
    pub const NEXT: usize = 8;
    /// An event to deliver: vector, type (bits 8 to 10: 0 external, 2 non-maskable, 3 exception, 4
    /// software), bit 11 = error code in the upper half, bit 31 = there is one. 0 after it was
    /// delivered; an external one waits here until the guest takes it.
    pub const INJECT: usize = 9;
    /// Set (not 0) if the guest is to be left as soon as it could take an external interrupt.
    pub const WINDOW: usize = 10;
    /// Bit 0: interrupts are held off for one more instruction.
    pub const SHADOW: usize = 11;
    /// Difference of the guest's time-stamp counter to the machine's.
    pub const TIME_OFFSET: usize = 12;
    /// The guest's CR8. The guest is left when it writes that.
    pub const TASK_PRIORITY: usize = 13;
    /// Set (not 0) if the guest is left when it reads the time-stamp counter.
    pub const TIME_READS: usize = 14;
    /// Kind of the guest: a number of [`kind`](super::kind).
    pub const KIND: usize = 15;
    /// First of the 16 general registers, in the order of their numbers in instructions.
    pub const REGISTERS: usize = 16;
    /// Number of RAX among them.
    pub const RAX: usize = REGISTERS;
    /// RSP.
    pub const RSP: usize = REGISTERS + 4;
    /// Instruction pointer.
    pub const RIP: usize = 32;
    /// Flags.
    pub const RFLAGS: usize = 33;
    /// Control registers.
    pub const CR0: usize = 34;
    /// Address of the last page fault.
    pub const CR2: usize = 35;
    /// Root of the guest's own tables.
    pub const CR3: usize = 36;
    /// Extensions in use.
    pub const CR4: usize = 37;
    /// Extended features; that of guests in guests is the kernel's.
    pub const EFER: usize = 38;
    /// Types of pages.
    pub const PAT: usize = 39;
    /// Debug status.
    pub const DR6: usize = 40;
    /// Current privilege level.
    pub const PRIVILEGE: usize = 41;
    /// Space of the upper half of the guest's addresses, named as in `SPACE`; for
    /// [`SHADOW`](super::kind::SHADOW) alone.
    pub const UPPER_SPACE: usize = 42;
    /// Set (not 0) if the guest is left when it waits by PAUSE (exit 0x77).
    pub const PAUSES: usize = 43;
    /// First of ten segments of two words each: ES, CS, SS, DS, FS, GS, GDTR, LDTR, IDTR, TR. The
    /// first word is selector, attributes (16 bits each) and limit (32), the second the base.
    pub const SEGMENTS: usize = 48;
    /// Base of FS among them.
    pub const FS_BASE: usize = SEGMENTS + 9;
    /// Base of GS among them.
    pub const GS_BASE: usize = SEGMENTS + 11;
    /// STAR, LSTAR, CSTAR, SFMASK, the kernel's GS base, SYSENTER_CS, _ESP and _EIP.
    pub const SYSTEM: usize = 68;
    /// Number of words in use.
    pub const COUNT: usize = 76;
}

/// Kinds of guests.
pub mod kind {
    /// The guest has tables of its own. The addresses of its space are its physical ones. It is
    /// left when it writes CR4 (by VMX: when that changes bits that no guest has by itself), and
    /// when it writes CR0 if it has long mode enabled.
    ///
    /// Of guests of all kinds, the processor keeps its own CR4.MCE, CR0.CD and CR0.NW, and
    /// RFLAGS.VM is 0 in long mode and without protection. By SVM a guest reads CR4.MCE as the
    /// processor has it, and CR0.CD and CR0.NW as 0.
    pub const NESTED: u64 = 0;
    /// The guest runs on the tables of its spaces. CR0, CR3, CR4 and EFER in the frame are what the
    /// guest believes; the processor runs with protection, paging, write protection and EFER.NXE
    /// on. If the guest believes to be in long mode (CR0.PG and EFER.LME), so is the processor:
    /// addresses of `SPACE` are those of the lower half of its own, and addresses of `UPPER_SPACE`
    /// those of the upper half, counted from its start. Else the processor has 32-bit addresses:
    /// those below 3 GiB are addresses of `SPACE`, the others of `UPPER_SPACE`. The guest is left
    /// when it reads or writes CR0, CR3 or CR4, at INVLPG and INVPCID, and for each page fault. By
    /// VMX it is not left for reads of CR0 and CR4, which show what is in the frame, and for writes
    /// that change nothing.
    pub const SHADOW: u64 = 1;
    /// Like [`NESTED`], and the guest is left for its reads and writes of CR0, CR3 and CR4 as one
    /// of kind [`SHADOW`] is. These and EFER in the frame are what the guest believes; the
    /// processor has no process identities (CR4.PCIDE).
    pub const WATCHED: u64 = 2;
    /// A program instead of a processor: the thread itself runs with the registers of the frame,
    /// in user mode, on the tables of `SPACE`. Of the frame, it has the general registers,
    /// `RIP`, `RFLAGS` and the bases of FS and GS, and leaves the rest as it is. It is there on
    /// every processor. It has no objects: `syscall` ends the call
    /// ([`EXIT_CALL`](super::EXIT_CALL)), and so does each exception
    /// ([`EXIT_EXCEPTION`](super::EXIT_EXCEPTION)). The registers of the FPU are the thread's.
    pub const USER: u64 = 3;
}

/// Reasons why `thread_enter` ended.
pub mod event {
    /// The guest did what its monitor has to do for it: see `EXIT`.
    pub const EXIT: u64 = 1;
    /// The guest's space has nothing at the address in `INFORMATION`'s second word, or less than
    /// the access needed; the first word is the error code of the access.
    pub const MEMORY: u64 = 2;
    /// `PENDING` was set.
    pub const PENDING: u64 = 3;
}

/// `EXIT` of a state that the processor does not accept.
pub const EXIT_INVALID: u64 = u64::MAX;
/// `EXIT` of a frame of kind [`USER`](kind::USER) that has made a `syscall`: the number that SVM
/// has for VMMCALL. `RIP` is behind the instruction, RCX and R11 are as it leaves them.
pub const EXIT_CALL: u64 = 0x81;
/// `EXIT` of exception 0; the others follow. The words of information are the error code and, for a
/// page fault, the address.
pub const EXIT_EXCEPTION: u64 = 0x40;
