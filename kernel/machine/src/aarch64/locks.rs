//! 64-bit Arm, not written yet: the locks of this machine's CPUs.
