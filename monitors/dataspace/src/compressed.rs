//! Compressed memory: zeros at first, and what was not used lately is made smaller.

use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_dataspaces::policy::Clock;
use nacre_dataspaces::store::Compressed;
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::Plan;

/// Name of the manager.
pub const NAME: &str = "compressed";

/// Pages that were not used lately are compressed into our own heap.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    Ok(plan(NAME, ALL_OPERATIONS, means.frames, means, Box::new(Compressed::new(means.store)), Box::new(Clock::default())))
}
