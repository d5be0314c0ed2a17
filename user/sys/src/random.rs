//! Random numbers that the processor makes.

use core::arch::x86_64::{__cpuid, __cpuid_count};

/// Bits of `cpuid` (Intel SDM, volume 2A, CPUID): RDRAND in `ecx` of leaf 1, RDSEED in `ebx` of
/// leaf 7.
const RDRAND: u32 = 1 << 30;
const RDSEED: u32 = 1 << 18;
/// Number of tries before a source is taken for broken (Intel's DRNG guide recommends 10).
const TRIES: usize = 10;

/// 64 random bits of the processor, by RDSEED, or else by RDRAND; `None` if it has neither or they
/// fail.
pub fn word() -> Option<u64> {
    let has_seed = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx & RDSEED != 0;
    let has_random = __cpuid(1).ecx & RDRAND != 0;
    let seed = || has_seed.then(crate::raw::rdseed).flatten();
    let random = || has_random.then(crate::raw::rdrand).flatten();
    (0..TRIES).find_map(|_| seed()).or_else(|| (0..TRIES).find_map(|_| random()))
}
