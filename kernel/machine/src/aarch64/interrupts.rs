//! 64-bit Arm, not written yet: the interrupt lines.
