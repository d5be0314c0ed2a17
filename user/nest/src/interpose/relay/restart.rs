//! The child begins anew: what the relay knows of the old one goes.

use super::super::Interposer;
use super::super::objects::Objects;
use super::super::proxies::Proxies;
use super::Relay;
use nacre_sys::{Reference, Status, Thread};

/// Nanoseconds between two looks at whether the last messages have been carried.
const PAUSE: u64 = 100_000;

impl<W: Interposer> Relay<W> {
    /// Retires all proxies, so that nobody of the child can call one.
    pub fn forget_child(&self) {
        let mut proxies = self.proxies.lock();
        for index in proxies.retire_all() {
            free(&self.objects, &mut proxies, index);
        }
    }

    /// Makes the first proxy of the next child, for `parent`, which is moved. Waits until all
    /// messages of the old one have been carried, so no worker calls it.
    pub fn begin_again(&self, parent: Reference, tag: W::Tag) -> Result<Reference, Status> {
        while !self.proxies.lock().begin_again() {
            let _ = Thread::sleep(PAUSE);
        }
        self.parent(parent, tag)
    }
}

fn free<T: Clone + Default>(objects: &Objects, proxies: &mut Proxies<T>, index: usize) {
    objects.dismantle(index);
    proxies.free(index);
}
