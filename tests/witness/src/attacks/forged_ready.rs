//! A scheduler's port is told of each thread that becomes ready. A service's port as scheduler was
//! told of any program's threads, and received references to them.

use crate::tools::{Outpost, at_each_port, moment};
use crate::outcome::Outcome;
use nacre_sys::Reference;

/// Address of an unmapped page.
const NOWHERE: u64 = 0x1000;

/// Makes each service the scheduler of a thread that becomes ready.
pub fn attack(_: &[u8]) -> Outcome {
    at_each_port(|port| {
        for word in [0, 1, u64::MAX] {
            let outpost = Outpost::with_keeper(Reference::NONE)?.ok_or("a space without keeper was refused")?;
            if outpost.thread.handle().set_scheduler(port, word).is_err() {
                continue;
            }
            outpost.run_from(NOWHERE)?;
            moment();
        }
        Ok(())
    })
}
