//! 64-bit Arm, not written yet: the vector registers, trapped by CPACR_EL1.
