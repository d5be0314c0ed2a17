//! `clear_refs` in `/proc`: forgets which pages were written.

use crate::abi::errno::{EINVAL, Errno};
use crate::process::Process;
use crate::state::memory::soft_dirty;

/// Maximum length of a number that Linux looks at.
const LONGEST: usize = 12;
/// Number that asks for soft-dirty bits to be cleared.
const SOFT_DIRTY: i32 = 4;
/// Numbers that Linux knows. Those but [`SOFT_DIRTY`] are about marks of use, and the highest use
/// of memory, which nothing here shows.
const KNOWN: core::ops::RangeInclusive<i32> = 1..=5;

/// The number in a text.
fn number(text: &[u8]) -> Option<i32> {
    let text = core::str::from_utf8(&text[..text.len().min(LONGEST)]).ok()?;
    text.trim_matches(|letter: char| letter.is_ascii_whitespace()).parse().ok()
}

/// Writes to the file. `EINVAL`: not a number that has a meaning.
pub fn write(process: &mut Process, from: &[u8]) -> Result<usize, Errno> {
    let asked = number(from).filter(|number| KNOWN.contains(number)).ok_or(EINVAL)?;
    if asked == SOFT_DIRTY {
        process.need_exceptions()?;
        let Process { threads, memory, .. } = process;
        // The kernel may be about to write an answer there, which waits for no page.
        soft_dirty::clear(memory, |area| threads.all().any(|(_, thread)| thread.answer.0 < area.end && area.start < thread.answer.1))?;
    }
    Ok(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_with_space_around_them() {
        assert_eq!([&b"4"[..], b" 4\n", b"+4", b"-1", b"0000000000004"].map(number), [Some(4), Some(4), Some(4), Some(-1), Some(0)]);
        assert_eq!([&b""[..], b"x", b"0x4", b"4 4", b"\xff"].map(number), [None; 5]);
    }
}
