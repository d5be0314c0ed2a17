//! 64-bit Arm, not written yet: the ways into EL1 and out of it.
