//! The library as an ELF of its own: its first instruction is `_start` in [`nacre_linux::entry`].
#![cfg_attr(target_os = "none", no_std)]
#![cfg_attr(target_os = "none", no_main)]
#![forbid(unsafe_code)]

#[cfg(target_os = "none")]
use nacre_linux as _;

#[cfg(not(target_os = "none"))]
fn main() {}
