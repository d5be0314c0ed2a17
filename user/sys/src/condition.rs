//! The kernel's part of a condition variable. Programs use
//! [`lock::Condition`](crate::lock::Condition).

use core::sync::atomic::AtomicU32;

use nacre_abi::{Call, Status};

use crate::object::object;
use crate::raw;

object! {
    /// Kernel object at which threads wait for a word to change.
    Condition, ConditionState, ConditionDestroy, ConditionMove, ConditionReference, ConditionGetState, ConditionSetState
}

impl Condition {
    /// Makes a condition in the free `slot`.
    pub fn create(slot: u64) -> Result<Condition, Status> {
        raw::call(Call::ConditionCreate, [slot, 0, 0, 0]).map(|_| Condition(slot))
    }

    /// Waits while `word` equals `expected`, for at most `timeout` nanoseconds (0: for ever).
    pub fn wait(self, word: &AtomicU32, expected: u32, timeout: u64) -> Result<(), Status> {
        raw::wait(Call::ConditionWait, self.0, word, u64::from(expected), timeout)
    }

    /// Wakes up to `count` threads; how many were woken.
    pub fn signal(self, count: u64) -> Result<u64, Status> {
        raw::call(Call::ConditionSignal, [self.0, count, 0, 0]).map(|(woken, _)| woken)
    }
}
