//! The kernel's core: its tests' fake machine, hostile threads and checker, with choices out of the
//! bytes.

#[path = "../../../kernel/core/tests/support/mod.rs"]
mod support;

/// Maximum of bytes of an input that are used: some hundreds of steps, each of which is checked.
const MOST: usize = 4096;

pub fn core(bytes: &[u8]) {
    support::hostile::run_bytes(&bytes[..bytes.len().min(MOST)]);
}

/// Names of the calls that no run on this host thread made, and of those that never succeeded.
pub fn not_reached() -> [Vec<&'static str>; 2] {
    support::hostile::not_reached()
}
