//! 64-bit RISC-V, not written yet: the user context that a CPU has.
