//! Commands of this machine that are run for what they print.

use std::process::{Command, Stdio};

/// Returns the output of a command, or nothing if it cannot be started.
pub fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}
