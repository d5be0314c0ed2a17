//! Numbers of the interrupts that the kernel uses.
#![forbid(unsafe_code)]

/// Vector of interrupt line 0; the others follow.
pub const LINE_VECTOR: usize = 0x30;
/// Vector of the local timer.
pub const TIMER_VECTOR: usize = 0xf0;
/// Vector that makes a CPU enter the kernel.
pub const KICK_VECTOR: usize = 0xf1;
/// Vector of requests of the CPU that has all locks.
pub const FLUSH_VECTOR: usize = 0xf2;
/// Vector of interrupts that the local APIC takes back.
pub const SPURIOUS_VECTOR: usize = 0xff;
