//! 64-bit Arm, not written yet: starting the other CPUs, through PSCI.
