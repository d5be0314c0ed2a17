//! 64-bit RISC-V, not written yet: CPUs and interrupt controllers, out of the device tree.
