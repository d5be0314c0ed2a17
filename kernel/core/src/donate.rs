//! Time that a thread gives to another: CPU inheritance (Ford and Susarla 1996). A donation lasts
//! until something comes to a port, a time passes, the thread that it is for cannot go on, or it
//! yields.
//!
//! A CPU that runs on given time follows a *chain*: from its `base`, a thread that has the CPU by
//! its own right and donates, to the thread that it donates to, from a client that waits to the
//! server that it waits for, and so on to one that can run. Nothing of a chain is kept but the
//! base, the donors in it (to charge them for the time), and a number. Whatever may change it asks
//! the CPU to look (`chain_touched`), and the chain is followed anew from the base when that CPU
//! leaves the kernel. All threads of a chain carry its number; numbers never return, so two threads
//! with the same number belong to the same chain, and the CPU can go from one to the other without
//! following it.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{Thread, WaitKind, links_of};
use nacre_abi::call::{DONATION_ARRIVED, DONATION_BLOCKED, DONATION_BUSY, DONATION_TIMED_OUT, DONATION_YIELDED};
use nacre_abi::arguments;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Code, ObjectType, Status};

/// Maximum number of threads that a chain leads through.
const MAX_HOPS: usize = 48;
/// Bits of a chain's number that say which CPU follows it.
const CPU_BITS: u32 = 6;

/// Next step of a chain from one thread.
enum Hop {
    /// The thread can run.
    Run,
    /// Follow the thread that this one waits for, or donates to.
    To(Physical),
    /// End of the chain: the thread waits for something that is no thread.
    Blocked,
    /// End of the chain: the thread runs on another CPU, or is in the chain of one.
    Busy,
}

impl<M: Machine> Kernel<M> {
    pub(crate) fn thread_donate(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadDonate = caller.arguments();
        let donee = self.target(caller, call.thread, ObjectType::Thread, REFERENCE_USE)?;
        if donee == caller.at {
            return wrong(Code::BadArgument, call.thread);
        }
        let chain = &self.cpus[self.machine.cpu()].chain;
        if chain.base.get() == Physical(0) && caller.has(Thread::SCHEDULED) {
            // The time that it runs on was taken back a moment ago.
            return Err(Stop::Yield);
        }
        let until = match call.until.value {
            0 => None,
            _ => Some(self.receivable_argument(caller, call.until)?),
        };
        if let Some(at) = until {
            while let Some(port) = self.ready_port(at) {
                if port.has_something(&self.machine) {
                    caller.set_register(register::RESULT_1, DONATION_ARRIVED);
                    return Ok(Done::Return);
                }
                port.refresh_ready(&self.machine);
                self.step()?;
            }
            list::push_back(&self.machine, at.receivers(), caller.queue());
        }
        self.rewind(caller);
        self.donation_begin(caller, donee);
        self.donate_directly(caller, self.thread(donee));
        Err(Stop::Wait)
    }

    fn donation_begin(&self, caller: Thread<'_>, donee: Physical) {
        list::link_set(&self.machine, caller.donee(), donee, links_of(ObjectType::Thread, donee));
        let timeout = caller.register(register::TIMEOUT);
        caller.set_donates_until(if timeout == 0 { u64::MAX } else { self.machine.now().saturating_add(timeout) });
        caller.set_wait(WaitKind::Donate as u64);
        caller.raise(Thread::DONATES);
        let chain = &self.cpus[self.machine.cpu()].chain;
        if chain.base.get() == Physical(0) {
            chain.base.set(caller.at);
        } else {
            self.queue_turn(caller);
        }
        self.leave_cpu(caller);
    }

    /// The commonest chain has two threads, by the right of the first: nothing of it needs to be
    /// followed. Where anything is out of the ordinary this does nothing.
    fn donate_directly(&self, caller: Thread<'_>, donee: Thread<'_>) {
        let cpu = self.machine.cpu();
        let this = &self.cpus[cpu];
        let chain = &this.chain;
        let alone = chain.base.get() == caller.at && chain.number.get() == 0 && chain.count.get() == 0 && !chain.look.get() && !this.timer_stale.get();
        if !alone || !donee.waits_for(WaitKind::Time) || donee.cpu() != 0 || donee.has(Thread::STOPPED) || self.chain_cpu(donee).is_some() {
            return;
        }
        chain.push(caller);
        let number = self.chain_number(cpu);
        chain.number.set(number);
        chain.since.set(self.machine.now());
        caller.set_chain(number);
        donee.set_chain(number);
        donee.lower(Thread::FIRST);
        donee.set_wait(WaitKind::None as u64);
        if this.armed.get() > chain.end() {
            this.timer_stale.set(true);
        }
        self.switch_directly(cpu, caller, donee);
    }

