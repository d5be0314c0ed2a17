//! A guard that allowed memory let its program find, change and delete lasting memory of others,
//! since its names are the same in all pools.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_abi::PAGE_SIZE;
use nacre_proto::flags::{SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::{Errno, dataspace, memory};
use nacre_sys::Reference;

/// Name of the memory of others.
const NAME: &[u8] = b"persistent:witness";
/// A name that nobody has.
const OTHER: &[u8] = b"persistent:witness-other";

/// Looks for the memory of others at a pool, and gives memory a name there.
fn at_pool(pool: Reference, what: &str) -> Result<(), String> {
    for (name, found) in [("finds", dataspace::identify(pool, NAME).map(drop)), ("names", dataspace::create(pool, PAGE_SIZE, OTHER).map(drop))] {
        match found {
            Err(Errno::EACCES | Errno::ENOSYS) => {}
            other => return Err(format!("the pool for {what} {name} lasting memory: {other:?}")),
        }
    }
    Ok(())
}

/// Looks for the memory in each pool, and in pools within those. With `make`, makes it instead.
pub fn attack(argument: &[u8]) -> Outcome {
    for (name, service) in [("data", SERVICE_MEMORY), ("objects", SERVICE_OBJECTS)] {
        let Ok(pool) = find(service) else { continue };
        if argument == b"make" {
            dataspace::create(pool.handle(), PAGE_SIZE, NAME).map_err(why("lasting memory"))?;
            return Ok(Verdict::Refused);
        }
        at_pool(pool.handle(), name)?;
        let within = memory::pool_create(pool.handle(), PAGE_SIZE).map_err(why("a pool"))?;
        at_pool(within.pool.handle(), "a pool within")?;
        let shared = memory::share(within.pool.handle(), 0).map_err(why("a share"))?;
        at_pool(shared.pool.handle(), "a share of it")?;
    }
    Ok(Verdict::Refused)
}
