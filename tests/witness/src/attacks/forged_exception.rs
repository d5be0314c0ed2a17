//! A program made a space whose keeper was a reference to a service, and let a thread fault there.
//! Root took the exception for its own program's and ended the machine.

use crate::tools::{Outpost, at_each_port, moment};
use crate::outcome::Outcome;

/// Address of an unmapped page.
const NOWHERE: u64 = 0x1000;

/// Makes a thread fault in a space of each keeper.
pub fn attack(_: &[u8]) -> Outcome {
    at_each_port(|port| {
        let Some(outpost) = Outpost::with_keeper(port)? else { return Ok(()) };
        outpost.run_from(NOWHERE)?;
        moment();
        Ok(())
    })
}
