//! 64-bit Arm, not written yet: what each CPU has of its own, behind TPIDR_EL1.
