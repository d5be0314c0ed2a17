//! 64-bit RISC-V: nothing: the frequency of the timer is told.
