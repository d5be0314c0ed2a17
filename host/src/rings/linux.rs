//! Programs that are each about one of Linux's calls, on Debian's Linux and on Nacre in the same
//! QEMU: they must say the same, but for what `absent.txt` expects.

#[cfg(test)]
mod manual;
pub mod frozen;
mod programs;
mod results;
mod sources;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::part::lot;
use super::tally::TestCounts;
use super::system::describe;
use crate::linux_comparison::Batch;
use crate::builds::Products;
use super::arguments::TestArguments;
use crate::failure::Outcome;
use crate::session::capture::Captured;
use crate::tree::Tree;
use programs::Programs;
use results::{Results, difference};
use sources::{KnownDifferences, Kind, Test};

/// Monitor that all programs run below.
const BARE: &str = "process";
/// Stacks of one to three monitors of each kind. Each program runs below one of them. The policy
/// makes the guard look at every path.
const STACKS: [&str; 12] = [
    "trace -q process",
    "process trace -q",
    "process guard --policy=/tests/policy",
    "share-cpu process",
    "process process",
    "guard --policy=/tests/policy process",
    "process trace -q trace -q",
    "process process process",
    "process guard --policy=/tests/policy guard --policy=/tests/policy",
    "process share-cpu share-cpu",
    "trace -q trace -q trace -q process",
    "process guard --policy=/tests/policy trace -q process",
];

/// Programs that run once more as trees of processes that are frozen and made anew while they run:
/// what is in pipes, who waits at them, for words and for children, signals that come.
const FROZEN: [&str; 7] =
    ["pipe-atomic", "pipe-blocking", "pipe-fork", "pipe-one-after-another", "fork-many", "thread-shared-processes", "wait-groups"];

/// Programs that run below a stack of their own as well: what is cut off between a program and who
/// answers it, through whatever stands between; what a server knows at once of what was closed;
/// what a guard knows of removed directories; faults that a program takes itself, on pages that a
/// pager takes away; more memory than a pager has.
const ALSO: [(&str, &str); 15] = [
    ("cut-off-waits", "process trace -q"),
    ("cut-off-waits", "share-cpu process trace -q"),
    ("cut-off-waits", "process share-cpu guard --policy=/tests/policy trace -q"),
    ("flock-shared", "trace -q process share-cpu"),
    ("pipe-broken", "trace -q process share-cpu"),
    ("fcntl-open-locks", "trace -q process share-cpu"),
    ("poll-pipe", "process share-cpu guard --policy=/tests/policy trace -q"),
    ("rmdir-current", "process guard --policy=/tests/policy trace -q process"),
    ("messages-posix-waiters", "process trace -q"),
    ("messages-posix-waiters", "process share-cpu guard --policy=/tests/policy trace -q"),
    ("fault-protected", PAGED[0]),
    ("user-faults", PAGED[0]),
    ("user-faults-calls", PAGED[0]),
    ("user-faults-write", PAGED[1]),
    ("mmap-reserved", PAGED[0]),
];

/// Parts that a rebuilt tree leaves out, each with a program that must notice. Without that the
/// frozen trees prove nothing.
const LOST: [(&str, &str); 6] =
    [("memory", "pipe-fork"), ("running", "pipe-fork"), ("mappings", "pipe-fork"), ("ports", "pipe-fork"), ("sets", "pipe-fork"), ("conditions", "pipe-blocking")];

/// Stacks of pagers that take pages away by chance: one that has too little memory besides, two,
/// and three.
const PAGED: [&str; 3] = [
    "pager -m 2M --chaos 1 process",
    "pager -m 16M --chaos 2 pager -m 8M --chaos 3 --policy random process",
    "pager -m 16M --chaos 4 pager -m 12M --chaos 5 --backing parent pager -m 8M --chaos 6 --policy fifo process",
];

/// Number of programs of the linux ring of which one runs below one of these stacks, too.
const SAMPLE: usize = 16;

/// Programs of one boot below a stack of pagers, at most. So no boot comes near its limit of time,
/// however busy this machine is, and several go on beside each other.
const IN_A_BOOT: usize = 60;

/// Program that freezes those above it.
const FREEZER: &str = "frozen";
/// Option of that program to leave something out.
const WITHOUT: &str = "--without=";

