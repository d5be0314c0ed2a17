//! Files that are both written and run: `ETXTBSY`.
//!
//! A server hears of the last reference's end by a notification. On several processors, or below
//! monitors, the one who closed a file, or saw its program end, can ask for more before that. So
//! what is busy is asked for again a few times before the program is told.

use crate::process::Process;
use nacre_proto::Errno;

/// Nanoseconds between two tries.
const PAUSES: [u64; 4] = [500_000, 1_000_000, 2_000_000, 4_000_000];

/// Asks until the answer is something else than `ETXTBSY`, at most as often as there are
/// [`PAUSES`], and once more. The library's lock is free between.
pub fn while_busy<R>(process: &mut Process, mut ask: impl FnMut(&mut Process) -> Result<R, Errno>) -> Result<R, Errno> {
    for pause in PAUSES {
        match ask(process) {
            Err(Errno::ETXTBSY) => drop(process.sleep(pause)),
            answer => return answer,
        }
    }
    ask(process)
}
