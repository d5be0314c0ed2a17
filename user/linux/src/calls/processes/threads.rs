//! Threads of the program: their start and end.

use crate::abi::errno::{Answer, E2BIG, EAGAIN, EINVAL, EPERM, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::calls::processes::exit;
use crate::calls::processes::fork;
use crate::process::{Process, futex_wake, lock, post_signal};
use crate::process::wait::{GETPID, GETPPID};
use crate::raw::sending_thread;
use crate::raw::thread_block::Block;
use crate::raw::thread_position;
use crate::state::threads::thread::Thread;
use crate::state::threads::thread_table::Spare;
use core::sync::atomic::Ordering;
use nacre_abi::USER_END;
use nacre_abi::state::ThreadState;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// Flags that a thread runs with besides those of its maker: interrupts on, and the bit that is
/// always set.
const FLAGS: u64 = 0x202;
const CLONE_VM: u64 = 0x100;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;

/// Initial state of a new thread.
struct Request {
    flags: u64,
    stack: u64,
    parent_number: u64,
    child_number: u64,
    pointer: u64,
}

fn new_number(process: &mut Process) -> Result<u64, Errno> {
    if process.is_managed() {
        return Ok(manager::thread_create(Reference::PARENT)?.thread);
    }
    process.threads.next += 1;
    Ok(process.threads.next - 1)
}

/// Gives a thread's number back.
fn end_number(process: &mut Process, number: u64) {
    if process.is_managed() {
        // A manager that does not hear of it keeps the number.
        let _ = manager::thread_end(Reference::PARENT, number);
    }
}

fn check(request: &Request) -> Result<(), Errno> {
    if request.flags & (CLONE_SIGHAND | CLONE_VM) != CLONE_SIGHAND | CLONE_VM || request.stack == 0 {
        return Err(EINVAL);
    }
    if request.flags & CLONE_SETTLS != 0 && request.pointer >= USER_END { Err(EPERM) } else { Ok(()) }
}

/// Makes a thread that goes on where the caller's call returns, on a stack of its own, with 0 for
/// the call's result.
fn create(process: &mut Process, frame: &Frame, request: &Request) -> Answer {
    check(request)?;
    let spare = process.threads.obtain()?;
    let number = new_number(process).inspect_err(|_| process.threads.give_back(spare))?;
    start(process, frame, request, (spare, number)).inspect_err(|_| {
        process.threads.give_back(spare);
        end_number(process, number);
    })
}

/// Lets a kernel thread begin as a thread of the program. After an error no thread has begun, and
/// the kernel thread and the number are the caller's to give back.
fn start(process: &mut Process, frame: &Frame, request: &Request, (spare, number): (Spare, u64)) -> Answer {
    let mut thread = Thread::new(number, spare.block, spare.kernel);
    spare.block.sender.store(number as u32, Ordering::Relaxed);
    sending_thread::tell();
    let maker = process.me();
    (thread.mask, thread.name, thread.fs_base, thread.processors) = (maker.mask, maker.name, maker.fs_base, maker.processors);
    spare.block.copy_quick(maker.block, &[GETPID, GETPPID]);
    if request.flags & CLONE_SETTLS != 0 {
        thread.fs_base = request.pointer;
    }
    if request.flags & CLONE_CHILD_CLEARTID != 0 {
        thread.clear_number = request.child_number;
    }
    spare.kernel.set_state(&first_state(frame, request.stack, &thread))?;
    for (flag, address) in [(CLONE_PARENT_SETTID, request.parent_number), (CLONE_CHILD_SETTID, request.child_number)] {
        if request.flags & flag != 0 {
            // Linux ignores a failure here as well.
            let _ = process.memory.write_half(address, number as u32);
        }
    }
    spare.block.set_attention(false);
    let index = process.threads.insert(thread);
    if spare.kernel.start().is_err() {
        process.threads.slots[index] = None;
        return Err(EAGAIN);
    }
    Ok(number)
}

/// The registers of a thread that begins.
fn first_state(frame: &Frame, stack: u64, thread: &Thread) -> ThreadState {
    let [rdi, rsi, rdx, r10, r8, r9] = frame.arguments();
    let [rbx, rbp, r12, r13, r14, r15] = frame.kept;
    ThreadState {
        flags: ThreadState::STOPPED,
        rbx,
        rcx: frame.next,
        rdx,
        rsi,
        rdi,
        rbp,
        rsp: stack,
        r8,
        r9,
        r10,
        r11: frame.flags,
        r12,
        r13,
        r14,
        r15,
        rip: frame.next,
        rflags: frame.flags | FLAGS,
        fs_base: thread.fs_base,
        gs_base: thread.block as *const Block as u64,
        foreign_entry: thread_position::foreign_entry(),
        ..ThreadState::default()
    }
}

/// `clone(flags, stack, parent number, child number, thread pointer)`.
pub fn clone(process: &mut Process, frame: &mut Frame) -> Answer {
    const PARENT_SETTID_AND_PIDFD: u64 = CLONE_PARENT_SETTID | 0x1000;
    let [flags, stack, parent_number, child_number, pointer, _] = frame.arguments();
    if flags & CLONE_THREAD == 0 {
        if flags & PARENT_SETTID_AND_PIDFD == PARENT_SETTID_AND_PIDFD {
            return Err(EINVAL);
        }
        let (exit_signal, descriptor) = (flags & 0xff, parent_number);
        return fork::clone(process, frame, &fork::Request { flags, exit_signal, stack, descriptor, parent_number, child_number, pointer });
    }
    create(process, frame, &Request { flags, stack, parent_number, child_number, pointer })
}

/// `clone3(arguments, size)`.
pub fn clone3(process: &mut Process, frame: &mut Frame) -> Answer {
    const LEAST: u64 = 64;
    const KNOWN: u64 = 88;
    /// The signal's bits, and `CLONE_DETACHED`.
    const NOT_HERE: u64 = 0x40_00ff;
    let [address, size, ..] = frame.arguments();
    if size < LEAST {
        return Err(EINVAL);
    }
    if size > nacre_abi::PAGE_SIZE {
        return Err(E2BIG);
    }
    if size > KNOWN && process.memory.readable(address + KNOWN, size - KNOWN)?.iter().any(|byte| *byte != 0) {
        return Err(E2BIG);
    }
    let [flags, descriptor, child_number, parent_number, exit_signal, stack, stack_size, pointer] = process.memory.read_words(address)?;
    if flags & NOT_HERE != 0 || (stack == 0) != (stack_size == 0) || exit_signal > 64 || flags & CLONE_THREAD != 0 && exit_signal != 0 {
        return Err(EINVAL);
    }
    let stack = stack.checked_add(stack_size).ok_or(EINVAL)?;
    if flags & CLONE_THREAD == 0 {
        return fork::clone(process, frame, &fork::Request { flags, exit_signal, stack, descriptor, parent_number, child_number, pointer });
    }
    create(process, frame, &Request { flags, stack, parent_number, child_number, pointer })
}

/// `exit(status)`: the thread ends, and with the last one the process.
pub fn exit(process: &mut Process, frame: &mut Frame) -> Answer {
    if process.threads.count() == 1 {
        return exit::exit(process, frame);
    }
    futex_wake::release_robust(process);
    let address = core::mem::take(&mut process.me().clear_number);
    if address != 0 && process.memory.write_half(address, 0).is_ok() {
        futex_wake::wake_all(process, address);
    }
    let caller = process.caller;
    let Some(ended) = process.threads.slots.get_mut(caller).and_then(Option::take) else {
        return Err(ESRCH);
    };
    let Thread { block, kernel, number, .. } = *ended;
    end_number(process, number);
    post_signal::pass_on(process);
    process.threads.spare.push(Spare { block, kernel });
    drop(ended);
    lock::park(block)
}

/// `gettid()`.
pub fn gettid(process: &mut Process, _: &mut Frame) -> Answer {
    process.pid();
    Ok(process.me().number)
}

/// `set_tid_address(address)`.
pub fn set_tid_address(process: &mut Process, frame: &mut Frame) -> Answer {
    process.me().clear_number = frame.arguments()[0];
    process.pid();
    Ok(process.me().number)
}

/// `set_robust_list(head, size)`.
pub fn set_robust_list(process: &mut Process, frame: &mut Frame) -> Answer {
    let [head, size, ..] = frame.arguments();
    if size != 24 {
        return Err(EINVAL);
    }
    process.me().robust = head;
    Ok(0)
}

/// `get_robust_list(thread, head, size)`.
pub fn get_robust_list(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, head, size, ..] = frame.arguments();
    let index = process.thread_named(number)?;
    let robust = process.threads.get(index).map_or(0, |thread| thread.robust);
    process.memory.write_words(size, &[24])?;
    process.memory.write_words(head, &[robust])?;
    Ok(0)
}
