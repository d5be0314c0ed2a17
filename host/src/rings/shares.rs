//! Tests the shares of `share-cpu`, beside each other and at any depth, counted in instructions:
//! each program gets its share, and nothing inside gets more.

use super::part::Extent;
use super::tally::TestCounts;
use super::system::{boot_on, describe};
use crate::builds::Products;
use crate::cli::MachineArguments;
use crate::failure::Outcome;

/// A test: its sentence, the command, and what the two programs are to get, beside each other.
type Division = (&'static str, &'static str, [u64; 2]);

const DIVISIONS: [Division; 9] = [
    ("64 threads get as much as one beside them", "share-cpu shares spin first 64 : shares spin second 1", [1, 1]),
    ("and three to one, if that is what they weigh", "share-cpu --weight 3 shares spin first 64 : --weight 1 shares spin second 1", [3, 1]),
    ("three schedulers down they get no more", "share-cpu share-cpu share-cpu shares spin first 64 : shares spin second 1", [1, 1]),
    (
        "nor do two programs that a scheduler within divides its own share among",
        "share-cpu share-cpu --weight 5 shares spin first 32 :: shares spin first 32 : shares spin second 1",
        [1, 1],
    ),
    (
        "requests that want no answer cost who sends them",
        "share-cpu --weight 1 shares flood first : --weight 9 shares time second 1",
        [1, 9],
    ),
    (
        "a thread that the process manager makes in a program works on that program's share",
        "process share-cpu --weight 1 shares asked first : --weight 9 shares time second 1",
        [1, 9],
    ),
    (
        "a thread that yields all the time pays for the work of its scheduler",
        "share-cpu --weight 1 shares yield first 1 : --weight 9 shares time second 1",
        [1, 9],
    ),
    ("and so do many", "share-cpu --weight 1 shares yield first 64 : --weight 9 shares time second 1", [1, 9]),
    (
        "and many that wake all the time",
        "share-cpu --weight 1 shares nap first 64 : --weight 9 shares time second 1",
        [1, 9],
    ),
];
/// Divisions of two processors. They are measured in nanoseconds that the kernel counts, because
/// the host does not let both processors do the same in the same time.
const ON_TWO: [Division; 3] = [
    ("on two processors 64 threads get as much as one beside them", "share-cpu --processors 2 shares time first 64 : shares time second 1", [1, 1]),
    ("and three to one, if that is what they weigh", "share-cpu --processors 2 --weight 3 shares time first 64 : --weight 1 shares time second 1", [3, 1]),
    ("two programs run at once", "share-cpu --processors 2 shares time first 1 : shares time second 1", [1, 1]),
];
/// Nanoseconds of a processor that each of two programs must have had to run at once: of the 1.2
/// seconds that are looked at, much more than the half that one processor would give it.
const AT_ONCE: u64 = 900_000_000;
/// The classic inversion.
const INVERSION: (&str, &str) = ("who is of the highest priority does not wait for one in the middle while its server is of the lowest", "shares inversion");
/// Maximum error of a share in percent: on one processor, and on two, where QEMU lets each stand
/// still for a while whenever it likes.
const MAX_DEVIATION: [u64; 2] = [2, 5];

/// Large work that a client has the file server do, with small and large counts.
const WAITS: [(&str, &[u32]); 7] = [
    ("make", &[1, 64, 240]),
    ("clear", &[1, 64, 240]),
    ("cut", &[1, 250, 4000]),
    ("unlink", &[1, 250, 4000]),
    ("list", &[1, 250, 4000]),
    ("torn", &[1000, 10_000, 100_000]),
    ("lack", &[1000, 10_000]),
];
/// Instructions that another client waits at most for a small answer, however large the work is.
const MAX_WAITED: u64 = 400_000;

