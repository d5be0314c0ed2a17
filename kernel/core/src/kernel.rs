//! The kernel as a whole: the few words that are no object, and the doors by which a CPU comes in.
//!
//! Every door is entered under the kernel lock and ends with [`Next`]; the machine has been told by then whose context it holds.

use crate::fault::Fault;
use crate::machine::{MAX_CPUS, Machine, Physical, thread_page::register};
use crate::object::{Mapping, Port, Receivable, Reference, Region, Space, Thread, Waiters};
use core::cell::Cell;
use nacre_abi::{Call, Rights, Status};

/// What a CPU does when it leaves the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Runs the thread that the last `switch_thread` named.
    User,
    /// Waits for an interrupt.
    Idle,
}

/// Why a call ends before its success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// With an error status; nothing has changed.
    Status(Status),
    /// The caller waits (or has faulted, or is stopped): its registers stand at the call, to make it again.
    Wait,
    /// The call is to be made again at once, after whatever else wants the CPU.
    Again,
}

impl From<Status> for Stop {
    fn from(status: Status) -> Stop {
        Stop::Status(status)
    }
}

/// How a call succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// The caller goes on, with status `Ok`.
    Return,
    /// The registers of all concerned are as they should be.
    Settled,
}

/// The outcome of a call, or of a part of it.
pub type Attempt<T> = Result<T, Stop>;

/// What one CPU is at.
pub(crate) struct Cpu {
    /// The thread whose context the machine holds; null while idle.
    pub loaded: Cell<Physical>,
    /// The space whose tables are loaded; null for the kernel's own.
    pub space: Cell<Physical>,
    /// The thread that shall run when the entry is over; null = whoever is first in the queue.
    pub chosen: Cell<Physical>,
    /// When the running thread's turn is over.
    pub slice_end: Cell<u64>,
    /// What the timer is set to; it may be earlier than it need be, and is then set anew when it comes.
    pub armed: Cell<u64>,
}

impl Cpu {
    const fn new() -> Cpu {
        Cpu {
            loaded: Cell::new(Physical(0)),
            space: Cell::new(Physical(0)),
            chosen: Cell::new(Physical(0)),
            slice_end: Cell::new(0),
            armed: Cell::new(u64::MAX),
        }
    }
}

/// The kernel on a machine.
pub struct Kernel<M: Machine> {
    /// The machine.
    pub machine: M,
    pub(crate) cpus: [Cpu; MAX_CPUS],
    /// CPUs that are idle, one bit each.
    pub(crate) idle: Cell<u64>,
    /// CPUs that were started, one bit each.
    pub(crate) online: Cell<u64>,
    /// Frame with the run queue's anchor, the links of interrupt lines, and the kernel's own space.
    pub(crate) globals: Cell<Physical>,
    /// Root word of the tree of deadlines.
    pub(crate) deadlines: Cell<u64>,
    /// Something happened that may want another timer setting.
    pub(crate) timer_stale: Cell<bool>,
    /// Number of the revocation that was begun last.
    pub(crate) flush_number: Cell<u64>,
    /// Root's only thread until it makes others: its end is the machine's.
    pub(crate) root_thread: Cell<Physical>,
    /// Whether a fault is being offered to its keeper.
    pub(crate) offering: Cell<bool>,
    /// Steps that the entry under way may still make in long operations.
    pub(crate) budget: Cell<u32>,
}

const CALL: u64 = Call::IpcCall as u64;
const REPLY_RECEIVE: u64 = Call::IpcReplyReceive as u64;
const NOTIFY: u64 = Call::PortNotify as u64;
const YIELD: u64 = Call::ThreadYield as u64;

/// Steps of a long operation (objects destroyed, links cut) before it stops to let interrupts in.
pub(crate) const BUDGET: u32 = 64;

impl<M: Machine> Kernel<M> {
    /// A kernel that has not started.
    pub const fn new(machine: M) -> Self {
        Kernel {
            machine,
            cpus: [const { Cpu::new() }; MAX_CPUS],
            idle: Cell::new(0),
            online: Cell::new(0),
            globals: Cell::new(Physical(0)),
            deadlines: Cell::new(0),
            timer_stale: Cell::new(false),
            flush_number: Cell::new(0),
            root_thread: Cell::new(Physical(0)),
            offering: Cell::new(false),
            budget: Cell::new(BUDGET),
        }
    }

    /// A system call of the thread on this CPU; `number` counts from `CALL_BASE`.
    #[inline(always)]
    pub fn system_call(&self, number: u64) -> Next {
        let cpu = self.machine.cpu();
        let caller = self.thread(self.cpus[cpu].loaded.get());
        let fast = match number {
            _ if caller.has(Thread::EVICT | Thread::AWAITS_REPLY) => None,
            CALL => self.fast_call(cpu, caller),
            REPLY_RECEIVE => self.fast_reply_receive(cpu, caller),
            NOTIFY => self.fast_notify(caller),
            YIELD => self.fast_yield(cpu, caller),
            _ => None,
        };
        match fast {
            Some(()) => Next::User,
            None => self.system_call_general(number, cpu, caller),
        }
    }

