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

/// Where a stopped thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the program: it can be made to enter the library.
    Program,
    /// On the way in or out, where nobody looks at signals any more: in a moment it will be
    /// elsewhere.
    Passing,
    /// In the library, waiting for an answer to a message, or about to: it can go on without at
    /// this address.
    Waiting(u64),
    /// In the library: it looks for signals on its way out.
    Library,
}

/// Where the instruction at `address` is.
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

/// Where the kernel lets the program's system calls continue.
pub fn foreign_entry() -> u64 {
    &raw const nacre_foreign_entry as u64
}

/// Where a thread that was stopped in the program continues, with what it was about in its block's
/// `resume`.
pub fn signal_entry() -> u64 {
    &raw const nacre_signal_entry as u64
}

/// Where calls go that do not come through the kernel: any, and those that may have an answer that
/// is known.
pub fn site_entries() -> [u64; 2] {
    [&raw const nacre_site_call as u64, &raw const nacre_site_quick as u64]
}
