//! Deadlines of waits: a tree ordered by time, looked after by the first CPU.

use crate::kernel::Kernel;
use crate::machine::{Machine, thread_page::register};
use crate::object::{Thread, WaitKind};
use crate::tree::Tree;
use crate::machine::Physical;
use nacre_abi::state::SpaceState;
use nacre_abi::{Code, Status};

/// Maximum number of waits that one interrupt of the timer ends.
const MAX_EXPIRED: u32 = 16;

impl<M: Machine> Kernel<M> {
    fn deadlines(&self) -> Tree<'_, M> {
        Tree::new(&self.machine, &self.deadlines)
    }

    /// The register in which the call that a thread waits in keeps its timeout.
    pub(crate) fn timeout_register(thread: Thread<'_>) -> usize {
        if thread.waits_for(WaitKind::Sleep) { register::ARGUMENT_1 } else { register::TIMEOUT }
    }

    /// Lets the thread's wait end after `nanoseconds`, unless time is held for it.
    pub(crate) fn deadline_arm(&self, thread: Thread<'_>, nanoseconds: u64) {
        if self.space(thread.space()).flags() & SpaceState::TIME_HELD != 0 {
            return;
        }
        // Far enough ahead that adding the one tick of the node's size cannot overflow.
        let deadline = self.machine.now().saturating_add(nanoseconds).min(u64::MAX - 2);
        thread.set_deadline(deadline);
        thread.set_deadline_armed(1);
        self.deadlines().insert(thread.deadline_node());
        self.timer_changed();
    }

    /// Takes the deadline back, and leaves what remained of it in the register that it came from.
    #[inline(always)]
    pub(crate) fn deadline_disarm(&self, thread: Thread<'_>) {
        if thread.deadline_armed() != 0 {
            self.deadline_remove(thread);
        }
    }

    #[cold]
    fn deadline_remove(&self, thread: Thread<'_>) {
        self.deadlines().remove(thread.deadline_node());
        thread.set_deadline_armed(0);
        let left = thread.deadline().saturating_sub(self.machine.now()).max(1);
        thread.set_register(Self::timeout_register(thread), left);
    }

    /// The first deadline.
    pub(crate) fn deadline_first(&self) -> u64 {
        self.deadlines().lowest().map_or(u64::MAX, |node| node.start())
    }

    /// Ends the waits whose time has come; if there are many, the timer goes off again at once for
    /// the others.
    pub(crate) fn deadlines_expire(&self) {
        let now = self.machine.now();
        for _ in 0..MAX_EXPIRED {
            let Some(node) = self.deadlines().lowest().filter(|node| node.start() <= now) else { return };
            let thread = self.thread(Physical(node.at.0 & !0xfff));
            self.deadline_remove(thread);
            let status = if thread.waits_for(WaitKind::Sleep) { Status::OK } else { Status::new(Code::TimedOut) };
            if thread.waits_for(WaitKind::Reply) {
                self.client_leaves(thread);
            }
            self.wait_end(thread, status);
        }
    }

    /// The first CPU looks after deadlines: if this is another, it is told.
    fn timer_changed(&self) {
        let cpu = self.machine.cpu();
        self.cpus[cpu].timer_stale.set(true);
        if cpu != 0 {
            self.machine.cpu_kick(0);
        }
    }
}
