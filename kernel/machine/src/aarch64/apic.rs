//! 64-bit Arm, not written yet: each CPU's interface to the generic interrupt controller.
