//! The end of the command when its output cannot be written: nobody reads it any more, as in `nacre
//! lint | head`, or its disk is full.
//!
//! The signal for closed pipes stays ignored, as Rust's library has it: the command writes to
//! sockets of machines that may end, too. So a failed `println!` is looked for.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use crate::failure::{Class, Failure};

/// Status of a command that was ended by the signal for broken pipes, as shells tell it.
const CLOSED: i32 = 141;
/// Starts of what Rust's library says when output and errors cannot be written.
const FAILED: [&str; 2] = ["failed printing to stdout: ", "failed printing to stderr: "];

/// Returns the status with which the command ends because its output could not be written, and what
/// it has to say of it.
pub fn ending(error: &str, is_closed: bool) -> (i32, Option<Failure>) {
    if is_closed {
        return (CLOSED, None);
    }
    let failure = Failure::new(Class::File, format!("cannot write the output: {error}"));
    (failure.class.status(), Some(failure))
}

/// Returns what could not be written, if that is why the command panics.
fn unwritten<'a>(info: &'a PanicHookInfo<'_>) -> Option<&'a str> {
    let message = info.payload_as_str()?;
    FAILED.iter().find_map(|start| message.strip_prefix(start))
}

/// Says it, if the errors can be written.
fn tell(failure: Option<Failure>) {
    if let Some(failure) = failure {
        let _ = writeln!(io::stderr(), "{failure}");
    }
}

/// Lets the command end with a status of its own instead of a panic when it prints and that cannot
/// be written. It says why, unless nobody reads.
pub fn watch() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if let Some(error) = unwritten(info) {
            let (status, failure) = ending(error, error.contains("Broken pipe"));
            tell(failure);
            std::process::exit(status);
        }
        usual(info);
    }));
}

/// Writes what waits to be written; the status of the command, which is `status` if that succeeds
/// and `written` says that all before was written.
pub fn finish(status: i32, written: io::Result<()>) -> i32 {
    let Err(error) = written.and_then(|()| io::stdout().flush()) else { return status };
    let (ending, failure) = ending(&error.to_string(), error.kind() == io::ErrorKind::BrokenPipe);
    tell(failure);
    ending
}
