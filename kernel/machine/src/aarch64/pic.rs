//! 64-bit Arm: nothing: there is no older interrupt controller to silence.
