//! Pages that left together come back together; pages that chance puts away.

use super::{Bank, CLUSTER, MIN_FRAMES, Place, standing};
use crate::hands::Hands;
use crate::policy::{Policy, Random, Standing};
use crate::store::Store;

/// Departures between two pages that left together, at most.
const TOGETHER: u64 = 4 * CLUSTER;
/// Fewest frames of a bank that brings pages together: with fewer, what comes along takes the place
/// of what is used.
const MIN_FOR_CLUSTERS: usize = 4 * MIN_FRAMES;

impl<H: Hands, S: Store, P: Policy> Bank<H, S, P> {
    /// Pages behind one that was brought come too, up to `end`, if they left when it did.
    pub(super) fn bring_along(&mut self, first: u64, left: u64, end: u64) {
        if self.frames.len() < MIN_FOR_CLUSTERS {
            return;
        }
        for page in first + 1..end.min((first / CLUSTER + 1) * CLUSTER) {
            let Some(Place::Away(number, departure)) = self.places.get(&page).copied() else { return };
            // Without them nobody lacks anything.
            if departure.abs_diff(left) > TOGETHER || self.bring(page, number, false).is_err() {
                return;
            }
            self.counts.along += 1;
        }
    }

    /// Pages that have left so far.
    pub(super) fn departures(&self) -> u64 {
        self.counts.put_away + self.counts.left
    }

    /// Puts up to `most` pages away that chance chooses, to see whether anybody notices.
    pub fn disturb(&mut self, random: &mut Random, most: usize) {
        if self.homes.is_some() {
            // Nothing leaves, and a device is not read.
            return;
        }
        for _ in 0..random.below(most + 1) {
            if let Some(frame) = self.any_loose(random) {
                // What cannot leave stays.
                let _ = self.leave(frame);
            }
        }
    }

    /// A frame that chance chooses among those whose pages may leave.
    fn any_loose(&self, random: &mut Random) -> Option<usize> {
        let occupied = self.frames.occupied();
        let (later, sooner) = occupied.split_at(random.below(occupied.len()).min(occupied.len()));
        let is_loose = |frame: &&usize| standing(&self.frames, &self.recent, &self.pins, **frame) != Standing::Fixed;
        sooner.iter().chain(later).find(is_loose).copied()
    }
}
