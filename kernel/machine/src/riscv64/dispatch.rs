//! 64-bit RISC-V, not written yet: between the entry code and the core.
