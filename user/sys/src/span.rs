//! Spans of memory that messages are copied from and to: ordinary slices, or parts of a
//! [`Window`](crate::Window), which others may write at the same time and which therefore never
//! becomes a slice.

use core::marker::PhantomData;

use crate::foreign_copy;

/// Memory that may be read.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    address: u64,
    size: usize,
    memory: PhantomData<&'a [u8]>,
}

/// Memory that may be written.
#[derive(Debug)]
pub struct SpanMut<'a> {
    address: u64,
    size: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Span<'a> {
    /// The empty span.
    pub const EMPTY: Span<'static> = Span { address: 0, size: 0, memory: PhantomData };

    /// Makes a span. The caller knows that the memory may be read, though others may write it. An
    /// empty span lies at 0, since Rust's empty slices lie where nothing is mapped.
    pub(crate) const fn at(address: u64, size: usize) -> Span<'a> {
        Span { address: if size == 0 { 0 } else { address }, size, memory: PhantomData }
    }

    /// First address.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns true if the span has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the first `size` bytes, or all if there are fewer.
    pub const fn first(self, size: usize) -> Span<'a> {
        Span { size: if size < self.size { size } else { self.size }, ..self }
    }

    /// Copies into `to` as much as fits; how many bytes.
    pub fn copy_to(&self, to: &mut [u8]) -> usize {
        foreign_copy::copy_out(*self, to)
    }
}

impl<'a> SpanMut<'a> {
    /// The empty span.
    pub const EMPTY: SpanMut<'static> = SpanMut { address: 0, size: 0, memory: PhantomData };

    /// Makes a span. The caller knows that the memory may be written, though others may write it
    /// too.
    pub(crate) const fn at(address: u64, size: usize) -> SpanMut<'a> {
        SpanMut { address: if size == 0 { 0 } else { address }, size, memory: PhantomData }
    }

    /// First address.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns true if the span has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the first `size` bytes, or all if there are fewer.
    pub fn first(self, size: usize) -> SpanMut<'a> {
        SpanMut { size: size.min(self.size), ..self }
    }

    /// Copies from `from` as much as fits; how many bytes.
    pub fn copy_from(&mut self, from: Span<'_>) -> usize {
        foreign_copy::copy_in(from, self)
    }

    /// Fills it with one byte.
    pub fn fill(&mut self, byte: u8) {
        foreign_copy::fill(self, byte);
    }
}

impl<'a> From<&'a [u8]> for Span<'a> {
    fn from(bytes: &'a [u8]) -> Span<'a> {
        Span::at(bytes.as_ptr() as u64, bytes.len())
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Span<'a> {
    fn from(bytes: &'a [u8; N]) -> Span<'a> {
        Span::at(bytes.as_ptr() as u64, N)
    }
}

impl<'a> From<&'a str> for Span<'a> {
    fn from(text: &'a str) -> Span<'a> {
        Span::at(text.as_ptr() as u64, text.len())
    }
}

impl<'a> From<&'a mut [u8]> for SpanMut<'a> {
    fn from(bytes: &'a mut [u8]) -> SpanMut<'a> {
        SpanMut::at(bytes.as_mut_ptr() as u64, bytes.len())
    }
}

impl<'a, const N: usize> From<&'a mut [u8; N]> for SpanMut<'a> {
    fn from(bytes: &'a mut [u8; N]) -> SpanMut<'a> {
        SpanMut::at(bytes.as_mut_ptr() as u64, N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_stop_at_the_shorter_end() {
        let from = *b"abcdefghijklmnopqrs";
        let mut to = [0u8; 11];
        assert_eq!(Span::from(&from).copy_to(&mut to), 11);
        assert_eq!(&to, b"abcdefghijk");
        let mut long = [b'.'; 24];
        assert_eq!(SpanMut::from(&mut long).copy_from(Span::from(&from)), 19);
        assert_eq!(&long, b"abcdefghijklmnopqrs.....");
        SpanMut::from(&mut long).first(21).fill(b'x');
        assert_eq!(&long, b"xxxxxxxxxxxxxxxxxxxxx...");
    }
}
