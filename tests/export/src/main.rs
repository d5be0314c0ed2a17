//! Environments that are destroyed and made anew while they run, with real threads.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod scenarios;
mod stage;

use alloc::format;
use alloc::string::String;
use nacre_abi::Rights;
use nacre_rt::memory::Segment;
use nacre_rt::{Arguments, stream};
use scenarios::{SCENARIOS, Scenario};
use stage::{ARENA, ARENA_SIZE, Stage};

nacre_rt::entry!(export);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Pauses between two rebuilds, in nanoseconds: each falls on other moments of the run.
const PAUSES: [u64; 4] = [20_000, 70_000, 110_000, 170_000];

/// Maximum of attempts for a run that ends before its pause.
const ATTEMPTS: u32 = 5;

fn run(scenario: &Scenario, pause: u64, disturb: bool) -> Result<(alloc::vec::Vec<u64>, u32), String> {
    let mut stage = Stage::new((scenario.programs)())?;
    (scenario.prepare)(&stage)?;
    let rebuilt = stage.run(pause, disturb)?;
    Ok((stage.outcome(), rebuilt))
}

/// A run that was rebuilt at least once. The machine under this one may be away for as long as the
/// run takes, so that the first pause ends too late: then it is made again.
fn disturbed(scenario: &Scenario, pause: u64) -> Result<(alloc::vec::Vec<u64>, u32), String> {
    for _ in 0..ATTEMPTS {
        let (outcome, rebuilt) = run(scenario, pause, true)?;
        if rebuilt != 0 {
            return Ok((outcome, rebuilt));
        }
    }
    Err(format!("it was over before {pause} ns, {ATTEMPTS} times"))
}

fn try_out(scenario: &Scenario) -> Result<(), String> {
    let (expected, _) = run(scenario, PAUSES[3], false)?;
    for pause in PAUSES {
        let (outcome, rebuilt) = disturbed(scenario, pause)?;
        if let Some(at) = (0..expected.len()).find(|at| expected.get(*at) != outcome.get(*at)) {
            return Err(format!("after {rebuilt} rebuilds word {at} is {:x?} instead of {:#x}", outcome.get(at), expected[at]));
        }
    }
    Ok(())
}

fn export(arguments: &Arguments) -> i32 {
    let filter = arguments.iter().nth(1).unwrap_or_default();
    if Segment::map(ARENA, ARENA_SIZE, Rights::OBJECTS.union(Rights::EXECUTE)).map(Segment::leak).is_err() {
        return 125;
    }
    let (mut count, mut failed) = (0, 0);
    for scenario in SCENARIOS.iter().filter(|scenario| filter.is_empty() || scenario.id.as_bytes() == filter) {
        count += 1;
        let line = match try_out(scenario) {
            Ok(()) => format!("ok {} {}\n", scenario.id, scenario.sentence),
            Err(why) => {
                failed += 1;
                format!("not ok {} {}: {why}\n", scenario.id, scenario.sentence)
            }
        };
        // A test that cannot be told of is counted as missing by whoever reads.
        let _ = stream::write(stream::OUTPUT, line.as_bytes());
    }
    let _ = stream::write(stream::OUTPUT, format!("end {count}\n").as_bytes());
    i32::from(failed != 0)
}
