//! 64-bit RISC-V, not written yet: what each CPU has of its own, behind sscratch.
