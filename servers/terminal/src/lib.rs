//! A terminal: Linux's line discipline between keys and whoever reads, and on the way from a
//! program to the screen.
//!
//! Bytes that arrive go to `feed`; the line that is being edited is kept apart from the input that
//! can be read. In canonical mode a line becomes readable at its end; `^D` ends one without a
//! newline, and an empty one so ended is an end of file.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod attributes;
mod flow;
mod output;
#[cfg(test)]
mod tests;

pub use attributes::{Attributes, SIZE as ATTRIBUTES_SIZE};

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use attributes::{control, input, local};
use nacre_proto::flags::{TERMINAL_ATTENTION, TERMINAL_INTERRUPT, TERMINAL_QUIT, TERMINAL_SUSPEND};
use output::Output;

/// Maximum of bytes of one line, and of bytes that wait to be read, as in Linux.
const MAX_INPUT: usize = 4095;

/// Signal that a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// `^C`.
    Interrupt,
    /// `^\`.
    Quit,
    /// `^Z`.
    Suspend,
    /// `^\`, for somebody who attends to that key in any mode.
    Attention,
}

impl Signal {
    /// As those who attend the terminal are told.
    pub const fn event(self) -> u64 {
        match self {
            Signal::Interrupt => TERMINAL_INTERRUPT,
            Signal::Quit => TERMINAL_QUIT,
            Signal::Suspend => TERMINAL_SUSPEND,
            Signal::Attention => TERMINAL_ATTENTION,
        }
    }
}

/// The key of [`Signal::Attention`].
const ATTENTION: u8 = 0x1c;
/// Maximum of columns of a tab.
const TAB: u32 = 8;

/// A terminal.
#[derive(Default)]
pub struct Terminal {
    /// Treatment of the bytes that pass.
    pub attributes: Attributes,
    /// Rows and columns.
    pub window: (u16, u16),
    /// The line that is being edited.
    line: Vec<u8>,
    /// The column where the line began, for erasing tabs.
    line_column: u32,
    /// Bytes that can be read.
    ready: VecDeque<u8>,
    /// Ends of the lines in `ready`, counted in bytes from its start (canonical mode). A line of no
    /// bytes is an end of file.
    ends: VecDeque<usize>,
    /// Set if somebody attends to [`ATTENTION`].
    pub has_attention: bool,
    /// The next byte is taken as it is.
    literal: bool,
    output: Output,
    flow: flow::Flow,
}

impl Terminal {
    /// A terminal of this size.
    pub fn new(rows: u16, columns: u16) -> Terminal {
        Terminal { window: (rows, columns), ..Terminal::default() }
    }

    /// Takes a byte from the keyboard. What is to appear on the screen is appended to `echo`.
    pub fn feed(&mut self, byte: u8, echo: &mut VecDeque<u8>) -> Option<Signal> {
        if core::mem::take(&mut self.literal) {
            self.take(byte, echo);
            return None;
        }
        if self.has_attention && byte == ATTENTION {
            return Some(Signal::Attention);
        }
        let byte = self.translate(byte)?;
        if self.take_flow(byte) {
            return None;
        }
        if let Some(signal) = self.signal(byte, echo) {
            return Some(signal);
        }
        if self.attributes.has_local(local::CANONICAL) {
            self.edit(byte, echo);
        } else {
            self.take(byte, echo);
        }
        None
    }

    fn translate(&self, byte: u8) -> Option<u8> {
        let flags = self.attributes.input;
        let byte = if flags & input::STRIP != 0 { byte & 0x7f } else { byte };
        match byte {
            b'\r' if flags & input::IGNORE_RETURN != 0 => None,
            b'\r' if flags & input::RETURN_TO_NEWLINE != 0 => Some(b'\n'),
            b'\n' if flags & input::NEWLINE_TO_RETURN != 0 => Some(b'\r'),
            _ => Some(byte),
        }
    }

    /// Takes a byte that asks for a signal, and returns the signal.
    fn signal(&mut self, byte: u8, echo: &mut VecDeque<u8>) -> Option<Signal> {
        if !self.attributes.has_local(local::SIGNALS) {
            return None;
        }
        let signal = match byte {
            _ if self.attributes.is(byte, control::INTERRUPT) => Signal::Interrupt,
            _ if self.attributes.is(byte, control::QUIT) => Signal::Quit,
            _ if self.attributes.is(byte, control::SUSPEND) => Signal::Suspend,
            _ => return None,
        };
        if !self.attributes.has_local(local::NO_FLUSH) {
            self.flush_input();
        }
        if self.controls_flow() {
            self.start_by_key();
        }
        self.echo_byte(byte, echo);
        Some(signal)
    }

    /// Forgets what was typed and not read.
    pub fn flush_input(&mut self) {
        self.line.clear();
        self.ready.clear();
        self.ends.clear();
    }

