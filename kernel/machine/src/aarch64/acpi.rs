//! 64-bit Arm, not written yet: CPUs and interrupt controllers, out of the device tree or ACPI.
