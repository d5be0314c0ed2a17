//! The transitions between the program and the library.
//!
//! | register | program's `syscall` | at `foreign_entry` | back in the program |
//! | --- | --- | --- | --- |
//! | `rax` | number | number << 48, return address | result |
//! | `rcx` | any | any | return address |
//! | `r11` | any | flags | flags |
//! | `rdi rsi rdx r10 r8 r9` | arguments | the same | the same |
//! | `rsp` | program's stack | the same | the same |
//! | others | | the same | the same |
//!
//! The library runs on a stack of its own that the block at `gs` names. It never blocks with a lock held and is never entered twice by one thread.
//! The library is compiled without floating point, so that the registers of the FPU stay the program's.

use crate::process::Process;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use nacre_abi::call::FOREIGN_NUMBER_SHIFT;

/// The program's registers at a call, in the order in which the entry pushes them, last first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Frame {
    rdi: u64,
    rsi: u64,
    rdx: u64,
    r10: u64,
    r8: u64,
    r9: u64,
    /// Where the program goes on; at the entry with the number of the call in its upper 16 bits.
    pub next: u64,
    /// The program's flags.
    pub flags: u64,
    /// The program's stack pointer.
    pub stack: u64,
}

impl Frame {
    /// The call's six arguments.
    #[inline]
    pub fn arguments(&self) -> [u64; 6] {
        [self.rdi, self.rsi, self.rdx, self.r10, self.r8, self.r9]
    }

    /// Replaces the argument registers.
    pub fn set_arguments(&mut self, [rdi, rsi, rdx, r10, r8, r9]: [u64; 6]) {
        *self = Frame { rdi, rsi, rdx, r10, r8, r9, ..*self };
    }

    /// Takes the number of the call out of the word that it shares with the return address.
    #[inline]
    fn take_number(&mut self) -> usize {
        let number = self.next >> FOREIGN_NUMBER_SHIFT;
        self.next &= (1 << FOREIGN_NUMBER_SHIFT) - 1;
        number as usize
    }
}

/// Bytes of the library's stack.
const STACK_SIZE: usize = 32768;

/// What `gs` leads to.
#[repr(C)]
struct Block {
    /// Where the library's stack starts, 8 below a multiple of 16, so that the nine words of a [`Frame`] leave it aligned.
    stack_top: UnsafeCell<u64>,
}

#[repr(C, align(16))]
struct Stack(UnsafeCell<[u8; STACK_SIZE]>);

/// A place for the process's state, which exists from `set_process` on.
struct Global(UnsafeCell<Option<Process>>);

// SAFETY: the process has one thread (it refuses to make others), and the library is not entered again before it returns.
unsafe impl Sync for Global {}
// SAFETY: as above; only the assembly below reads it.
unsafe impl Sync for Block {}
// SAFETY: as above; only the assembly below uses it.
unsafe impl Sync for Stack {}

static BLOCK: Block = Block { stack_top: UnsafeCell::new(0) };
static STACK: Stack = Stack(UnsafeCell::new([0; STACK_SIZE]));
static PROCESS: Global = Global(UnsafeCell::new(None));

/// Keeps the process's state for the calls to come.
pub fn set_process(process: Process) {
    // SAFETY: start-up, before the first call; nothing else borrows it.
    unsafe { *PROCESS.0.get() = Some(process) };
}

/// Fills the block for the first thread; the address that `gs` must have.
pub fn block_address() -> u64 {
    let top = STACK.0.get() as u64 + STACK_SIZE as u64 - 8;
    // SAFETY: start-up, before the first call; nothing else reads it.
    unsafe { *BLOCK.stack_top.get() = top };
    &raw const BLOCK as u64
}

/// What the entry calls with the saved registers; the result is what the program finds in `rax`.
extern "C" fn dispatch(frame: &mut Frame) -> u64 {
    let number = frame.take_number();
    // SAFETY: one thread, not entered again before it returns.
    let process = unsafe { &mut *PROCESS.0.get() };
    match process {
        Some(process) => crate::table::call(process, number, frame),
        None => crate::errno::negated(crate::errno::ENOSYS),
    }
}

/// Where the kernel lets the program's system calls continue.
#[unsafe(naked)]
pub extern "C" fn foreign_entry() {
    naked_asm!(
        "mov rcx, rsp",
        "mov rsp, gs:[0]",
        "push rcx",
        "push r11",
        "push rax",
        "push r9",
        "push r8",
        "push r10",
        "push rdx",
        "push rsi",
        "push rdi",
        "cld",
        "mov rdi, rsp",
        "call {dispatch}",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop r10",
        "pop r8",
        "pop r9",
        "pop rcx",
        "mov r11, [rsp]",
        "popfq",
        "pop rsp",
        "jmp rcx",
        dispatch = sym dispatch,
    )
}

/// Sets up what the library stands on and prepares the process; the program's entry point.
#[cfg(target_os = "none")]
extern "C" fn start(stack: *const u64) -> u64 {
    // SAFETY: the stack pointer with which the parent started the thread; what lies there stays, as far as the program leaves it alone.
    let arguments = unsafe { nacre_rt::start::prepare(stack) };
    crate::start::start(&arguments)
}

/// The library's first instruction. The stack is the program's, as the parent laid it out; the program is entered with it unchanged and
/// `rdx` zero (no function to call at exit).
#[cfg(target_os = "none")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    naked_asm!(
        "mov rbx, rsp",
        "mov rdi, rsp",
        "xor ebp, ebp",
        "lea rsp, [rip + {stack} + {size}]",
        "call {start}",
        "mov rsp, rbx",
        "xor ebx, ebx",
        "xor edx, edx",
        "xor edi, edi",
        "xor esi, esi",
        "jmp rax",
        stack = sym STACK,
        size = const STACK_SIZE,
        start = sym start,
    )
}
