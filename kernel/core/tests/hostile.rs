//! Random hostile calls: nothing that any thread can ask for breaks what must hold, stops the
//! kernel, or changes what others own.

use crate::support::Random;
use crate::support::hostile::{run, run_bytes};

/// A number from the environment, to look further than the seeds below or more closely at one:
/// `SEED`, `SEEDS`, and `EVERY` so many steps a check.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_calls_break_nothing() {
    let (first, every) = (number("SEED", 1), number("EVERY", 4));
    for seed in first..first + number("SEEDS", 80) {
        println!("seed {seed}");
        run(Random::new(seed), 800, every);
    }
}

#[test]
fn bytes_can_choose() {
    let mut random = Random::new(99);
    let bytes: Vec<u8> = (0..4000).map(|_| random.below(256) as u8).collect();
    run_bytes(&bytes);
    run_bytes(&[]);
}