/// Programs that run in one boot, below some monitors.
struct Way<'a> {
    below: String,
    tests: Vec<&'a Test>,
}

impl Way<'_> {
    /// Returns the ways in which a program is built here. To freeze it takes long.
    fn kinds<'a>(&self, test: &'a Test) -> &'a [Kind] {
        if self.below.starts_with(FREEZER) { &test.kinds[..1] } else { &test.kinds }
    }
}

impl<'a> Way<'a> {
    /// Cuts a way into boots of few programs.
    fn in_boots(self) -> Vec<Way<'a>> {
        self.tests.chunks(IN_A_BOOT).map(|tests| Way { below: self.below.clone(), tests: tests.to_vec() }).collect()
    }
}

/// Some programs below each of the stacks of pagers, or all.
fn paged<'a>(all: &'a [Test], filter: &'a str, sample: Option<usize>) -> impl Iterator<Item = Way<'a>> {
    let wanted = move |test: &&Test| format!("linux: {}", test.name).contains(filter);
    PAGED.iter().enumerate().map(move |(number, stack)| {
        let is_in = |test: &&Test| sample.is_none_or(|sample| lot(&test.name, sample * PAGED.len()) == number);
        Way { below: stack.to_string(), tests: all.iter().filter(is_in).filter(wanted).collect() }
    })
}

/// All programs as they are, and some below monitors; or all below the monitors that were asked
/// for.
fn ways<'a>(all: &'a [Test], filter: &'a str, below: Option<&str>) -> Vec<Way<'a>> {
    let wanted = |test: &&Test| format!("linux: {}", test.name).contains(filter);
    let bare = Way { below: below.unwrap_or(BARE).to_string(), tests: all.iter().filter(wanted).collect() };
    let stacks = if below.is_none() { &STACKS[..] } else { &[] };
    let some = stacks
        .iter()
        .enumerate()
        .map(|(number, stack)| Way { below: stack.to_string(), tests: all.iter().filter(|test| lot(&test.name, STACKS.len()) == number).filter(wanted).collect() });
    let is_also = |test: &&Test, stack: &str| ALSO.contains(&(test.name.as_str(), stack));
    let also = ALSO.iter().filter(|_| below.is_none()).map(|(_, stack)| *stack).collect::<BTreeSet<_>>().into_iter();
    let also = also.map(|stack| Way { below: stack.to_string(), tests: all.iter().filter(|test| is_also(test, stack)).filter(wanted).collect() });
    let frozen = below
        .is_none()
        .then(|| Way { below: format!("{FREEZER} {BARE}"), tests: all.iter().filter(|test| FROZEN.contains(&test.name.as_str())).filter(wanted).collect() });
    let lost = LOST.iter().filter(|_| below.is_none()).map(|(part, name)| Way {
        below: format!("{FREEZER} {WITHOUT}{part} {BARE}"),
        tests: all.iter().filter(|test| test.name == *name).filter(wanted).collect(),
    });
    let sample = paged(all, filter, Some(SAMPLE)).filter(|_| below.is_none());
    [bare].into_iter().chain(frozen).chain(lost).chain(some).chain(also).chain(sample).filter(|way| !way.tests.is_empty()).collect()
}

/// Runs the programs whose names contain `filter`, on both systems.
pub fn run(tree: &Tree, products: &Products, filter: &str, arguments: &TestArguments) -> Outcome<TestCounts> {
    let all = sources::tests(tree)?;
    compare(tree, products, &all, &ways(&all, filter, arguments.below.as_deref()), arguments)
}

/// Runs the tests of Linux programs below stacks of pagers.
pub fn run_paged(tree: &Tree, products: &Products, filter: &str, arguments: &TestArguments) -> Outcome<TestCounts> {
    let all = sources::tests(tree)?;
    let ways: Vec<_> = paged(&all, filter, None).flat_map(Way::in_boots).collect();
    compare(tree, products, &all, &ways, arguments)
}

