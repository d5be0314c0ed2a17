//! Colours of memory, as the command line names them.

use core::ops::Range;
use nacre_nest::command::number;

/// Largest number of colours ([`memory.coloured_create`](nacre_proto::memory::coloured_create)).
const MAX_COLOURS: u64 = 1024;

/// Colours of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colours {
    /// Number of all colours.
    pub all: u64,
    /// Colours that are chosen.
    pub chosen: Range<u64>,
}

/// The first quarter of sixteen.
pub const USUAL: Colours = Colours { all: 16, chosen: 0..4 };

/// Reads `FIRST-LAST/ALL` or `ONE/ALL`.
pub fn colours(text: &[u8]) -> Option<Colours> {
    let slash = text.iter().position(|byte| *byte == b'/')?;
    let (chosen, all) = (&text[..slash], number(&text[slash + 1..])?);
    let (first, last) = match chosen.iter().position(|byte| *byte == b'-') {
        Some(dash) => (number(&chosen[..dash])?, number(&chosen[dash + 1..])?),
        None => (number(chosen)?, number(chosen)?),
    };
    let is_right = all.is_power_of_two() && all <= MAX_COLOURS && first <= last && last < all;
    is_right.then(|| Colours { all, chosen: first..last + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn colours_are_a_range_of_a_power_of_two() {
        assert_eq!(colours(b"0-3/16"), Some(USUAL));
        assert_eq!(colours(b"7/8"), Some(Colours { all: 8, chosen: 7..8 }));
        for wrong in [&b""[..], b"1", b"3-2/16", b"0-16/16", b"0-3/12", b"0-3/2048", b"-3/16", b"0-/16", b"0-3/", b"18446744073709551615/16"] {
            assert_eq!(colours(wrong), None, "{}", String::from_utf8_lossy(wrong));
        }
    }
}
