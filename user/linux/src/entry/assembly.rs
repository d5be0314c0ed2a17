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
//! Calls that a stub makes ([`sites`](crate::operations::call_patching)) come with the same registers, but that the flags are where they are, and not in `r11`.
//!
//! The library runs on a stack of its own, below the block at `gs`. What a thread does in it is undone by nobody: whoever stops a thread to give
//! it a signal sees from its instruction where it is ([`place`]), and either lets it enter at `signal_entry`, or leaves the signal to the way out, which looks
//! at `attention`. The library is compiled without floating point, so that the registers of the FPU stay the program's.

use crate::abi::errno::{self, ENOSYS, Errno};
use crate::entry::call_table;
use crate::operations::call_patching::{self, EVERY};
use crate::process::{Process, exchange, post_signal};
use crate::raw::thread_block::{Block, ELSEWHERE, QUICK};
use crate::state::memory::stack_growth;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::hint::black_box;
use core::mem::{MaybeUninit, offset_of};
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_abi::call::FOREIGN_NUMBER_SHIFT;
use nacre_abi::environment::{FOREIGN_LIBRARY, OBJECTS};
use nacre_nest::plan::REFLECTED;
use nacre_sys::lock::RawLock;
pub use crate::abi::registers::Frame;

/// Bytes of a thread's block and library stack.
pub const AREA_SIZE: usize = 40960;
const STACK_SIZE: usize = AREA_SIZE - size_of::<Block>();

/// A library stack and the block above it.
#[repr(C, align(4096))]
struct Area {
    stack: UnsafeCell<[u8; STACK_SIZE]>,
    block: Block,
}

const _: () = assert!(size_of::<Area>() == AREA_SIZE);

/// A place for the process's state, which exists from `set_process` on: then the second part says so. All zeros before, so that no file's pages are copied for it.
struct Global(UnsafeCell<MaybeUninit<Process>>, AtomicBool);

impl Global {
    /// The state, once it exists.
    ///
    /// # Safety
    /// The caller has `LOCK`, or is the only thread; nothing else borrows the state.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get(&self) -> Option<&mut Process> {
        // SAFETY: the caller's promise, and what was set is whole.
        self.1.load(Ordering::Relaxed).then(|| unsafe { (*self.0.get()).assume_init_mut() })
    }
}

// SAFETY: whoever reaches it has `LOCK`, but for the start, when there is one thread.
unsafe impl Sync for Global {}
// SAFETY: the stack is used by its one thread alone; the block consists of atomic words.
unsafe impl Sync for Area {}

/// All zeros, so that no file's pages are copied for it.
static FIRST: Area = Area { stack: UnsafeCell::new([0; STACK_SIZE]), block: Block::zero() };
static PROCESS: Global = Global(UnsafeCell::new(MaybeUninit::zeroed()), AtomicBool::new(false));
static LOCK: RawLock = RawLock::new();

/// Keeps the process's state for the calls to come, once `complete` has made it what it has to be. It is large, and moved nowhere: each page of stack that it stood in would be one more.
#[inline(always)]
pub fn set_process(process: Process, complete: impl FnOnce(&mut Process) -> Result<(), Errno>) -> Result<(), Errno> {
    // A visitor may look already whether there is one.
    LOCK.lock();
    // SAFETY: start-up, before the first call; nothing else borrows it: this thread has the lock.
    let process = unsafe { (*PROCESS.0.get()).write(process) };
    complete(process)?;
    process.lock = Some(&LOCK);
    PROCESS.1.store(true, Ordering::Release);
    LOCK.unlock();
    Ok(())
}

/// The block of the first thread; its address is what `gs` must be.
pub fn first_block() -> &'static Block {
    &FIRST.block
}

/// The same, made ready at the start.
pub fn prepare_first_block() -> &'static Block {
    FIRST.block.prepare();
    prepared(&FIRST.block)
}

/// The block at the end of a fresh area of [`AREA_SIZE`] bytes at `start`.
///
/// # Safety
/// The area is mapped to be read and written for ever, is full of zeros, and nobody else uses it.
pub unsafe fn block_in(start: u64) -> &'static Block {
    let block = (start + STACK_SIZE as u64) as *mut Block;
    // SAFETY: the caller's promise; the place is a multiple of 64 if the area is page-aligned, as every mapping is.
    prepared(unsafe {
        block.write(Block::new());
        &*block
    })
}

