//! What a bank needs of the machine.

use crate::Page;

/// Access to a frame at its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The frame is hidden.
    No,
    /// The frame can be read, but not written.
    Read,
    /// The frame can be read and written.
    Written,
}

/// The machine refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Shows and hides frames, and reads and writes them. Pages are numbers from 0 on, and so are
/// frames.
pub trait Hands {
    /// Shows `frame` at `page`, for writing too if `written` is set. The page was hidden.
    fn show(&mut self, page: u64, frame: usize, written: bool) -> Result<(), Refused>;
    /// Shows frames in a row, from `frame` on, at as many pages from `page` on, all of which were
    /// hidden: how many of them.
    fn show_run(&mut self, page: u64, frame: usize, count: usize, written: bool) -> usize {
        (0..count).take_while(|index| self.show(page + *index as u64, frame + index, written).is_ok()).count()
    }
    /// Hides frames in a row, from `frame` on, which are shown at pages from `page` on: how many of
    /// them.
    fn hide_run(&mut self, page: u64, frame: usize, count: usize) -> usize {
        (0..count).take_while(|index| self.hide(page + *index as u64, frame + index).is_ok()).count()
    }
    /// Sees to it that a frame is shown as it should be.
    fn check_shown(&mut self, _page: u64, _frame: usize, _written: bool) -> Result<(), Refused> {
        Ok(())
    }
    /// Hides the frame. Nobody reaches it any more when this returns.
    fn hide(&mut self, page: u64, frame: usize) -> Result<(), Refused>;
    /// Reads a frame that is hidden.
    fn read(&mut self, frame: usize, into: &mut Page);
    /// Writes one.
    fn write(&mut self, frame: usize, from: &Page);
    /// Fills one with zeros.
    fn clear(&mut self, frame: usize);
    /// Asks the layer below to keep a frame in memory, or to let it go again. Refused: the layer
    /// below lets it go whenever it likes.
    fn keep(&mut self, _frame: usize, _is_kept: bool) -> Result<(), Refused> {
        Ok(())
    }
}