/// Runs programs on Linux and in some ways on Nacre.
fn compare(tree: &Tree, products: &Products, all: &[Test], ways: &[Way<'_>], arguments: &TestArguments) -> Outcome<TestCounts> {
    let (absent, below) = (KnownDifferences::read(tree)?, KnownDifferences::read_below(tree)?);
    let mut tally = TestCounts::default();
    if ways.is_empty() {
        return Ok(tally);
    }
    let wanted: BTreeSet<&str> = ways.iter().flat_map(|way| &way.tests).map(|test| test.name.as_str()).collect();
    let bare = Way { below: BARE.to_string(), tests: all.iter().filter(|test| wanted.contains(test.name.as_str())).collect() };
    for name in absent.strangers(all) {
        tally.note(&format!("linux: {name}"), Some("tests/linux/absent.txt names it, and there is no such program"));
    }
    let programs = Programs::build(tree, all)?;
    let on_linux = told("Linux", &batch(tree, &programs, &bare).on_linux(tree)?);
    let (next, shared) = (AtomicUsize::new(0), Mutex::new(tally));
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                while let Some(way) = ways.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let captured = batch(tree, &programs, way).on_nacre(products);
                    let Ok(mut tally) = shared.lock() else { return };
                    match captured {
                        Ok(captured) => judge_all(way, [&absent, &below], &on_linux, &told(&way.below, &captured), &mut tally),
                        Err(failure) => tally.note(&format!("linux: below {}", way.below), Some(&failure.to_string())),
                    }
                }
            });
        }
    });
    Ok(shared.into_inner().unwrap_or_default())
}

/// Returns the results that a system printed. A system that printed few is described.
fn told(system: &str, captured: &Captured) -> Results {
    let results = Results::parse(&captured.output);
    if results.len() == 0 {
        eprintln!("{system}: {}", describe(captured));
    }
    results
}

fn judge_all(way: &Way<'_>, [absent, below]: [&KnownDifferences; 2], on_linux: &Results, on_nacre: &Results, tally: &mut TestCounts) {
    for test in &way.tests {
        for kind in way.kinds(test) {
            let place = if way.below == BARE { String::new() } else { format!(" below {}", way.below) };
            let name = format!("linux: {} [{}]{place}", test.name, kind.name());
            let lost = way.below.contains(WITHOUT).then_some("a tree is made anew without a part of it");
            let reason = lost.or_else(|| absent.reason(test, *kind)).or_else(|| below.reason_below(test, &way.below));
            judge(test, *kind, &name, reason, on_linux, on_nacre, tally);
        }
    }
}

fn judge(test: &Test, kind: Kind, name: &str, reason: Option<&str>, on_linux: &Results, on_nacre: &Results, tally: &mut TestCounts) {
    let fault = match (on_linux.find(&test.name, kind), on_nacre.find(&test.name, kind)) {
        (None, _) => return tally.note(name, Some("it did not come to its end on Linux")),
        (Some(_), None) => Some("it did not come to its end on Nacre".to_string()),
        (Some(linux), _) if linux.how != "exited 0" => return tally.note(name, Some(&format!("on Linux it {}", linux.how))),
        (Some(linux), Some(nacre)) => difference(linux, nacre),
    };
    match (reason, fault) {
        (None, fault) => tally.note(name, fault.as_deref()),
        (Some(reason), Some(_)) => tally.note(&format!("{name} is expected to differ: {reason}"), None),
        (Some(_), None) => tally.note(name, Some("it is expected to differ, by tests/linux/absent.txt, below.txt or since something is left out, and it does not")),
    }
}

fn batch(tree: &Tree, programs: &Programs, way: &Way<'_>) -> Batch {
    let policy = (tree.path("tests/linux/policy"), "/tests/policy".into());
    let files = Kind::ALL.iter().map(|kind| (programs.file(*kind), place(*kind).into())).chain([policy]).collect();
    let of = |kind: Kind| way.tests.iter().filter(move |test| way.kinds(test).contains(&kind)).map(move |test| (place(kind), test.name.clone()));
    let mut below: Vec<String> = way.below.split_whitespace().map(str::to_string).collect();
    let starter = if way.below.starts_with(FREEZER) { below.remove(0) } else { "linux-tests".into() };
    Batch { files, runs: Kind::ALL.into_iter().flat_map(of).collect(), starter, below, ..Batch::default() }
}

/// Returns the folder of the programs of a kind in both systems.
fn place(kind: Kind) -> String {
    format!("/tests/{}", kind.name())
}
