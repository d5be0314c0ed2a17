//! 64-bit Arm: the first instructions, not written yet. Nothing enters here.
