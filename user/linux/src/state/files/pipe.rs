//! A pipe inside the process. What would have to wait gives `EAGAIN` here; whoever calls waits.

use crate::abi::errno::{EAGAIN, EPIPE, Errno};
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

/// Bytes that a pipe holds.
pub const CAPACITY: usize = 65536;

/// State that both ends share.
#[derive(Default)]
struct Pipe {
    bytes: RefCell<VecDeque<u8>>,
    readers: Cell<usize>,
    writers: Cell<usize>,
}

/// End of a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Bytes come out.
    Read,
    /// Bytes go in.
    Write,
}

/// One end of a pipe; it counts as open while it exists.
pub struct End {
    pipe: Rc<Pipe>,
    side: Side,
}

/// A new pipe: where to read, where to write.
pub fn create() -> (End, End) {
    let pipe = Rc::new(Pipe::default());
    pipe.readers.set(1);
    pipe.writers.set(1);
    (End { pipe: pipe.clone(), side: Side::Read }, End { pipe, side: Side::Write })
}

impl End {
    /// Returns the side of this end.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Bytes that can be read now.
    pub fn waiting(&self) -> usize {
        self.pipe.bytes.borrow().len()
    }

    /// Takes bytes out; 0 at the end, when nobody can write any more.
    pub fn read(&self, into: &mut [u8]) -> Result<usize, Errno> {
        let mut bytes = self.pipe.bytes.borrow_mut();
        if bytes.is_empty() && !into.is_empty() {
            return if self.pipe.writers.get() == 0 { Ok(0) } else { Err(EAGAIN) };
        }
        let count = into.len().min(bytes.len());
        for (place, byte) in into.iter_mut().zip(bytes.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }

    /// Puts bytes in, as many as there is room for.
    pub fn write(&self, from: &[u8]) -> Result<usize, Errno> {
        if self.pipe.readers.get() == 0 {
            return Err(EPIPE);
        }
        let mut bytes = self.pipe.bytes.borrow_mut();
        let count = from.len().min(CAPACITY - bytes.len());
        if count == 0 && !from.is_empty() {
            return Err(EAGAIN);
        }
        bytes.extend(&from[..count]);
        Ok(count)
    }

    /// Returns true if a read (or a write, at the other end) would not block.
    pub fn is_ready(&self) -> bool {
        match self.side {
            Side::Read => self.waiting() != 0 || self.pipe.writers.get() == 0,
            Side::Write => self.waiting() < CAPACITY || self.pipe.readers.get() == 0,
        }
    }

    /// Returns true if the other end is closed.
    pub fn is_alone(&self) -> bool {
        match self.side {
            Side::Read => self.pipe.writers.get() == 0,
            Side::Write => self.pipe.readers.get() == 0,
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let count = match self.side {
            Side::Read => &self.pipe.readers,
            Side::Write => &self.pipe.writers,
        };
        count.set(count.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order_and_then_the_end() {
        let (reader, writer) = create();
        assert_eq!(writer.write(b"hello"), Ok(5));
        let mut buffer = [0; 3];
        assert_eq!(reader.read(&mut buffer), Ok(3));
        assert_eq!(&buffer, b"hel");
        drop(writer);
        assert!(reader.is_alone() && reader.is_ready());
        assert_eq!(reader.read(&mut buffer), Ok(2));
        assert_eq!(reader.read(&mut buffer), Ok(0));
    }

    #[test]
    fn what_would_wait_is_refused() {
        let (reader, writer) = create();
        assert_eq!(reader.read(&mut [0]), Err(EAGAIN));
        assert_eq!(writer.write(&[0; CAPACITY + 1]), Ok(CAPACITY));
        assert_eq!(writer.write(&[0]), Err(EAGAIN));
        assert!(!writer.is_ready());
        drop(reader);
        assert_eq!(writer.write(&[0]), Err(EPIPE));
    }
}
