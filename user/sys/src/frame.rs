//! Frames of guests.

use crate::{Window, raw};
use nacre_abi::frame::{FRAME_VERSION, word};
use nacre_abi::{Call, PAGE_SIZE, Status};

/// A page through which a guest is entered and left. The kernel, the thread that enters and those
/// that want it to leave share it.
#[derive(Clone, Copy, Debug)]
pub struct Frame(Window);

impl Frame {
    /// Makes a page of zeros the frame of a guest in the space at `space`, an address of the space
    /// or of a reference to it. `None`: the window is no page.
    pub fn begin(page: Window, space: u64) -> Option<Frame> {
        if page.start() % PAGE_SIZE != 0 || page.size() != PAGE_SIZE {
            return None;
        }
        let frame = Frame(page);
        frame.set(word::VERSION, FRAME_VERSION);
        frame.set(word::SPACE, space);
        Some(frame)
    }

    /// A word, by its number in [`nacre_abi::frame::word`]; 0 behind the end.
    pub fn get(&self, number: usize) -> u64 {
        self.0.load(8 * number as u64, 8).unwrap_or(0)
    }

    /// Sets a word; nothing behind the end.
    pub fn set(&self, number: usize, value: u64) {
        let _ = self.0.store(8 * number as u64, 8, value);
    }

    /// Runs the guest until something happens that is for its monitor.
    ///
    /// # Errors
    /// Those of `thread_enter` in the manual of calls.
    pub fn enter(&self) -> Result<(), Status> {
        raw::call(Call::ThreadEnter, [self.0.start(), 0, 0, 0]).map(drop)
    }
}
