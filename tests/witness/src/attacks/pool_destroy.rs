//! A monitor handed the pool of all its child's programs to each of them. One message from one of
//! them destroyed the memory of all.

use crate::tools::find;
use crate::outcome::{Outcome, Verdict};
use nacre_proto::flags::SERVICE_MEMORY;
use nacre_proto::memory;

/// Destroys the pool that the environment gives, and each pool that it shares.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    if let Ok(shared) = memory::share(pool.handle(), 0) {
        // The innocent calls that follow tell whether memory is still there.
        let _ = memory::pool_destroy(shared.pool.handle());
    }
    match memory::pool_destroy(pool.handle()) {
        Err(_) => Ok(Verdict::Refused),
        Ok(_) => Err("the pool that others share is destroyed".into()),
    }
}
