//! Frames in a row that one mapping shows at pages in a row. A mapping stands in the slot of its
//! first frame. When one of its frames is hidden, mappings of what lies before and behind take its
//! place.

use alloc::vec::Vec;

/// Frames that one mapping shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// First frame, in whose slot the mapping stands.
    pub first: usize,
    /// Number of frames. 0: the frame is not shown.
    pub count: usize,
    /// Pages can be written.
    pub written: bool,
}

/// The run of each frame.
#[derive(Debug)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// Runs of `count` frames, none of which is shown. `None`: there is no memory.
    pub fn new(count: usize) -> Option<Runs> {
        let mut runs = Vec::new();
        runs.try_reserve_exact(count).ok()?;
        runs.resize(count, Run::default());
        Some(Runs(runs))
    }

    /// The run of a frame.
    pub fn of(&self, frame: usize) -> Run {
        self.0[frame]
    }

    /// Notes that a mapping shows these frames.
    pub fn add(&mut self, run: Run) {
        self.0[run.first..run.first + run.count].fill(run);
    }

    /// Notes that no mapping shows the frames of a run.
    pub fn remove(&mut self, run: Run) {
        self.0[run.first..run.first + run.count].fill(Run::default());
    }
}

impl Run {
    /// The rest of the run without a frame of it: what lies before that, and what lies behind.
    /// Either may be empty.
    pub fn without(self, frame: usize) -> [Run; 2] {
        let behind = self.first + self.count - frame - 1;
        [Run { count: frame - self.first, ..self }, Run { first: frame + 1, count: behind, ..self }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Random;
    use std::collections::BTreeMap;

    #[test]
    fn each_shown_frame_is_in_one_run_whose_mapping_is_there() {
        let (mut runs, mut random, mut mappings) = (Runs::new(64).unwrap(), Random::new(3), BTreeMap::new());
        for _ in 0..4000 {
            let frame = random.below(64);
            let run = runs.of(frame);
            if run.count == 0 {
                let count = (frame..64).take_while(|frame| runs.of(*frame).count == 0).count().min(1 + random.below(8));
                let run = Run { first: frame, count, written: random.below(2) > 0 };
                runs.add(run);
                assert!(mappings.insert(frame, count).is_none());
            } else {
                assert_eq!(mappings.remove(&run.first), Some(run.count));
                runs.remove(run);
                for rest in run.without(frame).into_iter().filter(|rest| rest.count > 0) {
                    assert_eq!(rest.written, run.written);
                    runs.add(rest);
                    assert!(mappings.insert(rest.first, rest.count).is_none());
                }
                assert_eq!(runs.of(frame).count, 0);
            }
            for frame in 0..64 {
                let by_mapping = mappings.range(..=frame).next_back().filter(|(first, count)| frame < **first + **count);
                let run = runs.of(frame);
                assert_eq!(by_mapping.map(|(first, count)| (*first, *count)), (run.count > 0).then_some((run.first, run.count)));
            }
        }
    }
}
