//! The ring `frozen`: the Linux test programs below `checkpoint`, each frozen at a random moment
//! and thawed in a second machine. What it says in both together, and how it ends, has to be that
//! of a run that nobody disturbs. So are some of them below each pair of monitors, which are frozen
//! with them.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::programs::Programs;
use super::results::{ProgramResult, Results, difference};
use super::sources::{self, KnownDifferences, Kind, Test};
use super::{place, told};
use crate::builds::Products;
use super::super::arguments::TestArguments;
use crate::failure::Outcome;
use crate::linux_comparison::Batch;
use crate::rings::tally::TestCounts;
use crate::scratch::Folder;
use crate::session::capture::Captured;
use crate::tree::Tree;

/// Monitor that a run is below which nobody disturbs.
const UNDISTURBED: [&str; 3] = ["checkpoint", "-m", "64M"];
/// Monitor that freezes a run.
const FREEZING: [&str; 8] = ["checkpoint", "-m", "64M", "--after", "{}", "--end", "-o", "/tmp/{run}.image"];
/// Line in which the monitor tells that a program has ended before its moment.
const ENDED: &str = "checkpoint: the program has ended before it was frozen: no image of it was written\n";
/// Monitors that are frozen in pairs, with their options.
const PAIRED: [&[&str]; 8] = [
    &["process"],
    &["trace", "-q"],
    &["guard", "--allow", "*"],
    &["pager", "-m", "8M"],
    &["dataspace", "anonymous", "-m", "4M", "--quota", "4M"],
    &["share-cpu"],
    &["debug", "-q", "--run"],
    &["checkpoint", "-m", "24M"],
];
/// Programs that are frozen below each pair: none of them makes processes.
const BELOW_PAIRS: [&str; 2] = ["sleep-lengths", "thread-condition"];
/// Monitors that go on with it.
const THAWING: [&str; 3] = ["checkpoint", "--thaw", "/images/{run}"];
/// Number of programs of one boot, at most: all their images lie in the second machine's memory.
const IN_A_BOOT: usize = 20;
/// Name by which `below.txt` knows this ring. The program `frozen` is below others in the ring
/// `linux`.
const WORD: &str = "thawed";

/// Programs that run in one boot, below these monitors.
struct Boots<'a> {
    below: Vec<&'a str>,
    runs: Vec<Run<'a>>,
}

/// A program of a kind.
type Run<'a> = (&'a Test, Kind);

/// Runs the programs whose names contain `filter`.
pub fn run(tree: &Tree, products: &Products, filter: &str, arguments: &TestArguments) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    let all = sources::tests(tree)?;
    let batches: Vec<Boots<'_>> = singles(&all, filter).into_iter().chain(pairs(&all, filter)).collect();
    if batches.is_empty() {
        return Ok(tally);
    }
    let ring = FrozenRing { products, programs: Programs::build(tree, &all)?, known: KnownDifferences::read_below(tree)?, seed: seed() };
    eprintln!("frozen: SEED={} freezes at the same moments again", ring.seed);
    let (next, shared) = (AtomicUsize::new(0), Mutex::new(&mut tally));
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                while let Some(boots) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdicts = ring.batch(boots);
                    let Ok(mut tally) = shared.lock() else { return };
                    match verdicts {
                        Ok(verdicts) => verdicts.iter().for_each(|(name, fault)| tally.note(name, fault.as_deref())),
                        Err(failure) => tally.note("frozen: a batch", Some(&failure.to_string())),
                    }
                }
            });
        }
    });
    Ok(tally)
}

/// All programs below `process`, some in each boot.
fn singles<'a>(all: &'a [Test], filter: &str) -> Vec<Boots<'a>> {
    let wanted = all.iter().filter(|test| format!("frozen: {}", test.name).contains(filter));
    let runs: Vec<Run<'_>> = wanted.flat_map(|test| test.kinds.iter().map(move |kind| (test, *kind))).collect();
    runs.chunks(IN_A_BOOT).map(|runs| Boots { below: PAIRED[0].to_vec(), runs: runs.to_vec() }).collect()
}

