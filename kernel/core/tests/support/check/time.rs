//! Who may run, and on whose time.

use super::{Checker, NULL};
use super::super::machine::RAM_START;
use nacre_abi::ObjectType;
use nacre_core::machine::Physical;
use nacre_core::object::{self, Thread, WaitKind};

/// Offset of the announcements' anchor in the frame of globals.
const ANNOUNCEMENTS: u64 = 16;

impl<'w> Checker<'w> {
    /// The rings of threads that are ready: the run queue, and those whose schedulers are to be
    /// told.
    pub(super) fn ready_rings(&mut self) {
        self.run_queue();
        self.queue_ring("announcements", Physical(RAM_START + ANNOUNCEMENTS), NULL);
    }

    /// The run queue holds threads that are ready, and such as donate and wait for their turn.
    fn run_queue(&mut self) {
        for node in self.ring(Physical(RAM_START)) {
            let thread = self.thread(object::thread_of_queue_node(node));
            self.assert_live(thread.at, ObjectType::Thread, "the run queue");
            if thread.waits_for(WaitKind::Donate) {
                assert_eq!(thread.turn(), node);
                assert!(!thread.has(Thread::SCHEDULED), "{:?} has a scheduler, and a turn", thread.at);
            } else {
                assert_eq!(thread.queue(), node);
                assert_eq!(thread.chain(), 0, "{:?} is in the run queue and in a chain", thread.at);
                self.queued.insert(thread.at.0, ("run queue", 0));
            }
        }
    }

    /// Checks the rules of scheduling: a thread with a scheduler is never in the run queue; only
    /// such threads wait for time; a donor is linked to the thread that it donates to.
    pub(super) fn check_time(&mut self, thread: Thread<'w>) {
        let at = thread.at;
        let scheduler = self.link(thread.scheduler(), ObjectType::Port, None);
        let donee = self.link(thread.donee(), ObjectType::Thread, None);
        let waits_for_time = thread.waits_for(WaitKind::Ready) || thread.waits_for(WaitKind::Time);
        assert!(!waits_for_time || thread.has(Thread::SCHEDULED), "{at:?} waits for time without a scheduler");
        assert!(scheduler.is_none() || thread.has(Thread::SCHEDULED), "{at:?} has a scheduler and runs by its own right");
        let unannounced = thread.waits_for(WaitKind::Time) && !thread.has(Thread::KNOWN);
        assert!(!unannounced || scheduler.is_none(), "{at:?} is ready, and its scheduler was not told");
        assert_eq!(thread.waits_for(WaitKind::Donate), thread.has(Thread::DONATES));
        assert!(donee.is_none() || thread.has(Thread::DONATES), "{at:?} leads to a donee and does not donate");
        let given = (0..self.machine.cpus.len()).any(|cpu| self.world.running(cpu).is_some_and(|running| running.chain() != 0));
        let lost = thread.has(Thread::DONATES) && !thread.has(Thread::SCHEDULED) && self.ring(thread.turn()).is_empty();
        assert!(!lost || given, "{at:?} donates, nobody runs on what it gives, and it has no turn");
        assert!(self.ring(thread.turn()).is_empty() || thread.has(Thread::DONATES), "{at:?} has a turn and does not donate");
    }
}
