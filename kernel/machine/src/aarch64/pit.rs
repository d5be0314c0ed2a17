//! 64-bit Arm: nothing: the frequency of the timer is told.
