//! All that the library knows of its process.

pub mod end;
pub mod exchange;
pub mod futex_wake;
pub mod lock;
pub mod manager;
pub mod post_signal;
pub mod signal_thread;
pub mod stop_thread;
pub mod wait;

use crate::abi::call_names;
use crate::abi::errno::Errno;
use crate::raw::thread_block::Block;
use crate::services::connections::Services;
use crate::services::library_file::Library;
use crate::state::credentials::Identity;
use crate::state::files::descriptor_table::Descriptors;
use crate::state::files::open_file::{OpenFile, TimerFile, Told};
use crate::state::files::watches::Watches;
use crate::state::limits::Limits;
use crate::state::memory::Memory;
use crate::state::memory::patched_calls::PatchedCalls;
use crate::state::memory::stack_growth::StackGrowth;
use crate::state::parent_table::Parents;
use crate::state::process_attributes::ProcessAttributes;
use crate::state::queue_notifications::Expected;
use crate::state::random::Random;
use crate::state::scheduling::Schedule;
use crate::state::signals::dispositions::Signals;
use crate::state::signals::signal_thread::SignalThread;
use crate::state::system_v::SystemV;
use crate::state::threads::futex_queues::FutexQueues;
use crate::state::threads::thread::Thread;
use crate::state::threads::thread_table::{PID, Threads};
use crate::state::timers::{CpuTimers, Timer, Timers};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::fmt::{Arguments, Write};
use nacre_sys::{OwnedReference, Reference};
use nacre_sys::lock::RawLock;

/// Words of a set with a bit for each number of a call.
const SET: usize = call_names::COUNT.div_ceil(64);
/// Maximum length of a message to the person who runs the system.
const LONGEST_MESSAGE: usize = 256;

/// The state of the process.
pub struct Process {
    /// Address space.
    pub memory: Memory,
    /// Open files and descriptors.
    pub descriptors: Descriptors,
    /// Current directory, or none for the root.
    pub current: Option<Rc<OpenFile>>,
    /// Directory that absolute paths start at, if it is not the server's root.
    pub root: Option<Rc<OpenFile>>,
    /// Connections to servers.
    pub services: Services,
    /// Dispositions and masks.
    pub signals: Signals,
    /// Numbers and names.
    pub identity: Identity,
    /// Reference that stands for the process at servers where it has locked files.
    pub lock_owner: Option<OwnedReference>,
    /// Keeps its program's file from being written. The first program of a world has none: its
    /// maker keeps the file.
    pub executing: Option<OwnedReference>,
    /// System V objects that the process uses.
    pub keyed: SystemV,
    /// Queues of whose messages it is to be told.
    pub mail: Vec<Expected>,
    /// Resource limits.
    pub limits: Limits,
    /// Threads.
    pub threads: Threads,
    /// The place of the thread whose call this is.
    pub caller: usize,
    /// Number of waits for futexes so far.
    pub tickets: u64,
    /// Threads that wait for futexes.
    pub queues: FutexQueues,
    /// Set if there is a process manager; `None` if the library has not asked yet.
    pub managed: Option<bool>,
    /// Table in which the manager keeps the parents of processes.
    pub parents: Parents,
    /// The thread that hears of what comes from outside, once there is one.
    pub agent: Option<SignalThread>,
    /// The work of that thread, with the address of its port; the start sets it.
    pub signal_thread: fn(usize),
    /// Timers.
    pub timers: Timers,
    /// Timers that are files.
    pub file_timers: Vec<TimerFile>,
    /// Bits of the notifications that servers were asked for.
    pub watches: Watches,
    /// Files whose owners hear of them.
    pub told: Told,
    /// There are, or were, files that give signals.
    pub has_signal_files: bool,
    /// Nanoseconds of processors that the process used before it was this program, once that was
    /// asked for.
    pub used_before: Option<u64>,
    /// `ITIMER_VIRTUAL` and `ITIMER_PROF`.
    pub cpu_timers: CpuTimers,
    /// The lock under which all this is reached; none in tests.
    pub lock: Option<&'static RawLock>,
    /// Attributes that `prctl` sets.
    pub traits: ProcessAttributes,
    /// Extent of the first thread's stack.
    pub growth: StackGrowth,
    /// Commands of `membarrier` that the process has registered.
    pub barriers: u64,
    /// Policy and priority.
    pub schedule: Schedule,
    /// Number of processors that the program is told of; 0 if the library has not asked yet.
    pub processors: u64,
    /// Start and end of the arguments, then of the environment.
    pub strings: [u64; 4],
    /// The path that the program was loaded from.
    pub executable: Vec<u8>,
    /// Places that make calls without the kernel, and how often others are used.
    pub sites: PatchedCalls,
    /// Library file for new environments, once one was made.
    pub library: Option<Rc<Library>>,
    /// Random words for programs that the process starts or becomes.
    pub random: Random,
    /// Missing calls that were reported already, one bit each.
    reported: [u64; SET],
}

