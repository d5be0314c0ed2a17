//! Who lets a thread run. A thread with a scheduler runs only on time that somebody gives it
//! (`donate`); its scheduler's port is told when it becomes ready, by a message that the kernel
//! sends in its name and that wants no answer.
//!
//! A scheduled thread that is ready and on no CPU is announced (`Ready`: first on the kernel's ring
//! of announcements, then on the port's ring of senders) or waits to be given time (`Time`): its
//! scheduler knows of it, or it has none. It never goes into the run queue, whatever becomes of its
//! scheduler.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{Thread, WaitKind, links_of, thread_of_queue_node};
use crate::transfer::BlockedSide;
use nacre_abi::arguments::{self, Word};
use nacre_abi::call::DONATION_ARRIVED;
use nacre_abi::message::Info;
use nacre_abi::object::TargetType;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::ThreadState;
use nacre_abi::{Code, ObjectType};

/// Offset of the announcement ring's anchor in the frame of globals.
const ANNOUNCEMENTS: u64 = 16;
/// A chain's number that no chain ever has.
const NO_CHAIN: u64 = 1;
/// Maximum number of announced threads at a time; an entry announces at most three.
const MAX_ANNOUNCED: usize = 8;

impl<M: Machine> Kernel<M> {
    /// Anchor of the threads whose schedulers are to be told that they are ready.
    #[inline(always)]
    pub(crate) fn announcements(&self) -> Physical {
        self.globals.get().add(ANNOUNCEMENTS)
    }

    pub(crate) fn thread_set_scheduler(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadSetScheduler = caller.arguments();
        let thread = self.thread(self.controlled(caller, call.thread, ObjectType::Thread)?);
        let port = self.keeper_argument(caller, call.port)?;
        self.scheduler_change(caller, thread, (port.is_some(), call.port), (port, call.word.value))
    }

    pub(crate) fn thread_schedule_as(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadScheduleAs = caller.arguments();
        let thread = self.thread(self.controlled(caller, call.thread, ObjectType::Thread)?);
        let model = self.thread(self.controlled(caller, call.model, ObjectType::Thread)?);
        let port = list::link_target(&self.machine, model.scheduler());
        self.scheduler_change(caller, thread, (model.has(Thread::SCHEDULED), call.model), (port, model.scheduler_word()))
    }

    /// Gives a thread a scheduler, whose port may be gone, or lets it run by its own right.
    fn scheduler_change(&self, caller: Thread<'_>, thread: Thread<'_>, (scheduled, argument): (bool, Word), (port, word): (Option<Physical>, u64)) -> Attempt<Done> {
        if !scheduled && caller.has(Thread::SCHEDULED) {
            return wrong(Code::Denied, argument);
        }
        self.scheduler_set(thread, port, word);
        if scheduled { thread.raise(Thread::SCHEDULED) } else { thread.lower(Thread::SCHEDULED) }
        self.reschedule(thread);
        Ok(Done::Return)
    }

    fn scheduler_set(&self, thread: Thread<'_>, port: Option<Physical>, word: u64) {
        self.link_to_port(thread.scheduler(), port);
        thread.set_scheduler_word(word);
        thread.lower(Thread::KNOWN);
    }

    /// Updates queues and announcements after the thread's scheduler has changed.
    fn reschedule(&self, thread: Thread<'_>) {
        if thread.cpu() != 0 {
            // If it runs by its own right, it has none any more.
            return self.chain_look(thread.cpu() as usize - 1);
        }
        if thread.has(Thread::DONATES) || thread.is_ready() {
            self.wait_cancel(thread);
            self.make_ready(thread);
        }
        if thread.chain() == 0 && thread.has(Thread::SCHEDULED) {
            // It waits for somebody who runs by his own right, which is no longer hers.
            thread.set_chain(NO_CHAIN);
        }
    }

    /// A new thread is scheduled as its maker is.
    pub(crate) fn scheduler_inherit(&self, maker: Thread<'_>, thread: Thread<'_>) {
        if maker.has(Thread::SCHEDULED) {
            thread.raise(Thread::SCHEDULED);
            self.scheduler_set(thread, list::link_target(&self.machine, maker.scheduler()), maker.scheduler_word());
        }
    }

    /// Returns true if the thread has a scheduler, and another one than `reader`. Neither of two
    /// threads can see a scheduler that both share.
    pub(crate) fn scheduled_otherwise(&self, reader: Thread<'_>, thread: Thread<'_>) -> bool {
        let port = |thread: Thread<'_>| list::link_target(&self.machine, thread.scheduler());
        thread.has(Thread::SCHEDULED) && !(reader.has(Thread::SCHEDULED) && port(reader) == port(thread))
    }

