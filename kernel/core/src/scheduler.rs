//! Who runs: one queue for all CPUs, first come first served, in slices of time. A message hands
//! the CPU over without the queue. Threads that have a scheduler are in no queue: they run on time
//! that others give them (`donate`).

use crate::kernel::{Kernel, Next};
use crate::list;
use crate::machine::{Machine, Physical};
use crate::object::{Space, Thread, WaitKind, thread_of_queue_node};
use nacre_abi::state::SpaceState;

/// Slice of a thread while others want to run, in nanoseconds.
const SLICE: u64 = 10_000_000;
/// Offset, in the frame of globals, of the anchor of the threads to be woken first.
const TOLD: u64 = 32;

impl<M: Machine> Kernel<M> {
    /// Anchor of the run queue.
    #[inline(always)]
    pub(crate) fn run_queue(&self) -> Physical {
        self.globals.get()
    }

    /// The thread may run: on this CPU if whoever it had has just left it, else when its turn
    /// comes.
    #[inline(always)]
    pub(crate) fn make_ready(&self, thread: Thread<'_>) {
        if (thread.flags() & (Thread::STOPPED | Thread::SCHEDULED)) | thread.wait() | thread.chain() != 0 {
            return self.make_ready_otherwise(thread);
        }
        self.queue_ready(thread);
    }

    /// Makes a thread ready that cannot simply go into the queue.
    #[cold]
    #[inline(never)]
    fn make_ready_otherwise(&self, thread: Thread<'_>) {
        if thread.has(Thread::STOPPED) || !thread.waits_for(WaitKind::None) {
            return;
        }
        self.chain_touched(thread);
        thread.set_chain(0);
        if thread.has(Thread::SCHEDULED) { self.ready_for_scheduler(thread) } else { self.queue_ready(thread) }
    }

    /// Puts a ready thread last in the queue, and finds it a CPU.
    #[inline(always)]
    fn queue_ready(&self, thread: Thread<'_>) {
        self.queue_last(thread);
        let cpu = self.machine.cpu();
        self.slice_note(cpu);
        let others = self.online.get() & !(1 << cpu);
        if others != 0 {
            self.kick_others(others);
        }
    }

    /// Anchor of the threads that were told, in the entry under way, that a port of theirs has no
    /// references any more.
    pub(crate) fn told(&self) -> Physical {
        self.globals.get().add(TOLD)
    }

    /// The thread, which was told so, is ready. It runs before whoever gave the last reference away
    /// goes on: so what that does next finds the server knowing, through however many layers the
    /// word has to go.
    pub(crate) fn tell(&self, server: Thread<'_>) {
        if server.flags() & (Thread::STOPPED | Thread::SCHEDULED) == Thread::SCHEDULED && server.waits_for(WaitKind::None) {
            // Its scheduler hears that it goes first, also if it knows that it is ready.
            server.lower(Thread::KNOWN);
            server.raise(Thread::FIRST);
        }
        if (server.flags() & (Thread::STOPPED | Thread::SCHEDULED)) | server.wait() != 0 {
            return self.make_ready_otherwise(server);
        }
        if server.chain() != 0 {
            // It worked for somebody on his time before, or does.
            self.chain_touched(server);
            server.set_chain(0);
        }
        list::push_back(&self.machine, self.told(), server.queue());
        let this = &self.cpus[self.machine.cpu()];
        this.ahead.set(this.ahead.get() + 1);
        this.timer_stale.set(true);
    }

    /// Puts the threads to be woken first at the head of the queue, and the thread that was to run
    /// here right behind them. All run in the rest of its slice, so that no thread gains by it.
    /// Returns the thread that runs now.
    #[cold]
    fn told_first(&self, cpu: usize, chosen: Physical) -> Physical {
        let this = &self.cpus[cpu];
        let is_own = chosen != Physical(0) && self.thread(chosen).chain() == 0 && this.chain.base.get() == Physical(0);
        let leaves = is_own || self.told_before_base(cpu, chosen);
        if is_own {
            list::push_back(&self.machine, self.told(), self.thread(chosen).queue());
            this.ahead.set(this.ahead.get() + 1);
            this.chosen.set(Physical(0));
        }
        list::splice(&self.machine, self.run_queue(), self.told());
        list::splice(&self.machine, self.told(), self.run_queue());
        if leaves { Physical(0) } else { chosen }
    }

