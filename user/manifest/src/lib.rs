//! Manifests of monitors: what a command line may say, and what its help says of it.
#![no_std]
#![forbid(unsafe_code)]

mod help;
mod options;

pub use help::Help;
pub use options::{Given, Stop};

/// A monitor, as people and the host see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Command's name.
    pub name: &'static str,
    /// Purpose of the monitor: a sentence or two.
    pub summary: &'static str,
    /// Number of programs that it runs.
    pub programs: Programs,
    /// Options, in the order of the help. `-h` and `--help` are not among them.
    pub options: &'static [Choice],
    /// Lines behind the options: notes and examples, each line with its newline.
    pub notes: &'static str,
    /// Calls of the program that reach the monitor's parent without the monitor: a sentence.
    pub hands_on: &'static str,
}

/// Number of programs that a monitor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// One: the first word that is no option, and all words behind it.
    One,
    /// One, and before all options a word of this kind.
    Behind(&'static str),
    /// One or none: an option can stand in its place.
    Optional,
    /// One or none, inside of what the monitor runs: no program of this system.
    Guest,
    /// Any number, with a word `:` between two. A word of more colons belongs to a monitor further
    /// inside.
    Several,
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Name with its dashes: two and a word, or one and a letter.
    pub name: &'static str,
    /// Value that it takes.
    pub value: Value,
    /// Part of the command line that it belongs to.
    pub place: Place,
    /// Meaning. Further lines follow a newline.
    pub help: &'static str,
}

/// Value of an option. The text is its name in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The option has no value.
    None,
    /// Number, name or rule.
    Text(&'static str),
    /// File that the monitor reads.
    Input(&'static str),
    /// File that the monitor writes and hands out to the host. `-` is no file.
    Output(&'static str),
    /// Number of files that stay of those that the monitor writes one after the other under each
    /// name of an output: see [`kept`].
    Kept(&'static str),
    /// Directory of the environment.
    Directory(&'static str),
    /// File that the monitor reads and writes, or only reads if `:ro` follows.
    Disk(&'static str),
}

/// Part of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the first program, for the monitor.
    Monitor,
    /// Before each program of several, for that program.
    Program,
}

impl Choice {
    /// Declares an option of the monitor.
    pub const fn new(name: &'static str, value: Value, help: &'static str) -> Choice {
        Choice { name, value, place: Place::Monitor, help }
    }

    /// Declares an option of each program.
    pub const fn of_program(name: &'static str, value: Value, help: &'static str) -> Choice {
        Choice { name, value, place: Place::Program, help }
    }
}

impl Value {
    /// Returns the value's name in the help.
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Value::None => None,
            Value::Text(name) | Value::Input(name) | Value::Output(name) | Value::Kept(name) | Value::Directory(name) | Value::Disk(name) => Some(name),
        }
    }
}

impl Manifest {
    /// Returns the option of this name.
    pub fn choice(&self, name: &[u8]) -> Option<&'static Choice> {
        self.options.iter().find(|choice| choice.name.as_bytes() == name)
    }

    /// Returns the names of all options, `-h` and `--help` included.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().map(|choice| choice.name).chain(["-h", "--help"])
    }

    /// Returns the help text.
    pub const fn help(&self) -> Help {
        Help(*self)
    }
}

/// Splits the value of a disk: its file, and true if it is only read.
pub fn without_read_only(value: &[u8]) -> (&[u8], bool) {
    match value.strip_suffix(b":ro") {
        Some(path) => (path, true),
        None => (value, false),
    }
}

/// Maximum number of files that stay under one name.
const MAX_KEPT: u64 = 1000;

/// Reads the number of files that stay: the newest has the name alone, and the one before it a `.1`
/// behind that.
pub fn kept(value: &[u8]) -> Option<u64> {
    core::str::from_utf8(value).ok()?.parse().ok().filter(|kept| (1..=MAX_KEPT).contains(kept))
}

/// Returns true if a word separates programs: it is made of colons alone.
pub fn is_separator(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(|byte| *byte == b':')
}
