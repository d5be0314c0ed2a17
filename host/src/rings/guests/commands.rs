//! Commands of `nacre` that run beside a test, as a user types them.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread::{self, JoinHandle};

use crate::failure::{Class, Context, Failure, Outcome};

/// Words of a guest below `checkpoint`, without its command. Time goes by instructions, so that a
/// busy host does not slow the guest's clock.
pub const GUEST: &[&str] = &["checkpoint", "-m", "220M", "machine", "--memory", "80M"];
/// Options of a machine: its memory, and a guard against hanging.
pub const MACHINE: &[&str] = &["--icount", "--memory", "1G", "--timeout", "1200"];

fn nacre(words: &[&str]) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe().context(Class::Internal, || "cannot find this program".to_string())?);
    command.args(words);
    Ok(command)
}

/// Runs a command to its end. Returns its status, its standard output and its standard error.
pub fn finished(words: &[&str]) -> Outcome<(Option<i32>, String, String)> {
    let output = nacre(words)?.stdin(Stdio::null()).output().context(Class::Internal, || "cannot start this program again".to_string())?;
    let Output { status, stdout, stderr } = output;
    Ok((status.code(), String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned()))
}

/// A command that ends with this value at the latest.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: Option<JoinHandle<String>>,
    /// Output that was read.
    said: String,
}

/// Result of a command that has ended.
pub struct Ended {
    /// Status of the command; none after a signal.
    pub status: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error.
    errors: String,
}

impl Ended {
    /// Returns all of it, for a fault.
    pub fn describe(&self) -> String {
        format!("status {:?}, output {:?}, errors {:?}", self.status, self.output, self.errors)
    }
}

impl Running {
    /// Starts a command. Its input stays open.
    pub fn start(words: &[&str]) -> Outcome<Running> {
        let failed = || "cannot start this program again".to_string();
        let mut command = nacre(words)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context(Class::Internal, failed)?;
        let (Some(output), Some(mut errors)) = (child.stdout.take(), child.stderr.take()) else { return Err(Failure::new(Class::Internal, failed())) };
        let errors = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = errors.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Ok(Running { input: child.stdin.take(), output: BufReader::new(output), errors: Some(errors), said: String::new(), child })
    }

    /// Reads the output up to the end of a line that is this text.
    pub fn wait_for(&mut self, text: &str) -> Outcome<()> {
        while self.read_line()?.trim() != text {}
        Ok(())
    }

    /// Reads a line of the output.
    fn read_line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line).context(Class::Internal, || "a command's output cannot be read".to_string())? {
            0 => Err(Failure::new(Class::Guest, format!("a command ended too early; it said {:?}", self.said))),
            _ => {
                self.said += &line;
                Ok(line)
            }
        }
    }

    /// Returns true if the command has not ended.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Types a line.
    pub fn type_line(&mut self, text: &str) -> Outcome<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        input.write_all(format!("{text}\n").as_bytes()).context(Class::Internal, || "a command does not read its input".to_string())
    }

    /// Ends the input, and waits for the end of the command.
    pub fn rest(mut self) -> Outcome<Ended> {
        self.input = None;
        let mut output = std::mem::take(&mut self.said);
        self.output.read_to_string(&mut output).context(Class::Internal, || "a command's output cannot be read".to_string())?;
        let status = self.child.wait().context(Class::Internal, || "cannot wait for a command".to_string())?;
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        Ok(Ended { status: status.code(), output, errors })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
