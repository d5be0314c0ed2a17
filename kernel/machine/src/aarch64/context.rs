//! 64-bit Arm, not written yet: the user context that a CPU has.
