//! Memory that refers to itself stayed after its process, so that one program took all memory of
//! its world for good.

use crate::children::{Count, numbers, start};
use crate::kept::{FEWEST_PAGES, take_all};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;

/// Pages that a process leaves from each pool: 4 MiB.
const PAGES: &[u8] = b"1024";
/// Rounds before the first count: tables and heaps reach their size.
const WARM: u64 = 3;
/// Rounds. Together their processes take more memory than the tests' machines have.
const ROUNDS: u64 = 140;

/// Processes leave such memory one after the other. `SEED,ROUNDS`; the seed is not used.
pub fn attack(argument: &[u8]) -> Outcome {
    let [_, rounds] = numbers(argument, [0, ROUNDS]);
    let mut before = Count::now();
    for round in 0..WARM + rounds {
        if round == WARM {
            before = Count::now();
        }
        let Some(child) = start(b"self", PAGES).map_err(|why| format!("round {round}: {why}"))? else {
            return Ok(Verdict::Absent("process manager"));
        };
        match child.wait() {
            Ok(0) => {}
            other => return Err(format!("round {round}: a process ended with {other:?}")),
        }
    }
    before?.check().map(|()| Verdict::Refused)
}

/// Leaves so many pages of each pool.
pub fn play(pages: &[u8]) -> Result<i32, String> {
    let [pages] = numbers(pages, [FEWEST_PAGES]);
    take_all(pages).map(|_| 0)
}
