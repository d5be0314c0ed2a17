//! `nacre test`: the rings of tests, and what they add up to.

pub mod arguments;
mod parallel_tests;
mod part;
mod debugger;
mod ports;
mod programs;
mod discs;
mod disks;
mod guests;
mod host;
mod linux;
mod models;
mod networks;
mod relative;
mod roots;
mod scenario;
mod shares;
mod stacks;
mod stores;
mod system;
mod tally;
mod volumes;

pub use system::describe;

use std::time::Instant;

use clap::ValueEnum;

use crate::builds;
use arguments::{Ring, TestArguments};
use crate::failure::Outcome;
use crate::json;
use crate::tree::Tree;
use tally::TestCounts;

/// Runs the rings that are asked for; 1 if a test failed. The last line is `N passed, N failed`.
pub fn test(tree: &Tree, arguments: &TestArguments) -> Outcome<i32> {
    // The paged ring takes long, and the linux ring has a sample of it. What is found at moments of
    // chance is a campaign's.
    let wants = |ring: Ring| arguments.ring.contains(&ring) || arguments.ring.is_empty() && !matches!(ring, Ring::Paged | Ring::Frozen | Ring::Programs) && !arguments.programs || matches!(ring, Ring::Programs) && arguments.programs;
    let filter = arguments.filter.as_deref().unwrap_or("");
    let mut tally = TestCounts::default();
    let needs_system = [Ring::Conformance, Ring::Hostile, Ring::Relative, Ring::Stacks, Ring::Linux, Ring::Paged, Ring::Frozen, Ring::Discs, Ring::Guests, Ring::Programs].into_iter().any(wants);
    let (tested, built) = std::thread::scope(|scope| {
        // The system is built while this machine's tests run: each leaves a processor idle now and
        // then.
        let builder = needs_system.then(|| scope.spawn(|| builds::ensure(tree)));
        let tested = if wants(Ring::Host) { on_this_machine(tree, filter, arguments.jobs as usize) } else { Ok(TestCounts::default()) };
        (tested, builder.map(|builder| builder.join()))
    });
    tally.add(tested?);
    match built {
        None => {}
        Some(Ok(Ok(products))) => tally.add(in_system(tree, &products, arguments, &wants)?),
        Some(Ok(Err(failure))) => tally.note("the system builds", Some(&failure.to_string())),
        Some(Err(_)) => tally.note("the system builds", Some("building it has panicked")),
    }
    json::write(arguments.json.as_deref(), &format!("{{\"passed\": {}, \"failed\": {}}}\n", tally.passed, tally.failed))?;
    print!("{}", tally.summary());
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(i32::from(tally.failed > 0))
}

fn on_this_machine(tree: &Tree, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    let begun = Instant::now();
    let mut tally = host::run(tree, filter, jobs)?;
    tally.add(models::run(tree, filter, jobs)?);
    tell_time(Ring::Host, begun, &tally);
    Ok(tally)
}

/// Runs the wanted rings in the system, one after the other.
fn in_system(tree: &Tree, products: &builds::Products, arguments: &TestArguments, wants: &dyn Fn(Ring) -> bool) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for ring in Ring::value_variants().iter().copied().filter(|ring| *ring != Ring::Host && wants(*ring)) {
        let begun = Instant::now();
        let counts = one(tree, products, arguments, ring)?;
        tell_time(ring, begun, &counts);
        tally.add(counts);
    }
    Ok(tally)
}

/// Tells how long a ring took: whoever wants the tests to be quicker has to know of which.
fn tell_time(ring: Ring, begun: Instant, counts: &TestCounts) {
    let name = ring.to_possible_value().map_or(String::new(), |value| value.get_name().to_string());
    println!("ring    {name}: {} passed, {} failed, {} s", counts.passed, counts.failed, begun.elapsed().as_secs());
}

fn one(tree: &Tree, products: &builds::Products, arguments: &TestArguments, ring: Ring) -> Outcome<TestCounts> {
    let (filter, jobs) = (arguments.filter.as_deref().unwrap_or(""), arguments.jobs as usize);
    match ring {
        Ring::Host => Ok(TestCounts::default()),
        Ring::Conformance => system::conformance(products, filter, jobs),
        Ring::Hostile => system::hostile(products, filter),
        Ring::Relative => relative::run(products, filter),
        Ring::Stacks => {
            let mut tally = stacks::run(tree, products, filter, arguments)?;
            tally.add(shares::run(products, filter, arguments.extent())?);
            tally.add(debugger::run(tree.root(), products, filter)?);
            Ok(tally)
        }
        Ring::Linux => linux::run(tree, products, filter, arguments),
        Ring::Paged => linux::run_paged(tree, products, filter, arguments),
        Ring::Frozen => linux::frozen::run(tree, products, filter, arguments),
        Ring::Discs => discs(tree, products, filter),
        Ring::Guests => guests::run(products, filter, arguments),
        Ring::Programs => programs::run(tree, products, filter),
    }
}

/// Runs what crosses the machine's boundary: discs, disks, directories, the network.
fn discs(tree: &Tree, products: &builds::Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = discs::run(products, filter)?;
    tally.add(stores::run(products, filter)?);
    tally.add(roots::run(products, filter)?);
    tally.add(volumes::run(products, filter)?);
    tally.add(disks::run(products, filter)?);
    tally.add(programs::sample(tree, products, filter)?);
    tally.add(networks::run(products, filter)?);
    tally.add(ports::run(products, filter)?);
    Ok(tally)
}
