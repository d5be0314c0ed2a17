//! 64-bit RISC-V, not written yet: the trap vector.
