//! The system as a session sees it.

use crate::registers::Registers;
use alloc::vec::Vec;

/// Name of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct ThreadId {
    /// Number of its process, above 0.
    pub process: u32,
    /// Number of the thread, above 0.
    pub thread: u32,
}

/// Reason for a stop that is more than a signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The signal alone.
    Signal,
    /// A breakpoint; the instruction pointer leads to it.
    Breakpoint,
    /// The process became the program at this path.
    Exec(Vec<u8>),
    /// The process has made this one.
    Fork(ThreadId),
    /// The thread is about to make the system call with this number.
    CallBegins(u64),
    /// The system call with this number has returned.
    CallEnds(u64),
    /// Memory at this address, which is watched, has changed.
    Change(u64),
    /// The program cannot go back beyond its start.
    ReplayBegins,
    /// The program of a recording is about to end.
    ReplayEnds,
}

/// System calls at which a process stops.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Caught {
    /// Empty set of calls.
    #[default]
    Nothing,
    /// All calls.
    All,
    /// Calls with these numbers.
    These(Vec<u64>),
}

impl Caught {
    /// Returns true if a process stops at the call with this number.
    pub fn has(&self, number: u64) -> bool {
        match self {
            Caught::Nothing => false,
            Caught::All => true,
            Caught::These(numbers) => numbers.contains(&number),
        }
    }
}

/// Events that gdb wants to be told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// A process makes another.
    pub forks: bool,
    /// A process becomes another program.
    pub execs: bool,
}

/// Something that ended a time in which processes ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A thread stopped with a signal, by Linux's number, and all others with it.
    Thread(ThreadId, u8, Reason),
    /// A process ended with this status.
    Exited(u32, u8),
    /// A signal ended a process.
    Killed(u32, u8),
}

/// Action on a thread that goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Action {
    /// True if the thread executes one instruction.
    pub is_step: bool,
    /// Signal that it gets, by Linux's number, or 0.
    pub signal: u8,
}

/// Error of an operation on files: Linux's number.
pub type FileError = u32;

/// The system as a session sees it. Numbers of processes and threads are those that the target gave
/// out; all else may be anything.
pub trait Target {
    /// Returns all threads of all processes that are debugged.
    fn threads(&mut self) -> Vec<ThreadId>;
    /// Returns what people call a thread.
    fn name(&mut self, thread: ThreadId) -> Vec<u8>;
    /// The memory of a process is read and written as this thread of it sees it from now on, where
    /// that makes a difference.
    fn select(&mut self, _thread: ThreadId) {}
    /// Reads the registers of a stopped thread.
    fn registers(&mut self, thread: ThreadId) -> Option<Registers>;
    /// Sets the registers of a stopped thread. Returns false if that cannot be done.
    fn set_registers(&mut self, thread: ThreadId, registers: &Registers) -> bool;
    /// Reads memory as the process sees it without breakpoints: how many bytes could be read.
    fn read(&mut self, process: u32, address: u64, into: &mut [u8]) -> usize;
    /// Writes memory of a process. Returns false if not all could be written.
    fn write(&mut self, process: u32, address: u64, bytes: &[u8]) -> bool;
    /// Puts a breakpoint before the instruction at this address of a process.
    fn insert_breakpoint(&mut self, process: u32, address: u64) -> bool;
    /// Takes it away.
    fn remove_breakpoint(&mut self, process: u32, address: u64) -> bool;
    /// Returns true if memory of a process can be watched.
    fn can_watch(&mut self) -> bool {
        false
    }
    /// A process stops when so many bytes at an address change. Returns false if that cannot be.
    fn watch(&mut self, _process: u32, _address: u64, _size: u64) -> bool {
        false
    }
    /// Ends that. Returns false if it was not watched.
    fn unwatch(&mut self, _process: u32, _address: u64, _size: u64) -> bool {
        false
    }
    /// Sets the system calls at which a process stops.
    fn catch_calls(&mut self, process: u32, calls: Caught);
    /// Sets the signals that processes get without a stop: a bit for each, the lowest for signal 1.
    fn pass_signals(&mut self, _signals: u64) {}
    /// Sets the signals that a process gets when it is left while they stop it.
    fn program_signals(&mut self, _signals: u64) {}
    /// Returns Linux's `siginfo` of the signal that has stopped a thread.
    fn signal_info(&mut self, _thread: ThreadId) -> Option<Vec<u8>> {
        None
    }
    /// Notes the events that gdb wants to be told of.
    fn follow(&mut self, events: Events);
    /// Lets threads go on. Others stay stopped.
    fn resume(&mut self, threads: &[(ThreadId, Action)]);
    /// Returns true if threads can go back.
    fn can_go_back(&mut self) -> bool {
        false
    }
    /// Lets the process of a thread go back: by one step, or to the last breakpoint before. A stop
    /// follows, unless this returns false.
    fn go_back(&mut self, _thread: ThreadId, _is_step: bool) -> bool {
        false
    }
    /// Stops all that runs; a stop follows.
    fn interrupt(&mut self);
    /// Ends a process; a stop follows if it runs.
    fn kill(&mut self, process: u32);
    /// Lets a process go on by itself, without breakpoints.
    fn detach(&mut self, process: u32);
    /// Returns the auxiliary vector of a process.
    fn auxiliary_vector(&mut self, process: u32) -> Vec<u8>;
    /// Returns the path of the program that a process runs.
    fn program(&mut self, process: u32) -> Vec<u8>;
    /// Returns the target of a symbolic link.
    fn link(&mut self, path: &[u8]) -> Result<Vec<u8>, FileError>;
    /// Opens a file for reading, by its path: a number.
    fn open(&mut self, path: &[u8]) -> Result<u32, FileError>;
    /// Reads from an open file.
    fn read_file(&mut self, file: u32, offset: u64, size: usize) -> Result<Vec<u8>, FileError>;
    /// Returns the size of an open file.
    fn file_size(&mut self, file: u32) -> Result<u64, FileError>;
    /// Closes a file.
    fn close(&mut self, file: u32) -> Result<(), FileError>;
}
