//! How signals reach threads: sent, chosen for a thread, taken by it on its way back to the
//! program.
//!
//! A thread whose block has `attention` set looks here before it goes on. Anybody with the lock may
//! set it; only the thread itself clears it.

use crate::abi::errno::{EAGAIN, Errno};
use crate::abi::signal_info::{Info, bit};
use crate::abi::signal_numbers::{ALWAYS, CHILD_FLAGS, SIGCHLD, SIGCONT, SIGKILL, STOPS};
use crate::process::Process;
use crate::process::end::end_by_signal;
use crate::raw::debugger;
use crate::state::limits::CpuLimit;
use crate::state::signals::dispositions::{Action, Fate};
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// A thread has left the table: signals that were for any thread may now be another's.
pub fn pass_on(process: &mut Process) {
    let mut waiting = process.signals.pending.set();
    while waiting != 0 {
        alert_one(process, u64::from(waiting.trailing_zeros()) + 1);
        waiting &= waiting - 1;
    }
}

/// Tells a thread that takes `signal` that there is something for it: the first if it does, else
/// any.
fn alert_one(process: &mut Process, signal: u64) {
    let mut takers = process.threads.all().filter(|(_, thread)| thread.mask & bit(signal) == 0 || thread.waits_for & bit(signal) != 0);
    if let Some(index) = takers.next().map(|(index, _)| index) {
        drop(takers);
        process.alert(index);
    }
}

impl Process {
    /// Sends a signal to the process.
    pub fn post(&mut self, info: Info) -> Result<(), Errno> {
        let first_mask = self.threads.all().next().map_or(0, |(_, thread)| thread.mask | thread.waits_for);
        if !self.prepare(&info, first_mask) {
            return Ok(());
        }
        self.check_room(&info)?;
        self.signals.pending.add(info)?;
        alert_one(self, info.signal);
        self.signal_came();
        Ok(())
    }

    /// Sends a signal to one of the threads.
    pub fn post_to(&mut self, index: usize, info: Info) -> Result<(), Errno> {
        let Some(thread) = self.threads.get(index) else { return Ok(()) };
        let (mask, waits_for) = (thread.mask, thread.waits_for);
        if !self.prepare(&info, mask | waits_for) {
            return Ok(());
        }
        self.check_room(&info)?;
        if let Some(thread) = self.threads.get_mut(index) {
            thread.pending.add(info)?;
        }
        if (mask & !waits_for) & bit(info.signal) == 0 {
            self.alert(index);
        }
        self.signal_came();
        Ok(())
    }

    /// `EAGAIN`: as many signals wait as the limit allows.
    fn check_room(&mut self, info: &Info) -> Result<(), Errno> {
        let limit = self.limits.signals();
        if !info.needs_room() || limit == usize::MAX {
            return Ok(());
        }
        let waiting = self.signals.pending.queued() + self.threads.all().map(|(_, thread)| thread.pending.queued()).sum::<usize>();
        if waiting < limit { Ok(()) } else { Err(EAGAIN) }
    }

    /// Files that give signals may have something now.
    fn signal_came(&mut self) {
        if self.has_signal_files {
            self.pipe_changed();
        }
    }

    /// Carries out the effects that sending a signal has for any receiver. Returns true if the
    /// signal is to be kept: it is not ignored, or it is blocked.
    fn prepare(&mut self, info: &Info, mask: u64) -> bool {
        if info.signal == SIGKILL {
            end_by_signal(self, SIGKILL);
        }
        if info.signal == SIGCONT {
            self.forget(STOPS);
            self.go_on();
        } else if bit(info.signal) & STOPS != 0 {
            self.forget(bit(SIGCONT));
        }
        mask & bit(info.signal) != 0 || self.signals.fate(info.signal) != Fate::Ignored || debugger::sees(info.signal)
    }

    /// Forgets signals that were sent.
    pub fn forget(&mut self, signals: u64) {
        self.signals.pending.forget(signals);
        for index in 0..self.threads.places() {
            if let Some(thread) = self.threads.get_mut(index) {
                thread.pending.forget(signals);
            }
        }
    }

    /// A signal that a thread's own instruction caused: it cannot be put off or ignored.
    pub fn force(&mut self, info: Info) {
        let blocked = self.me().mask & bit(info.signal) != 0;
        if blocked || self.signals.fate(info.signal) != Fate::Handled {
            if !debugger::sees(info.signal) {
                end_by_signal(self, info.signal);
            }
            // As on Linux, the signal takes its default effect, unless the debugger suppresses it.
            self.me().mask &= !bit(info.signal);
            self.signals.set_action(info.signal, Action::default());
        }
        let thread = self.me();
        // There is room for one of each kind in any case that matters: a thread that cannot be told
        // of its fault would make it for ever.
        if thread.pending.add(info).is_err() {
            end_by_signal(self, info.signal);
        }
        thread.block.set_attention(true);
    }

    /// Sets the caller's mask.
    pub fn set_mask(&mut self, mask: u64) {
        if mask != 0 && self.agent.is_none() && self.is_managed() {
            // Without one the manager would carry out what is to wait now. If there is no memory
            // for it, it does.
            let _ = self.need_agent();
        }
        self.me().mask = mask & !ALWAYS;
        self.hear_blocked(mask);
        self.look_again();
    }

    /// Stops the process: each thread waits on its way back to the program. Without a manager
    /// nobody could let it go on, and the manager may forbid it.
    pub fn stop(&mut self, signal: u64) {
        if !self.is_managed() || self.need_agent().is_err() || manager::stopped(Reference::PARENT, signal).is_err() {
            return;
        }
        self.signals.is_stopped = true;
        for index in 0..self.threads.places() {
            self.alert(index);
        }
    }

    /// Lets a process that was stopped go on.
    pub fn go_on(&mut self) {
        if core::mem::take(&mut self.signals.is_stopped) {
            // A manager that does not hear of it shows the process as stopped, no more.
            let _ = manager::stopped(Reference::PARENT, 0);
            self.threads.all().for_each(|(_, thread)| thread.block.wake());
        }
    }

    /// Lets the manager send ignored signals that a thread blocks from now on, because they wait
    /// while they are blocked.
    pub fn hear_blocked(&mut self, mask: u64) {
        if mask & !self.signals.blocked == 0 {
            return;
        }
        self.signals.blocked |= mask;
        let fresh = self.signals.ignored() & mask & !self.signals.heard;
        if fresh != 0 {
            self.signals.heard |= fresh;
            self.tell_dispositions();
        }
    }

    /// Tells the manager what the process does not want to hear of.
    pub fn tell_dispositions(&mut self) {
        if self.is_managed() {
            let ignored = if debugger::is_there() { 0 } else { self.signals.ignored() & !self.signals.heard };
            // Signals that come all the same are dropped here.
            let _ = manager::dispositions(Reference::PARENT, ignored, self.signals.action(SIGCHLD).flags & CHILD_FLAGS);
        }
    }

    /// Returns true if the process has reason to handle its signals itself.
    pub fn attends(&mut self) -> bool {
        self.signals.has_handlers() || self.me().mask != 0 || self.limits.cpu() != CpuLimit::NONE
    }
}
