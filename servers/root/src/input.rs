//! What the program's standard input is: a terminal, or bytes as they come, up to an end that the
//! host announces.

use crate::terminal::{Signal, Terminal};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_control::Command;

/// Bytes that wait to be read before the line stops being listened to.
const ENOUGH: usize = 16 << 10;

/// Bytes that are worth an answer when more are on their way.
const WORTHWHILE: usize = 4096;

/// Bytes as they come.
#[derive(Default)]
pub struct Pipe {
    queue: VecDeque<u8>,
    received: u64,
    end: Option<u64>,
}

/// The program's input.
pub enum Input {
    /// Keys of a person.
    Terminal(Terminal),
    /// Bytes.
    Pipe(Pipe),
}

impl Input {
    /// Decodes the text of `/etc/nacre/terminal` (`rows columns tty|pipe|null one|apart`).
    pub fn from_facts(facts: &[u8]) -> Input {
        let mut words = facts.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let rows = words.next().and_then(number).unwrap_or(24);
        let columns = words.next().and_then(number).unwrap_or(80);
        match words.next() {
            Some(b"tty") => Input::Terminal(Terminal::new(rows as u16, columns as u16)),
            Some(b"null") => Input::Pipe(Pipe { end: Some(0), ..Pipe::default() }),
            _ => Input::Pipe(Pipe::default()),
        }
    }

    /// Returns true if the same text says that errors go where output goes, in one order.
    pub fn is_one_output(facts: &[u8]) -> bool {
        facts.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(3) == Some(b"one")
    }

    /// Returns true if the same text says that the input is /dev/null.
    pub fn is_null(facts: &[u8]) -> bool {
        facts.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(2) == Some(b"null")
    }

    /// The terminal, if it is one.
    pub fn terminal(&mut self) -> Option<&mut Terminal> {
        match self {
            Input::Terminal(terminal) => Some(terminal),
            Input::Pipe(_) => None,
        }
    }

    /// Takes a byte that arrived.
    pub fn feed(&mut self, byte: u8, echo: &mut VecDeque<u8>) -> Option<Signal> {
        match self {
            Input::Terminal(terminal) => terminal.feed(byte, echo),
            Input::Pipe(pipe) => {
                pipe.received += 1;
                pipe.queue.push_back(byte);
                None
            }
        }
    }

    /// Returns true if the line should be listened to further. A terminal drops what is too much,
    /// as Linux's does.
    pub fn has_room(&self) -> bool {
        match self {
            Input::Terminal(_) => true,
            Input::Pipe(pipe) => pipe.queue.len() < ENOUGH,
        }
    }

    /// The host says that the input ends after `count` bytes in all.
    pub fn end(&mut self, count: Option<u64>) {
        match self {
            Input::Terminal(terminal) => terminal.end_input(),
            Input::Pipe(pipe) => pipe.end = Some(count.unwrap_or(pipe.received)),
        }
    }

    /// Returns true if a read would end at once.
    pub fn is_readable(&self) -> bool {
        match self {
            Input::Terminal(terminal) => terminal.is_readable(),
            Input::Pipe(pipe) => pipe.is_readable(),
        }
    }

    /// Returns true if nothing will come any more.
    pub fn is_ended(&self) -> bool {
        matches!(self, Input::Pipe(pipe) if pipe.queue.is_empty() && pipe.is_ended())
    }

    /// Returns the time in nanoseconds that a read may wait from now on.
    pub fn patience(&self) -> Option<u64> {
        match self {
            Input::Terminal(terminal) => terminal.patience(),
            Input::Pipe(_) => None,
        }
    }

    /// Reads what is there, at most `limit` bytes.
    pub fn read(&mut self, limit: usize) -> Vec<u8> {
        match self {
            Input::Terminal(terminal) => terminal.read(limit),
            Input::Pipe(pipe) => {
                let count = pipe.queue.len().min(limit);
                pipe.queue.drain(..count).collect()
            }
        }
    }

    /// Returns the bytes that the next read of at most `limit` bytes gets.
    pub fn look(&self, limit: usize) -> Vec<u8> {
        match self {
            Input::Terminal(terminal) => terminal.look(limit),
            Input::Pipe(pipe) => pipe.queue.iter().take(limit).copied().collect(),
        }
    }

    /// Returns the number of bytes that can be read.
    pub fn waiting(&self) -> usize {
        match self {
            Input::Terminal(terminal) => terminal.waiting(),
            Input::Pipe(pipe) => pipe.queue.len(),
        }
    }

    /// Appends what a program writes, as it goes to the screen, to `to`.
    pub fn write(&mut self, bytes: &[u8], to: &mut VecDeque<u8>) {
        match self {
            Input::Terminal(terminal) => terminal.write(bytes, to),
            Input::Pipe(_) => to.extend(bytes),
        }
    }
}