    /// Does what `told_first` does on a CPU that runs on donated time: the donor comes right behind
    /// the woken threads. Returns false if the CPU runs on no donated time.
    fn told_before_base(&self, cpu: usize, chosen: Physical) -> bool {
        let this = &self.cpus[cpu];
        let base = this.chain.base.get();
        if base == Physical(0) || !self.thread(base).has(Thread::DONATES) {
            return false;
        }
        this.chosen.set(Physical(0));
        self.chain_preempt(cpu);
        let turn = self.thread(base).turn();
        if chosen != Physical(0) && self.thread(chosen).has(Thread::SCHEDULED) {
            self.make_ready(self.thread(chosen));
        } else if chosen != Physical(0) {
            // It works for somebody on his time, and goes on by its own right.
            self.thread(chosen).set_chain(0);
            list::push_back(&self.machine, self.told(), self.thread(chosen).queue());
            this.ahead.set(this.ahead.get() + 1);
        }
        if !list::is_empty(&self.machine, turn) {
            list::remove(&self.machine, turn);
            list::push_back(&self.machine, self.told(), turn);
            this.ahead.set(this.ahead.get() + 1);
        }
        true
    }

    /// Somebody waits: an idle CPU takes it; if none is, each that took its thread for the only one
    /// sees to it that its slice has an end.
    #[cold]
    fn kick_others(&self, others: u64) {
        let idle = others & self.idle.get();
        if idle != 0 {
            return self.machine.cpu_kick(idle.trailing_zeros() as usize);
        }
        for (cpu, this) in self.cpus.iter().enumerate().filter(|(cpu, _)| others >> cpu & 1 == 1) {
            if this.armed.get() > this.slice_end.get() {
                self.machine.cpu_kick(cpu);
            }
        }
    }

    /// Sets the timer to the end of this CPU's slice at the latest, because other threads wait.
    #[inline(always)]
    fn slice_note(&self, cpu: usize) {
        let this = &self.cpus[cpu];
        if this.armed.get() > this.slice_end.get() {
            this.timer_stale.set(true);
        }
    }

    /// The thread, which is ready and on no queue, runs next on this CPU in place of `from` if
    /// nobody else is chosen: if both run by the same right.
    #[inline(always)]
    pub(crate) fn hand_over(&self, from: Thread<'_>, thread: Thread<'_>) {
        let chosen = &self.cpus[self.machine.cpu()].chosen;
        let own_time = thread.chain() == 0 && thread.has(Thread::SCHEDULED);
        if chosen.get() == Physical(0) && !thread.has(Thread::STOPPED) && from.chain() == thread.chain() && !own_time {
            chosen.set(thread.at);
        } else {
            self.make_ready(thread);
        }
    }

    /// The thread does not go on now, if it is the one that this CPU was to run.
    #[inline(always)]
    pub(crate) fn leave_cpu(&self, thread: Thread<'_>) {
        let chosen = &self.cpus[self.machine.cpu()].chosen;
        if chosen.get() == thread.at {
            chosen.set(Physical(0));
        }
    }

    /// Another CPU asked for the thread on this one to stop.
    pub(crate) fn evict(&self, thread: Thread<'_>) {
        thread.lower(Thread::EVICT);
        thread.raise(Thread::STOPPED);
        self.leave_cpu(thread);
        // If its turn was over at the same time, it is in the run queue, or its scheduler is about
        // to be told.
        self.wait_cancel(thread);
    }

    /// The running thread's turn may be over.
    pub(crate) fn slice_check(&self) {
        let cpu = &self.cpus[self.machine.cpu()];
        let running = cpu.chosen.get();
        if running == Physical(0) || list::is_empty(&self.machine, self.run_queue()) || self.machine.now() < cpu.slice_end.get() {
            return;
        }
        cpu.chosen.set(Physical(0));
        self.chain_preempt(self.machine.cpu());
        self.make_ready(self.thread(running));
    }

    /// Gives the CPU away for one turn of the queue.
    pub(crate) fn yield_cpu(&self, caller: Thread<'_>) {
        if self.chain_yield(self.machine.cpu(), caller) {
            return;
        }
        if list::is_empty(&self.machine, self.run_queue()) {
            return;
        }
        self.leave_cpu(caller);
        self.make_ready(caller);
    }

