//! Timers of time that is used: `ITIMER_VIRTUAL`, `ITIMER_PROF`, and the limit `RLIMIT_CPU`. The agent looks at them whenever they could be due, as if all threads ran all the time.

use crate::calls::identity::limits::CpuLimit;
use crate::calls::signals::SIGKILL;
use crate::calls::time::clocks::SECOND;
use crate::calls::time::timers::Timer;
use crate::operations::cpu_time::Clock;
use crate::process::Process;
use crate::state::signals::pending::{Info, SI_KERNEL};

/// The signal of each timer: of the program's time, and of all that is done for it, which is the same here.
const SIGNALS: [u64; 2] = [26, 27];
const SIGXCPU: u64 = 24;
/// How often the agent looks at most: Linux's tick.
const TICK: u64 = 4_000_000;

/// The two timers of `setitimer`.
pub type CpuTimers = [Timer; 2];

impl Process {
    /// Whether the agent has to look at time that is used.
    pub fn has_cpu_timers(&self) -> bool {
        self.cpu_timers.iter().any(|timer| timer.due.is_some()) || self.limits.cpu() != CpuLimit::NONE
    }

    /// How soon so much can have been used.
    pub fn soonest(&self, left: u64, clock: Clock) -> u64 {
        let threads = if clock == Clock::Process { self.threads.count().max(1) as u64 } else { 1 };
        (left / threads).max(TICK)
    }

    /// Sends what is due; how long until one can be due again.
    pub fn fire_cpu_timers(&mut self) -> Option<u64> {
        if !self.has_cpu_timers() {
            return None;
        }
        let used = self.used();
        for (index, signal) in SIGNALS.into_iter().enumerate() {
            if self.cpu_timers[index].expire(used) != 0 {
                // A signal that cannot queue is lost.
                let _ = self.post(Info { signal, code: SI_KERNEL, fields: [0; 4] });
            }
        }
        self.fire_cpu_limit(used);
        let CpuLimit { soft, hard } = self.limits.cpu();
        let limits = [soft, hard].into_iter().filter(|limit| *limit != u64::MAX).map(|limit| limit.saturating_mul(SECOND));
        let next = self.cpu_timers.iter().filter_map(|timer| timer.due).chain(limits).min()?;
        Some(self.soonest(next.saturating_sub(used), Clock::Process))
    }

    /// A process that has used what it may is told so each second, and ends when it has used all.
    fn fire_cpu_limit(&mut self, used: u64) {
        let CpuLimit { soft, hard } = self.limits.cpu();
        let signal = match used / SECOND {
            seconds if seconds >= hard => SIGKILL,
            seconds if seconds >= soft => SIGXCPU,
            _ => return,
        };
        self.limits.set_cpu_soft((used / SECOND).saturating_add(1));
        let _ = self.post(Info { signal, code: SI_KERNEL, fields: [0; 4] });
    }
}
