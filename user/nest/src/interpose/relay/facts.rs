//! Facts that a monitor which interposes tells about itself, in lists.

use super::super::Interposer;
use super::Relay;
use crate::attending;
use core::sync::atomic::Ordering;
use nacre_control::Facts;
use nacre_control::record::figures;
use nacre_proto::memory;

impl<W: Interposer> Relay<W> {
    /// Facts that the monitor tells about itself.
    pub fn facts(&self) -> Facts {
        let memory = self.pool.as_ref().and_then(|pool| memory::status(pool.shared.handle()).ok()).map(|status| status.used);
        let carried = self.proxies.lock().carried();
        let waiting = self.workers.load(Ordering::Relaxed).saturating_sub(self.idle.load(Ordering::Relaxed)) as u64;
        let mut figures = figures([("messages", carried), ("waiting", waiting)]);
        figures.extend(self.watch.figures());
        Facts { name: self.watch.monitor(), memory, time: attending::time(), figures }
    }
}
