//! The keeper of a space is told when a thread of the space is destroyed from outside. A service's
//! port as keeper got that bit without being the keeper of anything.

use crate::tools::{Outpost, at_each_port, moment};
use crate::outcome::Outcome;

/// Destroys the only thread of a space of each keeper, then the space.
pub fn attack(_: &[u8]) -> Outcome {
    at_each_port(|port| {
        let Some(outpost) = Outpost::with_keeper(port)? else { return Ok(()) };
        drop(outpost);
        moment();
        Ok(())
    })
}
