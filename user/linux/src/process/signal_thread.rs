//! The agent: a thread of the library that receives what comes to the process from outside, and makes signals of it.
//!
//! It is made when something first needs it: a handler, a blocked signal, a timer, a wait for files. It holds the lock while it works and gives it up to
//! wait, like any thread; it has no place among the program's threads.

use crate::abi::errno::Errno;
use crate::calls::files::poll::FILES;
use crate::calls::ipc::message_queue::MAIL;
use crate::calls::signals::SIGSEGV;
use crate::entry::assembly::{self, Place, place, signal_entry};
use crate::process::Process;
use crate::process::end::end_by_signal;
use crate::process::threads::Threads;
use crate::raw::thread_block::Block;
use crate::state::signals::pending::{Info, LAST, SI_KERNEL};
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use nacre_abi::{Code, Rights};
use nacre_abi::fault::{self, KIND_BREAKPOINT, KIND_MEMORY, KIND_OPCODE, KIND_PROTECTION};
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_NOTIFY};
use nacre_abi::state::ThreadState;
use nacre_proto::{Event, Request, Station, parent, process as manager};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference};

/// Bit: the manager has signals for the process.
const SIGNALS: u64 = 1;
/// Bit: a timer was set that comes before all others.
const TIMERS: u64 = 2;
const SIGBUS: u64 = 7;
/// What is added to a signal's number in a status.
const BY_SIGNAL: u64 = 256;
/// Instead of a thread's place: the agent's.
const NOBODY: usize = usize::MAX;

/// What the process has of its agent.
pub struct Agent {
    port: OwnedPort,
    reference: OwnedReference,
    /// The process's exceptions come to it.
    keeps: bool,
}

impl Process {
    /// Whether there is a process manager. Asked once.
    pub fn is_managed(&mut self) -> bool {
        if self.managed.is_none() {
            self.pid();
        }
        self.managed == Some(true)
    }

    /// Makes the agent, if there is none. The reference to its port.
    pub fn need_agent(&mut self) -> Result<Reference, Errno> {
        if self.agent.is_none() {
            let port = OwnedPort::new(0, PortSet::NONE)?;
            let reference = port.new_reference(REFERENCE_NOTIFY)?;
            let handle = nacre_rt::thread::spawn(run, port.handle().0 as usize)?;
            // It serves for as long as the process lives.
            drop(handle);
            // Without a manager nobody sends signals: then the agent serves what is inside.
            if self.is_managed() {
                manager::attach(Reference::PARENT, SIGNALS, reference.handle())?;
            }
            self.agent = Some(Agent { port, reference, keeps: false });
        }
        Ok(self.agent.as_ref().map(|agent| agent.reference.handle()).unwrap_or_default())
    }

    /// Whether signals come here, and do not just take their default effect.
    pub fn has_agent(&self) -> bool {
        self.agent.is_some()
    }

