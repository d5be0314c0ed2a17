//! The bootable kernel.
fn main() {}
