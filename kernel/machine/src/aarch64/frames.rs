//! 64-bit Arm, not written yet: the frame table.
