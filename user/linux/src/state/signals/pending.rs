//! Signals that were sent and not yet delivered. A standard signal is there once; real-time ones
//! queue, each with what was sent along.

use crate::abi::errno::{EAGAIN, Errno};
use crate::abi::signal_info::{FIRST_QUEUED, Info, SI_TIMER, bit};
use alloc::collections::VecDeque;

/// Maximum number of queued signals.
const MOST: usize = 1024;
/// Signals that tell of the thread's own instruction come first:
/// `SIGSEGV SIGBUS SIGILL SIGTRAP SIGFPE SIGSYS`.
const FIRST_TAKEN: u64 = bit(11) | bit(7) | bit(4) | bit(5) | bit(8) | bit(31);
/// `si_code`: sent by `tkill` or `tgkill`.
pub const SI_TKILL: i32 = -6;

/// Signals in the order in which they came.
#[derive(Debug, Default)]
pub struct Pending {
    set: u64,
    infos: VecDeque<Info>,
}

impl Pending {
    /// Creates an empty set.
    pub const fn new() -> Pending {
        Pending { set: 0, infos: VecDeque::new() }
    }

    /// Returns the set of pending signals.
    pub fn set(&self) -> u64 {
        self.set
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Info> {
        self.infos.iter()
    }

    /// Returns the number of queued signals.
    pub fn queued(&self) -> usize {
        self.infos.iter().filter(|info| info.signal >= FIRST_QUEUED).count()
    }

    /// Adds a signal. `EAGAIN`: too many queue.
    pub fn add(&mut self, info: Info) -> Result<(), Errno> {
        if self.set & bit(info.signal) != 0 && info.signal < FIRST_QUEUED {
            return Ok(());
        }
        if self.infos.len() >= MOST || self.infos.try_reserve(1).is_err() {
            return Err(EAGAIN);
        }
        self.set |= bit(info.signal);
        self.infos.push_back(info);
        Ok(())
    }

    /// A timer that has a signal here was due so often again; whether it has one.
    pub fn overrun(&mut self, timer: u64, times: u64) -> bool {
        let info = self.infos.iter_mut().find(|info| info.code == SI_TIMER && info.fields[0] & 0xffff_ffff == timer);
        let Some(info) = info else { return false };
        let overrun = (info.fields[0] >> 32).saturating_add(times).min(i32::MAX as u64);
        info.fields[0] = timer | overrun << 32;
        true
    }

    /// Takes the signal of `wanted` that comes first.
    pub fn take(&mut self, wanted: u64) -> Option<Info> {
        let ready = self.set & wanted;
        if ready == 0 {
            return None;
        }
        let first = if ready & FIRST_TAKEN != 0 { ready & FIRST_TAKEN } else { ready };
        let signal = u64::from(first.trailing_zeros()) + 1;
        let index = self.infos.iter().position(|info| info.signal == signal)?;
        let info = if index == 0 { self.infos.pop_front()? } else { self.infos.remove(index)? };
        if self.infos.is_empty() || !self.infos.iter().any(|info| info.signal == signal) {
            self.set &= !bit(signal);
        }
        Some(info)
    }

    /// Forgets the signals of a set.
    pub fn forget(&mut self, signals: u64) {
        if self.set & signals != 0 {
            self.set &= !signals;
            self.infos.retain(|info| signals & bit(info.signal) == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(signal: u64, value: u64) -> Info {
        Info { signal, code: -1, fields: [0, value, 0, 0] }
    }

    #[test]
    fn standard_signals_merge_and_others_queue() {
        let mut pending = Pending::new();
        for value in 0..3 {
            pending.add(info(10, value)).unwrap();
            pending.add(info(40, value)).unwrap();
        }
        assert_eq!(pending.take(u64::MAX), Some(info(10, 0)));
        assert_eq!(pending.take(bit(10)), None);
        assert_eq!(pending.take(u64::MAX), Some(info(40, 0)));
        assert_eq!(pending.set(), bit(40));
        assert_eq!(pending.take(u64::MAX), Some(info(40, 1)));
        assert_eq!(pending.take(u64::MAX), Some(info(40, 2)));
        assert_eq!((pending.take(u64::MAX), pending.set()), (None, 0));
    }

    #[test]
    fn faults_come_first_and_queues_end() {
        let mut pending = Pending::new();
        pending.add(info(1, 0)).unwrap();
        pending.add(info(11, 0)).unwrap();
        assert_eq!(pending.take(u64::MAX), Some(info(11, 0)));
        for _ in 1..MOST {
            pending.add(info(64, 0)).unwrap();
        }
        assert_eq!(pending.add(info(64, 0)), Err(EAGAIN));
        pending.forget(bit(64));
        assert_eq!(pending.take(u64::MAX), Some(info(1, 0)));
    }
}