    fn edit(&mut self, byte: u8, echo: &mut VecDeque<u8>) {
        let attributes = self.attributes;
        let extended = attributes.has_local(local::EXTENDED);
        match byte {
            _ if attributes.is(byte, control::ERASE) => self.erase_character(echo),
            _ if attributes.is(byte, control::KILL) => self.erase_line(byte, echo),
            _ if extended && attributes.is(byte, control::WORD_ERASE) => self.erase_word(echo),
            _ if extended && attributes.is(byte, control::REPRINT) => self.reprint(byte, echo),
            _ if extended && attributes.is(byte, control::LITERAL_NEXT) => {
                self.literal = true;
                if attributes.has_local(local::ECHO | local::ECHO_CONTROL) {
                    echo.extend(b"^\x08");
                }
            }
            _ if attributes.is(byte, control::END_OF_FILE) => self.end_line(),
            _ => {
                let ends = byte == b'\n'
                    || attributes.is(byte, control::END_OF_LINE)
                    || extended && attributes.is(byte, control::END_OF_LINE_2);
                self.take(byte, echo);
                if ends {
                    self.end_line();
                }
            }
        }
    }

    /// Adds a byte to the input, as it is. A full line takes nothing but its end.
    fn take(&mut self, byte: u8, echo: &mut VecDeque<u8>) {
        let canonical = self.attributes.has_local(local::CANONICAL);
        if self.line.len() + self.ready.len() >= MAX_INPUT && byte != b'\n' {
            return;
        }
        if self.line.is_empty() {
            self.line_column = self.output.column();
        }
        if canonical {
            self.line.push(byte);
        } else {
            self.ready.push_back(byte);
        }
        self.echo_byte(byte, echo);
    }

    fn end_line(&mut self) {
        self.ends.push_back(self.line.len());
        self.ready.extend(self.line.drain(..));
    }

    fn echo_byte(&mut self, byte: u8, echo: &mut VecDeque<u8>) {
        let newline = byte == b'\n' && self.attributes.has_local(local::CANONICAL | local::ECHO_NEWLINE);
        if self.attributes.has_local(local::ECHO) || newline {
            self.show(byte, echo);
        }
    }

    /// Puts a typed byte on the screen, control characters as `^X`.
    fn show(&mut self, byte: u8, echo: &mut VecDeque<u8>) {
        if self.is_shown_as_two(byte) {
            self.output.push(&self.attributes, b'^', echo);
            self.output.push(&self.attributes, byte ^ 0x40, echo);
        } else {
            self.output.push(&self.attributes, byte, echo);
        }
    }

