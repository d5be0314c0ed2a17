//! The process manager. Its logic is the library beside this file.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]

#[cfg(target_os = "none")]
nacre_rt::entry!(nacre_process::start::process);

/// There is nothing to run on a host.
#[cfg(not(target_os = "none"))]
fn main() {}
