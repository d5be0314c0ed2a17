//! Output processing: what becomes of bytes on their way to the screen, and which column they leave
//! the cursor in.

use super::attributes::{Attributes, output};
use alloc::collections::VecDeque;

/// Position of the cursor.
#[derive(Default, Debug)]
pub struct Output {
    column: u32,
}

impl Output {
    /// Appends what `byte` becomes to `to`.
    pub fn push(&mut self, attributes: &Attributes, byte: u8, to: &mut VecDeque<u8>) {
        let flags = attributes.output;
        let has = |flag| flags & (output::PROCESS | flag) == output::PROCESS | flag;
        match byte {
            b'\n' if has(output::NEWLINE_TO_BOTH) => {
                self.column = 0;
                to.extend(b"\r\n");
                return;
            }
            b'\n' if has(output::NEWLINE_RETURNS) => self.column = 0,
            b'\r' if has(output::NO_RETURN_AT_START) && self.column == 0 => return,
            b'\r' if has(output::RETURN_TO_NEWLINE) => return to.push_back(b'\n'),
            b'\t' => return self.tab(has(output::TABS), to),
            b'\r' => self.column = 0,
            8 => self.column = self.column.saturating_sub(1),
            // Control characters and the later bytes of a UTF-8 character take no room.
            0..=0x1f | 0x7f..=0xbf => {}
            _ => self.column += 1,
        }
        to.push_back(byte);
    }

    fn tab(&mut self, expand: bool, to: &mut VecDeque<u8>) {
        let width = 8 - self.column % 8;
        self.column += width;
        if expand {
            to.extend(core::iter::repeat_n(b' ', width as usize));
        } else {
            to.push_back(b'\t');
        }
    }

    /// The column that the next byte will stand in.
    pub fn column(&self) -> u32 {
        self.column
    }
}
