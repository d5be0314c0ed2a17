//! The streams that a program was born with.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU64, Ordering};

use nacre_proto::flags::OWN_POSITION;
use nacre_proto::{Errno, file, parent};
use nacre_sys::Reference;

/// Number of the stream that is read.
pub const INPUT: usize = 0;
/// Number of the stream for results.
pub const OUTPUT: usize = 1;
/// Number of the stream for messages.
pub const MESSAGES: usize = 2;

/// References to the streams, 0 until they were asked for.
static STREAMS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// The stream with this number.
pub fn stream(number: usize) -> Result<Reference, Errno> {
    let place = STREAMS.get(number).ok_or(Errno::ENOENT)?;
    let known = place.load(Ordering::Acquire);
    if known != 0 {
        return Ok(Reference(known));
    }
    let found = parent::stream(Reference::PARENT, number as u64)?.file;
    match place.compare_exchange(0, found.handle().0, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(found.leak()),
        Err(first) => Ok(Reference(first)),
    }
}

/// Writes all of `bytes` to the stream with this number.
pub fn write(number: usize, mut bytes: &[u8]) -> Result<(), Errno> {
    let stream = stream(number)?;
    while !bytes.is_empty() {
        let piece = &bytes[..bytes.len().min(nacre_abi::message::MAX_BYTES as usize)];
        let count = file::write(stream, OWN_POSITION, piece)?.count as usize;
        if count == 0 || count > piece.len() {
            return Err(Errno::EIO);
        }
        bytes = &bytes[count..];
    }
    Ok(())
}

/// Formatted text for a stream, gathered into few messages.
#[derive(Debug)]
pub struct Writer {
    number: usize,
    bytes: [u8; 256],
    size: usize,
}

impl Writer {
    /// A writer to the stream with this number.
    pub fn new(number: usize) -> Writer {
        Writer { number, bytes: [0; 256], size: 0 }
    }

    /// Sends what was gathered.
    pub fn flush(&mut self) -> fmt::Result {
        let size = core::mem::take(&mut self.size);
        write(self.number, &self.bytes[..size]).map_err(|_| fmt::Error)
    }
}

impl Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > self.bytes.len() - self.size {
            self.flush()?;
        }
        match self.bytes.get_mut(self.size..self.size + text.len()) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                self.size += text.len();
                Ok(())
            }
            None => write(self.number, text.as_bytes()).map_err(|_| fmt::Error),
        }
    }
}

/// Writes text to a stream. Programs use [`print!`](crate::print!) and [`eprint!`](crate::eprint!).
pub fn print(number: usize, arguments: fmt::Arguments<'_>) {
    let mut writer = Writer::new(number);
    // As in other systems, text that nobody takes is lost.
    let _ = writer.write_fmt(arguments).and_then(|()| writer.flush());
}

/// Writes to the stream for results.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => { $crate::stream::print($crate::stream::OUTPUT, core::format_args!($($argument)*)) };
}

/// Writes to the stream for messages.
#[macro_export]
macro_rules! eprint {
    ($($argument:tt)*) => { $crate::stream::print($crate::stream::MESSAGES, core::format_args!($($argument)*)) };
}
