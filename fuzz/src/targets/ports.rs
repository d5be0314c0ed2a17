//! Ports to the host: the driver of a device that lies.

use nacre_virtio::fake::{broken_space, hostile};

/// Half of the inputs are what the device does while it runs, half its configuration space.
pub fn ports(bytes: &[u8]) {
    match bytes.split_first() {
        Some((kind, rest)) if kind % 2 == 0 => hostile(rest),
        Some((_, rest)) => broken_space(rest),
        None => {}
    }
}
