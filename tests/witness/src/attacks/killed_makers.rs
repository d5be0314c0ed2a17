//! A process that was killed on its way to a child, or with memory that refers to itself, left
//! processes, threads or memory.

use crate::children::{Count, numbers, start};
use crate::kept::{FEWEST_PAGES, take_all};
use nacre_raw::random::Random;
use crate::tools::why;
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_proto::process;
use nacre_sys::{Reference, Thread};

/// Rounds before the first count.
const WARM: u64 = 8;
/// Rounds.
const ROUNDS: u64 = 60;
/// Maximum of a maker's life in nanoseconds, as a power of two. The minimum is 2^14.
const LONGEST: u64 = 25;
/// Number of objects that a maker makes before it rests.
const TURNS: usize = 64;

/// Kills makers at random moments. `SEED,ROUNDS`.
pub fn attack(argument: &[u8]) -> Outcome {
    let [seed, rounds] = numbers(argument, [1, ROUNDS]);
    let mut random = Random::new(seed);
    let mut before = Count::now();
    for round in 0..WARM + rounds {
        if round == WARM {
            before = Count::now();
        }
        let Some(maker) = start(b"make", b"").map_err(|why| format!("round {round}: {why}"))? else {
            return Ok(Verdict::Absent("process manager"));
        };
        let power = 14 + random.below(LONGEST - 13);
        let _ = Thread::sleep(random.below(1 << power));
        maker.kill();
        maker.wait().map_err(why("its end"))?;
    }
    before?.check().map(|()| Verdict::Refused)
}

/// Makes reservations, memory that refers to itself, and children, in turn.
pub fn play() -> Result<i32, String> {
    for _ in 0..TURNS {
        if let Ok(reserved) = process::create(Reference::PARENT, 0) {
            let _ = process::prepare(reserved.port.handle(), 1 << 20);
            reserved.port.leak();
        }
        let _ = take_all(FEWEST_PAGES)?;
        if let Some(child) = start(b"self", b"20")? {
            child.wait().map_err(why("a child"))?;
        }
    }
    super::immortal_thread::rest()
}
