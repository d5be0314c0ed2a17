//! 64-bit RISC-V: the first instructions, not written yet. Nothing enters here.