/// Some programs below each pair of monitors, a pair a boot.
fn pairs<'a>(all: &'a [Test], filter: &str) -> Vec<Boots<'a>> {
    let few: Vec<&Test> = all.iter().filter(|test| BELOW_PAIRS.contains(&test.name.as_str())).collect();
    let mut boots = Vec::new();
    for (outer, inner) in PAIRED.iter().flat_map(|outer| PAIRED.iter().map(move |inner| (outer, inner))) {
        let wanted = few.iter().filter(|test| format!("frozen pair: {} {} {}", outer[0], inner[0], test.name).contains(filter));
        let runs: Vec<Run<'_>> = wanted.filter_map(|test| Some((*test, *test.kinds.first()?))).collect();
        if !runs.is_empty() {
            boots.push(Boots { below: [*outer, *inner].concat(), runs });
        }
    }
    boots
}

/// The seed of the moments: that of the environment, or any.
fn seed() -> u64 {
    std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| RandomState::new().hash_one(0) >> 32)
}

/// A part of 1,000 that the seed and the name of a run decide.
fn part(seed: u64, name: &str) -> u64 {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    for byte in name.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    state ^= state >> 29;
    state.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32 & 0xffff_ffff
}

struct FrozenRing<'a> {
    products: &'a Products,
    programs: Programs,
    known: KnownDifferences,
    seed: u64,
}

/// Name of a test, and its fault if it has one.
type Verdict = (String, Option<String>);