fn prepared(block: &'static Block) -> &'static Block {
    block.stack_top.store(block as *const Block as u64, Ordering::Relaxed);
    block
}

/// Gives the library's lock up while `wait` runs, which may take long. Nothing of the process may be used meanwhile but what `wait` brought with it.
#[inline]
pub fn unlocked<R>(process: &mut Process, wait: impl FnOnce() -> R) -> R {
    let Some(lock) = process.lock else { return wait() };
    let caller = process.caller;
    // Other threads change the process through the static meanwhile: nothing of it may be kept in registers.
    black_box(&mut *process);
    lock.unlock();
    let result = wait();
    lock.lock();
    black_box(&mut *process).caller = caller;
    result
}

/// Runs `work` with the process, as thread `index`.
pub fn with_process<R>(index: usize, work: impl FnOnce(&mut Process) -> R) -> Option<R> {
    LOCK.lock();
    // SAFETY: this thread has the lock, so nobody else has a reference that is in use: see `unlocked`.
    let process = unsafe { PROCESS.get() };
    let result = process.map(|process| {
        process.caller = index;
        work(process)
    });
    LOCK.unlock();
    result
}

/// What the entry calls with the saved registers; the result is what the program finds in `rax`.
extern "C" fn dispatch(frame: &mut Frame, block: &'static Block) -> u64 {
    let number = frame.take_number();
    let index = block.index.load(Ordering::Relaxed) as usize;
    let result = with_process(index, |process| {
        if process.growth.is_below(frame.stack) {
            process.grow_stack(frame.stack);
        }
        call_table::call(process, number, frame)
    });
    result.unwrap_or_else(|| errno::negated(ENOSYS))
}

/// The same for one of many calls through the kernel, whose place is looked at first.
extern "C" fn sampled(frame: &mut Frame, block: &'static Block) -> u64 {
    block.countdown.store(EVERY as i32, Ordering::Relaxed);
    let index = block.index.load(Ordering::Relaxed) as usize;
    let (number, next) = frame.number_and_next();
    let _ = with_process(index, |process| call_patching::shown(process, block, number, next));
    dispatch(frame, block)
}

/// What the way out calls when a call with this result must be looked at: the frame is made whole, and signals are delivered.
extern "C" fn attend(frame: &mut Frame, block: &'static Block, result: u64) {
    let number = frame.rax;
    let whole = block.whole.swap(0, Ordering::Relaxed) != 0;
    if !whole {
        frame.complete(result);
    }
    let index = block.index.load(Ordering::Relaxed) as usize;
    let _ = with_process(index, |process| post_signal::after_call(process, frame, if whole { None } else { Some(number) }));
}

/// What the way out calls with a whole frame.
extern "C" fn attend_again(frame: &mut Frame, block: &'static Block) {
    let index = block.index.load(Ordering::Relaxed) as usize;
    let _ = with_process(index, |process| post_signal::deliver(process, frame));
}

/// What a fault leads to that the manager leaves to the library.
extern "C" fn faulted(frame: &mut Frame, block: &'static Block) {
    let index = block.index.load(Ordering::Relaxed) as usize;
    let _ = with_process(index, |process| stack_growth::faulted(process, frame));
}

/// The end of a thread: it holds the lock, which it frees, and waits for ever, or until it is used again.
pub fn park(block: &'static Block) -> ! {
    LOCK.unlock();
    block.parked.store(1, Ordering::Release);
    loop {
        block.wait(block.seen(), nacre_sys::FOREVER);
    }
}

/// Pushes the registers of a [`Frame`] below `next`, of which `rax`, `rcx` and `r11` are what they are now.
macro_rules! push_rest {
    () => {
        "push r9; push r8; push r10; push rdx; push rsi; push rdi; push r11; push rcx; push rax; push r15; push r14; push r13; push r12; push rbp; push rbx"
    };
}

/// Pops the registers of a whole [`Frame`] below `next`.
macro_rules! pop_rest {
    () => {
        "pop rbx; pop rbp; pop r12; pop r13; pop r14; pop r15; pop rax; pop rcx; pop r11; pop rdi; pop rsi; pop rdx; pop r10; pop r8; pop r9"
    };
}

/// What begins [`REFLECTED`] bytes before the place where the program's system calls continue: there a thread goes on after a fault that the manager
/// leaves to the library; `nacre_signal_entry` is where a thread continues that was stopped in the program, all its
/// registers as they were but the instruction pointer, which is in `resume`.
#[unsafe(naked)]
extern "C" fn entries() {
    naked_asm!(
        ".globl nacre_quick_start, nacre_quick_end, nacre_leave_start, nacre_leave_end, nacre_signal_entry, nacre_leave_whole",
        ".globl nacre_look, nacre_enter",
        // An answer that is known: without a frame, and without the lock.
        ".p2align 4; jmp 6f; .p2align 4",
        "nacre_quick_start: dec dword ptr gs:[{countdown}]; js nacre_sampled",
        "nacre_look: mov rcx, rax; shr rcx, {number}; cmp ecx, {quick_count}; jae 2f",
        "mov ecx, gs:[{quick} + rcx * 4]; test ecx, ecx; jns 7f",
        "cmp ecx, {on_elsewhere}; jne 2f; mov rcx, gs:[{elsewhere}]; mov ecx, [rcx]",
        "7: shl rax, 16; shr rax, 16",
        "mov gs:[{scratch}], rsp; mov rsp, gs:[{stack_top}]; push r11; popfq; mov rsp, gs:[{scratch}]",
        "xchg rax, rcx; jmp rcx",
        "nacre_quick_end:",
        // Any call: a frame, and the library.
        "2: mov rcx, rsp; mov rsp, gs:[{stack_top}]; push rcx; push r11; push rax",
        "nacre_enter:",
        push_rest!(),
        "cld; mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {dispatch}",
        "nacre_leave_start: cmp dword ptr gs:[{attention}], 0; jne 3f",
        "add rsp, 72; pop rdi; pop rsi; pop rdx; pop r10; pop r8; pop r9; pop rcx",
        "mov r11, [rsp]; popfq; pop rsp; jmp rcx",
        // A signal for a thread that was in the program.
        "nacre_signal_entry: mov gs:[{scratch}], rsp; mov rsp, gs:[{stack_top}]",
        "push qword ptr gs:[{scratch}]; pushfq; push qword ptr gs:[{resume}]",
        push_rest!(),
        "cld; jmp 4f",
        // A fault in the program that the manager leaves to the library: the instruction pointer is where the base of `fs` was.
        "6: mov gs:[{scratch}], rsp; mov rsp, gs:[{stack_top}]",
        "push qword ptr gs:[{scratch}]; pushfq; push qword ptr gs:[{resume}]",
        push_rest!(),
        "cld; mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {faulted}; jmp 5f",
        // The way out with a look at signals: all registers are as the frame has them.
        "3: mov rdi, rsp; mov rsi, gs:[{stack_top}]; mov rdx, rax; call {attend}; jmp 5f",
        "4: mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {attend_again}",
        "5: nacre_leave_whole: cmp dword ptr gs:[{attention}], 0; jne 4b",
        "mov rax, [rsp + {stack}]; mov gs:[{scratch}], rax; mov rax, [rsp + {next}]; mov gs:[{jump}], rax",
        pop_rest!(),
        "lea rsp, [rsp + 8]; popfq; mov rsp, gs:[{scratch}]; jmp qword ptr gs:[{jump}]",
        "nacre_leave_end:",
        number = const FOREIGN_NUMBER_SHIFT,
        quick_count = const QUICK,
        quick = const offset_of!(Block, quick),
        on_elsewhere = const ELSEWHERE,
        elsewhere = const offset_of!(Block, elsewhere),
        scratch = const offset_of!(Block, scratch),
        stack_top = const offset_of!(Block, stack_top),
        attention = const offset_of!(Block, attention),
        resume = const offset_of!(Block, resume),
        jump = const offset_of!(Block, jump),
        stack = const offset_of!(Frame, stack),
        next = const offset_of!(Frame, next),
        countdown = const offset_of!(Block, countdown),
        dispatch = sym dispatch,
        attend = sym attend,
        attend_again = sym attend_again,
        faulted = sym faulted,
    )
}

/// Where calls begin that do not come through the kernel, with their flags where they are; and those that do and are looked at.
#[unsafe(naked)]
extern "C" fn other_entries() {
    naked_asm!(
        ".globl nacre_site_call, nacre_site_quick, nacre_site_quick_end, nacre_sampled",
        "nacre_site_quick: mov gs:[{scratch}], rsp; mov rsp, gs:[{stack_top}]; pushfq; pop r11; mov rsp, gs:[{scratch}]; jmp nacre_look",
        "nacre_site_quick_end:",
        "nacre_site_call: mov rcx, rsp; mov rsp, gs:[{stack_top}]; push rcx; pushfq; push rax; jmp nacre_enter",
        "nacre_sampled: mov rcx, rsp; mov rsp, gs:[{stack_top}]; push rcx; push r11; push rax",
        push_rest!(),
        "cld; mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {sampled}; jmp nacre_leave_start",
        scratch = const offset_of!(Block, scratch),
        stack_top = const offset_of!(Block, stack_top),
        sampled = sym sampled,
    )
}

/// Enters the program with these registers.
pub fn enter(frame: &'static Frame) -> ! {
    // SAFETY: the frame is read before the stack is left, and `gs` leads to this thread's block: it is on its way into the program.
    unsafe { enter_with(frame) }
}

/// Puts a whole frame onto the library's stack and leaves through it.
#[unsafe(naked)]
unsafe extern "C" fn enter_with(frame: &Frame) -> ! {
    naked_asm!(
        "mov rsi, rdi",
        "mov rdi, gs:[{stack_top}]",
        "sub rdi, {size}",
        "mov rsp, rdi",
        "mov ecx, {size} / 8",
        "cld",
        "rep movsq",
        "jmp nacre_leave_whole",
        stack_top = const offset_of!(Block, stack_top),
        size = const size_of::<Frame>(),
    )
}

unsafe extern "C" {
    static nacre_quick_start: u8;
    static nacre_quick_end: u8;
    static nacre_leave_start: u8;
    static nacre_leave_end: u8;
    static nacre_signal_entry: u8;
    static nacre_site_call: u8;
    static nacre_site_quick: u8;
    static nacre_site_quick_end: u8;
}

/// Where a stopped thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the program: it can be made to enter the library.
    Program,
    /// On the way in or out, where nobody looks at signals any more: in a moment it will be elsewhere.
    Passing,
    /// In the library, waiting for an answer to a message, or about to: it can go on without at this address.
    Waiting(u64),
    /// In the library: it looks for signals on its way out.
    Library,
}

