//! The small measurements that `nacre bench` runs: one static Linux program, on Nacre and on Linux.
//!
//! It finds out by itself where it runs, carries out the operations of that system's table, and
//! prints a line for each. Time is the time-stamp counter, which under QEMU's `-icount shift=0`
//! advances by one with every instruction. Reading on: `figure`, then `linux` or `nacre`.
#![cfg_attr(target_os = "none", no_std)]
#![cfg_attr(target_os = "none", no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod contention;
#[cfg(target_os = "none")]
mod figure;
#[cfg(target_os = "none")]
mod linux;
#[cfg(target_os = "none")]
mod nacre;
#[cfg(target_os = "none")]
mod program_path;
#[cfg(target_os = "none")]
mod start;

#[cfg(not(target_os = "none"))]
fn main() {}
