//! Compares two CPUs with one: reads the measuring program's lines `parallel PAIRS best TICKS
//! median TICKS`.

use std::fmt;

use crate::failure::{Class, Failure, Outcome};
use crate::rings::describe;
use crate::session::capture::Captured;

/// Work of two pairs of client and server on two CPUs, for each unit of one pair.
#[derive(Debug, PartialEq)]
pub struct Scaling {
    /// Ratio by the best trials of each kind, in which the rest of the host shows least.
    pub best: f64,
    /// Ratio by the medians.
    pub median: f64,
}

/// Ticks of a round trip: the best and the median trial.
fn ticks(text: &str, pairs: &str) -> Option<(f64, f64)> {
    text.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["parallel", number, "best", best, "median", median] if number == pairs => Some((best.parse().ok()?, median.parse().ok()?)),
        _ => None,
    })
}

impl Scaling {
    fn parse(text: &str) -> Option<Scaling> {
        let (one, two) = (ticks(text, "1")?, ticks(text, "2")?);
        (two.0 > 0.0 && two.1 > 0.0).then(|| Scaling { best: 2.0 * one.0 / two.0, median: 2.0 * one.1 / two.1 })
    }
}

impl fmt::Display for Scaling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "independent round trips on two processors: {:.2} times those on one (best trials; medians {:.2})", self.best, self.median)
    }
}

/// The sentence; without the lines the run failed.
pub fn tell(captured: &Captured) -> Outcome<Scaling> {
    Scaling::parse(&String::from_utf8_lossy(&captured.output)).ok_or_else(|| {
        eprintln!("{}", describe(captured));
        Failure::new(Class::Guest, "the measuring program did not compare one processor with two").remedy("what it said is above")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_pairs_in_the_same_time_is_twice_as_much() {
        let scaling = Scaling::parse("x\nparallel 1 best 100 median 300\r\nparallel 2 best 100 median 400\n");
        assert_eq!(scaling, Some(Scaling { best: 2.0, median: 1.5 }));
        assert_eq!(Scaling::parse("parallel 1 best 100 median 300\nparallel 2 best 0 median 0\n"), None);
        assert_eq!(Scaling::parse("parallel 1 best 100 median 300\n"), None);
    }
}
