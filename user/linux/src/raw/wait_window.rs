//! Calls of the kernel that a signal cuts off: from the look at the thread's block to the answer.

use crate::raw::thread_block::Block;
use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::AtomicU32;
use nacre_abi::{Call, Code, Status};
use nacre_abi::message::{Descriptor, Info, MAX_REFERENCES, RECEIVE_ONLY};
use nacre_sys::Reference;
use nacre_sys::ipc::{Buffers, Message, Received};

unsafe extern "C" {
    static nacre_wait_start: u8;
    static nacre_wait_end: u8;
    static nacre_wait_cut: u8;
}

/// The registers of `ipc_call`: `rax rdi rsi rdx r8 r9 r10 r12 r13`, then `r14` and `r15`.
type Registers = [u64; 11];

/// Makes `ipc_call` with these registers, which then have its results; not if there is something
/// for the thread to look at.
#[unsafe(naked)]
unsafe extern "C" fn call_unless_wanted(registers: *mut Registers) {
    naked_asm!(
        ".globl nacre_wait_start, nacre_wait_end, nacre_wait_cut",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rbx, rdi",
        "mov rax, [rbx]",
        "mov rdi, [rbx + 8]",
        "mov rsi, [rbx + 16]",
        "mov rdx, [rbx + 24]",
        "mov r8, [rbx + 32]",
        "mov r9, [rbx + 40]",
        "mov r10, [rbx + 48]",
        "mov r12, [rbx + 56]",
        "mov r13, [rbx + 64]",
        "mov r14, [rbx + 72]",
        "mov r15, [rbx + 80]",
        "nacre_wait_start:",
        "cmp dword ptr gs:[{attention}], 0",
        "jne nacre_wait_cut",
        "syscall",
        "nacre_wait_end:",
        "2:",
        "mov [rbx], rax",
        "mov [rbx + 8], rdi",
        "mov [rbx + 16], rsi",
        "mov [rbx + 24], rdx",
        "mov [rbx + 32], r8",
        "mov [rbx + 40], r9",
        "mov [rbx + 48], r10",
        "mov [rbx + 56], r12",
        "mov [rbx + 64], r13",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "ret",
        "nacre_wait_cut:",
        "mov eax, {interrupted}",
        "jmp 2b",
        attention = const offset_of!(Block, attention),
        interrupted = const Code::Interrupted as u64,
    )
}

/// Returns the address at which a thread at `address` goes on without its answer, if it waits for
/// one or is about to.
pub fn window(address: u64) -> Option<u64> {
    let range = &raw const nacre_wait_start as u64..&raw const nacre_wait_end as u64;
    range.contains(&address).then_some(&raw const nacre_wait_cut as u64)
}

/// Addresses of references, where the kernel wants them.
#[repr(C, align(64))]
struct Addresses([u64; MAX_REFERENCES as usize]);

impl Addresses {
    fn new(references: &[Reference]) -> Addresses {
        let mut all = Addresses([0; MAX_REFERENCES as usize]);
        for (place, reference) in all.0.iter_mut().zip(references) {
            *place = reference.0;
        }
        all
    }

    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

pub fn call_in_window(target: Reference, message: &Message<'_>, buffers: &Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    let (references, slots) = (Addresses::new(message.references), Addresses::new(buffers.slots));
    let descriptor = Descriptor {
        send_address: message.bytes.address(),
        send_size: message.bytes.size() as u64,
        receive_address: buffers.bytes.address(),
        receive_capacity: buffers.bytes.size() as u64,
        send_references: if message.references.is_empty() { 0 } else { references.address() },
        send_reference_count: message.references.len().min(MAX_REFERENCES as usize) as u64,
        receive_slots: if buffers.slots.is_empty() { 0 } else { slots.address() },
        receive_slot_count: buffers.slots.len().min(MAX_REFERENCES as usize) as u64,
    };
    let sends = !message.bytes.is_empty() || !message.references.is_empty();
    let receives = !buffers.bytes.is_empty() || !buffers.slots.is_empty();
    let at = match &raw const descriptor as u64 {
        _ if !sends && !receives => 0,
        at if sends => at,
        at => at | RECEIVE_ONLY,
    };
    let [a, b, c, d, e, f] = message.words;
    let mut registers = [Call::IpcCall.number(), target.0, Info::with_label(message.label).0, a, b, c, d, e, f, at, timeout];
    // SAFETY: the descriptor names bytes of a `Span`, which may be read, and of a `SpanMut`, which
    // may be written, for the whole call; `gs` leads to the thread's block, since this is only
    // reached with a process that has a lock, which is one with an entry.
    unsafe { call_unless_wanted(&raw mut registers) };
    let [status, word, info, a, b, c, d, e, f, ..] = registers;
    Status(status).result().map(|()| Received { info: Info(info), word, words: [a, b, c, d, e, f] })
}

/// Waits at a condition while the word stays as expected. `Interrupted`: there is, or was,
/// something for the thread to look at.
pub fn wait_for_word(condition: Reference, word: &AtomicU32, expected: u32) -> Result<(), Status> {
    wait_for_word_at(condition, word.as_ptr() as u64, expected, nacre_sys::FOREVER)
}

/// Waits, as `wait_for_word` does, for a word that the kernel finds, and for at most `timeout`
/// nanoseconds (0: for ever).
pub fn wait_for_word_at(condition: Reference, at: u64, expected: u32, timeout: u64) -> Result<(), Status> {
    let mut registers = [Call::ConditionWait.number(), condition.0, at, expected.into(), 0, 0, 0, 0, 0, 0, timeout];
    // SAFETY: the kernel reads the word, no more, and says so if there is none; `gs` leads to the
    // thread's block, since only a process that has a lock waits.
    unsafe { call_unless_wanted(&raw mut registers) };
    Status(registers[0]).result()
}
