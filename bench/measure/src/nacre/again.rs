//! Cost of a long call that stops for interrupts and is made again: the way out and in, the
//! arguments checked once more, and work that is done twice.

use alloc::vec::Vec;

use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::RegionState;
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_sys::{Mapping, Port, PortSet, Reference, Region, Space, memory};

use super::fixture::{Fixture, pages};
use crate::figure::now;

/// Pages for the objects of one call.
const OBJECT_PAGES: u64 = 8;
/// Fewest parts of a call. Between this number and the most, each call is cut off several times.
const FEWEST: u64 = 20;
const MOST: u64 = 220;
/// Number of measurements of each call. The least counts.
const TIMES: usize = 3;
/// Address of pages that no other mapping uses.
const ELSEWHERE: u64 = 0x1b00_0000_0000;
const READ: Rights = Rights(1);

/// A port with `count` references is destroyed: instructions.
fn port(start: u64, count: u64) -> Result<u64, Errno> {
    let port = Port::create(start, 0, PortSet::NONE)?;
    for number in 0..count {
        port.reference(Reference::create(start + PAGE_SIZE + number * ObjectType::Reference.size())?, REFERENCE_USE)?;
    }
    let begun = now();
    port.destroy()?;
    Ok(now() - begun)
}

/// A region that is mapped `count` times is closed: instructions.
fn region(start: u64, count: u64) -> Result<u64, Errno> {
    let region = Region::create(start, Space::OWN, start, PAGE_SIZE, READ, Reference::NONE)?;
    for number in 0..count {
        let slot = start + PAGE_SIZE + number * ObjectType::Mapping.size();
        Mapping::create(slot, Space::OWN, ELSEWHERE + number * PAGE_SIZE, PAGE_SIZE, region, 0, READ)?;
    }
    let closed = RegionState { rights: 0, ..region.get_state()? };
    let begun = now();
    region.set_state(&closed)?;
    Ok(now() - begun)
}

/// Returns the cost of one more part where it cuts the call off once more, beyond its cost where it
/// does not.
fn step(call: fn(u64, u64) -> Result<u64, Errno>, start: u64) -> Result<u64, Errno> {
    let mut costs = Vec::new();
    for count in FEWEST..MOST {
        let mut least = u64::MAX;
        for _ in 0..TIMES {
            least = least.min(call(start, count)?);
            memory::reclaim(start, OBJECT_PAGES * PAGE_SIZE)?;
        }
        costs.push(least);
    }
    let mut steps: Vec<u64> = costs.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
    steps.sort_unstable();
    Ok(steps[steps.len() - 1] - steps[steps.len() / 2])
}

/// The dearer of the two.
pub fn made_again(_: &Fixture) -> Result<u64, Errno> {
    let start = pages(OBJECT_PAGES)?;
    let steps = [step(port, start)?, step(region, start)?];
    Ok(steps[0].max(steps[1]))
}
