//! 64-bit Arm, not written yet: the exception vector table.
