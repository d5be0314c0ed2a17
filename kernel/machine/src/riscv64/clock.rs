//! 64-bit RISC-V, not written yet: time, out of the time register and the timer extension.
