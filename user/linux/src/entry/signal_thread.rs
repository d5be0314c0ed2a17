//! The library's thread that receives what comes from outside, and makes signals of it.

use crate::abi::errno::Errno;
use crate::abi::signal_info::{Info, SI_KERNEL};
use crate::abi::signal_numbers::{SIGKILL, SIGSEGV};
use crate::operations::due_timers;
use crate::operations::files::file_signals;
use crate::operations::files::queue_events;
use crate::operations::files::quiet_files;
use crate::operations::grow_stack;
use crate::operations::user_faults::{self, Outcome};
use crate::process::{Process, lock};
use crate::process::end::end_by_signal;
use crate::process::signal_thread::{BOARD, SETTLE, SIGNALS};
use crate::raw::guarded_touch;
use crate::raw::sending_thread::{self, Servant};
use crate::raw::thread_position::{Place, place, signal_entry};
use crate::state::files::watch::FILES;
use crate::state::memory::mapped_part::MAX_LATE;
use crate::state::memory::user_faults as memory_faults;
use crate::state::queue_notifications::MAIL;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use nacre_abi::{Code, Rights, Status};
use nacre_abi::fault::{self, KIND_BREAKPOINT, KIND_MEMORY, KIND_OPCODE, KIND_PROTECTION};
use nacre_abi::state::ThreadState;
use nacre_proto::{Event, Request, ServerEndpoint, parent};
use nacre_sys::Reference;

const SIGBUS: u64 = 7;
/// Offset of a signal's number in a status.
const BY_SIGNAL: u64 = 256;
/// Thread index that stands for the signal thread.
const NOBODY: usize = usize::MAX;

/// The agent's thread; `port` is the address of its port.
pub fn run(port: usize) {
    sending_thread::serves(Servant::Signals);
    let Ok(mut endpoint) = ServerEndpoint::new(ThreadState::SIZE as usize) else {
        nacre_rt::report!("no memory for the thread that receives signals");
        return;
    };
    loop {
        let timeout = lock::with_process(NOBODY, due_timers::fire_timers).unwrap_or(nacre_sys::FOREVER);
        match endpoint.next(port as u64, timeout) {
            Ok(Event::Notification { bits, .. }) => notified(bits),
            Ok(Event::Exception(mut request)) => exception(&mut request),
            Ok(Event::Fault(mut request)) => request.answer(fault::REFUSE, [0; 6]),
            Ok(Event::Request(mut request)) => request.refuse(Errno::ENOSYS),
            Err(status) if matches!(status.code(), Some(Code::TimedOut | Code::Interrupted)) => {}
            Err(_) => return,
        }
    }
}

fn notified(bits: u64) {
    let _ = lock::with_process(NOBODY, |process| {
        if bits & SIGNALS != 0 {
            process.fetch_signals();
        }
        if bits & MAIL != 0 {
            queue_events::fetch_mail(process);
        }
        if bits & FILES != 0 {
            process.watches.notified(bits);
            file_signals::tell_owners(process);
            process.pipe_changed();
        }
        if bits & BOARD != 0 {
            quiet_files::read_board(process);
        }
        if bits & SETTLE != 0 {
            process.watches.answer();
            process.pipe_changed();
        }
    });
}