    /// A number that no chain has had.
    fn chain_number(&self, cpu: usize) -> u64 {
        self.chains.set(self.chains.get() + 1);
        self.chains.get() << CPU_BITS | cpu as u64
    }

    /// The way back in such a chain: `caller` yields, and the only donor goes on. False if it is
    /// not one.
    fn give_back_directly(&self, cpu: usize, caller: Thread<'_>) -> bool {
        let this = &self.cpus[cpu];
        let chain = &this.chain;
        let base = chain.base.get();
        let plain = !chain.look.get() && !this.timer_stale.get() && chain.number.get() == caller.chain() && caller.flags() == Thread::SCHEDULED | Thread::KNOWN;
        if !plain || chain.count.get() != 1 || chain.donors[0].get() != base || self.thread(base).flags() != Thread::DONATES {
            return false;
        }
        let donor = self.thread(base);
        self.chain_drop(cpu);
        chain.base.set(Physical(0));
        self.donation_end(donor, DONATION_YIELDED);
        donor.set_chain(0);
        caller.set_chain(0);
        caller.set_wait(WaitKind::Time as u64);
        self.switch_directly(cpu, caller, donor);
        true
    }

    /// Undoes what a donation is linked to; what is left of its timeout goes back to its register.
    pub(crate) fn donation_forget(&self, donor: Thread<'_>) {
        self.chain_touched(donor);
        list::remove(&self.machine, donor.turn());
        list::link_clear(&self.machine, donor.donee());
        donor.lower(Thread::DONATES);
        if donor.donates_until() != u64::MAX {
            let left = donor.donates_until().saturating_sub(self.machine.now()).max(1);
            donor.set_register(register::TIMEOUT, left);
        }
    }

    /// Ends a donation: the call returns `reason`, and the thread, ready, is on no queue.
    pub(crate) fn donation_end(&self, donor: Thread<'_>, reason: u64) {
        if reason == DONATION_BLOCKED
            && let Some(donee) = list::link_target(&self.machine, donor.donee())
        {
            // From now on who gave it time takes it for blocked.
            self.thread(donee).lower(Thread::KNOWN);
        }
        list::remove(&self.machine, donor.queue());
        self.donation_forget(donor);
        donor.set_register(register::RESULT_1, reason);
        self.pass_call(donor, Status::OK);
        donor.set_wait(WaitKind::None as u64);
    }

    /// The receiver of a message works on its sender's time.
    #[inline(always)]
    pub(crate) fn lend_time(&self, from: Thread<'_>, to: Thread<'_>) {
        to.set_chain(from.chain());
        if from.chain() == 0 && to.has(Thread::SCHEDULED) && !from.has(Thread::SCHEDULED) {
            self.cpus[self.machine.cpu()].chain.base.set(from.at);
        }
    }

    /// The CPU whose chain the thread is in now.
    fn chain_cpu(&self, thread: Thread<'_>) -> Option<usize> {
        let number = thread.chain();
        let cpu = number as usize % (1 << CPU_BITS);
        (number != 0 && self.cpus[cpu].chain.number.get() == number).then_some(cpu)
    }

    /// Something about the thread changes: if a CPU follows a chain through it, that looks again.
    #[inline(always)]
    pub(crate) fn chain_touched(&self, thread: Thread<'_>) {
        if thread.chain() != 0
            && let Some(cpu) = self.chain_cpu(thread)
        {
            self.chain_drop(cpu);
            self.chain_look(cpu);
        }
    }

    /// A CPU is to follow its chain anew.
    pub(crate) fn chain_look(&self, cpu: usize) {
        self.cpus[cpu].chain.look.set(true);
        if cpu == self.machine.cpu() {
            self.cpus[cpu].timer_stale.set(true);
        } else {
            self.machine.cpu_kick(cpu);
        }
    }

    /// The chain of a CPU is followed no more: whoever donated in it is charged.
    fn chain_drop(&self, cpu: usize) {
        let chain = &self.cpus[cpu].chain;
        let used = if chain.number.replace(0) == 0 { 0 } else { self.machine.now().saturating_sub(chain.since.get()) };
        while let Some(donor) = chain.pop() {
            let donor = self.thread(donor);
            donor.set_register(register::RESULT_2, donor.register(register::RESULT_2).wrapping_add(used));
            if donor.at != chain.base.get() {
                self.queue_turn(donor);
            }
        }
        chain.end.set(u64::MAX);
    }

