//! Objects made and destroyed.

use nacre_abi::ObjectType;
use nacre_proto::Errno;
use nacre_sys::{Port, PortSet, Reference, Space};

use super::fixture::{Fixture, lonely_slot, pages, slot};
use crate::figure::sample_results;

/// Pages that a space needs at least.
const POOL: u64 = 5;

/// An empty space.
pub fn space(_: &Fixture) -> Result<u64, Errno> {
    let (slot, pool) = (slot(ObjectType::Space)?, pages(POOL)?);
    sample_results(100, || Space::create(slot, pool, POOL, Reference::NONE)?.destroy())
}

/// A port that nobody refers to.
pub fn port(_: &Fixture) -> Result<u64, Errno> {
    let slot = slot(ObjectType::Port)?;
    sample_results(500, || Port::create(slot, 0, PortSet::NONE)?.destroy())
}

/// A reference that leads nowhere, in a page that has no other object: the page becomes one of
/// objects, and plain memory again.
pub fn lonely_reference(_: &Fixture) -> Result<u64, Errno> {
    let slot = lonely_slot()?;
    sample_results(500, || Reference::create(slot)?.destroy())
}

/// A reference that leads nowhere.
pub fn reference(_: &Fixture) -> Result<u64, Errno> {
    let slot = slot(ObjectType::Reference)?;
    sample_results(500, || Reference::create(slot)?.destroy())
}
