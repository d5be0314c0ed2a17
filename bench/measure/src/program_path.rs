//! The path of this program, from which it starts others.

use core::ffi::{CStr, c_char};

use nacre_rt::Arguments;

/// Key of the program's path in the auxiliary vector.
const AT_EXECFN: u64 = 31;

/// The path that this program was loaded from.
pub fn path(arguments: &Arguments) -> &'static [u8] {
    match arguments.auxiliary(AT_EXECFN) {
        // SAFETY: the entry leads to a string of C that stays, as on any Linux.
        Some(address) => unsafe { CStr::from_ptr(address as *const c_char) }.to_bytes(),
        None => arguments.get(0).unwrap_or_default(),
    }
}
