//! Copies and clears memory that nothing refers to.

use crate::abi::errno::{ENOMEM, Errno};
use nacre_abi::PAGE_SIZE;
use nacre_sys::memory;

/// Bytes that the parent names in the auxiliary vector, before there is a map.
pub fn given(address: u64, size: u64) -> &'static [u8] {
    if address == 0 || size == 0 {
        return &[];
    }
    // SAFETY: the parent mapped the program's headers where it says; a parent that lies harms its
    // own child.
    unsafe { core::slice::from_raw_parts(address as *const u8, size as usize) }
}

/// Copies whole pages to fresh memory, which is zeros: what nobody has touched is left as it is, so
/// that nobody has to fill it.
pub fn copy_to_fresh(from: u64, to: u64, size: u64) -> Result<(), Errno> {
    // SAFETY: fresh memory, which nobody refers to.
    unsafe { memory::copy(from, to, size) }.map_err(|_| ENOMEM)
}

/// Fills memory that the caller has mapped to be written, and that no program uses any more, with
/// zeros.
pub fn wipe(start: u64, size: u64) {
    // SAFETY: the caller's mapping; nothing else refers to it.
    unsafe { core::ptr::write_bytes(start as *mut u8, 0, size as usize) };
}

/// Writes bytes to memory that the caller has mapped to be written, and that nothing refers to.
pub fn put(to: u64, bytes: &[u8]) {
    // SAFETY: the caller's mapping; nothing else refers to it.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
}

/// Returns true if a page that the program may read holds zeros alone.
pub fn is_zero(page: u64) -> bool {
    // SAFETY: the map says that the page is there, and it is read word by word, as another thread
    // may write it meanwhile.
    (page..page + PAGE_SIZE).step_by(8).all(|word| unsafe { core::ptr::read_volatile(word as *const u64) } == 0)
}
