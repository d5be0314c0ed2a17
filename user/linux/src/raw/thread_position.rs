//! Positions of stopped threads, and where threads enter the library: addresses of labels, which
//! `entry/assembly.rs` defines.

use crate::raw::wait_window;
use nacre_abi::environment::{FOREIGN_LIBRARY, OBJECTS};

unsafe extern "C" {
    static nacre_foreign_entry: u8;
    static nacre_quick_start: u8;
    static nacre_quick_end: u8;
    static nacre_leave_start: u8;
    static nacre_leave_end: u8;
    static nacre_signal_entry: u8;
    static nacre_site_call: u8;
    static nacre_site_quick: u8;
    static nacre_site_quick_end: u8;
}

/// Position of a stopped thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Program code: the thread can be made to enter the library.
    Program,
    /// Entry or exit code that no longer looks at signals. In a moment the thread will be
    /// elsewhere.
    Passing,
    /// Library code that waits for an answer to a message, or is about to. Without the answer it
    /// can go on at this address.
    Waiting(u64),
    /// Library code: the thread looks for signals on its way out.
    Library,
}

/// Returns the position of the instruction at `address`.
pub fn place(address: u64) -> Place {
    let within = |start: *const u8, end: *const u8| (start as u64..end as u64).contains(&address);
    let quick = within(&raw const nacre_quick_start, &raw const nacre_quick_end) || within(&raw const nacre_site_quick, &raw const nacre_site_quick_end);
    let passing = quick || within(&raw const nacre_leave_start, &raw const nacre_leave_end);
    match (address, wait_window::window(address)) {
        _ if passing => Place::Passing,
        (_, Some(end)) => Place::Waiting(end),
        (FOREIGN_LIBRARY..OBJECTS, None) => Place::Library,
        _ => Place::Program,
    }
}

/// Returns the address at which the kernel continues the program's system calls.
pub fn foreign_entry() -> u64 {
    &raw const nacre_foreign_entry as u64
}

/// Returns the address at which a thread continues that was stopped in the program. Its block's
/// `resume` holds its old instruction pointer.
pub fn signal_entry() -> u64 {
    &raw const nacre_signal_entry as u64
}

/// Returns the entry points of calls that do not come through the kernel: for any call, and for
/// calls that may have a cached answer.
pub fn site_entries() -> [u64; 2] {
    [&raw const nacre_site_call as u64, &raw const nacre_site_quick as u64]
}
