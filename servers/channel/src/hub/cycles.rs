//! Ends that are on their way through ends: none may be on its way to itself.
//!
//! A reference in a queue keeps its end. An end that can be received only from itself would never
//! close, so sending refuses what would close a cycle. Linux allows that, and looks for such
//! sockets later.

use super::{Hub, Stage};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_proto::Errno;

impl<R> Hub<R> {
    /// Refuses references that go to where `key` sends (or, of parts, to `key` itself) and lead
    /// there already. `ETOOMANYREFS`: one does. `end_of` returns the end that a reference leads to.
    pub fn check_cycles(&mut self, key: u64, to: Option<&[u8]>, references: &[R], end_of: impl Fn(&R) -> Option<u64>) -> Result<(), Errno> {
        let mut next: Vec<u64> = references.iter().filter_map(&end_of).collect();
        if next.is_empty() {
            return Ok(());
        }
        let queue = to.map(|to| self.target(key, to)).transpose()?.map(|(queue, _)| queue);
        let goal = |end: u64| queue.map_or(end == key, |queue| self.queues.get(&queue).is_some_and(|queue| queue.readers.contains(&end)));
        let mut seen = BTreeSet::new();
        while let Some(end) = next.pop() {
            if goal(end) {
                return Err(Errno::ETOOMANYREFS);
            }
            if seen.insert(end) {
                self.held_by(end, &mut |reference| next.extend(end_of(reference)));
                if let Some(Stage::Listening(waiting, _)) = self.ends.get(&end).map(|end| &end.stage) {
                    next.extend(waiting);
                }
            }
        }
        Ok(())
    }

    /// Shows each reference that goes if the end goes.
    fn held_by<'a>(&'a self, end: u64, show: &mut dyn FnMut(&'a R)) {
        let Some(end) = self.ends.get(&end) else { return };
        if let Some(queue) = end.incoming.and_then(|queue| self.queues.get(&queue)) {
            queue.each_reference(show);
        }
        end.parts.iter().flat_map(|parts| &parts.references).for_each(show);
    }
}