    /// Decides who runs on this CPU, and lets the machine hold its context.
    #[inline(always)]
    pub(crate) fn leave(&self, cpu: usize) -> Next {
        let this = &self.cpus[cpu];
        let chosen = this.chosen.get();
        if chosen != Physical(0) && chosen == this.loaded.get() && !this.timer_stale.get() {
            return Next::User;
        }
        self.leave_for(cpu, chosen)
    }

    fn leave_for(&self, cpu: usize, mut chosen: Physical) -> Next {
        let this = &self.cpus[cpu];
        if !list::is_empty(&self.machine, self.told()) {
            chosen = self.told_first(cpu, chosen);
        }
        let mut next = self.chain_settle(cpu, chosen);
        while next == Physical(0) {
            let Some(first) = self.queue_first(cpu) else {
                self.go_idle(cpu);
                return Next::Idle;
            };
            next = self.chain_begin(cpu, first);
        }
        // Who gave its turn away and comes up again is chosen once more.
        this.chosen.set(next);
        if next != this.loaded.get() {
            self.switch(cpu, next);
        }
        if this.timer_stale.get() {
            self.timer_arm(cpu);
        }
        Next::User
    }

    /// Takes the first thread of the queue, if there is one, with a new slice unless it goes on in
    /// one.
    #[inline(always)]
    pub(crate) fn queue_first(&self, cpu: usize) -> Option<Physical> {
        let node = list::first(&self.machine, self.run_queue())?;
        list::remove(&self.machine, node);
        match self.cpus[cpu].ahead.get() {
            0 => self.cpus[cpu].slice_end.set(self.machine.now() + SLICE),
            ahead => self.cpus[cpu].ahead.set(ahead - 1),
        }
        self.slice_note(cpu);
        Some(thread_of_queue_node(node))
    }

    /// Puts a ready thread last in the queue.
    #[inline(always)]
    pub(crate) fn queue_last(&self, thread: Thread<'_>) {
        list::push_back(&self.machine, self.run_queue(), thread.queue());
    }

    /// The CPU's time is that of `to` from now on, and was that of `from`, which was loaded.
    #[inline(always)]
    fn charge(&self, from: Thread<'_>, to: Thread<'_>) {
        let stamp = self.machine.stamp();
        from.set_used(from.used().wrapping_add(stamp));
        to.set_used(to.used().wrapping_sub(stamp));
    }

    /// Nanoseconds that the thread has had of CPUs.
    pub(crate) fn used_time(&self, thread: Thread<'_>) -> u64 {
        let now = if thread.cpu() == 0 { 0 } else { self.machine.stamp() };
        // Stamps of two CPUs may differ a little: a thread that has just come to another one has
        // had nothing.
        let used = thread.used().wrapping_add(now).cast_signed().max(0).cast_unsigned();
        thread.had().saturating_add(self.machine.stamp_nanoseconds(used))
    }

    #[inline(always)]
    fn switch(&self, cpu: usize, next: Physical) {
        let this = &self.cpus[cpu];
        let from = this.loaded.get();
        let to = self.thread(next);
        if from != Physical(0) {
            self.charge(self.thread(from), to);
            self.thread(from).set_cpu(0);
        } else {
            to.set_used(to.used().wrapping_sub(self.machine.stamp()));
            self.idle.set(self.idle.get() & !(1 << cpu));
        }
        to.set_cpu(cpu as u64 + 1);
        this.loaded.set(next);
        this.chosen.set(next);
        let root = self.space_switch(cpu, to.space());
        self.machine.switch_thread((from != Physical(0)).then_some(from), next, root);
    }

    /// Switches at once from the loaded thread to another one that is ready and on no queue.
    #[inline(always)]
    pub(crate) fn switch_directly(&self, cpu: usize, from: Thread<'_>, to: Thread<'_>) {
        let this = &self.cpus[cpu];
        self.charge(from, to);
        from.set_cpu(0);
        to.set_cpu(cpu as u64 + 1);
        this.loaded.set(to.at);
        this.chosen.set(to.at);
        let (old, new) = (this.space.get(), to.space());
        let mut root = None;
        if old != new {
            // The bit of a loaded space is set, that of another is not.
            let (old, new, bit) = (self.space(old), self.space(new), this.bit.get());
            self.machine.flip(old.active_word(), bit);
            self.machine.flip(new.active_word(), bit);
            this.space.set(new.at);
            self.time_follow(cpu, new);
            root = Some(new.root());
        }
        self.machine.switch_thread(Some(from.at), to.at, root);
        if this.timer_stale.get() {
            self.timer_arm(cpu);
        }
    }

