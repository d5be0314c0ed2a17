//! Messages whose answer may be long in coming: the library's lock is given up meanwhile, and a signal ends the wait.
//!
//! A thread that looks at `attention` and then waits could miss a signal that comes between. Whoever sends one stops the thread first, and sees from its
//! instruction ([`window`]) that it is about to wait, or waits; then the thread goes on as if the kernel had interrupted it.

use crate::abi::errno::{EINTR, EIO, ENOMEM, Errno};
use crate::operations::paths::path_start::Place;
use crate::process::Process;
use crate::raw::thread_block::Block;
use crate::state::memory::{HIGHEST, LOWEST};
use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::AtomicU32;
use nacre_abi::{Call, Code, Status};
use nacre_abi::message::{Descriptor, Info, MAX_REFERENCES, RECEIVE_ONLY};
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::{Errno as ServerErrno, landing};
use nacre_sys::{OwnedReference, Reference};
use nacre_sys::ipc::{self, Buffers, Message, Received};

/// The registers of `ipc_call`: `rax rdi rsi rdx r8 r9 r10 r12 r13`, then `r14` and `r15`.
type Registers = [u64; 11];

/// Makes `ipc_call` with these registers, which then have its results; not if there is something for the thread to look at.
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

unsafe extern "C" {
    static nacre_wait_start: u8;
    static nacre_wait_end: u8;
    static nacre_wait_cut: u8;
}

/// If a thread that is at `address` is about to wait, or waits, for an answer: where it goes on without one.
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

fn call_in_window(target: Reference, message: &Message<'_>, buffers: &Buffers<'_>, timeout: u64) -> Result<Received, Status> {
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
    // SAFETY: the descriptor names bytes of a `Span`, which may be read, and of a `SpanMut`, which may be written, for the whole call; `gs` leads to the
    // thread's block, since this is only reached with a process that has a lock, which is one with an entry.
    unsafe { call_unless_wanted(&raw mut registers) };
    let [status, word, info, a, b, c, d, e, f, ..] = registers;
    Status(status).result().map(|()| Received { info: Info(info), word, words: [a, b, c, d, e, f] })
}

/// Waits at a condition while the word stays as expected. `Interrupted`: there is, or was, something for the thread to look at.
pub fn wait_for_word(condition: Reference, word: &AtomicU32, expected: u32) -> Result<(), Status> {
    wait_for_word_at(condition, word.as_ptr() as u64, expected, nacre_sys::FOREVER)
}

/// The same for a word that the kernel looks for, and for at most `timeout` nanoseconds (0: for ever).
pub fn wait_for_word_at(condition: Reference, at: u64, expected: u32, timeout: u64) -> Result<(), Status> {
    let mut registers = [Call::ConditionWait.number(), condition.0, at, expected.into(), 0, 0, 0, 0, 0, 0, timeout];
    // SAFETY: the kernel reads the word, no more, and says so if there is none; `gs` leads to the thread's block, since only a process that has a lock waits.
    unsafe { call_unless_wanted(&raw mut registers) };
    Status(registers[0]).result()
}

impl Process {
    /// Sends a message and waits for its answer without the lock. `EINTR`: a signal came first; the answer, if there is one, is lost.
    pub fn exchange(&mut self, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        self.exchange_if(true, target, message, buffers)
    }

    /// The same; a signal ends the wait only if it is `interruptible`.
    pub fn exchange_if(&mut self, interruptible: bool, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        let waiting = buffers.slots;
        let received = self.exchange_any(interruptible, target, message, buffers)?;
        if received.references() != waiting.len() {
            drop_all(waiting, received);
            return Err(EIO);
        }
        Ok(received)
    }

    /// [`exchange`](Process::exchange) that may bring fewer references than there are slots.
    pub fn exchange_some(&mut self, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        self.exchange_any(true, target, message, buffers)
    }

    /// The same for what is answered at once: no signal cuts it off.
    pub fn exchange_some_at_once(&mut self, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        self.exchange_any(false, target, message, buffers)
    }

    fn exchange_any(&mut self, interruptible: bool, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        let waiting = buffers.slots;
        let result = match self.lock {
            Some(_) if interruptible => self.landed(buffers, |process, buffers| process.call_unlocked(target, message, &buffers, nacre_sys::FOREVER)),
            _ => self.landed(buffers, |process, buffers| process.unlocked(|| ipc::call(target, message, buffers, nacre_sys::FOREVER))),
        };
        self.received(result, waiting)
    }

