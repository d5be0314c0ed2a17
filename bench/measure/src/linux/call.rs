//! Linux's system calls, as many as are needed. A call that fails gives its errno.

use core::arch::asm;
use core::sync::atomic::AtomicU32;

use nacre_proto::Errno;

const READ: u64 = 0;
const WRITE: u64 = 1;
const CLOSE: u64 = 3;
const MMAP: u64 = 9;
const MUNMAP: u64 = 11;
const IOCTL: u64 = 16;
const PIPE: u64 = 22;
const SCHED_YIELD: u64 = 24;
const MADVISE: u64 = 28;
const SOCKETPAIR: u64 = 53;
const SENDMSG: u64 = 46;
const RECVMSG: u64 = 47;
const CLONE: u64 = 56;
const FORK: u64 = 57;
const VFORK: u64 = 58;
const EXECVE: u64 = 59;
const EXIT: u64 = 60;
const WAIT4: u64 = 61;
const KILL: u64 = 62;
const PTRACE: u64 = 101;
const GETPPID: u64 = 110;
const REBOOT: u64 = 169;
const GETPID: u64 = 39;
const FUTEX: u64 = 202;
const EXIT_GROUP: u64 = 231;
const EVENTFD2: u64 = 290;
const USERFAULTFD: u64 = 323;

const PROT_READ_WRITE: u64 = 3;
const MAP_SHARED_ANONYMOUS: u64 = 0x21;
const MAP_PRIVATE_ANONYMOUS: u64 = 0x22;
const MADV_DONTNEED: u64 = 4;
const AF_UNIX: u64 = 1;
const SOCK_SEQPACKET: u64 = 5;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;
/// `CLONE_VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | CHILD_CLEARTID`.
const THREAD_FLAGS: u64 = 0x100 | 0x200 | 0x400 | 0x800 | 0x1_0000 | 0x4_0000 | 0x20_0000;

/// # Safety
/// Memory that the call writes must be the caller's to lend; the call must leave the program's own
/// memory and flow as they are.
#[inline(always)]
unsafe fn enter(number: u64, arguments: [u64; 6]) -> Result<u64, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let result: i64;
    // SAFETY: the instruction loses `rcx` and `r11`; the rest is the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if result < 0 { Err(Errno(-result as u32)) } else { Ok(result as u64) }
}

/// The cheapest call.
#[inline(always)]
pub fn getppid() {
    // SAFETY: the call touches no memory.
    let _ = unsafe { enter(GETPPID, [0; 6]) };
}

/// The number of this process.
pub fn getpid() -> u64 {
    // SAFETY: the call touches no memory.
    unsafe { enter(GETPID, [0; 6]) }.unwrap_or_default()
}

/// Ends the process.
pub fn exit(status: i32) -> ! {
    loop {
        // SAFETY: nothing of the process is used any more.
        let _ = unsafe { enter(EXIT_GROUP, [status as u64, 0, 0, 0, 0, 0]) };
    }
}

/// Ends the machine; only the first process may, and it may not end otherwise.
pub fn restart_machine() -> ! {
    loop {
        // SAFETY: nothing of the machine is used any more. The numbers are those that `reboot` asks
        // for.
        let _ = unsafe { enter(REBOOT, [0xfee1_dead, 0x2812_1969, 0x0123_4567, 0, 0, 0]) };
    }
}

/// Writes; how much is nobody's concern.
#[inline(always)]
pub fn write(file: u64, bytes: &[u8]) {
    // SAFETY: the call only reads the bytes.
    let _ = unsafe { enter(WRITE, [file, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0]) };
}

/// Reads as much as there is; how much.
#[inline(always)]
pub fn read(file: u64, bytes: &mut [u8]) -> usize {
    // SAFETY: the call writes no more than it is told.
    unsafe { enter(READ, [file, bytes.as_mut_ptr() as u64, bytes.len() as u64, 0, 0, 0]) }.unwrap_or(0) as usize
}

/// Closes a file.
#[inline(always)]
pub fn close(file: u64) {
    // SAFETY: files are numbers here; nothing rests on one being open.
    let _ = unsafe { enter(CLOSE, [file, 0, 0, 0, 0, 0]) };
}

