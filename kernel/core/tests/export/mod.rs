//! Exportable at every point: after every step of every scenario all threads are stopped,
//! everything is read out, destroyed and made anew from plain data in other memory and fresh
//! spaces; the run must end as the one that nobody disturbed.

mod points;
mod scenarios;
mod stage;

use self::points::{Point, point};
use self::scenarios::{SCENARIOS, Scenario};
use self::stage::{Disturbance, Outcome, Stage};
use nacre_abi::Call;
use std::collections::{BTreeMap, BTreeSet};

fn run(scenario: &Scenario, disturbance: Option<(Disturbance, usize)>) -> (Outcome, BTreeSet<u8>, usize) {
    let mut stage = Stage::new((scenario.programs)());
    (scenario.prepare)(&stage);
    let steps = stage.run(disturbance);
    let (outcome, met) = stage.outcome();
    (outcome, met, steps)
}

/// Runs a scenario once for each of its steps and each disturbance; the calls that were met half
/// way.
fn run_all(scenario: &Scenario) -> BTreeSet<u8> {
    let (expected, _, steps) = run(scenario, None);
    let mut all = BTreeSet::new();
    for at in 0..steps {
        for disturbance in [Disturbance::Stop, Disturbance::Rebuild] {
            println!("{}: {disturbance:?} after {at} of {steps} steps", scenario.name);
            let (outcome, met, _) = run(scenario, Some((disturbance, at)));
            assert_eq!(outcome.answers, expected.answers, "{}: {disturbance:?} after {at} steps", scenario.name);
            assert!(outcome.memory == expected.memory, "{}: {disturbance:?} after {at} steps left other memory", scenario.name);
            all.extend(met);
        }
    }
    all
}

#[test]
fn an_environment_is_made_anew_after_every_step() {
    let met: BTreeMap<&str, BTreeSet<u8>> = SCENARIOS.iter().map(|scenario| (scenario.name, run_all(scenario))).collect();
    for call in Call::ALL {
        if let Point::In(name) = point(*call) {
            let met = met.get(name).unwrap_or_else(|| panic!("there is no scenario {name}"));
            assert!(met.contains(&(*call as u8)), "{} was never met half way in {name}", call.name());
        }
    }
}