    /// The same, for at most `timeout` nanoseconds (0: for ever): then it is `ETIMEDOUT`.
    pub fn exchange_until(&mut self, timeout: u64, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        let waiting = buffers.slots;
        let result = match self.lock {
            Some(_) => self.landed(buffers, |process, buffers| process.call_unlocked(target, message, &buffers, timeout)),
            None => self.landed(buffers, |_, buffers| ipc::call(target, message, buffers, timeout)),
        };
        self.received(result, waiting)
    }

    /// Calls so that no byte of the answer is lost, though pages of the program go meanwhile. Of memory that another thread has unmapped nothing is written.
    fn landed(&mut self, buffers: Buffers<'_>, call: impl FnOnce(&mut Process, Buffers<'_>) -> Result<Received, Status>) -> Result<Received, Status> {
        if buffers.bytes.is_empty() || !landing::is_needed() {
            return call(self, buffers);
        }
        let process = core::cell::RefCell::new(self);
        let may_copy = |start: u64, size: u64| {
            let (memory, end) = (&mut process.borrow_mut().memory, start + size);
            !(LOWEST..HIGHEST).contains(&start) || (memory.map.is_covered(start, end) && memory.own(start, size).is_ok())
        };
        landing::call(buffers, |buffers| call(&mut process.borrow_mut(), buffers), may_copy)
    }

    /// Without the lock another thread may have had a piece of memory copied, of which the kernel found nothing just then: nobody has got the message, and it is sent again.
    fn call_unlocked(&mut self, target: Reference, message: &Message<'_>, buffers: &Buffers<'_>, timeout: u64) -> Result<Received, Status> {
        loop {
            let before = self.memory.pieces_copied();
            let result = self.unlocked(|| call_in_window(target, message, buffers, timeout));
            let is_late = result.as_ref().is_err_and(|status| status.code() == Some(Code::BadAddress)) && self.memory.pieces_copied() != before;
            if !is_late {
                return result;
            }
        }
    }

    fn received(&self, result: Result<Received, Status>, waiting: &[Reference]) -> Result<Received, Errno> {
        let received = result.map_err(|status| if status.code() == Some(Code::Interrupted) { EINTR } else { Errno::from(status) })?;
        let failed = ServerErrno::result(received.label());
        if failed.is_err() {
            drop_all(waiting, received);
        }
        failed?;
        Ok(received)
    }
}

impl Process {
    /// Asks servers through these references. Where there are several threads, the others go on meanwhile; the references are copied for
    /// that, because another thread may close what they belong to, and `ask` may name nothing of the program's memory.
    #[inline]
    pub fn while_asking<T, const N: usize>(&mut self, asked: [Reference; N], ask: impl FnOnce([Reference; N]) -> Result<T, Errno>) -> Result<T, Errno> {
        if self.threads.is_first_alone() { ask(asked) } else { self.ask_unlocked(asked, ask) }
    }

    #[inline(never)]
    fn ask_unlocked<T, const N: usize>(&mut self, asked: [Reference; N], ask: impl FnOnce([Reference; N]) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut kept = [const { None }; N];
        for (place, reference) in kept.iter_mut().zip(asked) {
            *place = Some(OwnedReference::copy_of(reference, REFERENCE_USE).map_err(|_| ENOMEM)?);
        }
        let handles = kept.each_ref().map(|kept| kept.as_ref().map_or(Reference::NONE, OwnedReference::handle));
        self.unlocked(|| ask(handles))
    }

    /// Asks the server of a place about it, as [`Process::while_asking`] does.
    #[inline]
    pub fn ask_at<T>(&mut self, place: Place<'_>, ask: impl FnOnce(Reference, &[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
        if self.threads.is_first_alone() {
            return ask(place.directory, place.path);
        }
        let path = place.path.to_vec();
        self.ask_unlocked([place.directory], |[directory]| ask(directory, &path))
    }
}

/// References that came and are not wanted.
fn drop_all(slots: &[Reference], received: Received) {
    for slot in slots.iter().take(received.references()) {
        let _ = slot.destroy();
    }
}
