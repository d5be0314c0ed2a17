//! 64-bit Arm, not written yet: all RAM in the half of TTBR1.