    fn is_shown_as_two(&self, byte: u8) -> bool {
        let is_control = (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f;
        is_control && self.attributes.has_local(local::ECHO_CONTROL)
    }

    fn erase_character(&mut self, echo: &mut VecDeque<u8>) {
        let Some(mut byte) = self.line.pop() else { return };
        // A UTF-8 character goes as one.
        while self.attributes.input & input::UTF8 != 0 && byte & 0xc0 == 0x80 && !self.line.is_empty() {
            byte = self.line.pop().unwrap_or(byte);
        }
        if !self.attributes.has_local(local::ECHO) {
            return;
        }
        if !self.attributes.has_local(local::ECHO_ERASE) {
            return self.show(self.attributes.controls[control::ERASE], echo);
        }
        let width = match byte {
            // What was written meanwhile may have moved the cursor to anywhere.
            b'\t' => self.output.column().saturating_sub(self.column_of_line_end()).min(TAB),
            _ if self.is_shown_as_two(byte) => 2,
            0..=0x1f | 0x7f => 0,
            _ => 1,
        };
        let erase: &[u8] = if byte == b'\t' { b"\x08" } else { b"\x08 \x08" };
        for &byte in erase.iter().cycle().take(erase.len() * width as usize) {
            self.output.push(&self.attributes, byte, echo);
        }
    }

    /// The column behind the line as it is now.
    fn column_of_line_end(&self) -> u32 {
        self.line.iter().fold(self.line_column, |column, &byte| match byte {
            b'\t' => (column / 8 + 1) * 8,
            _ if self.is_shown_as_two(byte) => column + 2,
            0..=0x1f | 0x7f..=0xbf => column,
            _ => column + 1,
        })
    }

    fn erase_word(&mut self, echo: &mut VecDeque<u8>) {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let mut in_word = false;
        while let Some(last) = self.line.last() {
            if in_word && !is_word(last) {
                break;
            }
            in_word |= is_word(last);
            self.erase_character(echo);
        }
    }

    fn erase_line(&mut self, byte: u8, echo: &mut VecDeque<u8>) {
        if self.attributes.has_local(local::ECHO | local::ECHO_KILL | local::ECHO_KILL_ERASE | local::ECHO_ERASE) {
            while !self.line.is_empty() {
                self.erase_character(echo);
            }
            return;
        }
        self.line.clear();
        self.echo_byte(byte, echo);
        if self.attributes.has_local(local::ECHO | local::ECHO_KILL) {
            self.output.push(&self.attributes, b'\n', echo);
        }
    }

    fn reprint(&mut self, byte: u8, echo: &mut VecDeque<u8>) {
        if !self.attributes.has_local(local::ECHO) {
            return;
        }
        self.show(byte, echo);
        self.output.push(&self.attributes, b'\n', echo);
        for index in 0..self.line.len() {
            self.show(self.line[index], echo);
        }
    }

    /// Processes what a program writes; the bytes for the screen are appended to `to`.
    pub fn write(&mut self, bytes: &[u8], to: &mut VecDeque<u8>) {
        for &byte in bytes {
            self.output.push(&self.attributes, byte, to);
        }
    }

    /// Takes over attributes. Input already there stays readable.
    pub fn set_attributes(&mut self, attributes: Attributes, flush: bool) {
        let was_canonical = self.attributes.has_local(local::CANONICAL);
        let had_flow = self.controls_flow();
        self.attributes = attributes;
        if had_flow && !self.controls_flow() {
            self.start_by_key();
        }
        if flush {
            self.flush_input();
        }
        let is_canonical = attributes.has_local(local::CANONICAL);
        if was_canonical && !is_canonical {
            self.ready.extend(self.line.drain(..));
            self.ends.clear();
        } else if !was_canonical && is_canonical && !self.ready.is_empty() {
            self.ends.push_back(self.ready.len());
        }
    }

    /// Returns true if a read would end at once (without the time limit of `VTIME`).
    pub fn is_readable(&self) -> bool {
        if self.attributes.has_local(local::CANONICAL) {
            return !self.ends.is_empty();
        }
        let (minimum, time) = (self.minimum(), self.attributes.controls[control::TIME]);
        self.ready.len() >= minimum.max(1) || (minimum == 0 && time == 0)
    }

    fn minimum(&self) -> usize {
        usize::from(self.attributes.controls[control::MINIMUM])
    }

    /// Returns true if a read of at most `limit` bytes would end at once. It needs no more than it
    /// asks for.
    pub fn is_readable_for(&self, limit: usize) -> bool {
        self.is_readable() || !self.attributes.has_local(local::CANONICAL) && limit > 0 && self.ready.len() >= limit
    }

    /// Returns true if a poll finds input: with a limit of time any byte, and never none.
    pub fn has_input(&self) -> bool {
        if self.attributes.has_local(local::CANONICAL) {
            return !self.ends.is_empty();
        }
        let wanted = if self.attributes.controls[control::TIME] == 0 { self.minimum().max(1) } else { 1 };
        self.ready.len() >= wanted
    }

    /// Returns true if a key would be taken. A line that nobody could read before its end takes
    /// all, and drops what is too much.
    pub fn has_room(&self) -> bool {
        self.line.len() + self.ready.len() < MAX_INPUT || self.attributes.has_local(local::CANONICAL) && self.ends.is_empty()
    }

    /// Returns true if a key for a signal drops what waits.
    pub fn signals_flush(&self) -> bool {
        !self.attributes.has_local(local::NO_FLUSH)
    }

    /// Returns true if output of a background process stops it.
    pub fn stops_background(&self) -> bool {
        self.attributes.has_local(local::STOP_BACKGROUND)
    }

    /// Returns the nanoseconds that a read may wait from now on (`VTIME`); `None`: for ever.
    pub fn patience(&self) -> Option<u64> {
        let time = u64::from(self.attributes.controls[control::TIME]);
        let counts = self.minimum() == 0 || !self.ready.is_empty();
        (!self.attributes.has_local(local::CANONICAL) && time > 0 && counts).then_some(time * 100_000_000)
    }

    /// Returns the number of bytes that the next read can get.
    pub fn available(&self) -> usize {
        if self.attributes.has_local(local::CANONICAL) { self.ends.front().copied().unwrap_or(0) } else { self.ready.len() }
    }

    /// Bytes in all lines that are ready, as `FIONREAD` counts.
    pub fn waiting(&self) -> usize {
        if self.attributes.has_local(local::CANONICAL) { self.ends.iter().sum() } else { self.ready.len() }
    }

    /// Returns the bytes that the next read of at most `limit` bytes gets.
    pub fn look(&self, limit: usize) -> Vec<u8> {
        self.ready.iter().take(self.available().min(limit)).copied().collect()
    }

    /// Reads what is there, at most a line in canonical mode and at most `limit` bytes.
    pub fn read(&mut self, limit: usize) -> Vec<u8> {
        let count = self.available().min(limit);
        if self.attributes.has_local(local::CANONICAL)
            && let Some(end) = self.ends.front_mut()
        {
            *end -= count;
            if *end == 0 {
                self.ends.pop_front();
            }
        }
        self.ready.drain(..count).collect()
    }

    /// Puts back bytes that did not reach their reader. They are first again. `ended`: they were a
    /// line's end.
    pub fn put_back(&mut self, bytes: &[u8], ended: bool) {
        bytes.iter().rev().for_each(|byte| self.ready.push_front(*byte));
        if !self.attributes.has_local(local::CANONICAL) {
            return;
        }
        match self.ends.front_mut() {
            Some(end) if !ended => *end += bytes.len(),
            _ => self.ends.push_front(bytes.len()),
        }
    }

    /// The keyboard is gone: who reads gets what was typed, then ends of file.
    pub fn end_input(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.ends.push_back(0);
    }
}
