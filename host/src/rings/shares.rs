//! What programs get of the time, beside each other and at any depth, counted in instructions: `share-cpu` gives what it says, and nobody inside gets more.

use super::Tally;
use super::system::{boot_on, describe};
use crate::builds::Products;
use crate::cli::MachineArguments;
use crate::failure::Outcome;

/// A test: its sentence, the command, and what the two programs are to get, beside each other.
type Division = (&'static str, &'static str, [u64; 2]);

const DIVISIONS: [Division; 4] = [
    ("64 threads get as much as one beside them", "share-cpu shares spin first 64 : shares spin second 1", [1, 1]),
    ("and three to one, if that is what they weigh", "share-cpu --weight 3 shares spin first 64 : --weight 1 shares spin second 1", [3, 1]),
    ("three schedulers down they get no more", "share-cpu share-cpu share-cpu shares spin first 64 : shares spin second 1", [1, 1]),
    (
        "nor do two programs that a scheduler within divides its own share among",
        "share-cpu share-cpu --weight 5 shares spin first 32 :: shares spin first 32 : shares spin second 1",
        [1, 1],
    ),
];
/// How far a share may be off, of a hundred.
const MOST_OFF: u64 = 2;

/// Runs all of them.
pub fn run(products: &Products, filter: &str) -> Outcome<Tally> {
    let mut tally = Tally::default();
    if !"shares".contains(filter) && !filter.contains("shares") {
        return Ok(tally);
    }
    for (sentence, command, wanted) in &DIVISIONS {
        let fault = said(products, command)?.and_then(|text| judge(&text, *wanted)).err();
        tally.note(&format!("shares: {sentence}"), fault.as_deref());
    }
    Ok(tally)
}

/// What a command prints, under a clock that counts instructions; or what went wrong.
fn said(products: &Products, command: &str) -> Outcome<Result<String, String>> {
    let words: Vec<&str> = command.split(' ').collect();
    let captured = boot_on(products, MachineArguments { icount: true, ..MachineArguments::default() }, &words)?;
    let text = String::from_utf8_lossy(&captured.output).into_owned();
    Ok(if matches!(captured.status, Ok(0)) { Ok(text) } else { Err(describe(&captured)) })
}

/// What all programs of a name have got.
fn got(text: &str, name: &str) -> u64 {
    let numbers = text.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    numbers.sum()
}

/// Whether the two programs got what they were to get.
fn judge(text: &str, wanted: [u64; 2]) -> Result<(), String> {
    let got = ["first", "second"].map(|name| got(text, name));
    let (all, weights) = (got[0] + got[1], wanted[0] + wanted[1]);
    let off = (got[0] * weights).abs_diff(all * wanted[0]);
    if got.contains(&0) || off * 100 > all * weights * MOST_OFF {
        return Err(format!("{got:?} were to be as {wanted:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_off_is_found() {
        assert_eq!(judge("first 3000\nsecond 1000\n", [3, 1]), Ok(()));
        assert_eq!(judge("first 500\nfirst 505\nsecond 1000\n", [1, 1]), Ok(()));
        assert!(judge("first 1100\nsecond 1000\n", [1, 1]).is_err());
        assert!(judge("first 1000\n", [1, 0]).is_err());
    }
}
