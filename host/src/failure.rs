//! Failures of the command: a class with an exit status of its own, a sentence, and a remedy.

use std::fmt;

/// Reason why the command itself, not the program that it runs, ends without success. Each has its
/// own exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A file given on the command line cannot be read or written.
    File,
    /// The command line is wrong.
    Usage,
    /// The tree cannot be built.
    Build,
    /// A tool or device that Nacre needs is missing on this machine.
    Machine,
    /// The kernel panicked, or the guest ended without saying a status.
    Guest,
    /// The time given by `--timeout` is over.
    Timeout,
    /// The command itself failed.
    Internal,
    /// The program is there but cannot be run.
    NotRunnable,
    /// The program is not there.
    NotFound,
    /// The person at the terminal left with Ctrl-].
    Left,
}

impl Class {
    /// The exit status.
    pub const fn status(self) -> i32 {
        match self {
            Class::File => 119,
            Class::Usage => 120,
            Class::Build => 121,
            Class::Machine => 122,
            Class::Guest => 123,
            Class::Timeout => 124,
            Class::Internal => 125,
            Class::NotRunnable => 126,
            Class::NotFound => 127,
            Class::Left => 130,
        }
    }
}

/// The table of statuses that `--help` shows.
pub const STATUSES: &str = "\
Exit status: that of the program run (128 + N if signal N killed it), or
  119  a file given on the command line cannot be read or written
  120  the command line is wrong
  121  the tree cannot be built
  122  this machine lacks something that Nacre needs (QEMU, a package)
  123  the kernel panicked, or the guest ended without a status
  124  the time given by --timeout is over
  125  the command itself failed
  126  the program cannot be run: not an ELF, truncated, for another machine
  127  the program was not found
  130  left with Ctrl-]
A test or check that finds faults ends with 1.";

/// A failure to be told to the person who typed the command.
#[derive(Debug)]
pub struct Failure {
    /// Class, which gives the exit status.
    pub class: Class,
    /// Event, as a sentence without a full stop.
    pub message: String,
    /// Action that helps, if there is one.
    pub remedy: Option<String>,
}

/// Result of most functions of the command.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A failure with a message and no remedy yet.
    pub fn new(class: Class, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), remedy: None }
    }

    /// Adds a remedy.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Failure {
        self.remedy = Some(remedy.into());
        self
    }
}

/// A question after the candidate nearest to `word`, to be put behind a message; empty if none is
/// near. A word of one or two letters, as `-f`, is near to too many to suggest any but the same in
/// other case.
pub fn suggestion(word: &str, candidates: impl Iterator<Item = impl AsRef<str>>) -> String {
    let measured = candidates.map(|candidate| (strsim::damerau_levenshtein(word, candidate.as_ref()), candidate));
    match measured.min_by_key(|(distance, _)| *distance) {
        Some((distance, found)) if 3 * distance <= word.len() || word.eq_ignore_ascii_case(found.as_ref()) => format!("; did you mean {}?", found.as_ref()),
        _ => String::new(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "nacre: {}", self.message)?;
        match &self.remedy {
            Some(remedy) => write!(formatter, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// Turns an input or output error into a failure that says what was being done.
pub trait Context<T> {
    /// `what` is a clause such as "cannot read /etc/passwd".
    fn context(self, class: Class, what: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, class: Class, what: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| Failure::new(class, format!("{}: {error}", what())))
    }
}
