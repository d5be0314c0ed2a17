//! The keeper of a space is told when a thread of the space is destroyed from outside. A service's port as keeper got that bit
//! without being the keeper of anything.

use crate::tools::{Outpost, moment, ports};
use crate::{Outcome, Verdict};

/// Destroys the only thread of a space of each keeper, then the space.
pub fn attack(_: &[u8]) -> Outcome {
    let ports = ports();
    if ports.is_empty() {
        return Ok(Verdict::Absent("service"));
    }
    for (_, port) in &ports {
        let Some(outpost) = Outpost::with_keeper(port.handle())? else { continue };
        drop(outpost);
        moment();
    }
    Ok(Verdict::Refused)
}
