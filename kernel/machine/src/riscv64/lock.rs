//! 64-bit RISC-V, not written yet: the one kernel lock.