/// Fresh memory; with the processes that are forked from this one if `shared`.
pub fn memory(size: u64, shared: bool) -> Result<u64, Errno> {
    memory_near(0, size, shared)
}

/// Maps memory at `address`, if nothing is there.
#[inline(always)]
pub fn memory_near(address: u64, size: u64, shared: bool) -> Result<u64, Errno> {
    let flags = if shared { MAP_SHARED_ANONYMOUS } else { MAP_PRIVATE_ANONYMOUS };
    // SAFETY: the system chooses addresses that are not in use.
    unsafe { enter(MMAP, [address, size, PROT_READ_WRITE, flags, u64::MAX, 0]) }
}

/// Unmaps what [`memory`] mapped.
///
/// # Safety
/// Nothing in it is used any more.
#[inline(always)]
pub unsafe fn unmap(start: u64, size: u64) {
    // SAFETY: the caller's promise.
    let _ = unsafe { enter(MUNMAP, [start, size, 0, 0, 0, 0]) };
}

/// Empties pages that [`memory`] gave: they are zero again, and lack until they are touched.
///
/// # Safety
/// No Rust object lies in it.
pub unsafe fn drop_pages(start: u64, size: u64) {
    // SAFETY: the caller's promise.
    let _ = unsafe { enter(MADVISE, [start, size, MADV_DONTNEED, 0, 0, 0]) };
}

/// A pipe: its end to read from, its end to write to.
pub fn pipe() -> Result<(u64, u64), Errno> {
    let mut ends = [0u32; 2];
    // SAFETY: the call writes two words.
    unsafe { enter(PIPE, [ends.as_mut_ptr() as u64, 0, 0, 0, 0, 0]) }?;
    Ok((u64::from(ends[0]), u64::from(ends[1])))
}

/// Two sockets that are connected, for whole messages.
pub fn sockets() -> Result<(u64, u64), Errno> {
    let mut ends = [0u32; 2];
    // SAFETY: the call writes two words.
    unsafe { enter(SOCKETPAIR, [AF_UNIX, SOCK_SEQPACKET, 0, ends.as_mut_ptr() as u64, 0, 0]) }?;
    Ok((u64::from(ends[0]), u64::from(ends[1])))
}

/// Sends what `header`, a `msghdr`, describes.
///
/// # Safety
/// Every address in it leads to as much memory as it says.
#[inline(always)]
pub unsafe fn send_message(socket: u64, header: &[u64; 7]) {
    // SAFETY: the caller's promise.
    let _ = unsafe { enter(SENDMSG, [socket, header.as_ptr() as u64, 0, 0, 0, 0]) };
}

/// Receives into what `header`, a `msghdr`, describes.
///
/// # Safety
/// Every address in it leads to as much memory as it says, which may be written.
#[inline(always)]
pub unsafe fn receive_message(socket: u64, header: &mut [u64; 7]) {
    // SAFETY: the caller's promise.
    let _ = unsafe { enter(RECVMSG, [socket, header.as_mut_ptr() as u64, 0, 0, 0, 0]) };
}

/// A counter of events.
pub fn event_file() -> Result<u64, Errno> {
    // SAFETY: the call touches no memory.
    unsafe { enter(EVENTFD2, [0; 6]) }
}

/// Opens the file from which page faults of registered memory are read.
pub fn fault_file() -> Result<u64, Errno> {
    // SAFETY: the call touches no memory.
    unsafe { enter(USERFAULTFD, [0; 6]) }
}

/// A request to a file's driver with `words` as its argument.
///
/// # Safety
/// The request reads and writes no more than `words`, and what it does with addresses in them is
/// right.
#[inline(always)]
pub unsafe fn control<const N: usize>(file: u64, request: u64, words: &mut [u64; N]) -> Result<u64, Errno> {
    // SAFETY: the caller's promise.
    unsafe { enter(IOCTL, [file, request, words.as_mut_ptr() as u64, 0, 0, 0]) }
}

