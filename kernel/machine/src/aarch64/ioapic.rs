//! 64-bit Arm, not written yet: the distributor of the generic interrupt controller.
