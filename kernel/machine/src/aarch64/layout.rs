//! 64-bit Arm, not written yet: the kernel's half of every address space.
