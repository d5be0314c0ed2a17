//! Names of the kernel's functions, for the backtrace of a panic: room in the image that is filled after linking (`kernel/image/symbols`).
//!
//! Layout, little endian: `NSYM`, count (32 bits); for each function its offset from the kernel's start and the offset of its name from the start of the
//! room (32 bits each), ascending; the names, each ended by a zero byte.

use crate::bytes::u32_at;
use core::hint::black_box;

/// Size of the room.
const ROOM: usize = 48 << 10;

#[unsafe(link_section = ".nacre.symbols")]
static SYMBOLS: [u8; ROOM] = [0; ROOM];

/// Name of the function around `offset` (from the kernel's start), and how far into it that is.
pub fn find(offset: u32) -> Option<(&'static str, u32)> {
    find_in(black_box(&SYMBOLS), offset)
}

fn find_in(room: &[u8], offset: u32) -> Option<(&str, u32)> {
    if !room.starts_with(b"NSYM") {
        return None;
    }
    let count = u32_at(room, 4)? as usize;
    let start_of = |number: usize| u32_at(room, 8 + 8 * number);
    let last = (0..count).take_while(|number| start_of(*number).is_some_and(|start| start <= offset)).last()?;
    let name = room.get(u32_at(room, 12 + 8 * last)? as usize..)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    Some((core::str::from_utf8(&name[..end]).ok()?, offset - start_of(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_around_an_offset_is_found() {
        let mut room = b"NSYM".to_vec();
        for word in [2u32, 0x10, 24, 0x40, 28] {
            room.extend(word.to_le_bytes());
        }
        room.extend(b"one\0two\0");
        assert_eq!(find_in(&room, 0xf), None);
        assert_eq!(find_in(&room, 0x3f), Some(("one", 0x2f)));
        assert_eq!(find_in(&room, 0x50), Some(("two", 0x10)));
        assert_eq!(find_in(&[0; 64], 0x50), None);
    }
}
