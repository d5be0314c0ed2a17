//! Lines for whoever runs the system, through the parent.

use core::fmt::{self, Write};

use nacre_proto::flags::REPORT_MESSAGE;
use nacre_proto::parent;
use nacre_sys::{FunctionCell, Reference};

/// Maximum length of a line, in bytes; the rest is cut off.
pub const MAX_LINE: usize = 512;

static SINK: FunctionCell<fn(&str)> = FunctionCell::new();

/// A line that is being written.
#[derive(Debug)]
pub struct Line {
    bytes: [u8; MAX_LINE],
    size: usize,
}

impl Line {
    /// An empty line.
    pub const fn new() -> Line {
        Line { bytes: [0; MAX_LINE], size: 0 }
    }

    /// Returns the text of the line.
    pub fn text(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.size]).unwrap_or_default()
    }
}

impl Default for Line {
    fn default() -> Line {
        Line::new()
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = text.floor_char_boundary(MAX_LINE - self.size);
        self.bytes[self.size..self.size + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.size += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Sets the function that takes lines, for a program without a parent.
pub fn set_sink(sink: fn(&str)) {
    SINK.set(sink);
}

/// Sends a line. Programs use [`report!`](crate::report!).
pub fn line(arguments: fmt::Arguments<'_>) {
    let mut line = Line::new();
    // A line that is too long is cut.
    let _ = line.write_fmt(arguments);
    match SINK.get() {
        Some(sink) => sink(line.text()),
        // Nobody else could be told that the parent does not listen.
        None => drop(parent::report(Reference::PARENT, REPORT_MESSAGE, line.text())),
    }
}

/// Sends a line to whoever runs the system.
#[macro_export]
macro_rules! report {
    ($($argument:tt)*) => { $crate::report::line(core::format_args!($($argument)*)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let mut line = Line::new();
        assert!(write!(line, "{:>510}", "x").is_ok());
        assert!(line.write_str("aé").is_err());
        assert_eq!(line.text().len(), 511);
        assert!(line.text().ends_with("xa"));
    }
}
