//! The person's terminal: its size, raw mode, and its way back from raw mode whatever happens.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

use rustix::fs::{FileType, fstat, major, minor};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Facts about the terminal, for the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Rows of the screen.
    pub rows: u16,
    /// Columns of the screen.
    pub columns: u16,
    /// Set if both input and output are a terminal.
    pub is_terminal: bool,
    /// Set if output and errors are one file, so that their order is seen.
    pub is_one_output: bool,
    /// Set if the input is this machine's /dev/null.
    pub is_null: bool,
}

impl Facts {
    /// Facts of a pipe, which is no terminal.
    pub const PIPE: Facts = Facts { rows: 24, columns: 80, is_terminal: false, is_one_output: false, is_null: false };

    /// The facts of this process's terminal.
    pub fn current() -> Facts {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let facts = Facts { is_terminal, is_one_output: is_one_file(stdout(), stderr()), is_null: is_null(stdin()), ..Facts::PIPE };
        match tcgetwinsize(stdout()) {
            Ok(size) if is_terminal && size.ws_row > 0 && size.ws_col > 0 => {
                Facts { rows: size.ws_row, columns: size.ws_col, ..facts }
            }
            _ => facts,
        }
    }
}

/// Returns true if both descriptors are of the same file, pipe, socket or terminal.
fn is_one_file(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let identity = |file| fstat(file).map(|status| (status.st_dev, status.st_ino)).ok();
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Returns true if a descriptor is of /dev/null.
fn is_null(file: BorrowedFd<'_>) -> bool {
    const NULL: (u32, u32) = (1, 3);
    let device = fstat(file).ok().filter(|status| FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice);
    device.is_some_and(|status| (major(status.st_rdev), minor(status.st_rdev)) == NULL)
}

impl fmt::Display for Facts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Facts { is_terminal: true, .. } => "tty",
            Facts { is_null: true, .. } => "null",
            _ => "pipe",
        };
        let errors = if self.is_one_output { "one" } else { "apart" };
        writeln!(formatter, "{} {} {kind} {errors}", self.rows, self.columns)
    }
}

/// The terminal's mode before raw mode; there while raw mode lasts.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Raw mode, until this is dropped or the process panics.
#[derive(Debug)]
pub struct Raw(());

impl Raw {
    /// Every key goes to the guest as it is; signals, echo and line ends are the guest's affair.
    /// What is not of the guest's terminal has to go through [`Lines`].
    pub fn enter() -> Option<Raw> {
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.input_modes -= InputModes::BRKINT | InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR
            | InputModes::INPCK | InputModes::ISTRIP | InputModes::IXON | InputModes::PARMRK;
        raw.output_modes -= OutputModes::OPOST;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        *BEFORE.lock().ok()? = Some(before);
        restore_on_panic();
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Raw(()))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

/// Brings back the mode from before.
pub fn restore() {
    let before = BEFORE.lock().ok().and_then(|mut before| before.take());
    if let Some(before) = before {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}

fn restore_on_panic() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |information| {
        restore();
        previous(information);
    }));
}

/// Text for a person: lines end as the terminal's mode wants it, whatever the guest wrote.
pub struct Lines<W> {
    to: W,
    is_raw: bool,
}

impl<W: Write> Lines<W> {
    /// Text to `to`, which is a terminal in raw mode or not.
    pub fn new(to: W, is_raw: bool) -> Lines<W> {
        Lines { to, is_raw }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end: &[u8] = if self.is_raw { b"\r\n" } else { b"\n" };
        let text: Vec<u8> = bytes
            .iter()
            .filter(|byte| **byte != b'\r')
            .flat_map(|byte| if *byte == b'\n' { end } else { std::slice::from_ref(byte) })
            .copied()
            .collect();
        self.to.write_all(&text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_the_terminal_wants_it() {
        for (is_raw, wanted) in [(true, b"a\r\nb\r\n".as_slice()), (false, b"a\nb\n")] {
            let mut lines = Lines::new(Vec::new(), is_raw);
            lines.write_all(b"a\r\nb\n").unwrap();
            assert_eq!(lines.to, wanted);
        }
    }

    #[test]
    fn facts_are_one_line() {
        assert_eq!(Facts::PIPE.to_string(), "24 80 pipe apart\n");
        assert_eq!(Facts { rows: 50, columns: 120, is_terminal: true, is_one_output: true, is_null: true }.to_string(), "50 120 tty one\n");
        assert_eq!(Facts { is_null: true, ..Facts::PIPE }.to_string(), "24 80 null apart\n");
    }
}
