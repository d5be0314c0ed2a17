//! 64-bit RISC-V, not written yet: which extensions there are.
