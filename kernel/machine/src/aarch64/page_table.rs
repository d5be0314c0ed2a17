//! 64-bit Arm, not written yet: the tables of one space, four levels with 4 KiB granules.
