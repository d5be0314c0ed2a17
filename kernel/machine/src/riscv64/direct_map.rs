//! 64-bit RISC-V, not written yet: all RAM in the upper half.
