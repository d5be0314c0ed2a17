//! 64-bit RISC-V, not written yet: the floating-point registers, tracked by the status register.
