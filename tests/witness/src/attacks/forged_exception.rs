//! A program made a space whose keeper was a reference to a service, and let a thread fault there. Root took the exception for its own
//! program's and ended the machine.

use crate::tools::{Outpost, moment, ports};
use crate::{Outcome, Verdict};

/// Address of an unmapped page.
const NOWHERE: u64 = 0x1000;

/// Lets a thread fault in a space of each keeper.
pub fn attack(_: &[u8]) -> Outcome {
    let ports = ports();
    if ports.is_empty() {
        return Ok(Verdict::Absent("service"));
    }
    for (_, port) in &ports {
        let Some(outpost) = Outpost::with_keeper(port.handle())? else { continue };
        outpost.run_from(NOWHERE)?;
        moment();
    }
    Ok(Verdict::Refused)
}