    /// The turn of the CPU's base is over. If it donates it waits for its next turn as it is.
    pub(crate) fn chain_preempt(&self, cpu: usize) {
        let base = self.cpus[cpu].chain.base.replace(Physical(0));
        if base == Physical(0) {
            return;
        }
        self.chain_drop(cpu);
        self.queue_turn(self.thread(base));
    }

    /// Queues a donor without a scheduler for its own turn while no other thread gives it time.
    fn queue_turn(&self, donor: Thread<'_>) {
        if donor.flags() & (Thread::DONATES | Thread::SCHEDULED) == Thread::DONATES && list::is_empty(&self.machine, donor.turn()) {
            list::push_back(&self.machine, self.run_queue(), donor.turn());
        }
    }

    /// Gives donated time back to the innermost donor. Returns false if this CPU runs on no donated
    /// time.
    pub(crate) fn chain_yield(&self, cpu: usize, caller: Thread<'_>) -> bool {
        let chain = &self.cpus[cpu].chain;
        let Some(last) = chain.count.get().checked_sub(1) else { return false };
        if self.give_back_directly(cpu, caller) {
            return true;
        }
        let donor = self.thread(chain.donors[last].get());
        self.donation_end(donor, DONATION_YIELDED);
        self.make_ready(donor);
        true
    }

    /// Donations of this CPU's chain whose time has come end when it is followed next.
    pub(crate) fn donations_expire(&self, cpu: usize) {
        if self.cpus[cpu].chain.end() <= self.machine.now() {
            self.chain_look(cpu);
        }
    }

    /// The thread is about to go: no CPU runs by its right any more.
    pub(crate) fn chain_unbind(&self, thread: Thread<'_>) {
        self.chain_bases(thread, Physical(0));
        self.link_to_port(thread.scheduler(), None);
    }

    /// The thread has moved.
    pub(crate) fn chain_moved(&self, old: Thread<'_>, new: Thread<'_>) {
        self.chain_bases(old, new.at);
    }

    fn chain_bases(&self, thread: Thread<'_>, to: Physical) {
        for (cpu, this) in self.cpus.iter().enumerate().take(64 - self.online.get().leading_zeros() as usize) {
            if this.chain.base.get() == thread.at {
                this.chain.base.set(to);
                self.chain_look(cpu);
            }
        }
    }

    /// A thread that has come to the head of the queue runs, or whoever it donates to.
    pub(crate) fn chain_begin(&self, cpu: usize, first: Physical) -> Physical {
        if !self.thread(first).has(Thread::DONATES) {
            return first;
        }
        self.cpus[cpu].chain.base.set(first);
        self.chain_follow(cpu)
    }

    /// Returns the thread that runs on this CPU if the scheduler chose `chosen`. Follows the chain
    /// if that is due, and announces ready threads to their schedulers.
    #[inline(always)]
    pub(crate) fn chain_settle(&self, cpu: usize, chosen: Physical) -> Physical {
        let chain = &self.cpus[cpu].chain;
        let changed = chain.look.get() || (chosen == Physical(0) && chain.base.get() != Physical(0));
        if !changed && list::is_empty(&self.machine, self.announcements()) {
            return chosen;
        }
        self.chain_settle_all(cpu, chosen)
    }

    #[inline(never)]
    fn chain_settle_all(&self, cpu: usize, mut chosen: Physical) -> Physical {
        let chain = &self.cpus[cpu].chain;
        // To tell one scheduler can wake another, whose time this is: then the chain changes again.
        for _ in 0..3 {
            if chain.look.replace(false) || (chosen == Physical(0) && chain.base.get() != Physical(0)) {
                let next = self.chain_leads_to(cpu, chosen);
                if chosen != Physical(0) && next != chosen {
                    self.cpus[cpu].chosen.set(Physical(0));
                    self.make_ready(self.thread(chosen));
                }
                chosen = next;
            }
            self.announce_some();
        }
        if chain.look.get() {
            // Later, but soon.
            chain.end.set(0);
            self.cpus[cpu].timer_stale.set(true);
        }
        self.cpus[cpu].chosen.set(chosen);
        chosen
    }

    /// Returns the thread to run now; until now it was `chosen`.
    fn chain_leads_to(&self, cpu: usize, chosen: Physical) -> Physical {
        if self.cpus[cpu].chain.base.get() != Physical(0) {
            return self.chain_follow(cpu);
        }
        self.chain_drop(cpu);
        if chosen == Physical(0) || self.thread(chosen).has(Thread::SCHEDULED) {
            return Physical(0);
        }
        self.thread(chosen).set_chain(0);
        chosen
    }

