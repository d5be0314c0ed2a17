//! Programs that are each about one of Linux's calls, on Debian's Linux and on Nacre in the same QEMU: they must say the same, but for what `absent.txt` expects.

#[cfg(test)]
mod manual;
mod programs;
mod results;
mod sources;

use super::Tally;
use super::system::describe;
use crate::beside::Batch;
use crate::builds::Products;
use crate::failure::Outcome;
use crate::session::capture::Captured;
use crate::tree::Tree;
use programs::Programs;
use results::{Results, difference};
use sources::{Absent, Kind, Test};

/// Runs the programs whose names contain `filter`, on both systems.
pub fn run(tree: &Tree, products: &Products, filter: &str) -> Outcome<Tally> {
    let (all, absent) = (sources::tests(tree)?, Absent::read(tree)?);
    let wanted: Vec<&Test> = all.iter().filter(|test| format!("linux: {}", test.name).contains(filter)).collect();
    let mut tally = Tally::default();
    if wanted.is_empty() {
        return Ok(tally);
    }
    for name in absent.strangers(&all) {
        tally.note(&format!("linux: {name}"), Some("tests/linux/absent.txt names it, and there is no such program"));
    }
    let programs = Programs::build(tree, &all)?;
    let batch = batch(&programs, &wanted);
    let on_linux = told("Linux", &batch.on_linux(tree)?);
    let on_nacre = told("Nacre", &batch.on_nacre(products)?);
    for test in &wanted {
        for kind in &test.kinds {
            judge(test, *kind, absent.reason(test, *kind), &on_linux, &on_nacre, &mut tally);
        }
    }
    Ok(tally)
}

/// What a system said. One that said little is described.
fn told(system: &str, captured: &Captured) -> Results {
    let results = Results::parse(&captured.output);
    if results.len() == 0 {
        eprintln!("{system}: {}", describe(captured));
    }
    results
}

fn judge(test: &Test, kind: Kind, reason: Option<&str>, on_linux: &Results, on_nacre: &Results, tally: &mut Tally) {
    let name = format!("linux: {} [{}]", test.name, kind.name());
    let fault = match (on_linux.find(&test.name, kind), on_nacre.find(&test.name, kind)) {
        (None, _) => return tally.note(&name, Some("it did not come to its end on Linux")),
        (Some(_), None) => Some("it did not come to its end on Nacre".to_string()),
        (Some(linux), _) if linux.how != "exited 0" => return tally.note(&name, Some(&format!("on Linux it {}", linux.how))),
        (Some(linux), Some(nacre)) => difference(linux, nacre),
    };
    match (reason, fault) {
        (None, fault) => tally.note(&name, fault.as_deref()),
        (Some(reason), Some(_)) => tally.note(&format!("{name} is expected to differ: {reason}"), None),
        (Some(_), None) => tally.note(&name, Some("tests/linux/absent.txt expects it to differ, and it does not: take it out there")),
    }
}

fn batch(programs: &Programs, tests: &[&Test]) -> Batch {
    let files = Kind::ALL.iter().map(|kind| (programs.file(*kind), place(*kind).into())).collect();
    let of = |kind: Kind| tests.iter().filter(move |test| test.kinds.contains(&kind)).map(move |test| (place(kind), test.name.clone()));
    Batch { files, runs: Kind::ALL.into_iter().flat_map(of).collect(), layers: 1 }
}

/// Where the programs of a kind are in both systems.
fn place(kind: Kind) -> String {
    format!("/tests/{}", kind.name())
}
