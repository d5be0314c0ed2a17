//! 64-bit RISC-V: nothing: there is no older interrupt controller to silence.
