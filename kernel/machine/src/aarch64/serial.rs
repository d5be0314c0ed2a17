//! 64-bit Arm, not written yet: the kernel's messages, on a PL011.
