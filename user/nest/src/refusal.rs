//! Why a program was not started. Each is a sentence for the person who typed the command.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use nacre_abi::Status;
use nacre_proto::Errno;

/// Path of the library of foreign calls.
pub const FOREIGN_LIBRARY_PATH: &[u8] = b"/lib/nacre/linux";

/// Reason why a program was refused. Nothing of it has run, and nothing is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnError {
    /// There is no such file, here or in any directory of the search path.
    NotFound,
    /// The file may not be executed.
    NotExecutable,
    /// A directory cannot be run.
    Directory,
    /// The file or memory service answered with an error; the text says to what.
    Service(&'static str, Errno),
    /// The kernel refused to make a part of the child; the text says which.
    Kernel(&'static str, Status),
    /// The file does not start like an ELF.
    NotElf,
    /// The file is a script: `#!`.
    Script(String),
    /// The file ends before the named part of it.
    Truncated(&'static str),
    /// ELF, but of 32 bits or big endian.
    OtherClass,
    /// The number of the machine that it is for.
    OtherMachine(u16),
    /// The file is no program but an object file, a core dump or the like: the ELF's type.
    OtherType(u16),
    /// More program headers than are looked at, or of an unknown size.
    Headers,
    /// The program asks for this dynamic linker, which was refused.
    Linker(String, Box<SpawnError>),
    /// Segment number: its addresses or sizes cannot be.
    WildSegment(usize),
    /// Segment number: it shares a page with one before it.
    Overlap(usize),
    /// The first instruction is in no segment that may be executed.
    WildEntry,
    /// A native program of another version of the interface.
    OtherVersion(u32),
    /// Bytes that it needs, and what is left in the pool if that is known.
    TooLarge(u64, Option<u64>),
    /// Arguments and environment do not fit the stack.
    Arguments,
    /// The program is fine, but what happened to the library of foreign calls that it needs is not.
    Library(Box<SpawnError>),
}

impl SpawnError {
    /// The exit status that a shell reports for it.
    pub fn exit_status(&self) -> u32 {
        if *self == SpawnError::NotFound { 127 } else { 126 }
    }
}

fn machine_name(number: u16) -> &'static str {
    match number {
        3 => " (32-bit x86)",
        8 => " (MIPS)",
        20 | 21 => " (PowerPC)",
        22 => " (s390)",
        40 => " (32-bit ARM)",
        183 => " (aarch64)",
        243 => " (RISC-V)",
        258 => " (LoongArch)",
        _ => "",
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::NotFound => write!(f, "there is no such program"),
            SpawnError::NotExecutable => write!(f, "the file is not marked as executable (chmod +x)"),
            SpawnError::Directory => write!(f, "it is a directory"),
            SpawnError::Service(doing, errno) => write!(f, "{doing} failed: {errno}"),
            SpawnError::Kernel(making, status) if status.code() == Some(nacre_abi::Code::NoMemory) => write!(f, "there is no memory for {making}: it needs more"),
            SpawnError::Kernel(making, status) => write!(f, "the kernel refused {making}: {status:?}"),
            SpawnError::NotElf => write!(f, "it is not an ELF program"),
            SpawnError::Script(line) if line.is_empty() => write!(f, "it is a script without an interpreter, or its interpreters are scripts in a circle"),
            SpawnError::Script(interpreter) => write!(f, "it is a script; run its interpreter with it: {interpreter}"),
            SpawnError::Truncated(part) => write!(f, "the file is truncated: it ends before its {part}"),
            SpawnError::OtherClass => write!(f, "it is not a 64-bit little-endian ELF"),
            SpawnError::OtherMachine(number) => {
                write!(f, "it is for another machine, number {number}{}; this one is x86-64 (62)", machine_name(*number))
            }
            SpawnError::OtherType(kind) => write!(f, "it is an ELF of type {kind}, not a program (2 or 3)"),
            SpawnError::Headers => write!(f, "its program headers are of an unknown kind, or too many"),
            SpawnError::Linker(linker, why) => write!(f, "it needs the dynamic linker {linker}, which cannot be loaded: {why}"),
            SpawnError::WildSegment(number) => write!(f, "its segment {number} has impossible addresses or sizes"),
            SpawnError::Overlap(number) => write!(f, "its segment {number} shares a page with an earlier one"),
            SpawnError::WildEntry => write!(f, "its first instruction is in none of its executable segments"),
            SpawnError::OtherVersion(version) => {
                write!(f, "it was built for version {version} of the interface; this system has {}", nacre_abi::VERSION)
            }
            SpawnError::TooLarge(needed, Some(left)) => {
                write!(f, "it needs {} KiB of memory and the pool has {} KiB left", needed.div_ceil(1024), left / 1024)
            }
            SpawnError::TooLarge(needed, None) => {
                write!(f, "it needs {} KiB of memory, more than the pool gives", needed.div_ceil(1024))
            }
            SpawnError::Library(why) => {
                let path = core::str::from_utf8(FOREIGN_LIBRARY_PATH).unwrap_or("");
                write!(f, "it is a Linux program, and the library for these, {path}, cannot be loaded: {why}")
            }
            SpawnError::Arguments => write!(f, "its arguments and environment are too long for its stack"),
        }
    }
}
