//! A memory server keeps records of dataspaces, names, attachments and pages. A client makes as
//! many of each as it gets, with all memory held, and touches what it has.

use super::no_memory::hold;
use crate::tools::find;
use crate::outcome::{Outcome, Verdict};
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::flags::{ATTACH_READ, SERVICE_MEMORY};
use nacre_proto::{Errno, dataspace, segment};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space};

/// Dataspaces that are tried: more than a server has.
const MOST: usize = 8300;
/// Length of a name.
const NAME: usize = 255;
/// Copies of copies.
const COPIES: usize = 10_000;
/// Segments of memory that is held.
const HELD: usize = 512;
/// Pages of the dataspace that is copied.
const PAGES: u64 = 8;

/// A name that no other dataspace has.
fn name(number: usize) -> Vec<u8> {
    let mut name = alloc::format!(":{number:08}").into_bytes();
    name.resize(NAME + 1, b'n');
    name
}

/// Writes into each page through an attachment, and gives the attachment back.
fn touch(dataspace: Reference) -> Result<(), Errno> {
    let attached = dataspace::attach(dataspace, 0)?;
    let place = Place::take(PAGES * PAGE_SIZE).ok_or(Errno::ENOMEM)?;
    let rights = Rights::READ.union(Rights::WRITE);
    let _shown = OwnedMapping::new(Space::OWN, place.window().start(), attached.size.min(PAGES * PAGE_SIZE), Region::through(attached.region.handle()), 0, rights)?;
    (0..attached.size.min(PAGES * PAGE_SIZE) / PAGE_SIZE).try_for_each(|page| place.window().write_word(page * PAGE_SIZE, page + 1)).ok_or(Errno::EIO)
}

/// A chain of copies, each of the one before, which goes.
fn chain(pool: Reference, managers: &[&[u8]]) -> Result<(), Errno> {
    let mut last = dataspace::create(pool, PAGES * PAGE_SIZE, &b""[..])?.dataspace;
    for number in 0..COPIES {
        if number % 100 == 0 {
            touch(last.handle())?;
        }
        let manager = managers[number % managers.len()];
        match dataspace::copy(last.handle(), manager) {
            Ok(copy) => last = copy.dataspace,
            // One that does not fit elsewhere is moved instead, or stays.
            Err(_) => drop(dataspace::transfer(last.handle(), managers[0])),
        }
        if number % 7 == 0 {
            let _ = segment::clear(last.handle(), PAGE_SIZE, PAGE_SIZE);
            let _ = segment::resize(last.handle(), (1 + number as u64 % PAGES) * PAGE_SIZE);
        }
    }
    Ok(())
}

/// Makes as many dataspaces with long names as there can be, each shared and attached.
fn fill(pool: Reference) -> Vec<OwnedReference> {
    let mut all = Vec::new();
    for number in 0..MOST {
        let Ok(made) = dataspace::create(pool, PAGE_SIZE, &name(number)[..]) else { break };
        all.extend(dataspace::share(made.dataspace.handle(), 0).ok().map(|shared| shared.dataspace));
        all.extend(dataspace::share(made.dataspace.handle(), ATTACH_READ).ok().map(|shared| shared.dataspace));
        if let Ok(attached) = dataspace::attach(made.dataspace.handle(), ATTACH_READ) {
            all.extend([attached.region, attached.attachment]);
        }
        all.push(made.dataspace);
    }
    all
}

/// Copies in a chain, fills the tables, and does both again with all memory held.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    if dataspace::interrogate(pool.handle(), &b""[..], &mut [0; dataspace::NAME_SIZE][..]).is_err() {
        return Ok(Verdict::Absent("managers of memory"));
    }
    let managers: [&[u8]; 4] = [b"", b"compressed", b"pinned", b"anonymous"];
    chain(pool.handle(), &managers).map_err(crate::tools::why("a chain of copies"))?;
    let all = fill(pool.handle());
    let _ = chain(pool.handle(), &managers);
    let mut held = Vec::with_capacity(HELD);
    hold(pool.handle(), &mut held);
    let _ = chain(pool.handle(), &managers);
    drop(all);
    let all = fill(pool.handle());
    drop(all);
    drop(held);
    chain(pool.handle(), &managers).map_err(crate::tools::why("a chain after all was given back"))?;
    Ok(Verdict::Refused)
}
