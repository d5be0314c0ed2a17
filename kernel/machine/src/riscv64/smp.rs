//! 64-bit RISC-V, not written yet: starting the other CPUs, through the supervisor binary interface.