/// Names the entries, so that their labels are there wherever [`place`] is, in tests of the library too.
#[used]
static OTHER_ENTRIES: extern "C" fn() = other_entries;

/// Where the instruction at `address` is.
pub fn place(address: u64) -> Place {
    let within = |start: *const u8, end: *const u8| (start as u64..end as u64).contains(&address);
    let quick = within(&raw const nacre_quick_start, &raw const nacre_quick_end) || within(&raw const nacre_site_quick, &raw const nacre_site_quick_end);
    let passing = quick || within(&raw const nacre_leave_start, &raw const nacre_leave_end);
    match (address, exchange::window(address)) {
        _ if passing => Place::Passing,
        (_, Some(end)) => Place::Waiting(end),
        (FOREIGN_LIBRARY..OBJECTS, None) => Place::Library,
        _ => Place::Program,
    }
}

/// Where the kernel lets the program's system calls continue.
pub fn foreign_entry() -> u64 {
    // Behind the jump, which is as long as the alignment.
    (entries as *const () as u64).next_multiple_of(REFLECTED) + REFLECTED
}

/// Where a thread that was stopped in the program continues, with what it was about in its block's `resume`.
pub fn signal_entry() -> u64 {
    &raw const nacre_signal_entry as u64
}

/// Where calls go that do not come through the kernel: any, and those that may have an answer that is known.
pub fn site_entries() -> [u64; 2] {
    // What is named here is there, and so are its labels.
    core::hint::black_box(other_entries as *const ());
    [&raw const nacre_site_call as u64, &raw const nacre_site_quick as u64]
}

