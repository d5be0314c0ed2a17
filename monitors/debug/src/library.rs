//! Where the library for Linux programs keeps what a debugger wants to know. A test of the library
//! checks these places.

use nacre_abi::environment::{FOREIGN_LIBRARY, OBJECTS};
use nacre_abi::state::ThreadState;
use nacre_gdb::Registers;
use nacre_nest::library::{ATTENTION, FRAME_SIZE, PARKED, RESUME, THREAD_NUMBER};

use crate::copier::Copier;
use crate::view::View;

/// Bits of the word at the entry that are the return address. The others are the call's number.
const ADDRESS: u64 = (1 << nacre_abi::call::FOREIGN_NUMBER_SHIFT) - 1;
/// Number of the call that returns from a handler of signals, and the place of the instruction
/// pointer in what lies on the stack then.
const SIGNAL_RETURN: u64 = 15;
const SIGNAL_FRAME_RIP: u64 = 168;
/// Maximum number of bytes of a thread's library stack.
const MAX_STACK: u64 = 64 << 10;
/// Places among the general registers.
const RCX: usize = 2;
const R11: usize = 11;

/// Returns true if an instruction is the library's.
pub fn is_in_library(rip: u64) -> bool {
    (FOREIGN_LIBRARY..OBJECTS).contains(&rip)
}

/// The program's registers while one of its threads is in the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// `rax rbx rcx rdx rsi rdi rbp rsp r8` to `r15`.
    pub general: [u64; 16],
    /// Address at which the program continues.
    pub rip: u64,
    /// Flags.
    pub flags: u64,
    /// Number of the call.
    pub call: u64,
    /// `rcx` and `r11`, where the frame has all registers.
    lost: [u64; 2],
}

impl Frame {
    /// Returns the registers of a thread that gets a signal: the frame has all of them.
    pub fn whole(self) -> Frame {
        let mut whole = Frame { call: u64::MAX, ..self };
        [whole.general[RCX], whole.general[R11]] = self.lost;
        whole
    }
}

/// Reads the registers that the entry has saved; `None`: the thread is at the entry or on its way
/// out.
pub fn frame((view, copier): (&View, &Copier), state: &ThreadState) -> Option<Frame> {
    let top = state.gs_base;
    let is_inside = state.rsp <= top.checked_sub(FRAME_SIZE)? && state.rsp > top.saturating_sub(MAX_STACK);
    if !is_in_library(state.rip) || !is_inside {
        return None;
    }
    let mut bytes = [0; FRAME_SIZE as usize];
    if view.read(copier, top - FRAME_SIZE, &mut bytes) != bytes.len() {
        return None;
    }
    let mut words = [0; FRAME_SIZE as usize / 8];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    let [rbx, rbp, r12, r13, r14, r15, rax, rcx, r11, rdi, rsi, rdx, r10, r8, r9, next, flags, rsp] = words;
    let rip = next & ADDRESS;
    // What a call loses is not in the frame: it is what the call leaves there.
    Some(Frame { general: [rax, rbx, rip, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, flags, r12, r13, r14, r15], rip, flags, call: rax, lost: [rcx, r11] })
}

/// Sets the registers of a thread that gets a signal. Returns false if it has no frame.
pub fn put_frame((view, copier): (&View, &Copier), state: &ThreadState, registers: &Registers) -> bool {
    let Some(at) = state.gs_base.checked_sub(FRAME_SIZE).filter(|_| state.gs_base != 0) else { return false };
    let [rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15] = registers.general;
    let words = [rbx, rbp, r12, r13, r14, r15, rax, rcx, r11, rdi, rsi, rdx, r10, r8, r9, registers.rip, registers.flags.into(), rsp];
    view.write(copier, at, words.map(u64::to_le_bytes).as_flattened())
}

/// Returns the address at which a thread at the entry of the library will go on in the program.
pub fn return_address((view, copier): (&View, &Copier), state: &ThreadState) -> Option<u64> {
    match state.rax >> nacre_abi::call::FOREIGN_NUMBER_SHIFT {
        SIGNAL_RETURN => view.word(copier, state.rsp.checked_add(SIGNAL_FRAME_RIP)?),
        _ => Some(state.rax & ADDRESS),
    }
}

/// Returns the instruction at which the library stopped a thread to give it a signal.
pub fn resume((view, copier): (&View, &Copier), state: &ThreadState) -> Option<u64> {
    view.word(copier, state.gs_base.checked_add(RESUME)?)
}

/// Reads a half word.
pub fn half((view, copier): (&View, &Copier), address: Option<u64>) -> Option<u32> {
    let mut bytes = [0; 4];
    (view.read(copier, address?, &mut bytes) == 4).then(|| u32::from_le_bytes(bytes))
}

/// Returns the number that Linux's `gettid` has for a thread, if it is known.
pub fn thread_number(memory: (&View, &Copier), state: &ThreadState) -> Option<u32> {
    half(memory, state.gs_base.checked_add(THREAD_NUMBER)).filter(|number| (1..1 << 22).contains(number))
}

/// Returns true if a thread of the program has signals to look at.
pub fn has_attention(memory: (&View, &Copier), state: &ThreadState) -> bool {
    half(memory, state.gs_base.checked_add(ATTENTION)).is_some_and(|attention| attention != 0)
}

/// Returns true if a thread of the program has ended.
pub fn is_parked(memory: (&View, &Copier), state: &ThreadState) -> bool {
    half(memory, state.gs_base.checked_add(PARKED)).is_some_and(|parked| parked != 0)
}
