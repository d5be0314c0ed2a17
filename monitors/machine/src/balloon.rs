//! Memory that the guest does not need now: whoever gave it may have it back.

use crate::manifest::MANIFEST;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_machine_virtio::Reclaim;
use nacre_proto::segment;
use nacre_sys::Reference;

/// Bytes that the guest has given up so far.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// The segment that is the guest's memory.
pub struct GuestSegment(
    /// Reference to it, which stays as long as the guest.
    pub Reference,
);

impl Reclaim for GuestSegment {
    fn reclaim(&mut self, at: u64, size: u64) {
        // Memory that cannot be cleared stays as it is: the guest does not look at it.
        if segment::clear(self.0, at, size).is_ok() {
            GIVEN.fetch_add(size, Ordering::Relaxed);
        }
    }
}

/// Tells how much the guest has given up.
pub fn tell() {
    nacre_rt::eprint!("{}: given up: {} KiB\n", MANIFEST.name, GIVEN.load(Ordering::Relaxed) >> 10);
}
