//! A look at a byte of the program whose page may not come: memory was promised, and there is none.
//! The exception is the answer of the look, and no failure of the library.

use core::arch::naked_asm;

unsafe extern "C" {
    static nacre_touch_start: u8;
    static nacre_touch_end: u8;
    static nacre_touch_failed: u8;
}

/// Reads a byte. Returns 0, or 1 if it was not there.
#[unsafe(naked)]
unsafe extern "C" fn look(address: u64) -> u64 {
    naked_asm!(
        ".globl nacre_touch_start, nacre_touch_end, nacre_touch_failed",
        "xor eax, eax",
        "nacre_touch_start:",
        "mov cl, [rdi]",
        "nacre_touch_end:",
        "ret",
        "nacre_touch_failed:",
        "mov eax, 1",
        "ret",
    )
}

/// Touches the page of a byte that the program's map allows to be read. Returns true if it came.
pub fn touch(address: u64) -> bool {
    // SAFETY: it reads a byte of memory that the map has, and changes nothing. A thread whose page
    // does not come goes on at the label behind the look, where the stack is the same.
    unsafe { look(address) == 0 }
}

/// Returns the address at which a thread goes on whose instruction at `address` is the look, and
/// failed.
pub fn failed(address: u64) -> Option<u64> {
    let range = &raw const nacre_touch_start as u64..&raw const nacre_touch_end as u64;
    range.contains(&address).then_some(&raw const nacre_touch_failed as u64)
}

/// Bytes of the instruction of a kernel call.
const CALL: [u8; 2] = [0x0f, 0x05];

/// Returns the address behind a kernel call, if the instruction of the library at `address` is one.
/// `address` must be that of an instruction that a thread of this program was about to carry out.
pub fn behind_call(address: u64) -> Option<u64> {
    // SAFETY: a thread had its exception there, so the bytes are there; nothing writes to them.
    let code = unsafe { (address as *const [u8; CALL.len()]).read_unaligned() };
    (code == CALL).then_some(address + CALL.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_alone_may_fail() {
        let byte = 7u8;
        assert!(touch(&raw const byte as u64));
        let start = &raw const nacre_touch_start as u64;
        let end = failed(start);
        assert!(end.is_some_and(|end| end > start && failed(end).is_none()));
        assert_eq!(failed(start - 1), None);
    }
}