/// An exception of one of the threads: it becomes a signal of that thread, which goes on by taking
/// it.
fn exception(request: &mut Request<'_>) {
    let [kind, error, address, instruction, ..] = request.words();
    let words: Vec<u64> = request.bytes().chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
    let state = words.try_into().ok().map(ThreadState::from_words);
    if let Some((state, rip)) = state.as_ref().and_then(|state| Some((state, guarded_touch::failed(state.rip)?))) {
        return resume(request, &ThreadState { rip, ..state.clone() });
    }
    if let Some(state) = state.as_ref().filter(|state| place(state.rip) != Place::Program) {
        if let Some(rip) = guarded_touch::behind_call(state.rip).filter(|_| kind == KIND_MEMORY) {
            // A file was cut off under memory that a call was given: the kernel's call fails.
            return resume(request, &ThreadState { rip, rax: Status::new(Code::BadAddress).0, ..state.clone() });
        }
        // The library itself failed, and may have the lock: what it was about cannot be finished.
        // Most likely a file was cut off under shared memory that a call was given.
        nacre_rt::report!("the library for Linux programs failed at {:#x}, address {address:#x}", state.rip);
        let signal = if kind == KIND_MEMORY { SIGBUS } else { SIGSEGV };
        let _ = parent::exit(Reference::PARENT, BY_SIGNAL + signal);
        request.answer(fault::STOP, [0; 6]);
        return;
    }
    let next = state.and_then(|state| {
        let index = lock::with_process(NOBODY, |process| process.threads.with_block(state.gs_base)).flatten()?;
        lock::with_process(index, |process| {
            let lacking = if kind == KIND_MEMORY { memory_faults::lacking(&process.memory, address, 1, access(error)) } else { None };
            if let Some(lacking) = lacking {
                process.me().trap = [error, kind];
                if user_faults::faulted(process, lacking, address) == Outcome::Again {
                    return state;
                }
                process.me().block.resume.store(state.rip, Ordering::Relaxed);
                return ThreadState { rip: signal_entry(), ..state };
            }
            if kind == KIND_MEMORY && resolves(process, address, access(error)) {
                return state;
            }
            if kind == KIND_MEMORY && process.memory.is_short_at(address, access(error)) {
                end_by_signal(process, SIGKILL);
            }
            let info = signal_of(process, kind, [error, address], instruction);
            process.me().trap = [error, kind];
            process.force(info);
            process.me().block.resume.store(state.rip, Ordering::Relaxed);
            ThreadState { rip: signal_entry(), ..state }
        })
    });
    let Some(next) = next else {
        // A thread that is none of the program's.
        let _ = lock::with_process(NOBODY, |process| end_by_signal(process, SIGSEGV));
        return;
    };
    resume(request, &next);
}

/// Lets the thread of an exception go on in a state.
fn resume(request: &mut Request<'_>, state: &ThreadState) {
    let bytes: Vec<u8> = state.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
    request.put(&bytes);
    request.answer(fault::RESUME, [0; 6]);
}

/// Returns true if the caller can make an access again that failed.
fn resolves(process: &mut Process, address: u64, access: Rights) -> bool {
    // Where memory was promised there may be none, and each fault waits for some. Only where other
    // threads run can it have been late.
    let is_short = process.memory.is_short_at(address, access);
    let most = if is_short { u32::from(process.threads.count() > 1) } else { MAX_LATE };
    let mut late = process.me().late;
    let is_resolved = process.memory.resolve(address, access, (&mut late, most)) || grow_stack::resolve_fault(process, address);
    process.me().late = late;
    is_resolved
}

/// Returns the right that a failed access lacked, from the machine's error code.
fn access(error: u64) -> Rights {
    match error {
        error if error & fault::ERROR_FETCH != 0 => Rights::EXECUTE,
        error if error & fault::ERROR_WRITE != 0 => Rights::WRITE,
        _ => Rights::READ,
    }
}

/// The signal that Linux makes of an exception.
fn signal_of(process: &Process, kind: u64, [error, address]: [u64; 2], instruction: u64) -> Info {
    const SIGILL: u64 = 4;
    const SIGTRAP: u64 = 5;
    const SIGFPE: u64 = 8;
    let (signal, code, at) = match kind {
        0 => (SIGFPE, 1, instruction),
        1 => (SIGTRAP, 2, instruction),
        KIND_BREAKPOINT => (SIGTRAP, SI_KERNEL, 0),
        KIND_OPCODE => (SIGILL, 2, instruction),
        KIND_PROTECTION => (SIGSEGV, SI_KERNEL, 0),
        16 | 19 => (SIGFPE, 7, instruction),
        17 => (SIGBUS, 1, address),
        KIND_MEMORY => match process.memory.usable(address) {
            Some(rights) if rights.contains(access(error)) => (SIGBUS, 2, address),
            Some(_) => (SIGSEGV, 2, address),
            None => (SIGSEGV, 1, address),
        },
        _ => (SIGSEGV, SI_KERNEL, 0),
    };
    Info { signal, code, fields: [at, 0, 0, 0] }
}
