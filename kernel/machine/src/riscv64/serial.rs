//! 64-bit RISC-V, not written yet: the kernel's messages, through the supervisor binary interface.
