//! The processor's time-stamp counter: the cheapest clock there is. The only file here with unsafe code.
#![allow(unsafe_code)]

/// Ticks since the machine started. What a tick is depends on the processor.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: the instruction reads a counter into registers and nothing else; programs are allowed to use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}
