//! A guest that is frozen at a random instant between its first instruction and its last, and goes
//! on in another machine, writes what it writes without that. Time goes by instructions, so an
//! instant is the same in each run.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::path::Path;

use super::frozen::{Clock, captured};
use crate::builds::Products;
use crate::failure::Outcome;
use crate::rings::parallel_tests;
use crate::rings::system::describe;
use crate::rings::tally::TestCounts;
use crate::scratch::Folder;
use crate::session::capture::Captured;

/// Cases: name, number of instants, and whether a filter has to name it.
const CASES: [(&str, u64, bool); 2] = [("a guest is frozen at two random instants", 2, false), ("a guest is frozen at 100 random instants", 100, true)];
/// A guest whose kernel tells of its start, with processes, pipes and files; then it tells for how
/// long it has run.
const PROGRAM: &str = "dmesg | grep -c . >/dev/null; for i in 1 2 3; do seq 1 400 | sort -r | md5sum; (exit $i) || echo status $?; done; \
    dd if=/dev/zero bs=64k count=16 2>/dev/null | tee /tmp/zeros | wc -c; md5sum </tmp/zeros; sed 's/ .*//; s/^/up /' /proc/uptime; exit 7";
/// Nanoseconds in which the kernel's file is read: the second machine does not have it.
const LOADED: u64 = 60_000_000;
/// Environment variable with the number that decides the instants.
const SEED: &str = "SEED";

/// Runs the cases whose names contain the filter.
pub fn run(products: &Products, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    let seed = std::env::var(SEED).ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    for (name, count, _) in CASES.iter().filter(|(name, _, is_long)| name.contains(filter) && !(*is_long && filter.is_empty())) {
        let undisturbed = run_to_end(products)?;
        let Some(length) = length(&undisturbed) else {
            tally.note(name, Some(&describe(&undisturbed)));
            continue;
        };
        let instants: Vec<u64> = (0..*count).map(|number| instant(seed, number, length)).collect();
        tally.add(parallel_tests::each(&instants, jobs, |at| {
            let mut one = TestCounts::default();
            let fault = frozen(products, *at, &undisturbed)?.map(|fault| format!("{fault}\n(SEED={seed} repeats it)"));
            one.note(&format!("{name} [{} ms]", at / 1_000_000), fault.as_deref());
            Ok(one)
        })?);
    }
    Ok(tally)
}

/// An instant, in nanoseconds, behind the load of the kernel: one that a seed and a number decide.
fn instant(seed: u64, number: u64, length: u64) -> u64 {
    let mixed = (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 31).wrapping_mul(0x94d0_49bb_1331_11eb) % length.saturating_sub(LOADED).max(1) + LOADED
}

/// Words of the guest behind those of `checkpoint`.
fn words(before: &[&str], image: Option<&Path>) -> Vec<OsString> {
    let program = ["machine", "--memory", "80M", "sh", "-c", PROGRAM];
    before.iter().map(OsString::from).chain(image.map(|image| image.as_os_str().to_owned())).chain(program.map(OsString::from)).collect()
}

fn run_to_end(products: &Products) -> Outcome<Captured> {
    captured(products, words(&["checkpoint", "-m", "220M"], None), Vec::new(), BTreeMap::new(), Clock::Instructions)
}

/// Returns how long the guest has run, in nanoseconds.
fn length(captured: &Captured) -> Option<u64> {
    let text = String::from_utf8_lossy(&captured.output);
    let seconds: f64 = text.lines().find_map(|line| line.strip_prefix("up ")?.trim().parse().ok())?;
    matches!(captured.status, Ok(7)).then_some((seconds * 1e9) as u64)
}

/// All that a guest writes, but for how long it has run.
fn lines(texts: &[&[u8]]) -> String {
    String::from_utf8_lossy(&texts.concat()).lines().filter(|line| !line.starts_with("up ")).map(|line| format!("{line}\n")).collect()
}

/// Returns the fault, if there was one.
fn frozen(products: &Products, at: u64, undisturbed: &Captured) -> Outcome<Option<String>> {
    let folder = Folder::new("instant")?;
    let image = folder.path().join("image");
    let after = format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000);
    let command = words(&["checkpoint", "-m", "220M", "--after", &after, "--end", "-o"], Some(&image));
    let first = captured(products, command, Vec::new(), BTreeMap::from([(image.clone(), image.clone())]), Clock::Instructions)?;
    if !matches!(first.status, Ok(0)) || !image.is_file() {
        return Ok(Some(format!("no image: {}", describe(&first))));
    }
    let thaws = vec!["checkpoint".into(), "--thaw".into(), image.into_os_string()];
    let second = captured(products, thaws, Vec::new(), BTreeMap::new(), Clock::Instructions)?;
    let (said, wanted) = (lines(&[&first.output, &second.output]), lines(&[&undisturbed.output]));
    let passed = said == wanted && matches!(second.status, Ok(7));
    Ok((!passed).then(|| format!("both say {said:?} and not {wanted:?}; then {}", describe(&second))))
}