impl Pipe {
    /// Returns true if a read would end at once. Once the end is announced the rest is on its way:
    /// then a reader is not bothered with every few bytes that the line brings.
    fn is_readable(&self) -> bool {
        match self.end {
            Some(end) if self.received < end => self.queue.len() >= WORTHWHILE,
            Some(_) => true,
            None => !self.queue.is_empty(),
        }
    }

    fn is_ended(&self) -> bool {
        self.end.is_some_and(|end| self.received >= end)
    }
}

/// A line of control from the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The input ends, after so many bytes if that is said.
    End(Option<u64>),
    /// The terminal has these rows and columns.
    Resize(u16, u16),
    /// As if `^C` were typed.
    Interrupt,
    /// A command for who attends.
    Command(Command),
    /// The command with this number is taken back: nobody waits for its answer.
    Cancel(u64),
}

/// Maximum length of a line of control: a command and its text, two digits a byte.
const MAX_LINE: usize = 32 << 10;

/// Collects lines of control.
#[derive(Default)]
pub struct ControlLines {
    line: Vec<u8>,
}

impl ControlLines {
    /// Takes a byte; lines that say nothing known are dropped.
    pub fn feed(&mut self, byte: u8) -> Option<Control> {
        if byte != b'\n' {
            if self.line.len() < MAX_LINE {
                self.line.push(byte);
            }
            return None;
        }
        let line = core::mem::take(&mut self.line);
        let mut words = line.split(|&byte| byte == b' ' || byte == b'\r').filter(|word| !word.is_empty());
        match words.next()? {
            b"eof" => Some(Control::End(words.next().and_then(number))),
            b"resize" => {
                let (rows, columns) = (number(words.next()?)?, number(words.next()?)?);
                Some(Control::Resize(rows.try_into().ok()?, columns.try_into().ok()?))
            }
            b"interrupt" => Some(Control::Interrupt),
            b"command" => {
                let mut next = || number(words.next()?);
                let (number, operation, flags) = (next()?, next()?, next()?);
                Some(Control::Command(Command { number, operation, flags, ticket: 0, text: from_hex(words.next().unwrap_or_default())? }))
            }
            b"cancel" => Some(Control::Cancel(number(words.next()?)?)),
            _ => None,
        }
    }
}

/// Bytes of two digits each; `None` if something else is among them.
fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok().filter(|_| pair.len() == 2));
    pairs.collect()
}

fn number(digits: &[u8]) -> Option<u64> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_ends_after_what_was_announced() {
        let mut input = Input::from_facts(b"24 80 pipe\n");
        let mut echo = VecDeque::new();
        input.feed(b'a', &mut echo);
        input.end(Some(2));
        assert_eq!(input.read(9), b"a");
        assert!(!input.is_readable());
        input.feed(b'\r', &mut echo);
        assert!(input.is_readable() && !input.is_ended());
        assert_eq!(input.read(9), b"\r");
        assert!(input.is_readable() && input.is_ended() && echo.is_empty());
    }

    #[test]
    fn an_input_without_bytes_is_over_at_once() {
        let input = Input::from_facts(b"24 80 null apart\n");
        assert!(input.is_readable() && input.is_ended());
        assert!(Input::is_null(b"24 80 null apart\n") && !Input::is_null(b"24 80 pipe apart\n"));
    }

    #[test]
    fn facts_make_a_terminal() {
        let mut input = Input::from_facts(b"50 120 tty\n");
        assert_eq!(input.terminal().unwrap().window, (50, 120));
        assert!(Input::from_facts(b"").terminal().is_none());
    }

    #[test]
    fn control_lines_are_read_and_others_dropped() {
        let mut lines = ControlLines::default();
        let mut feed = |text: &[u8]| text.iter().filter_map(|&byte| lines.feed(byte)).collect::<Vec<_>>();
        assert_eq!(feed(b"eof 12\neof\nresize 3 4\n"), [Control::End(Some(12)), Control::End(None), Control::Resize(3, 4)]);
        assert_eq!(feed(b"resize 3\nresize 70000 1\nwhat\n\ninterrupt\n"), [Control::Interrupt]);
        let command = Command { number: 7, operation: 1, flags: 0, ticket: 0, text: b"a\xff".to_vec() };
        assert_eq!(feed(b"command 7 1 0 61ff\ncommand 7 1 0 6\ncommand 7 1\ncancel 7\n"), [Control::Command(command), Control::Cancel(7)]);
        assert_eq!(feed(&[b'x'; 100_000]), []);
    }
}
