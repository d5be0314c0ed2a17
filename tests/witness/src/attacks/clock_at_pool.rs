//! Root answered every protocol at every port, so whoever had memory could read the clock.

use crate::tools::find;
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use nacre_proto::clock;
use nacre_proto::flags::{CLOCK_REALTIME, SERVICE_MEMORY};

/// Asks a pool what time it is.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    match clock::read(pool.handle(), CLOCK_REALTIME) {
        Ok(time) => Err(format!("the pool says {} s after 1970", time.seconds)),
        Err(_) => Ok(Verdict::Refused),
    }
}
