//! Outcome of an attack, and the statuses of a run.

use alloc::string::String;
use nacre_rt::stream;

/// Result of an attack that did not get through.
pub enum Verdict {
    /// The system refused or survived the attack.
    Refused,
    /// The environment lacks this service, so there is nothing to attack.
    Absent(&'static str),
}

/// Outcome of an attack; the error says how the attack got through.
pub type Outcome = Result<Verdict, String>;

/// Status of a run in which an attack got through.
pub const THROUGH: i32 = 1;
/// Status of a run in which an innocent call failed.
pub const BROKEN: i32 = 2;
/// Status of a run that lacks a service.
pub const ABSENT: i32 = 3;
/// Status of a run with an unknown name.
pub const UNKNOWN: i32 = 125;

/// Prints a line among the messages.
pub fn say(line: &str) {
    // A lost message shows in the status as well.
    let _ = stream::write(stream::MESSAGES, line.as_bytes());
}
