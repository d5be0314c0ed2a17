//! 64-bit RISC-V, not written yet: the ways into supervisor mode and out of it.
