//! 64-bit Arm: nothing to ask of other CPUs for translations: the instruction reaches them all.
