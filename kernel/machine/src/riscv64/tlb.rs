//! 64-bit RISC-V, not written yet: dropping translations on other CPUs.