/// A line of text of limited length; the rest is dropped.
struct Line {
    bytes: [u8; LONGEST_MESSAGE],
    size: usize,
}

impl Line {
    fn new(arguments: Arguments<'_>) -> Line {
        let mut line = Line { bytes: [0; LONGEST_MESSAGE], size: 0 };
        // A line that is cut off is still written as far as it goes.
        let _ = line.write_fmt(arguments);
        line
    }

    fn text(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.size]).unwrap_or("")
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for character in text.chars() {
            let end = self.size + character.len_utf8();
            let place = self.bytes.get_mut(self.size..end).ok_or(core::fmt::Error)?;
            character.encode_utf8(place);
            self.size = end;
        }
        Ok(())
    }
}

impl Process {
    /// The process of a program with this memory, and this block for its first thread.
    #[inline(always)]
    pub fn new(memory: Memory, executable: Vec<u8>, block: &'static Block) -> Process {
        Process {
            memory,
            descriptors: Descriptors::new(),
            current: None,
            root: None,
            services: Services::default(),
            signals: Signals::new(),
            identity: Identity::new(),
            lock_owner: None,
            executing: None,
            keyed: Default::default(),
            mail: Vec::new(),
            limits: Limits::new(),
            threads: Threads::new(Thread::new(PID, block, nacre_sys::Thread::FIRST)),
            caller: 0,
            tickets: 0,
            queues: FutexQueues::new(),
            managed: None,
            parents: Parents::default(),
            agent: None,
            signal_thread: |_| (),
            timers: Timers::new(),
            file_timers: Vec::new(),
            watches: Watches::new(),
            told: Vec::new(),
            has_signal_files: false,
            used_before: None,
            cpu_timers: [Timer::new(); 2],
            lock: None,
            traits: ProcessAttributes::default(),
            growth: StackGrowth::default(),
            barriers: 0,
            schedule: Schedule::default(),
            processors: 0,
            strings: [0; 4],
            executable,
            sites: PatchedCalls::default(),
            library: None,
            random: Default::default(),
            reported: [0; SET],
        }
    }

    /// A line for whoever runs the system.
    pub fn report(&mut self, arguments: Arguments<'_>) {
        self.services.report(Line::new(arguments).text());
    }

    /// Notes that a call lacks something here; true if it is the first time. Numbers beyond all
    /// tables count as one.
    pub fn is_first_lack(&mut self, number: usize) -> bool {
        let index = number.min(64 * SET - 1);
        let (word, bit) = (&mut self.reported[index / 64], 1 << (index % 64));
        let is_first = *word & bit == 0;
        *word |= bit;
        is_first
    }

    /// Says once of each call that it does not exist here.
    pub fn report_lacking(&mut self, number: usize) {
        if self.is_first_lack(number) {
            let name = call_names::name(number).unwrap_or("unknown");
            self.services.report_call(Line::new(format_args!("{name}({number})")).text());
        }
    }

    /// Enters an open file at the lowest descriptor that is free.
    pub fn open(&mut self, file: OpenFile, close_on_exec: bool) -> Result<u64, Errno> {
        self.descriptors.insert(Rc::new(file), 0, close_on_exec, self.limits.descriptors())
    }

    /// The directory that relative paths start at.
    pub fn current_directory(&mut self) -> Result<Reference, Errno> {
        match self.current.clone().filter(|current| current.node().is_none()) {
            Some(directory) => directory.reference(),
            None => self.services.files(),
        }
    }

    /// The directory that absolute paths start at.
    pub fn root_directory(&mut self) -> Result<Reference, Errno> {
        match self.root.clone() {
            Some(root) => root.reference(),
            None => self.services.files(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut() {
        let text = "\u{e9}".repeat(200);
        assert_eq!(Line::new(format_args!("x{text}")).text().len(), 255);
        assert_eq!(Line::new(format_args!("{}({})", "fork", 57)).text(), "fork(57)");
    }
}
