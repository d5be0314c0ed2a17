//! The kernel as a whole: the few words that are no object. How a CPU comes in stands in `doors`.

use crate::call_result::wrong;
use crate::donation_chain::Chain;
use crate::machine::{MAX_CPUS, Machine, Physical};
use crate::object::{Mapping, Port, Receivable, Reference, Region, Space, Thread, Waiters};
use crate::revocation::Revocation;
use core::cell::Cell;
use nacre_abi::Code;

pub use crate::call_result::{Attempt, Done, Next, Stop};

/// State of one CPU. Its own CPU writes it; others read it under all locks. So it has cache lines
/// of its own.
#[repr(align(128))]
pub(crate) struct Cpu {
    /// The thread whose context the machine holds; null while idle.
    pub loaded: Cell<Physical>,
    /// The space whose tables are loaded; null for the kernel's own.
    pub space: Cell<Physical>,
    /// The thread that shall run when the entry is over; null = whoever is first in the queue.
    pub chosen: Cell<Physical>,
    /// End of the running thread's slice.
    pub slice_end: Cell<u64>,
    /// Number of threads at the head of the queue that run in the rest of that slice.
    pub ahead: Cell<u32>,
    /// Flags of the space that this processor runs, as far as the machine follows them.
    pub time_hidden: Cell<u64>,
    /// Deadline that the timer is set to. It may be earlier than needed; the timer's interrupt then
    /// sets it anew.
    pub armed: Cell<u64>,
    /// Something happened that may want another timer setting.
    pub timer_stale: Cell<bool>,
    /// The CPU's bit in sets of CPUs, from its start on.
    pub bit: Cell<u64>,
    /// The chain of donations that this CPU follows.
    pub chain: Chain,
}

impl Cpu {
    const fn new() -> Cpu {
        Cpu {
            loaded: Cell::new(Physical(0)),
            space: Cell::new(Physical(0)),
            chosen: Cell::new(Physical(0)),
            slice_end: Cell::new(0),
            ahead: Cell::new(0),
            time_hidden: Cell::new(0),
            armed: Cell::new(u64::MAX),
            timer_stale: Cell::new(false),
            bit: Cell::new(0),
            chain: Chain::new(),
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
    /// Frame with the anchors of the run queue, of the announcements and of those that were told,
    /// the links of interrupt lines, and the kernel's own space.
    pub(crate) globals: Cell<Physical>,
    /// Number of chains of donations that were followed.
    pub(crate) chains: Cell<u64>,
    /// Root word of the tree of deadlines.
    pub(crate) deadlines: Cell<u64>,
    /// The revocation under way.
    pub(crate) revocation: Revocation,
    /// Root's only thread until it makes others: its end is the machine's.
    pub(crate) root_thread: Cell<Physical>,
    /// Set while a fault is being offered to its keeper.
    pub(crate) offering: Cell<bool>,
    /// Instructions, roughly, that the entry under way may still spend on a long operation.
    pub(crate) budget: Cell<u32>,
    /// Initial value of that budget: [`BUDGET`], unless a test wants more calls to be cut off.
    pub budget_full: Cell<u32>,
    /// Instructions, roughly, that the entry under way has spent on following mappings.
    pub(crate) followed: Cell<u32>,
    /// Limit of `followed`: [`REACH`], unless a test wants more calls to be cut off.
    pub reach: Cell<u32>,
}

/// Instructions, roughly, that a long operation takes before it stops to let interrupts in.
const BUDGET: u32 = 3000;
/// Instructions, roughly, after which a call goes on in another entry before it follows mappings
/// once more.
const REACH: u32 = 2500;
/// Number of times in a row that a thread's call can be cut off before it fails. Pages that were
/// found stay in the tables, so a message needs fewer than half of them.
const MAX_CUT_OFF: u64 = 64;
/// Instructions, roughly, that filling a page with zeros takes.
pub(crate) const ZERO_WORK: u32 = 550;
/// Approximate cost of destroying an object, in instructions.
const STEP: u32 = 300;

impl<M: Machine> Kernel<M> {
    /// A kernel that has not started.
    pub const fn new(machine: M) -> Self {
        Kernel {
            machine,
            cpus: [const { Cpu::new() }; MAX_CPUS],
            idle: Cell::new(0),
            online: Cell::new(0),
            globals: Cell::new(Physical(0)),
            chains: Cell::new(0),
            deadlines: Cell::new(0),
            revocation: Revocation::new(),
            root_thread: Cell::new(Physical(0)),
            offering: Cell::new(false),
            budget: Cell::new(BUDGET),
            budget_full: Cell::new(BUDGET),
            followed: Cell::new(0),
            reach: Cell::new(REACH),
        }
    }

    /// An entry that may be long begins.
    #[inline(always)]
    pub(crate) fn work_begin(&self) {
        self.budget.set(self.budget_full.get());
        self.followed.set(0);
    }

    /// Mappings were followed for about so many instructions.
    pub(crate) fn work_followed(&self, instructions: u32) {
        self.budget.set(self.budget.get().saturating_sub(instructions));
        self.followed.set(self.followed.get() + instructions);
    }

    /// Checks that the call of the thread on this CPU may go on with a part that cannot be cut off,
    /// or follow mappings once more. Otherwise the call is made again, and finds in the tables what
    /// it found till now. The call fails if another thread keeps taking that out of the tables.
    pub(crate) fn work_check(&self, argument: u8) -> Attempt<()> {
        if self.followed.get() < self.reach.get() {
            return Ok(());
        }
        let caller = self.thread(self.cpus[self.machine.cpu()].loaded.get());
        let times = caller.cut_off() + 1;
        caller.set_cut_off(times % MAX_CUT_OFF);
        if times < MAX_CUT_OFF { Err(Stop::Again) } else { wrong(Code::TooDeep, argument) }
    }

    /// A long operation has done a part that takes about so many instructions, which will not have
    /// to be done again: `Again` when it has gone on for long enough.
    pub(crate) fn work(&self, instructions: u32) -> Attempt<()> {
        let left = self.budget.get().saturating_sub(instructions);
        self.budget.set(left);
        if left == 0 { Err(Stop::Again) } else { Ok(()) }
    }

    /// Checks, as `work_check` does, for a part as long as destroying an object.
    pub(crate) fn step(&self) -> Attempt<()> {
        self.work(STEP)
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