    /// From now on exceptions of the process's threads come to the agent.
    pub fn need_exceptions(&mut self) -> Result<(), Errno> {
        self.need_agent()?;
        match &mut self.agent {
            Some(agent) if !agent.keeps => {
                // To be made a keeper takes control over the port. Nobody but our parent is given that.
                let control = OwnedReference::made_by(|slot| agent.port.handle().reference(slot, REFERENCE_CONTROL))?;
                parent::keep(Reference::PARENT, control.handle())?;
                agent.keeps = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// The agent is to look at the timers again.
    pub fn call_agent(&mut self) -> Result<(), Errno> {
        let reference = self.need_agent()?;
        nacre_sys::ipc::notify(reference, TIMERS)?;
        Ok(())
    }

    /// Fetches what the manager has for the process.
    pub fn fetch_signals(&mut self) {
        while let Ok(reply) = manager::signal_take(Reference::PARENT)
            && (1..=LAST).contains(&reply.signal)
        {
            let info = of_reply(&reply);
            // A queue that is full loses signals, as Linux's does.
            let _ = match self.threads.find(reply.thread) {
                Some(index) if reply.thread != 0 => self.post_to(index, info),
                _ => self.post(info),
            };
        }
    }
}

/// A signal as the manager tells of it.
fn of_reply(reply: &manager::signal_take::Reply) -> Info {
    const SIGCHLD: u64 = 17;
    let code = reply.code as i32;
    let mut info = Info::from(reply.signal, code, reply.sender, reply.user);
    info.fields[1] = if reply.signal == SIGCHLD && code > 0 { reply.value & 0xffff_ffff } else { reply.value };
    info
}

/// The agent's thread; `port` is the address of its port.
fn run(port: usize) {
    let Ok(mut station) = Station::new(ThreadState::SIZE as usize) else {
        nacre_rt::report!("no memory for the thread that receives signals");
        return;
    };
    loop {
        let timeout = assembly::with_process(NOBODY, Process::fire_timers).unwrap_or(nacre_sys::FOREVER);
        match station.next(port as u64, timeout) {
            Ok(Event::Notification { bits, .. }) => notified(bits),
            Ok(Event::Exception(mut request)) => exception(&mut request),
            Ok(Event::Fault(mut request)) => request.answer(fault::REFUSE, [0; 6]),
            Ok(Event::Request(mut request)) => request.refuse(Errno::ENOSYS),
            Err(status) if matches!(status.code(), Some(Code::TimedOut | Code::Interrupted)) => {}
            Err(_) => return,
        }
    }
}

fn notified(bits: u64) {
    let _ = assembly::with_process(NOBODY, |process| {
        if bits & SIGNALS != 0 {
            process.fetch_signals();
        }
        if bits & MAIL != 0 {
            process.fetch_mail();
        }
        if bits & FILES != 0 {
            process.watches.notified(bits);
            process.tell_owners();
            process.pipe_changed();
        }
    });
}

/// An exception of one of the threads: it becomes a signal of that thread, which goes on by taking it.
fn exception(request: &mut Request<'_>) {
    let [kind, error, address, instruction, ..] = request.words();
    let words: Vec<u64> = request.bytes().chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
    let state = words.try_into().ok().map(ThreadState::from_words);
    if let Some(state) = state.as_ref().filter(|state| place(state.rip) != Place::Program) {
        // The library itself failed, and may have the lock: what it was about cannot be finished. Most likely a file was cut off under shared memory that a call was given.
        nacre_rt::report!("the library for Linux programs failed at {:#x}, address {address:#x}", state.rip);
        let signal = if kind == KIND_MEMORY { SIGBUS } else { SIGSEGV };
        let _ = parent::exit(Reference::PARENT, BY_SIGNAL + signal);
        request.answer(fault::STOP, [0; 6]);
        return;
    }
    let next = state.and_then(|state| {
        let index = assembly::with_process(NOBODY, |process| process.threads.with_block(state.gs_base)).flatten()?;
        assembly::with_process(index, |process| {
            if kind == KIND_MEMORY && (process.memory.resolve(address, access(error)) || process.resolve_fault(address)) {
                return state;
            }
            let info = signal_of(process, kind, [error, address], instruction);
            process.me().trap = [error, kind];
            process.force(info);
            process.me().block.resume.store(state.rip, Ordering::Relaxed);
            ThreadState { rip: signal_entry(), ..state }
        })
    });
    let Some(next) = next else {
        // A thread that is none of the program's.
        let _ = assembly::with_process(NOBODY, |process| end_by_signal(process, SIGSEGV));
        return;
    };
    let bytes: Vec<u8> = next.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
    request.put(&bytes);
    request.answer(fault::RESUME, [0; 6]);
}

/// Returns the right that a failed access lacked, from the machine's error code.
fn access(error: u64) -> Rights {
    match error {
        error if error & fault::ERROR_FETCH != 0 => Rights::EXECUTE,
        error if error & fault::ERROR_WRITE != 0 => Rights::WRITE,
        _ => Rights::READ,
    }
}

/// The signal that Linux makes of an exception.
fn signal_of(process: &Process, kind: u64, [error, address]: [u64; 2], instruction: u64) -> Info {
    const SIGILL: u64 = 4;
    const SIGTRAP: u64 = 5;
    const SIGFPE: u64 = 8;
    let (signal, code, at) = match kind {
        0 => (SIGFPE, 1, instruction),
        1 => (SIGTRAP, 2, instruction),
        KIND_BREAKPOINT => (SIGTRAP, SI_KERNEL, 0),
        KIND_OPCODE => (SIGILL, 2, instruction),
        KIND_PROTECTION => (SIGSEGV, SI_KERNEL, 0),
        16 | 19 => (SIGFPE, 7, instruction),
        17 => (SIGBUS, 1, address),
        KIND_MEMORY => match process.memory.usable(address) {
            Some(rights) if rights.contains(access(error)) => (SIGBUS, 2, address),
            Some(_) => (SIGSEGV, 2, address),
            None => (SIGSEGV, 1, address),
        },
        _ => (SIGSEGV, SI_KERNEL, 0),
    };
    Info { signal, code, fields: [at, 0, 0, 0] }
}

impl Threads {
    /// The place of the thread whose block is at an address.
    fn with_block(&self, address: u64) -> Option<usize> {
        self.all().find(|(_, thread)| thread.block as *const Block as u64 == address).map(|(index, _)| index)
    }
}
