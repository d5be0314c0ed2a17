//! Counts the program's messages, and lets the one that was named fail.

use crate::options::{Class, Failure, Options};
use alloc::string::String;
use core::convert::Infallible;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::Status;
use nacre_abi::object::TargetType;
use nacre_nest::host::{Exception, KILLED};
use nacre_nest::interpose::{Arrival, InterposedRequest, ReferenceRule, InterposedReply, ProxyInfo, Interposer, report_exception, report_killed};
use nacre_proto::flags::SERVICE_MEMORY;
use nacre_proto::{Errno, directory, memory, parent, process, segment};
use nacre_sys::Reference;
use nacre_sys::ipc::Received;

/// `SIGKILL`.
const KILL: u64 = 9;

/// The failure, and how many messages there were.
pub struct Fault {
    failure: Failure,
    first: u64,
    end: u64,
    class: Class,
    name: String,
    seen: AtomicU64,
    /// The program's number at the process manager; 0: it is no process.
    pid: AtomicU64,
}

/// Part of a request that its answer needs.
pub struct Asked {
    /// The answer brings the pool that the parent gives to the program.
    finds_pool: bool,
    /// The program ends when this is answered.
    ends: bool,
}

impl Fault {
    /// The failure that was asked for, of the program with this name.
    pub fn new(options: &Options<'_>, name: String) -> Fault {
        let end = if options.count == 0 { u64::MAX } else { options.first.saturating_add(options.count) };
        let (seen, pid) = (AtomicU64::new(0), AtomicU64::new(0));
        Fault { failure: options.failure, first: options.first, end, class: options.class, name, seen, pid }
    }

    /// Returns true if a request counts. `is_pool`: it is asked of the pool that the program found.
    fn counts(&self, is_pool: bool, label: u32) -> bool {
        match self.class {
            Class::Any => true,
            Class::Heap => is_pool && label == memory::segment_create::LABEL,
            Class::Memory => [memory::NUMBER, segment::NUMBER].contains(&(label >> 16)) || label == directory::memory::LABEL || label == process::prepare::LABEL,
            Class::Protocol(number) => label >> 16 == number,
        }
    }

    fn kill(&self) {
        match self.pid.load(Ordering::Relaxed) {
            0 => nacre_rt::exit::exit_by_signal(KILL),
            // The program may have ended already.
            pid => drop(process::kill(Reference::PARENT, pid, 0, KILL, 0, 0)),
        }
    }

    /// A request of the program: refused, or to be sent on. Returns true if the program ends by its
    /// answer.
    fn meet(&self, seen: &ProxyInfo<bool>, label: u32) -> Result<bool, Errno> {
        // Without an end there would be no way to be rid of the program.
        if seen.outward || label == parent::exit::LABEL || !self.counts(seen.tag, label) {
            return Ok(false);
        }
        let number = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        match self.failure {
            Failure::Refuse if (self.first..self.end).contains(&number) => Err(Errno::ENOMEM),
            Failure::Kill if number == self.first => {
                self.kill();
                Err(Errno::EIO)
            }
            failure => Ok(failure == Failure::KillAfter && number == self.first),
        }
    }
}

fn passage(arrival: Arrival, is_pool: bool) -> ReferenceRule<bool, Infallible> {
    if arrival.kind == TargetType::Port as u64 { ReferenceRule::Proxy(is_pool) } else { ReferenceRule::Plain }
}

impl Interposer for Fault {
    type Tag = bool;
    type Asked = Asked;
    type Proof = Infallible;
    const ATTENUATES: bool = false;

    fn monitor(&self) -> &'static str {
        "faulty"
    }

    /// Messages of words may end the program by their answer, so that each takes the long way.
    fn lets_words_pass(&self) -> bool {
        false
    }

    fn is_process(&self, _: Reference, pid: u64) {
        self.pid.store(pid, Ordering::Relaxed);
    }

    fn sent(&self, _: &ProxyInfo<bool>, arrival: Arrival) -> ReferenceRule<bool, Infallible> {
        passage(arrival, false)
    }

    fn request(&self, letter: &mut InterposedRequest<'_, bool>) -> Result<Asked, Errno> {
        let ends = self.meet(letter.seen, letter.label)?;
        Ok(Asked { finds_pool: letter.is_parent && letter.label == parent::find::LABEL && letter.words[0] == SERVICE_MEMORY, ends })
    }

    fn returned(&self, asked: &mut Asked, _: &Received, arrival: Arrival) -> ReferenceRule<bool, Infallible> {
        passage(arrival, asked.finds_pool)
    }

    fn answered(&self, _: usize, asked: Asked, _: &Result<InterposedReply<'_>, Status>) {
        if asked.ends {
            self.kill();
        }
    }

    fn exception(&self, _: usize, exception: &Exception) -> u64 {
        report_exception(&self.name, exception);
        exception.exit_status()
    }

    fn killed(&self, _: usize) -> u64 {
        report_killed(&self.name);
        KILLED
    }

    fn ended(&self) {}
}
