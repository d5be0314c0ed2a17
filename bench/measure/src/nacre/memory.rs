//! Mappings made and destroyed, and page faults that a keeper in another space resolves.

use nacre_abi::fault::{MAP, REFUSE};
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_sys::{Info, Mapping, OwnedMapping, OwnedPort, OwnedRegion, PortSet, Region, Space, Status, ipc};

use super::fixture::{Fixture, pages, rest, slot};
use crate::figure::{sample_batches, sample_results};

/// Address of a page in this space.
const HERE: u64 = 0x1a00_0000_0000;
/// Address at which the keeper puts pages into its own space.
const THERE: u64 = 0x1b00_0000_0000;
/// Pages that are touched in a batch.
const ROUNDS: u32 = 32;
const DATA: Rights = Rights(3);

fn touch(address: u64) {
    // SAFETY: mapped, or about to be by the keeper, and no Rust object lies there.
    unsafe { (address as *mut u64).write_volatile(1) };
}

fn map(slot: u64, ground: &Fixture, page: u64) -> Result<Mapping, Status> {
    Mapping::create(slot, Space::OWN, HERE, PAGE_SIZE, ground.region(), Fixture::offset(page), DATA)
}

/// A page that nobody touches.
pub fn map_and_unmap(ground: &Fixture) -> Result<u64, Errno> {
    let (slot, page) = (slot(ObjectType::Mapping)?, pages(1)?);
    sample_results(500, || map(slot, ground, page)?.destroy())
}

/// A page that is touched.
pub fn map_touch_and_unmap(ground: &Fixture) -> Result<u64, Errno> {
    let (slot, page) = (slot(ObjectType::Mapping)?, pages(1)?);
    sample_results(500, || {
        let mapping = map(slot, ground, page)?;
        touch(HERE);
        mapping.destroy()
    })
}

/// State of the keeper.
struct Keeper {
    port: OwnedPort,
    source: Region,
    /// Offset in `source` of its pages.
    offset: u64,
    slots: [u64; ROUNDS as usize],
}

impl Keeper {
    /// Returns the words of a reply that maps the missing page into the keeper's own space, and so
    /// into the region.
    fn provide(&self, offset: u64) -> Option<[u64; 6]> {
        let slot = *self.slots.get((offset / PAGE_SIZE) as usize)?;
        let page = offset & !(PAGE_SIZE - 1);
        Some([THERE + page, PAGE_SIZE, self.source.address(), (self.offset + page) | DATA.0, 0, slot])
    }
}

extern "C" fn keep(keeper: u64) -> ! {
    // SAFETY: who started this thread destroys it before the keeper goes.
    let keeper = unsafe { &*(keeper as *const Keeper) };
    let port = keeper.port.address();
    let mut next = ipc::receive_words(port);
    while let Ok(received) = next {
        let provided = if received.info.has(Info::FAULT) { keeper.provide(received.words[0]) } else { None };
        next = ipc::reply_receive_words(port, if provided.is_some() { MAP } else { REFUSE }, provided.unwrap_or_default());
    }
    rest()
}

/// A page that lacks is touched; its region's keeper, in another space, hears of it, maps a page
/// there, and lets the thread go on.
pub fn fault_to_keeper(ground: &Fixture) -> Result<u64, Errno> {
    let mut slots = [0; ROUNDS as usize];
    for one in &mut slots {
        *one = slot(ObjectType::Mapping)?;
    }
    let offset = Fixture::offset(pages(u64::from(ROUNDS))?);
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let port_itself = port.handle().as_keeper();
    let keeper = alloc::boxed::Box::new(Keeper { port, source: ground.region(), offset, slots });
    let domain = ground.domain()?;
    let size = u64::from(ROUNDS) * PAGE_SIZE;
    let region = OwnedRegion::new(domain.space.handle(), THERE, size, DATA, port_itself)?;
    let _here = OwnedMapping::new(Space::OWN, HERE, size, region.handle(), 0, DATA)?;
    let thread = domain.start(keep, &raw const *keeper as u64)?;
    let figure = sample_batches(
        ROUNDS,
        |number| {
            for slot in keeper.slots.iter().filter(|_| number > 0) {
                let _ = Mapping(*slot).destroy();
            }
        },
        |round| touch(HERE + u64::from(round) * PAGE_SIZE),
    );
    drop(thread);
    Ok(figure)
}
