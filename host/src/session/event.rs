//! Events of a session.

use super::records::Record;
use super::terminal;

/// Events of a session, as its threads report them.
#[derive(Debug)]
pub enum Event {
    /// A serial line ended: QEMU is gone, or going.
    LineEnded,
    /// The port for output ended: QEMU is gone, or going.
    OutputEnded,
    /// The program ended with this status.
    Exit(i32),
    /// The guest takes input from now on.
    Ready,
    /// Standard output cannot be written, or has no reader any more.
    OutputGone(std::io::Error),
    /// Ctrl-] was typed.
    Leave,
    /// The input ended after so many bytes.
    InputEnded(u64),
    /// The terminal has a new size.
    Resize(terminal::Facts),
    /// A line of control for root, about a command.
    Control(String),
    /// A signal asks for the end.
    Signal(i32),
    /// The guest handed out something that it may not.
    Refused(String),
}

/// Returns the event that a guest's record means.
pub fn event_of(record: Record) -> Event {
    match record {
        Record::Exit(status) => Event::Exit(status),
        Record::Ready => Event::Ready,
        Record::Refused(message) => Event::Refused(message),
    }
}
