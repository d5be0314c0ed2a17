//! Each target over its corpus, and over some thousand mutations of it that are the same on every
//! run.

use nacre_fuzz::mutate::{Seed, damage};
use nacre_fuzz::{TARGETS, Target, corpus};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs one input; a fault names it, so that it can be repeated.
fn run(target: &Target, bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err() {
        panic!("a finding; repeat it with: ./nacre fuzz {} --input {}", target.name, corpus::encode(bytes));
    }
}

#[test]
fn the_corpus_finds_nothing() {
    for target in TARGETS {
        let inputs = corpus::read(target.name);
        assert!(!inputs.is_empty(), "{} has no corpus: ./nacre fuzz {} --minutes 1 --keep", target.name, target.name);
        inputs.iter().for_each(|input| run(target, input));
    }
}

#[test]
fn mutations_of_the_corpus_find_nothing() {
    for (number, target) in TARGETS.iter().enumerate() {
        let inputs = corpus::read(target.name);
        let mut seed = Seed::new(1 + number as u64);
        for _ in 0..target.tries {
            let mut bytes = inputs.get(seed.below(inputs.len().max(1))).cloned().unwrap_or_default();
            let other = inputs.get(seed.below(inputs.len().max(1))).cloned().unwrap_or_default();
            damage(&mut seed, &mut bytes, &other);
            run(target, &bytes);
        }
    }
}

#[test]
fn the_corpus_makes_every_call() {
    let target = nacre_fuzz::targets::find("core").expect("core");
    corpus::read("core").iter().for_each(|input| run(target, input));
    let [never, vainly] = nacre_fuzz::targets::not_reached();
    println!("made, but always refused: {vainly:?}");
    assert!(never.is_empty(), "no input of the corpus makes {never:?}: ./nacre fuzz core --minutes 5 --keep");
}
