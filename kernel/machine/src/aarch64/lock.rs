//! 64-bit Arm, not written yet: the one kernel lock.
