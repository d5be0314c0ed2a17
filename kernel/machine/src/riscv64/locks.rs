//! 64-bit RISC-V, not written yet: the locks of this machine's CPUs.
