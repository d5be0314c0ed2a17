//! Tracks of trace events: each thread has one. Messages of one thread that are under way at the
//! same time have a lane each. Those of a thread that tells no number may be several threads'.

use crate::sender::{NUMBERS, Sender};
use alloc::collections::BTreeMap;

/// Maximum number of lanes of a thread. Messages beyond them share the last.
const MAX_LANES: u32 = 64;
/// Maximum number of threads that are known. Messages of others count as their process's.
const MAX_THREADS: usize = 4096;

/// Lane of a message that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Track {
    /// Thread that it is of; 0: of the process.
    pub thread: u64,
    /// Number of the lane.
    pub lane: u32,
}

/// Lanes of a thread: bits for each.
#[derive(Clone, Copy, Default, Debug)]
struct Lanes {
    taken: u64,
    /// Lanes that were shown.
    known: u64,
    /// Place of the first lane among the tracks of this tracer.
    place: u64,
}

/// Tracks that are taken.
#[derive(Default)]
pub struct Tracks {
    lanes: BTreeMap<Sender, Lanes>,
    /// Number of threads among them.
    threads: usize,
    /// Number of places that were given out.
    places: u64,
}

impl Tracks {
    /// Takes the first lane of a thread that is free.
    pub fn take(&mut self, from: Sender) -> Track {
        let from = self.known(from);
        let lanes = self.lanes.entry(from).or_insert_with(|| {
            self.places += u64::from(MAX_LANES);
            Lanes { place: self.places - u64::from(MAX_LANES), ..Lanes::default() }
        });
        let lane = lanes.taken.trailing_ones().min(MAX_LANES - 1);
        lanes.taken |= 1 << lane;
        Track { thread: from.thread, lane }
    }

    /// Returns the sender under which messages of a sender are kept: its process if there are too
    /// many threads. Threads that have nothing under way are forgotten then.
    fn known(&mut self, from: Sender) -> Sender {
        if from.thread == 0 || self.lanes.contains_key(&from) {
            return from;
        }
        if self.threads == MAX_THREADS {
            self.lanes.retain(|from, lanes| from.thread == 0 || lanes.taken != 0);
            self.threads = self.lanes.keys().filter(|from| from.thread != 0).count();
        }
        if self.threads == MAX_THREADS {
            return Sender { thread: 0, ..from };
        }
        self.threads += 1;
        from
    }

    /// Gives a lane of a process back. Returns true if nothing was shown on it before.
    pub fn leave(&mut self, pid: u64, track: Track) -> bool {
        let Some(lanes) = self.lanes.get_mut(&Sender { pid, thread: track.thread }) else { return false };
        lanes.taken &= !(1 << track.lane);
        let is_new = lanes.known & (1 << track.lane) == 0;
        lanes.known |= 1 << track.lane;
        is_new
    }

    /// Returns the number of a track in a file that several tracers write, of which each has a
    /// number of its own; the first has 0. Its first lane of a thread has the number of the thread.
    pub fn number(&self, tracer: u64, pid: u64, Track { thread, lane }: Track) -> u64 {
        /// Numbers of tracers beyond the first, which readers keep in 32 bits.
        const OTHERS: u64 = (1 << 32) - NUMBERS * MAX_LANES as u64;
        /// Spreads the tracers, each of which has up to 64 lanes of 4096 threads.
        const SPREAD: u64 = 0x9e37_79b1;
        if tracer == 0 {
            let own = if thread == 0 { pid } else { thread };
            return own.saturating_add(NUMBERS * u64::from(lane));
        }
        let place = self.lanes.get(&Sender { pid, thread }).map_or(0, |lanes| lanes.place);
        NUMBERS * u64::from(MAX_LANES) + tracer.wrapping_mul(SPREAD).wrapping_add(place).wrapping_add(lane.into()) % OTHERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn of(pid: u64, thread: u64) -> Sender {
        Sender { pid, thread }
    }

    fn track(thread: u64, lane: u32) -> Track {
        Track { thread, lane }
    }

    #[test]
    fn messages_at_the_same_time_have_lanes_of_their_own() {
        let mut tracks = Tracks::default();
        assert_eq!([tracks.take(of(5, 0)), tracks.take(of(5, 0)), tracks.take(of(6, 0))], [track(0, 0), track(0, 1), track(0, 0)]);
        assert_eq!([tracks.leave(5, track(0, 0)), tracks.leave(5, track(0, 1)), tracks.leave(5, track(0, 1))], [true, true, false]);
        assert_eq!((tracks.take(of(5, 0)), tracks.leave(5, track(0, 0))), (track(0, 0), false));
        assert_eq!((0..70).map(|_| tracks.take(of(7, 0)).lane).max(), Some(63));
        assert_eq!((0..70).map(|_| tracks.take(of(7, 9))).last(), Some(track(9, 63)));
    }

    #[test]
    fn a_flood_of_threads_is_its_process_s() {
        let mut tracks = Tracks::default();
        let all: Vec<Track> = (1..=MAX_THREADS as u64 + 9).map(|thread| tracks.take(of(5, thread))).collect();
        assert_eq!((all[MAX_THREADS - 1], all[MAX_THREADS], all[MAX_THREADS + 1]), (track(MAX_THREADS as u64, 0), track(0, 0), track(0, 1)));
        assert!(all.iter().filter(|track| tracks.leave(5, **track)).count() > MAX_THREADS);
        assert_eq!((tracks.take(of(5, 5000)), tracks.lanes.len()), (track(5000, 0), 2));
        assert!(!tracks.leave(5, track(1, 0)));
    }

    #[test]
    fn tracks_have_numbers_of_their_own() {
        let mut tracks = Tracks::default();
        let all: Vec<(u64, Track)> = [of(5, 0), of(5, 0), of(5, 7), of(5, 7), of(6, 0)].map(|from| (from.pid, tracks.take(from))).into();
        let numbers = |tracer| all.iter().map(|(pid, track)| tracks.number(tracer, *pid, *track)).collect::<Vec<_>>();
        assert_eq!(numbers(0), [5, 5 + NUMBERS, 7, 7 + NUMBERS, 6]);
        let mut others = [numbers(0), numbers(300), numbers(u64::MAX)].concat();
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), 15);
        assert!(others.iter().all(|number| *number <= u64::from(u32::MAX)));
        tracks.number(u64::MAX, u64::MAX, track(u64::MAX, 63));
    }
}
