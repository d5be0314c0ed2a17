//! Anonymous memory: zeros at first, paged to memory of the layer below.

use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_dataspaces::policy::Clock;
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::{Plan, kernel};
use nacre_memory::stores::InMemory;
use nacre_sys::OwnedReference;

/// Name of the manager.
pub const NAME: &str = "anonymous";

/// Pages that were not used lately go to pageable memory of our pool, as they are.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let pool = OwnedReference::copy_of(means.pool, REFERENCE_USE).map_err(kernel("a copy of its pool"))?;
    let store = InMemory::new(pool, means.below / PAGE_SIZE);
    Ok(plan(NAME, ALL_OPERATIONS, means.frames, means, Box::new(store), Box::new(Clock::default())))
}
