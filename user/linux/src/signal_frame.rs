//! What lies on the program's stack while a handler runs: Linux's `rt_sigframe` on x86-64, as words.
//!
//! Word 0 is the return address (the restorer); 1-38 the `ucontext`; 39-54 the `siginfo`. Registers that a function keeps (`rbx rbp r12-r15`)
//! are zero in it, and `rt_sigreturn` leaves them as they are: a handler that follows the calling convention has kept them.

use crate::entry::Frame;
use crate::errno::Errno;
use crate::memory::Memory;
use crate::signals::Action;

/// Bytes below the stack pointer that belong to the interrupted function.
pub const RED_ZONE: u64 = 128;
const WORDS: usize = 55;
/// First word of the `ucontext`.
const CONTEXT: usize = 1;
/// First word of the registers in it.
const REGISTERS: usize = CONTEXT + 5;
/// Word of the signal mask.
const MASK: usize = CONTEXT + 37;
/// First word of the `siginfo`.
const INFO: usize = 39;
/// `cs` and `ss` of every program, in the word of the segment registers.
const SEGMENTS: u64 = 0x002b_0000_0000_0033;
/// `si_code` of a signal that the program sent itself.
const SI_TKILL: i32 = -6;

/// What a frame keeps besides the registers at the call.
pub struct Context {
    /// The result of the call.
    pub result: u64,
    /// The signals that were blocked.
    pub mask: u64,
    /// The words of `stack_t`.
    pub alternate: [u64; 3],
}

/// The `siginfo` of a signal that the program sent itself.
pub fn info(signal: u64) -> [u64; 16] {
    let mut words = [0; 16];
    words[0] = signal;
    words[1] = u64::from(SI_TKILL as u32);
    words[2] = crate::life::PID;
    words
}

fn words(frame: &Frame, signal: u64, action: &Action, context: &Context) -> [u64; WORDS] {
    let [rdi, rsi, rdx, r10, r8, r9] = frame.arguments();
    let mut words = [0; WORDS];
    words[0] = action.restorer;
    words[CONTEXT + 2..CONTEXT + 5].copy_from_slice(&context.alternate);
    let registers = [
        r8, r9, r10, frame.flags, 0, 0, 0, 0, rdi, rsi, 0, 0, rdx, context.result, frame.next, frame.stack, frame.next, frame.flags, SEGMENTS,
    ];
    words[REGISTERS..REGISTERS + registers.len()].copy_from_slice(&registers);
    words[MASK] = context.mask;
    words[INFO..].copy_from_slice(&info(signal));
    words
}

/// Puts a frame below `stack` and makes `frame` enter the handler. An error changes nothing.
pub fn push(memory: &Memory, frame: &mut Frame, stack: u64, signal: u64, action: &Action, context: &Context) -> Result<(), Errno> {
    let start = (stack.wrapping_sub(8 * WORDS as u64) & !15).wrapping_sub(8);
    memory.write_words(start, &words(frame, signal, action, context))?;
    frame.set_arguments([signal, start + 8 * INFO as u64, start + 8 * CONTEXT as u64, 0, 0, 0]);
    frame.next = action.handler;
    frame.stack = start;
    Ok(())
}

/// Takes the frame at the stack pointer off again (its first word has been popped); the result and the mask to go on with.
pub fn pop(memory: &Memory, frame: &mut Frame) -> Result<(u64, u64), Errno> {
    let words: [u64; WORDS - 1] = memory.read_words(frame.stack)?;
    let register = |number: usize| words[REGISTERS - 1 + number];
    frame.set_arguments([register(8), register(9), register(12), register(2), register(0), register(1)]);
    frame.stack = register(15);
    frame.next = register(16);
    frame.flags = register(17);
    Ok((register(13), words[MASK - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_has_linuxs_layout() {
        let mut frame = Frame::default();
        (frame.next, frame.flags, frame.stack) = (0x401000, 0x202, 0x7fff_0000);
        let action = Action { handler: 5, flags: 0, restorer: 9, mask: 0 };
        let words = words(&frame, 10, &action, &Context { result: 7, mask: 3, alternate: [0; 3] });
        assert_eq!(8 * (REGISTERS - CONTEXT), 40, "uc_mcontext");
        assert_eq!(8 * (MASK - CONTEXT), 296, "uc_sigmask");
        assert_eq!(8 * INFO, 8 + 304, "siginfo behind the ucontext");
        assert_eq!((words[REGISTERS + 13], words[REGISTERS + 15], words[REGISTERS + 16]), (7, 0x7fff_0000, 0x401000));
        assert_eq!(words[INFO] as u32, 10);
    }
}
