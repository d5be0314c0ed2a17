//! Faults that the manager leaves to the library.

use crate::abi::registers::Frame;
use crate::abi::signal_info::Info;
use crate::abi::signal_numbers::SIGSEGV;
use crate::operations::grow_stack;
use crate::process::Process;
use nacre_sys::Thread;

/// A thread has come here by a fault in the range of the stack. What it was about is in the frame,
/// but for the instruction, which is where its `fs` was.
pub fn faulted(process: &mut Process, frame: &mut Frame) {
    let thread = process.me();
    let (kernel, base) = (thread.kernel, thread.fs_base);
    frame.next = kernel.get_state().map_or(0, |state| state.fs_base);
    // A base that was set before can be set again.
    let _ = Thread::set_fs_base(base);
    if !grow_stack::grow_stack(process, frame.stack) {
        process.force(Info { signal: SIGSEGV, code: 1, fields: [frame.stack, 0, 0, 0] });
    }
}