impl FrozenRing<'_> {
    /// Runs programs undisturbed, then frozen, then thawed.
    fn batch(&self, boots: &Boots<'_>) -> Outcome<Vec<Verdict>> {
        let runs = &boots.runs;
        let below = |first: &[&str]| -> Vec<String> { first.iter().chain(&boots.below).map(|word| word.to_string()).collect() };
        let folder = Folder::new("frozen")?;
        let image = |run: &Run<'_>| folder.path().join(format!("{}-{}", run.1.name(), run.0.name));
        let plain: Vec<(Run<'_>, String)> = runs.iter().map(|run| (*run, String::new())).collect();
        let captured = self.boot(below(&UNDISTURBED), &plain, Batch::default())?;
        let (undisturbed, durations) = (told("undisturbed", &captured), durations(&captured));
        let moments: Vec<(Run<'_>, String)> = runs.iter().filter_map(|run| Some((*run, self.moment(run, &durations)?))).collect();
        let outputs = runs.iter().map(|run| (PathBuf::from(format!("/tmp/{}-{}.image", run.1.name(), run.0.name)), image(run))).collect();
        let frozen = told("frozen", &self.boot(below(&FREEZING), &moments, Batch { outputs, ..Batch::default() })?);
        let kept: Vec<(Run<'_>, String)> = plain.into_iter().filter(|(run, _)| image(run).exists()).collect();
        let files = kept.iter().map(|(run, _)| (image(run), PathBuf::from(format!("/images/{}-{}", run.1.name(), run.0.name)))).collect();
        let thawed = match kept.is_empty() {
            true => Results::default(),
            false => told("thawed", &self.boot(THAWING.map(String::from).to_vec(), &kept, Batch { files, alone: true, ..Batch::default() })?),
        };
        Ok(runs.iter().map(|run| {
            let at = moments.iter().find(|(other, _)| other == run).map_or("nowhere", |(_, at)| at);
            let is_kept = kept.iter().any(|(other, _)| other == run);
            self.judge(run, (&boots.below, at), &undisturbed, &frozen, is_kept.then_some(&thawed))
        }).collect())
    }

    /// Boots a machine that runs programs below monitors, each with a text for those.
    fn boot(&self, below: Vec<String>, runs: &[(Run<'_>, String)], batch: Batch) -> Outcome<Captured> {
        let mut files = batch.files;
        files.extend(Kind::ALL.iter().map(|kind| (self.programs.file(*kind), place(*kind).into())));
        let mut runs: Vec<(String, String)> = runs.iter().map(|((test, kind), text)| (place(*kind), format!("{}@{text}", test.name))).collect();
        runs.sort();
        Batch { files, runs, starter: "linux-tests".into(), below, ..batch }.on_nacre(self.products)
    }

    /// Seconds after which a run is frozen: any part of its time.
    fn moment(&self, (test, kind): &Run<'_>, durations: &BTreeMap<(String, String), u64>) -> Option<String> {
        let took = *durations.get(&(test.name.clone(), kind.name().to_string()))?;
        let part = part(self.seed, &format!("{}-{}", kind.name(), test.name));
        let at = (u128::from(took) * u128::from(part) >> 32) as u64;
        Some(format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000))
    }

    /// Compares a run in two pieces, or one that ended before its moment, with one that was left
    /// alone.
    fn judge(&self, (test, kind): &Run<'_>, (below, at): (&[&str], &str), undisturbed: &Results, frozen: &Results, thawed: Option<&Results>) -> Verdict {
        let how = if thawed.is_some() { "at" } else { "ended before" };
        let monitors: Vec<&str> = below.iter().copied().filter(|word| PAIRED.iter().any(|monitor| monitor[0] == *word)).collect();
        let title = if below == PAIRED[0] { String::from("frozen:") } else { format!("frozen pair: {}", monitors.join(" ")) };
        let name = format!("{title} {} [{}] {how} {at} s", test.name, kind.name());
        let fault = match (undisturbed.find(&test.name, *kind), frozen.find(&test.name, *kind)) {
            (None, _) => Some("undisturbed, it did not come to its end".to_string()),
            (_, None) => Some("it was not frozen, and did not come to its end".to_string()),
            (Some(whole), Some(first)) => match thawed.map(|thawed| thawed.find(&test.name, *kind)) {
                None => difference(whole, &ProgramResult { how: first.how.clone(), said: first.said.replace(ENDED, "") }),
                Some(None) => Some("it was thawed, and did not come to its end".to_string()),
                Some(Some(second)) => difference(whole, &ProgramResult { how: second.how.clone(), said: first.said.clone() + &second.said }),
            },
        };
        let fault = fault.map(|fault| format!("{fault}\n(where the text says Linux, the run that nobody disturbed is meant; SEED={})", self.seed));
        match (self.known.reason_below(test, WORD), fault) {
            (Some(reason), fault) => (format!("{name} {}: {reason}", if fault.is_some() { "differs, as it may" } else { "may differ" }), None),
            (None, fault) => (name, fault),
        }
    }
}

/// Nanoseconds that each run took.
fn durations(captured: &Captured) -> BTreeMap<(String, String), u64> {
    let text = String::from_utf8_lossy(&captured.output);
    let words = text.lines().filter_map(|line| line.trim_end().strip_prefix("took ")?.split(' ').map(str::to_string).collect::<Vec<_>>().try_into().ok());
    words.filter_map(|[name, file, time]: [String; 3]| Some(((name, file.rsplit('/').next()?.to_string()), time.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_spread_and_the_same_for_a_seed() {
        let parts: Vec<u64> = (0..1000).map(|number| part(7, &format!("glibc-program-{number}"))).collect();
        let below = |limit: u64| parts.iter().filter(|part| **part < limit).count();
        assert!((150..350).contains(&below(1 << 30)) && (400..600).contains(&below(1 << 31)) && below(1 << 32) == 1000);
        assert!(part(7, "a") == part(7, "a") && part(7, "a") != part(8, "a"));
    }

    #[test]
    fn each_pair_of_monitors_is_frozen_once() {
        let test = |name: &str| Test { name: name.to_string(), calls: Vec::new(), covers: String::new(), kinds: vec![Kind::ALL[0]] };
        let all = [test("sleep-lengths"), test("other")];
        let boots = pairs(&all, "");
        assert_eq!((boots.len(), boots.iter().all(|boots| boots.runs.len() == 1)), (PAIRED.len() * PAIRED.len(), true));
        assert_eq!(pairs(&all, "pair: trace guard").iter().map(|boots| boots.below.join(" ")).collect::<Vec<_>>(), ["trace -q guard --allow *"]);
        assert_eq!((pairs(&all, "frozen: ").len(), singles(&all, "frozen: ").len(), singles(&all, "pair").len()), (0, 1, 0));
    }
}