    /// Accounts for a change of tables; the new root if there is one.
    #[inline(always)]
    fn space_switch(&self, cpu: usize, next: Physical) -> Option<Physical> {
        let this = &self.cpus[cpu];
        let old = this.space.get();
        if old == next {
            return None;
        }
        if old != Physical(0) {
            self.space(old).set_active(self.space(old).active() & !(1 << cpu));
        }
        this.space.set(next);
        let space = self.space(next);
        space.set_active(space.active() | 1 << cpu);
        self.time_follow(cpu, space);
        Some(space.root())
    }

    /// The machine shows or hides its time as the space that this CPU runs wants it.
    #[inline(always)]
    fn time_follow(&self, cpu: usize, space: Space<'_>) {
        if space.flags() != self.cpus[cpu].time_hidden.get() {
            self.time_hide(cpu, space.flags());
        }
    }

    #[cold]
    fn time_hide(&self, cpu: usize, flags: u64) {
        self.cpus[cpu].time_hidden.set(flags);
        self.machine.time_hide(flags & SpaceState::TIME_HIDDEN != 0);
    }

    /// The flags of a space have changed: the CPUs that run it are told. This one runs the
    /// caller's, which is another.
    pub(crate) fn space_changed(&self, space: Space<'_>) {
        for cpu in 0..crate::machine::MAX_CPUS {
            if space.active() >> cpu & 1 == 1 {
                self.machine.cpu_kick(cpu);
            }
        }
    }

    /// Reloads the parts of this CPU's space that may have changed since it was loaded.
    pub(crate) fn space_refresh(&self) {
        let cpu = self.machine.cpu();
        let space = self.cpus[cpu].space.get();
        if space != Physical(0) {
            self.time_follow(cpu, self.space(space));
        }
    }

    fn go_idle(&self, cpu: usize) {
        let this = &self.cpus[cpu];
        let from = this.loaded.get();
        if from != Physical(0) {
            self.machine.fpu_settle(from, false);
            let thread = self.thread(from);
            thread.set_used(thread.used().wrapping_add(self.machine.stamp()));
            thread.set_cpu(0);
        }
        let old = this.space.get();
        if old != Physical(0) {
            self.space(old).set_active(self.space(old).active() & !(1 << cpu));
            self.machine.leave_space();
        }
        this.loaded.set(Physical(0));
        this.chosen.set(Physical(0));
        this.space.set(Physical(0));
        self.idle.set(self.idle.get() | 1 << cpu);
        self.timer_arm(cpu);
    }

    /// A thread that is being destroyed was the one loaded here: the machine keeps nothing of it.
    pub(crate) fn unload(&self, thread: Thread<'_>) {
        self.machine.fpu_settle(thread.at, true);
        let this = &self.cpus[self.machine.cpu()];
        if this.loaded.get() == thread.at {
            this.loaded.set(Physical(0));
        }
    }

    /// Sets this CPU's timer for what comes first: the end of the slice if others wait, the end of
    /// a donation, or (on the first CPU) a deadline. One that is to come earlier stays: it is set
    /// anew then.
    #[cold]
    #[inline(never)]
    fn timer_arm(&self, cpu: usize) {
        self.cpus[cpu].timer_stale.set(false);
        let running = self.cpus[cpu].loaded.get() != Physical(0);
        let slice = if running && !list::is_empty(&self.machine, self.run_queue()) { self.cpus[cpu].slice_end.get() } else { u64::MAX };
        let deadline = if cpu == 0 { self.deadline_first() } else { u64::MAX };
        // Announcements that were too many for one entry go on in the next, which is at once.
        let announcing = if list::is_empty(&self.machine, self.announcements()) { u64::MAX } else { 0 };
        let first = slice.min(deadline).min(announcing).min(self.cpus[cpu].chain.end());
        if first == u64::MAX || first < self.cpus[cpu].armed.get() {
            self.cpus[cpu].armed.set(first);
            self.machine.timer_set(first);
        }
    }
}
