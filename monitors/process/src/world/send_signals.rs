//! Sending of signals: who may send them to whom, which wait, and what becomes of those that nobody
//! takes care of.

use super::signals::{CONTINUE, FIRST_QUEUED, HARMLESS, HIGHEST, KEY_STOPS, KILL, STOPS, Sent, Signal, bit};
use super::{SignalHandling, Effect, FIRST, Process, State, World};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{SI_TKILL, SI_USER};

impl World {
    /// `kill` and its like.
    pub fn kill(&mut self, sender: u64, sent: &Sent) -> Result<(), Errno> {
        let user = self.living(sender)?.traits.identity[0];
        if sent.number > HIGHEST {
            return Err(Errno::EINVAL);
        }
        let targets = self.targets(sender, sent)?;
        // A code that only the system uses would be a lie, but to oneself.
        let is_own = sent.code == SI_USER || sent.code == SI_TKILL || (sent.code as i64) < 0;
        if !is_own && targets != [sender] {
            return Err(Errno::EPERM);
        }
        let allowed: Vec<u64> = targets.iter().copied().filter(|target| self.may_send(sender, *target, sent.number)).collect();
        match (targets.is_empty(), allowed.is_empty()) {
            (true, _) => return Err(Errno::ESRCH),
            (_, true) => return Err(Errno::EPERM),
            _ => {}
        }
        let signal = Signal { number: sent.number, code: sent.code, sender, user, value: sent.value, thread: sent.thread };
        let results: Vec<Result<(), Errno>> = allowed.into_iter().map(|target| self.deliver(target, signal)).collect();
        results.iter().find(|result| result.is_ok()).copied().unwrap_or(results[0])
    }

    /// The process that has this number, or a thread with it, that lives and that `caller` knows
    /// of.
    pub fn owner_of(&self, caller: u64, number: u64) -> Result<u64, Errno> {
        let is_it = |(pid, process): &(&u64, &Process)| (**pid == number || process.threads.contains(&number)) && process.state == State::Running;
        self.processes.iter().find(is_it).map(|(pid, _)| *pid).filter(|pid| self.sees(caller, *pid)).ok_or(Errno::ESRCH)
    }

    /// The processes that are meant, of those that the sender knows of.
    fn targets(&self, sender: u64, sent: &Sent) -> Result<Vec<u64>, Errno> {
        let mut targets = self.named(sender, sent)?;
        if self.is_in_domain(sender) {
            targets.retain(|target| self.sees(sender, *target));
        }
        Ok(targets)
    }

    fn named(&self, sender: u64, sent: &Sent) -> Result<Vec<u64>, Errno> {
        let has_thread = |(pid, process): (&u64, &Process)| *pid == sent.thread || process.threads.contains(&sent.thread);
        if sent.thread != 0 {
            let (pid, _) = self.processes.iter().find(|one| has_thread(*one)).ok_or(Errno::ESRCH)?;
            return if sent.target == 0 || sent.target == *pid as i64 { Ok([*pid].to_vec()) } else { Err(Errno::ESRCH) };
        }
        let group = match sent.target {
            -1 => return Ok(self.processes.keys().copied().filter(|pid| *pid != FIRST && *pid != sender).collect()),
            0 => self.process(sender)?.group,
            target if target > 0 => return Ok(self.processes.keys().copied().filter(|pid| *pid == target as u64).collect()),
            target => target.unsigned_abs(),
        };
        Ok(self.members(group))
    }

    fn may_send(&self, sender: u64, target: u64, signal: u64) -> bool {
        let (Ok(from), Ok(to)) = (self.process(sender), self.process(target)) else { return false };
        let ([user, effective, _], [real, _, saved]) = (from.traits.identity, to.traits.identity);
        let is_same = [user, effective].iter().any(|one| [real, saved].contains(one));
        effective == 0 || is_same || sender == target || signal == CONTINUE && from.session == to.session
    }

    /// A signal to every process of a group, from the system.
    pub fn signal_group(&mut self, group: u64, number: u64) {
        for pid in self.members(group) {
            // Only one that waits for itself can find no room, and the system sends none such.
            let _ = self.deliver(pid, Signal::from_system(number));
        }
    }

