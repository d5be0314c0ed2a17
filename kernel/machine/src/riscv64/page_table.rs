//! 64-bit RISC-V, not written yet: the tables of one space, Sv48.
