//! Tracks of trace events. Messages of one process that are under way at the same time have a track
//! each, so a process with one thread has one track.

use alloc::collections::BTreeMap;

/// First number above those of processes, as on Linux.
const PROCESSES: u64 = 1 << 22;
/// Maximum number of tracks of a process. Messages beyond them share the last.
const MAX: u32 = 64;

/// Tracks that are taken.
#[derive(Default)]
pub struct Tracks {
    /// Bits for each process: one for each track that is taken, and one for each that was ever.
    taken: BTreeMap<u64, (u64, u64)>,
}

impl Tracks {
    /// Takes the first track of a process that is free.
    pub fn take(&mut self, pid: u64) -> u32 {
        let (taken, _) = self.taken.entry(pid).or_default();
        let track = taken.trailing_ones().min(MAX - 1);
        *taken |= 1 << track;
        track
    }

    /// Gives a track back. Returns true if nothing was shown on it before.
    pub fn leave(&mut self, pid: u64, track: u32) -> bool {
        let (taken, known) = self.taken.entry(pid).or_default();
        *taken &= !(1 << track);
        let is_new = *known & (1 << track) == 0;
        *known |= 1 << track;
        is_new
    }
}

/// Returns the number of a track in a file that several tracers write, of which each has a number
/// of its own; the first has 0. Its first track of a process has the number of the process, as the
/// first thread has on Linux.
pub fn number(tracer: u64, pid: u64, track: u32) -> u64 {
    match (tracer, track) {
        (0, 0) => pid,
        (0, _) => pid + PROCESSES * u64::from(track),
        _ => (PROCESSES * u64::from(MAX)).saturating_add(tracer.saturating_mul(u64::from(MAX))).saturating_add(track.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_at_the_same_time_have_tracks_of_their_own() {
        let mut tracks = Tracks::default();
        assert_eq!([tracks.take(5), tracks.take(5), tracks.take(6)], [0, 1, 0]);
        assert_eq!([tracks.leave(5, 0), tracks.leave(5, 1), tracks.leave(5, 1)], [true, true, false]);
        assert_eq!((tracks.take(5), tracks.leave(5, 0)), (0, false));
        assert_eq!((0..70).map(|_| tracks.take(7)).max(), Some(63));
    }

    #[test]
    fn tracers_share_no_track() {
        let numbers = [number(0, 5, 0), number(0, 5, 1), number(0, 6, 1), number(300, 5, 0), number(300, 5, 1), number(301, 5, 0)];
        assert_eq!(numbers[0], 5);
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        number(u64::MAX, u64::MAX, 63);
    }
}
