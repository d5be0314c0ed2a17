//! Where an image is written to: a file, to its end, or a store, in which data lies apart.

use nacre_snapshot::image::{Fault, Hash};

/// Place for an image.
pub trait Output {
    /// Takes more bytes of the image.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Fault>;

    /// Begins an image: with so many bytes of data, of which pages at these offsets may hold
    /// anything but zeros. Returns true if those lie apart, and come before the image.
    fn begins(&mut self, _data: u64, _filled: &[u64]) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Takes a page of data that lies apart.
    fn page(&mut self, _offset: u64, _bytes: &[u8]) -> Result<(), Fault> {
        Err(Fault::File)
    }

    /// Ends the image, whose hash this is.
    fn ends(&mut self, _hash: Hash) -> Result<(), Fault> {
        Ok(())
    }
}

impl<F: FnMut(&[u8]) -> Result<(), Fault>> Output for F {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self(bytes)
    }
}
