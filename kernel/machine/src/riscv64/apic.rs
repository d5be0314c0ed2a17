//! 64-bit RISC-V, not written yet: interrupts between CPUs, through the supervisor binary interface.
