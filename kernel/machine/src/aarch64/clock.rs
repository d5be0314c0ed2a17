//! 64-bit Arm, not written yet: time, out of the generic timer.
