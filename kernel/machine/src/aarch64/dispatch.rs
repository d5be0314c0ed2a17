//! 64-bit Arm, not written yet: between the entry code and the core.