    /// Every call that is not a short message to somebody who waits for it.
    #[inline(never)]
    fn system_call_general(&self, number: u64, cpu: usize, caller: Thread<'_>) -> Next {
        if caller.has(Thread::EVICT) {
            self.rewind(caller);
            self.evict(caller);
            return self.leave(cpu);
        }
        if caller.has(Thread::AWAITS_REPLY) && number != Call::IpcReceiveReply as u64 {
            // Somebody set it to do something else than to wait for its reply.
            self.disconnect(caller);
        }
        match self.dispatch_table(number, caller) {
            Ok(Done::Return) => caller.set_register(register::RAX, 0),
            Ok(Done::Settled) | Err(Stop::Wait) => {}
            Err(Stop::Status(status)) => caller.set_register(register::RAX, status.0),
            Err(Stop::Again) => self.call_again(caller),
        }
        self.leave(cpu)
    }

    /// An access by the thread on this CPU that the tables did not allow.
    pub fn page_fault(&self, address: u64, needed: Rights, error: u64) -> Next {
        self.enter_with_fault(Fault::Page { address, needed, error })
    }

    /// Any other exception of the thread on this CPU.
    pub fn exception(&self, kind: u64, error: u64, address: u64) -> Next {
        self.enter_with_fault(Fault::Exception { kind, error, address })
    }

    fn enter_with_fault(&self, fault: Fault) -> Next {
        let cpu = self.machine.cpu();
        let thread = self.thread(self.cpus[cpu].loaded.get());
        if thread.has(Thread::EVICT) {
            self.evict(thread);
        } else {
            self.take_fault(thread, fault);
        }
        self.leave(cpu)
    }

    /// A device's interrupt line went up.
    pub fn interrupt(&self, line: u32) -> Next {
        self.interrupt_arrived(line);
        self.interrupted()
    }

    /// The timer's deadline passed.
    pub fn timer(&self) -> Next {
        self.cpus[self.machine.cpu()].armed.set(u64::MAX);
        self.timer_stale.set(true);
        self.deadlines_expire();
        self.slice_check();
        self.interrupted()
    }

    /// Another CPU wanted this one to look.
    pub fn kicked(&self) -> Next {
        self.timer_stale.set(true);
        self.interrupted()
    }

    /// What every interrupt ends with: a thread that shall leave this CPU does so.
    fn interrupted(&self) -> Next {
        let cpu = self.machine.cpu();
        let loaded = self.cpus[cpu].loaded.get();
        if loaded != Physical(0) && self.thread(loaded).has(Thread::EVICT) {
            self.evict(self.thread(loaded));
        }
        self.leave(cpu)
    }

    /// A CPU enters for the first time.
    pub fn cpu_start(&self) -> Next {
        let cpu = self.machine.cpu();
        self.online.set(self.online.get() | 1 << cpu);
        self.leave(cpu)
    }

    /// One step of a long operation: `Again` when it has gone on for long enough.
    pub(crate) fn step(&self) -> Attempt<()> {
        let left = self.budget.get();
        if left == 0 {
            self.budget.set(BUDGET);
            return Err(Stop::Again);
        }
        self.budget.set(left - 1);
        Ok(())
    }

    // Views of objects at known addresses.

    #[inline(always)]
    pub(crate) fn thread(&self, at: Physical) -> Thread<'_> {
        Thread::new(&self.machine, at)
    }

    #[inline(always)]
    pub(crate) fn space(&self, at: Physical) -> Space<'_> {
        Space::new(&self.machine, at)
    }

    pub(crate) fn region(&self, at: Physical) -> Region<'_> {
        Region::new(&self.machine, at)
    }

    pub(crate) fn mapping(&self, at: Physical) -> Mapping<'_> {
        Mapping::new(&self.machine, at)
    }

    #[inline(always)]
    pub(crate) fn port(&self, at: Physical) -> Port<'_> {
        Port::new(&self.machine, at)
    }

    #[inline(always)]
    pub(crate) fn receivable(&self, at: Physical) -> Receivable<'_> {
        Receivable::new(&self.machine, at)
    }

    #[inline(always)]
    pub(crate) fn reference(&self, at: Physical) -> Reference<'_> {
        Reference::new(&self.machine, at)
    }

    pub(crate) fn waiters(&self, at: Physical) -> Waiters<'_> {
        Waiters::new(&self.machine, at)
    }
}