/// Sets up what the library stands on and prepares the process; the program's entry point.
#[cfg(target_os = "none")]
extern "C" fn start(stack: *const u64) -> u64 {
    // SAFETY: the stack pointer with which the parent started the thread; what lies there stays, as far as the program leaves it alone.
    let arguments = unsafe { nacre_rt::start::prepare(stack) };
    crate::entry::start::start(&arguments)
}

/// What a thread runs that the manager has made to ask the process something.
#[cfg(target_os = "none")]
extern "C" fn visited() -> ! {
    crate::entry::query_thread::serve()
}

/// The library's first instruction, `_start`, and [`VISITED`](nacre_nest::plan::VISITED) bytes before it that of visitors. The stack is the program's, as the parent laid it out; the program is entered with it unchanged and
/// `rdx` zero (no function to call at exit).
#[cfg(target_os = "none")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn nacre_starts() -> ! {
    naked_asm!(
        ".globl _start",
        ".p2align 4; jmp 2f; .p2align 4",
        "_start:",
        "mov rbx, rsp",
        "mov rdi, rsp",
        "xor ebp, ebp",
        "lea rsp, [rip + {first} + {size}]",
        "call {start}",
        "mov rsp, rbx",
        "xor ebx, ebx",
        "xor edx, edx",
        "xor edi, edi",
        "xor esi, esi",
        "jmp rax",
        "2: lea rsp, [rip + {visitor} + {visitor_size}]",
        "xor ebp, ebp",
        "call {visited}",
        "ud2",
        first = sym FIRST,
        size = const STACK_SIZE,
        start = sym start,
        visitor = sym crate::entry::query_thread::STACK,
        visitor_size = const size_of::<crate::entry::query_thread::Stack>(),
        visited = sym visited,
    )
}
