//! 64-bit RISC-V, not written yet: the interrupt lines.
