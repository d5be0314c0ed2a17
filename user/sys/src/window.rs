//! Mapped memory that others may read and write at the same time: reached by copies, word by word,
//! and never by a Rust reference.

use core::ops::Range;

use nacre_abi::environment::{BOOT_IMAGE, FOREIGN_LIBRARY};

use crate::{Span, SpanMut, foreign_copy, memory};

/// Addresses at which windows may lie. They never hold the program's own code, data, heap or
/// stacks. They begin behind what AddressSanitizer keeps for itself in the programs that are built
/// with it (up to 0x1000_8000_0000).
pub const WINDOWS: Range<u64> = 0x1100_0000_0000..0x2000_0000_0000;
/// Boot image and boot information, which root can read.
const BOOT: Range<u64> = BOOT_IMAGE..FOREIGN_LIBRARY;

/// A range of mapped memory. It does not own the mapping: touching it when nothing is mapped there
/// is an exception of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    start: u64,
    size: u64,
}

impl Window {
    /// The window of `size` bytes from `start`; `None` if it leaves [`WINDOWS`] and the boot image.
    pub fn new(start: u64, size: u64) -> Option<Window> {
        let end = start.checked_add(size)?;
        let inside = |range: &Range<u64>| range.start <= start && end <= range.end;
        (inside(&WINDOWS) || inside(&BOOT)).then_some(Window { start, size })
    }

    /// A window anywhere.
    ///
    /// # Safety
    /// No Rust object that is borrowed while the window is used lies in the range.
    pub const unsafe fn anywhere(start: u64, size: u64) -> Window {
        Window { start, size }
    }

    /// First address.
    pub const fn start(self) -> u64 {
        self.start
    }

    /// Size in bytes.
    pub const fn size(self) -> u64 {
        self.size
    }

    /// The `size` bytes from `offset` on; `None` if they leave the window.
    pub fn part(self, offset: u64, size: u64) -> Option<Window> {
        let end = offset.checked_add(size)?;
        (end <= self.size).then_some(Window { start: self.start + offset, size })
    }

    /// The `size` bytes from `offset` on, to be sent.
    pub fn span(self, offset: u64, size: u64) -> Option<Span<'static>> {
        let part = self.part(offset, size)?;
        Some(Span::at(part.start, part.size as usize))
    }

    /// The `size` bytes from `offset` on, to receive into.
    pub fn span_mut(self, offset: u64, size: u64) -> Option<SpanMut<'static>> {
        let part = self.part(offset, size)?;
        Some(SpanMut::at(part.start, part.size as usize))
    }

    /// Copies out, all of `to`; `None` if that leaves the window.
    pub fn read(self, offset: u64, to: &mut [u8]) -> Option<()> {
        foreign_copy::copy_out(self.span(offset, to.len() as u64)?, to);
        Some(())
    }

    /// Copies in, all of `from`; `None` if that leaves the window.
    pub fn write(self, offset: u64, from: &[u8]) -> Option<()> {
        foreign_copy::copy_in(Span::from(from), &mut self.span_mut(offset, from.len() as u64)?);
        Some(())
    }

    /// Copies all of `from` to `offset`; `None` if that leaves the window.
    pub fn copy_from(self, offset: u64, from: Window) -> Option<()> {
        foreign_copy::copy_in(Span::at(from.start, from.size as usize), &mut self.span_mut(offset, from.size)?);
        Some(())
    }

    /// Copies all of `from`, whole pages, to `offset`, as [`memory::copy`](crate::memory::copy)
    /// does: pages that are known to be zeros on both sides cost nothing. `None` if that leaves
    /// the window, or a page may not be read or written.
    pub fn copy_pages_from(self, offset: u64, from: Window) -> Option<()> {
        let to = self.part(offset, from.size)?;
        // SAFETY: no reference leads to where a window may lie.
        unsafe { memory::copy(from.start, to.start, from.size) }.ok()
    }

    /// Fills `size` bytes from `offset` on; `None` if they leave the window.
    pub fn fill(self, offset: u64, size: u64, byte: u8) -> Option<()> {
        foreign_copy::fill(&mut self.span_mut(offset, size)?, byte);
        Some(())
    }

    /// Reads `width` bytes (1, 2, 4 or 8) in one access, as a device's registers want it; `None` if
    /// that leaves the window or is not aligned.
    pub fn load(self, offset: u64, width: u64) -> Option<u64> {
        foreign_copy::load_span(self.span(offset, width)?)
    }

    /// Writes `width` bytes (1, 2, 4 or 8) in one access; `None` as for [`Window::load`].
    pub fn store(self, offset: u64, width: u64, value: u64) -> Option<()> {
        foreign_copy::store_span(&mut self.span_mut(offset, width)?, value)
    }

    /// Replaces `width` bytes (4 or 8) in one access if they are `old`. Returns true if they were;
    /// `None` as for [`Window::load`].
    pub fn replace(self, offset: u64, width: u64, old: u64, new: u64) -> Option<bool> {
        foreign_copy::replace_span(&mut self.span_mut(offset, width)?, old, new)
    }

    /// Reads the word at `offset`.
    pub fn read_word(self, offset: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(offset, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Writes the word at `offset`.
    pub fn write_word(self, offset: u64, value: u64) -> Option<()> {
        self.write(offset, &value.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_stay_where_no_rust_object_is() {
        assert!(Window::new(WINDOWS.start, 4096).is_some());
        assert!(Window::new(BOOT_IMAGE, 1 << 30).is_some());
        assert!(Window::new(WINDOWS.end - 4095, 4096).is_none());
        assert!(Window::new(0x40_0000, 4096).is_none());
        assert!(Window::new(u64::MAX, 2).is_none());
    }

    #[test]
    fn parts_stay_inside() {
        let window = Window::new(WINDOWS.start, 0x1000).unwrap();
        assert_eq!(window.part(0xff8, 8).map(Window::start), Some(WINDOWS.start + 0xff8));
        assert!(window.part(0xff9, 8).is_none());
        assert!(window.part(u64::MAX, 2).is_none());
        assert!(window.read_word(0xffc).is_none());
    }

    #[test]
    fn bytes_go_in_and_come_out() {
        let mut memory = [0u64; 8];
        // SAFETY: `memory` is not used but through the window until it is read below.
        let window = unsafe { Window::anywhere(memory.as_mut_ptr() as u64, 64) };
        window.write(3, b"nacre").unwrap();
        window.write_word(16, 7).unwrap();
        window.copy_from(40, window.part(3, 5).unwrap()).unwrap();
        window.fill(60, 4, 0xff).unwrap();
        let mut out = [0; 5];
        window.read(40, &mut out).unwrap();
        assert_eq!(&out, b"nacre");
        assert_eq!(window.read_word(16), Some(7));
        assert_eq!((window.store(8, 2, 0x1_2345), window.load(8, 4), window.load(9, 1)), (Some(()), Some(0x2345), Some(0x23)));
        assert_eq!((window.load(9, 2), window.load(8, 3), window.load(62, 4), window.store(4, 8, 0)), (None, None, None, None));
        assert_eq!((window.replace(16, 4, 7, 9), window.replace(16, 8, 7, 8), window.replace(16, 8, 9, 8)), (Some(true), Some(false), Some(true)));
        assert_eq!((window.replace(16, 2, 8, 9), window.replace(20, 8, 0, 9), window.replace(64, 4, 0, 9)), (None, None, None));
        assert_eq!(memory[7] >> 32, 0xffff_ffff);
        assert_eq!(memory[2], 8);
    }
}
