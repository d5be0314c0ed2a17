//! 64-bit RISC-V, not written yet: the kernel's half of every address space.