    /// The port of the thread's scheduler, as far as `reader` may know it.
    pub(crate) fn scheduler_shown(&self, reader: Thread<'_>, thread: Thread<'_>) -> Option<Physical> {
        list::link_target(&self.machine, thread.scheduler()).filter(|_| self.scheduled_otherwise(reader, thread))
    }

    /// A stopped thread gets the scheduler that its state says; one that has none there is
    /// scheduled as the caller is, as if that had just made it.
    pub(crate) fn scheduler_import(&self, caller: Thread<'_>, thread: Thread<'_>, port: Option<Physical>, [flags, word]: [u64; 2]) {
        if flags & ThreadState::SCHEDULED != 0 {
            thread.raise(Thread::SCHEDULED);
            self.scheduler_set(thread, port, word);
            thread.raise(u64::from(flags & ThreadState::KNOWN != 0) * Thread::KNOWN);
        } else if self.scheduled_otherwise(caller, thread) || !thread.has(Thread::SCHEDULED) {
            thread.lower(Thread::SCHEDULED);
            self.scheduler_set(thread, None, 0);
            self.scheduler_inherit(caller, thread);
        }
        self.reschedule(thread);
    }

    /// A scheduled thread has become ready.
    pub(crate) fn ready_for_scheduler(&self, thread: Thread<'_>) {
        if thread.has(Thread::KNOWN) || list::link_target(&self.machine, thread.scheduler()).is_none() {
            return thread.set_wait(WaitKind::Time as u64);
        }
        thread.set_wait(WaitKind::Ready as u64);
        list::push_back(&self.machine, self.announcements(), thread.queue());
        self.cpus[self.machine.cpu()].timer_stale.set(true);
    }

    /// Everybody on a ring of receivers is to look again. They may be very many: so they hear of it
    /// as schedulers do.
    pub(crate) fn announce_receivers(&self, receivers: Physical) {
        list::splice(&self.machine, receivers, self.announcements());
        self.cpus[self.machine.cpu()].timer_stale.set(true);
    }

    /// Lets threads that have become ready wait at their schedulers' ports, and receivers look
    /// again. Whoever receives there may have a scheduler too, and so on: those are left for the
    /// next time.
    pub(crate) fn announce_some(&self) {
        for _ in 0..MAX_ANNOUNCED {
            let Some(node) = list::first(&self.machine, self.announcements()) else { return };
            let thread = self.thread(thread_of_queue_node(node));
            list::remove(&self.machine, node);
            if !thread.waits_for(WaitKind::Ready) {
                self.receiver_looks(thread);
                continue;
            }
            match list::link_target(&self.machine, thread.scheduler()) {
                Some(port) => {
                    let port = self.port(port);
                    list::push_back(&self.machine, port.senders(), node);
                    self.port_look_again(port);
                }
                None => thread.set_wait(WaitKind::Time as u64),
            }
        }
    }

    fn receiver_looks(&self, receiver: Thread<'_>) {
        if receiver.has(Thread::DONATES) {
            self.donation_end(receiver, DONATION_ARRIVED);
        } else {
            self.wait_cancel(receiver);
        }
        self.make_ready(receiver);
    }

    /// Puts the announcement of a ready thread into the registers of its scheduler.
    pub(crate) fn transfer_ready(&self, thread: Thread<'_>, receiver: Thread<'_>, word: u64) -> Result<(), BlockedSide> {
        let takes = self.descriptor(receiver, crate::decode::DESCRIPTOR, receiver.register(register::DESCRIPTOR)).map_err(BlockedSide::Receiver)?;
        let count = usize::from(takes.receive_slot_count > 0);
        let to = self.slots_to_fill(receiver, &takes, count).map_err(BlockedSide::Receiver)?;
        self.stop_receiving(receiver);
        if count == 1 {
            // To know whom to give time is not to command it.
            let reference = self.reference_fill(to[0], TargetType::Thread as u64, REFERENCE_USE);
            list::link_set(&self.machine, reference.target(), thread.at, links_of(ObjectType::Thread, thread.at));
        }
        receiver.set_register(register::WORDS[0], thread.scheduler_word());
        receiver.set_register(register::WORDS[1], u64::from(thread.has(Thread::FIRST)));
        thread.lower(Thread::FIRST);
        receiver.set_register(register::INFO, Info::received(0, 0, count as u64, Info::READY).0);
        receiver.set_register(register::PORT_WORD, word);
        Ok(())
    }

    /// The announcement of a thread was received.
    pub(crate) fn scheduler_told(&self, thread: Thread<'_>) {
        list::remove(&self.machine, thread.queue());
        thread.set_wait(WaitKind::Time as u64);
        thread.raise(Thread::KNOWN);
    }
}
