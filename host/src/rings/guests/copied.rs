//! A guest that runs is copied: each copy goes on with its own memory and its own input.

use super::commands::{GUEST, MACHINE, Running, finished};
use crate::failure::Outcome;
use crate::rings::tally::TestCounts;

const NAME: &str = "ten copies of a busy guest go on, each by itself";
const COPIES: usize = 10;
/// A guest that writes a file again and again until it has read a word. Then it says the word with
/// each number, and counts the lines of a file that it has written meanwhile.
const PROGRAM: &str = "(i=0; while [ ! -e /tmp/go ]; do i=$((i + 1)); echo $i >/tmp/n; done; [ $(cat /tmp/n) = $i ] && echo whole >/tmp/sum) &
echo up; read word; touch /tmp/go; wait; cat /tmp/sum
for i in 1 2 3; do seq 1 300 | sort -n | tail -1 >>/tmp/last; echo $word $i; done; wc -l </tmp/last; read last; exit 7";

/// Runs the case, if its name contains the filter.
pub fn run(filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if NAME.contains(filter) {
        tally.note(NAME, fault()?.as_deref());
    }
    Ok(())
}

/// Output of the guest that has read a word.
fn expected(word: &str) -> String {
    format!("whole\n{word} 1\n{word} 2\n{word} 3\n3\n")
}

/// Returns the fault, if there was one.
fn fault() -> Outcome<Option<String>> {
    let name = format!("copied-guest-{}", std::process::id());
    let words = [&["run", "--name", &name], MACHINE, GUEST, &["sh", "-c", PROGRAM]].concat();
    let mut original = Running::start(&words)?;
    original.wait_for("up")?;
    let (status, _, errors) = finished(&["fork", &name, &COPIES.to_string(), "--input", "copy", "--wait"])?;
    if status != Some(7) {
        return Ok(Some(format!("the copies ended with {status:?}: {errors}")));
    }
    for number in 1..=COPIES {
        let (_, said, errors) = finished(&["logs", &format!("{name}.{number}")])?;
        if said != expected("copy") {
            return Ok(Some(format!("copy {number} says {said:?}; {errors}")));
        }
    }
    // All copies have ended, so the rest of the output is the original's.
    original.type_line("original")?;
    original.type_line("end")?;
    let ended = original.rest()?;
    let passed = ended.status == Some(7) && ended.output.ends_with(&expected("original"));
    Ok((!passed).then(|| format!("the original: {}", ended.describe())))
}