    /// A signal has come to a process. `EAGAIN`: too many wait.
    pub(super) fn deliver(&mut self, pid: u64, signal: Signal) -> Result<(), Errno> {
        let signal = if self.is_in_domain(pid) { self.without_stranger(pid, signal) } else { signal };
        let Ok(process) = self.living(pid) else { return Ok(()) };
        if signal.number == 0 {
            return Ok(());
        }
        if signal.number == KILL {
            self.end(pid, KILL);
            return Ok(());
        }
        let was_stopped = process.stopped.is_some();
        process.forget_opposite(signal.number);
        let is_ignored = process.traits.ignored & bit(signal.number) != 0;
        let waits = was_stopped && signal.number != CONTINUE && bit(signal.number) & STOPS == 0;
        if process.state == State::Running && process.attendance == SignalHandling::Nobody && !waits {
            self.take_default(pid, signal.number, is_ignored);
        } else if !is_ignored || signal.number == CONTINUE && was_stopped {
            process.enqueue(signal)?;
            if process.attendance == SignalHandling::Agent {
                self.effects.push(Effect::Notify(pid));
            }
        }
        Ok(())
    }

    /// The default effect of a signal on a process that has no agent.
    fn take_default(&mut self, pid: u64, number: u64, is_ignored: bool) {
        if number == CONTINUE {
            // The process continues even if it ignores the signal, and takes what has come
            // meanwhile.
            let _ = self.set_stopped(pid, 0);
            self.settle(pid);
        }
        if is_ignored || bit(number) & HARMLESS != 0 {
            return;
        }
        if bit(number) & STOPS != 0 {
            // An orphaned group is not stopped by keys.
            let _ = self.set_stopped(pid, number);
            return;
        }
        self.end(pid, number);
    }

    /// Signals that have come to a process that has no agent take effect.
    pub(super) fn settle(&mut self, pid: u64) {
        while let Some(signal) = self.living(pid).ok().and_then(|process| process.queue.pop_front()) {
            let is_ignored = self.living(pid).is_ok_and(|process| process.traits.ignored & bit(signal.number) != 0);
            self.take_default(pid, signal.number, is_ignored);
        }
    }

    /// The oldest signal, for the agent.
    pub fn signal_take(&mut self, pid: u64) -> Result<Option<Signal>, Errno> {
        Ok(self.living(pid)?.queue.pop_front())
    }

    /// The process has been stopped by this signal, or (0) goes on; its parent hears of it. `EIO`:
    /// it cannot be stopped by that.
    pub fn set_stopped(&mut self, pid: u64, signal: u64) -> Result<(), Errno> {
        let group = self.living(pid)?.group;
        if signal != 0 && bit(signal) & STOPS == 0 {
            return Err(Errno::EINVAL);
        }
        if bit(signal) & KEY_STOPS != 0 && self.is_orphaned(group) {
            return Err(Errno::EIO);
        }
        let process = self.living(pid)?;
        if process.stopped.is_some() == (signal != 0) {
            return Ok(());
        }
        process.stopped = (signal != 0).then_some(signal);
        let effect = if signal != 0 { Effect::Stop(pid) } else { Effect::Continue(pid) };
        if process.attendance == SignalHandling::Nobody {
            self.effects.push(effect);
        }
        self.tell_stop(pid, signal);
        Ok(())
    }
}

impl Process {
    /// A signal that stops makes one that continues void, and the other way round.
    fn forget_opposite(&mut self, number: u64) {
        let opposite = match number {
            CONTINUE => STOPS,
            number if bit(number) & STOPS != 0 => bit(CONTINUE),
            _ => return,
        };
        self.queue.retain(|signal| bit(signal.number) & opposite == 0);
    }

    /// Queues a signal. One of the standard signals is queued once.
    fn enqueue(&mut self, signal: Signal) -> Result<(), Errno> {
        let is_same = |other: &Signal| other.number == signal.number && other.thread == signal.thread;
        if signal.number < FIRST_QUEUED && self.queue.iter().any(is_same) {
            return Ok(());
        }
        let queued = self.queue.iter().filter(|other| other.number >= FIRST_QUEUED).count() as u64;
        if signal.number >= FIRST_QUEUED && queued >= self.traits.most_signals {
            return Err(Errno::EAGAIN);
        }
        // One of each of the first numbers for the process and for each of its threads: a thread's
        // are bounded too.
        if signal.thread != 0 && self.queue.len() as u64 >= 2 * super::MAX_SIGNALS {
            return Err(Errno::EAGAIN);
        }
        self.queue.push_back(signal);
        Ok(())
    }
}
