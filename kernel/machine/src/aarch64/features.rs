//! 64-bit Arm, not written yet: what the identification registers say.
