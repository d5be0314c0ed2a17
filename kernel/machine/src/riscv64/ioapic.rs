//! 64-bit RISC-V, not written yet: the platform-level interrupt controller.
