//! What lies on the program's stack while a handler runs: Linux's `rt_sigframe` on x86-64, as
//! words, and the FPU's registers above it.
//!
//! Word 0 is the return address (the restorer); 1-38 the `ucontext`; 39-54 the `siginfo`. The FPU's
//! state is what the processor's `xsave` writes, in the form that Linux gives it: 48 bytes of the
//! legacy area that the processor does not use say how large it is.

use crate::abi::errno::{EFAULT, Errno};
use crate::abi::registers::Frame;
use crate::abi::signal_info::Info;
use crate::abi::signal_numbers::{SA_ONSTACK, SS_AUTODISARM, SS_DISABLE, SS_ONSTACK};
use crate::process::Process;
use crate::state::memory::user_access::fpu;
use crate::state::signals::dispositions::Action;
use crate::state::threads::thread::Thread;

/// Bytes below the stack pointer that belong to the interrupted function.
const RED_ZONE: u64 = 128;
const WORDS: usize = 55;
/// First word of the `ucontext`.
const CONTEXT: usize = 1;
/// First word of the registers in it.
const REGISTERS: usize = CONTEXT + 5;
/// Word of the FPU's address.
const FPU: usize = REGISTERS + 23;
/// Word of the signal mask.
const MASK: usize = CONTEXT + 37;
/// First word of the `siginfo`.
const INFO: usize = 39;
/// `cs` and `ss` of every program, in the word of the segment registers.
const SEGMENTS: u64 = 0x002b_0000_0000_0033;
/// `UC_FP_XSTATE`, `UC_SIGCONTEXT_SS`, `UC_STRICT_RESTORE_SS`.
const CONTEXT_FLAGS: u64 = 7;

/// Returns true if a stack pointer is on the thread's alternate stack.
pub fn on_alternate(thread: &Thread, stack: u64) -> bool {
    let [start, size] = thread.alternate;
    size != 0 && thread.alternate_flags & SS_AUTODISARM == 0 && stack.wrapping_sub(start).wrapping_sub(1) < size
}

/// The words of the thread's `stack_t`.
pub fn alternate_words(thread: &Thread, stack: u64) -> [u64; 3] {
    let [start, size] = thread.alternate;
    let state = match size {
        0 => SS_DISABLE,
        _ if on_alternate(thread, stack) => SS_ONSTACK,
        _ => 0,
    };
    [start, state | thread.alternate_flags, size]
}

/// Returns the address of a handler's frame: on the alternate stack if it is asked for and not in
/// use, else below the red zone.
fn handler_stack(thread: &Thread, action: &Action, stack: u64) -> u64 {
    let [start, size] = thread.alternate;
    if action.flags & SA_ONSTACK != 0 && size != 0 && !on_alternate(thread, stack) {
        return start.wrapping_add(size);
    }
    stack.wrapping_sub(RED_ZONE)
}

fn words(frame: &Frame, info: &Info, action: &Action, context: Context) -> [u64; WORDS] {
    let [rdi, rsi, rdx, r10, r8, r9] = frame.arguments();
    let [rbx, rbp, r12, r13, r14, r15] = frame.kept;
    let mut words = [0; WORDS];
    words[0] = action.restorer;
    words[CONTEXT] = CONTEXT_FLAGS;
    words[CONTEXT + 2..CONTEXT + 5].copy_from_slice(&context.alternate);
    let registers = [
        r8, r9, r10, frame.r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, frame.rax, frame.rcx, frame.stack, frame.next, frame.flags, SEGMENTS,
    ];
    words[REGISTERS..REGISTERS + registers.len()].copy_from_slice(&registers);
    words[REGISTERS + 19..REGISTERS + 21].copy_from_slice(&context.trap);
    if info.code > 0 {
        // `cr2`: the address of a fault.
        words[REGISTERS + 22] = info.fields[0];
    }
    words[FPU] = context.fpu;
    words[MASK] = context.mask;
    (words[INFO], words[INFO + 1]) = (info.signal, u64::from(info.code as u32));
    words[INFO + 2..INFO + 6].copy_from_slice(&info.fields);
    words
}

/// Contents of a frame besides the registers.
struct Context {
    mask: u64,
    alternate: [u64; 3],
    trap: [u64; 2],
    fpu: u64,
}

/// Puts a frame on the stack that the handler is to have, and makes `frame` enter the handler. An
/// error changes nothing.
pub fn push(process: &mut Process, frame: &mut Frame, info: &Info, action: &Action) -> Result<(), Errno> {
    let thread = process.me();
    let top = handler_stack(thread, action, frame.stack);
    let mask = thread.saved_mask.unwrap_or(thread.mask);
    let alternate = alternate_words(thread, frame.stack);
    let trap = thread.trap;
    let fpu = top.wrapping_sub(fpu::size()) & !63;
    let start = (fpu.wrapping_sub(8 * WORDS as u64) & !15).wrapping_sub(8);
    let words = words(frame, info, action, Context { mask, alternate, trap, fpu });
    fpu::save(process.memory.write_words_before(start, &words, fpu, fpu::size())?);
    let thread = process.me();
    if thread.alternate_flags & SS_AUTODISARM != 0 {
        (thread.alternate, thread.alternate_flags) = ([0; 2], 0);
    }
    frame.set_arguments([info.signal, start + 8 * INFO as u64, start + 8 * CONTEXT as u64, 0, 0, 0]);
    frame.rax = 0;
    frame.next = action.handler;
    frame.stack = start;
    frame.flags &= !(DIRECTION | TRAP);
    Ok(())
}

/// The direction flag, which is clear when a function is entered.
const DIRECTION: u64 = 0x400;
/// The trap flag: a handler is not part of a step.
const TRAP: u64 = 0x100;

/// Takes the frame at the stack pointer off again (its first word has been popped); the mask to go
/// on with.
pub fn pop(process: &mut Process, frame: &mut Frame) -> Result<u64, Errno> {
    let words: [u64; WORDS - 1] = process.memory.read_words(frame.stack)?;
    let register = |number: usize| words[REGISTERS - 1 + number];
    let fpu = words[FPU - 1];
    if fpu != 0 {
        if fpu % 64 != 0 {
            return Err(EFAULT);
        }
        fpu::restore(process.memory.readable(fpu, fpu::size())?).ok_or(EFAULT)?;
    }
    frame.kept = [register(11), register(10), register(4), register(5), register(6), register(7)];
    (frame.rax, frame.rcx, frame.r11) = (register(13), register(14), register(3));
    (frame.stack, frame.next, frame.flags) = (register(15), register(16), register(17));
    frame.set_arguments([register(8), register(9), register(12), register(2), register(0), register(1)]);
    let thread = process.me();
    let [start, flags, size] = [words[CONTEXT + 1], words[CONTEXT + 2], words[CONTEXT + 3]];
    if flags & SS_AUTODISARM != 0 {
        (thread.alternate, thread.alternate_flags) = ([start, size], SS_AUTODISARM);
    }
    Ok(words[MASK - 1])
}