/// Yields the processor.
#[inline(always)]
pub fn sched_yield() {
    // SAFETY: the call touches no memory.
    let _ = unsafe { enter(SCHED_YIELD, [0; 6]) };
}

/// Waits while `word` is `value`.
#[inline(always)]
pub fn futex_wait(word: &AtomicU32, value: u32) {
    // SAFETY: the call only reads the word.
    let _ = unsafe { enter(FUTEX, [word as *const AtomicU32 as u64, FUTEX_WAIT, u64::from(value), 0, 0, 0]) };
}

/// Wakes one who waits for `word`.
#[inline(always)]
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the call only reads the word.
    let _ = unsafe { enter(FUTEX, [word as *const AtomicU32 as u64, FUTEX_WAKE, 1, 0, 0, 0]) };
}

/// Makes a process that is like this one: 0 in the new one, its number here.
#[inline(always)]
pub fn fork() -> Result<u64, Errno> {
    // SAFETY: the new process has memory of its own; only pages mapped to be shared are seen by
    // both.
    unsafe { enter(FORK, [0; 6]) }
}

/// Waits until a process changes: its number, and how.
#[inline(always)]
pub fn wait(process: u64) -> (u64, u32) {
    let mut status = 0u32;
    // SAFETY: the call writes the status.
    let who = unsafe { enter(WAIT4, [process, &raw mut status as u64, 0, 0, 0, 0]) };
    (who.unwrap_or(0), status)
}

/// Sends a signal.
pub fn kill(process: u64, signal: u64) {
    // SAFETY: no handler of this program is installed, so no code of it runs.
    let _ = unsafe { enter(KILL, [process, signal, 0, 0, 0, 0]) };
}

/// A request to trace `process`.
///
/// # Safety
/// `data` is a number, or leads to as much memory as the request writes.
#[inline(always)]
pub unsafe fn ptrace(request: u64, process: u64, data: u64) -> Result<u64, Errno> {
    // SAFETY: the caller's promise.
    unsafe { enter(PTRACE, [request, process, 0, data, 0, 0]) }
}

/// Runs the program at `path` in a new process, and waits until it has begun: the process's number.
///
/// # Safety
/// `path` is a string of C; `arguments` are addresses of such, the last of them 0.
#[inline(always)]
pub unsafe fn spawn(path: &[u8], arguments: &[u64]) -> Result<u64, Errno> {
    let result: i64;
    // SAFETY: until it runs the other program, the new process works on this one's memory, but only
    // in registers.
    unsafe {
        asm!("syscall", "test rax, rax", "jnz 2f", "mov eax, {execve}", "syscall", "mov edi, 127", "mov eax, {exit}", "syscall", "2:",
            execve = const EXECVE, exit = const EXIT, inlateout("rax") VFORK => result, in("rdi") path.as_ptr(), in("rsi") arguments.as_ptr(),
            in("rdx") 0, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if result < 0 { Err(Errno(-result as u32)) } else { Ok(result as u64) }
}

/// Starts a thread of this process that runs `function(argument)` on the stack that ends at
/// `stack`. When it has ended, `running` is 0, and who waits for it is woken.
///
/// # Safety
/// The stack is memory that nobody else uses until the thread has ended.
#[inline(always)]
pub unsafe fn thread(stack: u64, running: &AtomicU32, function: extern "C" fn(u64), argument: u64) -> Result<(), Errno> {
    let result: i64;
    // SAFETY: the new thread has a stack of its own and never returns from here; this one goes on
    // with registers as they were.
    unsafe {
        asm!("syscall", "test rax, rax", "jnz 2f", "xor ebp, ebp", "mov rdi, r12", "call r13", "xor edi, edi", "mov eax, {exit}", "syscall", "2:",
            exit = const EXIT, inlateout("rax") CLONE => result, in("rdi") THREAD_FLAGS, in("rsi") stack, in("rdx") 0,
            in("r10") running as *const AtomicU32, in("r8") 0, in("r12") argument, in("r13") function as *const () as u64,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if result < 0 { Err(Errno(-result as u32)) } else { Ok(()) }
}