    /// Follows the chain from the base: the thread that it leads to runs; if it leads nowhere, the
    /// innermost donor's donation ends. Null if nobody can run by the base's right.
    fn chain_follow(&self, cpu: usize) -> Physical {
        let chain = &self.cpus[cpu].chain;
        self.chain_drop(cpu);
        let number = self.chain_number(cpu);
        let runs = self.chain_end(cpu, number);
        let base = chain.base.get();
        if runs == Physical(0) || runs == base {
            chain.base.set(Physical(0));
            chain.count.set(0);
            chain.end.set(u64::MAX);
        } else {
            chain.number.set(number);
            chain.since.set(self.machine.now());
        }
        if runs != Physical(0) {
            let thread = self.thread(runs);
            self.chain_claim(thread);
            thread.set_chain(if runs == base { 0 } else { number });
        }
        if self.cpus[cpu].armed.get() > chain.end() {
            self.cpus[cpu].timer_stale.set(true);
        }
        runs
    }

    /// The end of the chain, which is numbered on the way.
    fn chain_end(&self, cpu: usize, number: u64) -> Physical {
        let chain = &self.cpus[cpu].chain;
        let mut thread = self.thread(chain.base.get());
        let mut reason = DONATION_BUSY;
        if thread.has(Thread::SCHEDULED) {
            // It has just been given a scheduler, and with that has lost its own right.
            return Physical(0);
        }
        for _ in 0..MAX_HOPS {
            match self.hop(cpu, thread) {
                Hop::Run => return thread.at,
                Hop::To(_) if thread.has(Thread::DONATES) && thread.donates_until() <= self.machine.now() => {
                    self.donation_end(thread, DONATION_TIMED_OUT);
                    return thread.at;
                }
                Hop::To(_) if thread.has(Thread::DONATES) && !chain.push(thread) => break,
                Hop::To(next) => {
                    list::remove(&self.machine, thread.turn());
                    thread.set_chain(number);
                    thread = self.thread(next);
                    if thread.chain() == number {
                        // It leads in a circle: whoever closed that gives to nobody.
                        break;
                    }
                }
                Hop::Busy => break,
                Hop::Blocked if thread.has(Thread::DONATES) => {
                    // Whom it gave its time to is gone.
                    self.donation_end(thread, DONATION_BLOCKED);
                    return thread.at;
                }
                Hop::Blocked => {
                    reason = DONATION_BLOCKED;
                    break;
                }
            }
        }
        let Some(donor) = chain.pop() else { return Physical(0) };
        self.donation_end(self.thread(donor), reason);
        donor
    }

    fn hop(&self, cpu: usize, thread: Thread<'_>) -> Hop {
        let to = |next: Physical| match next {
            Physical(0) => Hop::Blocked,
            _ if self.chain_cpu(thread).is_some_and(|other| other != cpu) => Hop::Busy,
            _ => Hop::To(next),
        };
        match thread.wait() {
            _ if thread.has(Thread::STOPPED) => Hop::Blocked,
            _ if thread.cpu() != 0 && !thread.on_cpu(cpu) => Hop::Busy,
            wait if wait == WaitKind::Donate as u64 => to(list::link_target(&self.machine, thread.donee()).unwrap_or_default()),
            wait if wait == WaitKind::Reply as u64 => to(thread.server()),
            wait if wait == WaitKind::Send as u64 || wait == WaitKind::Fault as u64 => to(self.holder_of(thread.waits_at()).unwrap_or_default()),
            _ if thread.is_ready() => Hop::Run,
            _ => Hop::Blocked,
        }
    }

    /// The thread that received last from the port at an address, if there is still such a port,
    /// and such a thread.
    fn holder_of(&self, port: Physical) -> Option<Physical> {
        let at = self.object_still(port, ObjectType::Port)?;
        let holder = self.object_still(self.port(at).holder(), ObjectType::Thread)?;
        (self.thread(holder).served() == at).then_some(holder)
    }

    /// An address where an object of this type stood once, if one does now.
    fn object_still(&self, at: Physical, wanted: ObjectType) -> Option<Physical> {
        let plain = self.machine.frame(at)?.kind.get() % nacre_abi::PAGE_SIZE;
        if !matches!(plain, crate::machine::Frame::OBJECTS | crate::machine::Frame::KERNEL) {
            return None;
        }
        self.object_in_frame(at).filter(|(found, _)| *found == wanted).map(|(_, at)| at)
    }

    /// A ready thread is taken from wherever it waits for its turn.
    fn chain_claim(&self, thread: Thread<'_>) {
        list::remove(&self.machine, thread.queue());
        thread.lower(Thread::FIRST);
        thread.set_wait(WaitKind::None as u64);
    }
}
