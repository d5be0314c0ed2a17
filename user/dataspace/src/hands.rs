//! What a bank needs of the machine.

use crate::Page;

/// How a frame is shown at its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nobody reaches it.
    No,
    /// It can be read, and not written.
    Read,
    /// It can be written.
    Written,
}

/// The machine refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Shows and hides frames, and reads and writes them. Pages are numbers from 0 on, and so are frames.
pub trait Hands {
    /// From now on `page` shows `frame`, to be written too or not. It was hidden.
    fn show(&mut self, page: u64, frame: usize, written: bool) -> Result<(), Refused>;
    /// Nobody reaches the frame any more when this returns.
    fn hide(&mut self, page: u64, frame: usize) -> Result<(), Refused>;
    /// Reads a frame that is hidden.
    fn read(&mut self, frame: usize, into: &mut Page);
    /// Writes one.
    fn write(&mut self, frame: usize, from: &Page);
    /// Fills one with zeros.
    fn clear(&mut self, frame: usize);
}