/// Runs all of them, or each large work with one of its counts.
pub fn run(products: &Products, filter: &str, extent: Extent) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    if !"shares".contains(filter) && !filter.contains("shares") {
        return Ok(tally);
    }
    for (cpus, divisions) in [(1, &DIVISIONS[..]), (2, &ON_TWO[..])] {
        for (sentence, command, wanted) in divisions {
            let fault = said(products, cpus, command)?.and_then(|text| judge(&text, *wanted, &allowed(cpus, command))).err();
            tally.note(&format!("shares: {sentence}"), fault.as_deref());
        }
    }
    let (sentence, command) = INVERSION;
    let fault = said(products, 1, command)?.and_then(|text| if text == "answered\n" { Ok(()) } else { Err(text) }).err();
    tally.note(&format!("shares: {sentence}"), fault.as_deref());
    for (work, counts) in WAITS {
        let waited = extent.of(work, counts.to_vec()).into_iter().map(|count| said(products, 1, &format!("shares wait {work} {count}")));
        let waited: Vec<Result<String, String>> = waited.collect::<Outcome<_>>()?;
        let fault = waited.into_iter().find_map(|text| text.and_then(|text| short(&text)).err());
        tally.note(&format!("shares: nobody waits long beside one who has the server {work} much"), fault.as_deref());
    }
    Ok(tally)
}

/// Checks that a program waited no longer than it may.
fn short(text: &str) -> Result<(), String> {
    match text.trim().parse::<u64>() {
        Ok(waited) if waited <= MAX_WAITED => Ok(()),
        _ => Err(format!("another client waited {} instructions, and {MAX_WAITED} at most were right", text.trim())),
    }
}

/// Returns the output of a command under a clock that counts instructions, or the fault.
fn said(products: &Products, cpus: u32, command: &str) -> Outcome<Result<String, String>> {
    let words: Vec<&str> = command.split(' ').collect();
    let captured = boot_on(products, MachineArguments { icount: true, cpus, ..MachineArguments::default() }, &words)?;
    let text = String::from_utf8_lossy(&captured.output).into_owned();
    Ok(if matches!(captured.status, Ok(0)) { Ok(text) } else { Err(describe(&captured)) })
}

/// Bounds of a right division: the largest error of a share in percent, and the least time of each
/// program.
struct Allowed {
    most_off: u64,
    least: u64,
}

/// Two programs with a processor each have no share to divide: each has what it wants.
fn allowed(cpus: u32, command: &str) -> Allowed {
    match cpus {
        1 => Allowed { most_off: MAX_DEVIATION[0], least: 1 },
        _ if command.ends_with("time first 1 : shares time second 1") => Allowed { most_off: 100, least: AT_ONCE },
        _ => Allowed { most_off: MAX_DEVIATION[1], least: 1 },
    }
}

/// Returns the time that all programs of a name have got.
fn got(text: &str, name: &str) -> u64 {
    let numbers = text.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    numbers.sum()
}

/// Checks that the two programs got their shares.
fn judge(text: &str, wanted: [u64; 2], allowed: &Allowed) -> Result<(), String> {
    let got = ["first", "second"].map(|name| got(text, name));
    let (all, weights) = (got[0] + got[1], wanted[0] + wanted[1]);
    let off = (got[0] * weights).abs_diff(all * wanted[0]);
    if got.iter().any(|got| *got < allowed.least) || off * 100 > all * weights * allowed.most_off {
        return Err(format!("{got:?} were to be as {wanted:?}, and {} at least", allowed.least));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Allowed = Allowed { most_off: 2, least: 1 };

    #[test]
    fn a_long_wait_is_found() {
        assert_eq!(short("1234\n"), Ok(()));
        assert!(short("400001\n").is_err() && short("").is_err());
    }

    #[test]
    fn a_share_that_is_off_is_found() {
        assert_eq!(judge("first 3000\nsecond 1000\n", [3, 1], &EXACT), Ok(()));
        assert_eq!(judge("first 500\nfirst 505\nsecond 1000\n", [1, 1], &EXACT), Ok(()));
        assert!(judge("first 1100\nsecond 1000\n", [1, 1], &EXACT).is_err());
        assert!(judge("first 900\nsecond 900\n", [1, 1], &Allowed { most_off: 2, least: 950 }).is_err());
        assert!(judge("first 1000\n", [1, 0], &EXACT).is_err());
    }
}
