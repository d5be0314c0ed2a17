//! 64-bit RISC-V, not written yet: one-instruction leaves: control and status registers.
