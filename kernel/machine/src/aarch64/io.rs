//! 64-bit Arm, not written yet: one-instruction leaves: system registers.
