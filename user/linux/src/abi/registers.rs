//! The program's registers, as the entry saves them.

use crate::abi::fork_record::REGISTERS;
use nacre_abi::call::FOREIGN_NUMBER_SHIFT;

/// Flags that a program starts with: interrupts on, and the bit that is always set.
const FLAGS: u64 = 0x202;

/// The program's registers at a call, in the order in which the entry pushes them, last first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Frame {
    /// Registers that functions keep: `rbx rbp r12 r13 r14 r15`.
    pub kept: [u64; 6],
    /// During a call: its number. In a whole frame: `rax`.
    pub rax: u64,
    /// `rcx`, valid in a whole frame only.
    pub rcx: u64,
    /// `r11`, valid in a whole frame only.
    pub r11: u64,
    rdi: u64,
    rsi: u64,
    rdx: u64,
    r10: u64,
    r8: u64,
    r9: u64,
    /// Address at which the program continues. At the entry its upper 16 bits hold the call's
    /// number.
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

    /// All registers, as plain words.
    pub fn to_words(self) -> [u64; REGISTERS] {
        let Frame { kept, rax, rcx, r11, rdi, rsi, rdx, r10, r8, r9, next, flags, stack } = self;
        let [rbx, rbp, r12, r13, r14, r15] = kept;
        [rbx, rbp, r12, r13, r14, r15, rax, rcx, r11, rdi, rsi, rdx, r10, r8, r9, next, flags, stack]
    }

    /// Makes a frame from plain words.
    pub fn from_words(words: [u64; REGISTERS]) -> Frame {
        let [rbx, rbp, r12, r13, r14, r15, rax, rcx, r11, rdi, rsi, rdx, r10, r8, r9, next, flags, stack] = words;
        Frame { kept: [rbx, rbp, r12, r13, r14, r15], rax, rcx, r11, rdi, rsi, rdx, r10, r8, r9, next, flags, stack }
    }

    /// Makes the frame of a program that begins: all other registers are zero.
    pub fn of_program(entry: u64, stack: u64) -> Frame {
        Frame { next: entry, stack, flags: FLAGS, ..Frame::default() }
    }

    /// The frame of a fork's child at the call, which gives it 0; on a stack of its own if there is
    /// one.
    pub fn of_child(&self, stack: u64) -> Frame {
        let mut frame = *self;
        frame.complete(0);
        frame.stack = if stack == 0 { frame.stack } else { stack };
        frame
    }

    /// The number of the call, and the return address, which share a word at first.
    #[inline]
    pub fn number_and_next(&self) -> (usize, u64) {
        ((self.next >> FOREIGN_NUMBER_SHIFT) as usize, self.next & ((1 << FOREIGN_NUMBER_SHIFT) - 1))
    }

    /// Takes them apart.
    #[inline]
    pub fn take_number(&mut self) -> usize {
        let (number, next) = self.number_and_next();
        (self.rax, self.next) = (number as u64, next);
        number
    }

    /// Makes the frame of a call that gives `result` whole: what the call changes is filled in.
    pub fn complete(&mut self, result: u64) {
        self.rax = result;
        self.rcx = self.next;
        self.r11 = self.flags;
    }
}
