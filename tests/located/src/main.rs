//! Takes memory by its addresses and checks where it lies: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use core::fmt::Debug;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::command::number;
use nacre_nest::places::Place;
use nacre_proto::flags::{ATTACH_READ, POOL_DATA, SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::{Errno, dataspace, memory, parent, segment};
use nacre_rt::{Arguments, stream};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space};

nacre_rt::entry!(located);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Bytes of memory that is taken.
const SIZE: u64 = 256 << 10;

fn why<T: Debug>(what: &str) -> impl Fn(T) -> String {
    move |reason| format!("{what}: {reason:?}")
}

fn check(holds: bool, what: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.into()) }
}

/// Memory at addresses of ours.
struct Mapped {
    place: Place,
    _mapping: OwnedMapping,
}

fn map(region: Reference, size: u64, rights: Rights) -> Result<Mapped, String> {
    let place = Place::take(size).ok_or("no addresses are left")?;
    let mapping = OwnedMapping::new(Space::OWN, place.window().start(), size, Region::through(region), 0, rights).map_err(why("a mapping"))?;
    Ok(Mapped { place, _mapping: mapping })
}

impl Mapped {
    /// Writes a number into each page, and reads them all.
    fn fill(&self, size: u64) -> Result<(), String> {
        let window = self.place.window();
        (0..size).step_by(PAGE_SIZE as usize).try_for_each(|at| window.read_word(at).filter(|word| *word == 0).and_then(|_| window.write_word(at, at + 1))).ok_or("memory is not of zeros")?;
        (0..size).step_by(PAGE_SIZE as usize).try_for_each(|at| window.read_word(at).filter(|word| *word == at + 1).map(drop)).ok_or("memory does not keep what is written".into())
    }
}

fn pool(service: u64) -> Result<OwnedReference, String> {
    parent::find(Reference::PARENT, service).map(|found| found.found).map_err(why("a pool"))
}

/// Checks that each page of a segment is of one of the colours.
fn check_colours(at: Reference, size: u64, (first, last, all): (u64, u64, u64)) -> Result<(), String> {
    let mut offset = 0;
    while offset < size {
        let found = segment::locate(at, offset).map_err(why("locate"))?;
        check(found.size > 0 && found.size % PAGE_SIZE == 0, format!("{} bytes lie at {:#x}", found.size, found.address))?;
        for page in 0..found.size / PAGE_SIZE {
            let colour = (found.address / PAGE_SIZE + page) % all;
            check((first..=last).contains(&colour), format!("offset {offset:#x} lies at {:#x}, of colour {colour}", found.address))?;
        }
        offset += found.size;
    }
    check(offset == size && segment::locate(at, size).err() == Some(Errno::EINVAL), "locate goes beyond the end")
}

/// Runs and colours of the pool itself, and what it refuses.
fn run() -> Result<&'static str, String> {
    let pool = pool(SERVICE_OBJECTS)?;
    let pool = pool.handle();
    let taken = memory::run_create(pool, SIZE, 64 << 10, 0).map_err(why("a run"))?;
    check(taken.size == SIZE && taken.address % (64 << 10) == 0, format!("a run of {} bytes at {:#x}", taken.size, taken.address))?;
    let place = segment::locate(taken.segment.handle(), PAGE_SIZE + 5).map_err(why("locate"))?;
    check((place.address, place.size) == (taken.address + PAGE_SIZE + 5, SIZE - PAGE_SIZE - 5), "a byte of a run lies elsewhere")?;
    map(taken.region.handle(), SIZE, Rights::READ.union(Rights::WRITE))?.fill(SIZE)?;
    let low = memory::run_create(pool, PAGE_SIZE, 0, taken.address.max(1 << 24)).map_err(why("a run below an address"))?;
    check(low.address + PAGE_SIZE <= taken.address.max(1 << 24), "a run lies too high")?;
    let coloured = memory::coloured_create(pool, SIZE, 8, 2, 3).map_err(why("colours"))?;
    map(coloured.region.handle(), SIZE, Rights::READ.union(Rights::WRITE))?.fill(SIZE)?;
    check_colours(coloured.segment.handle(), SIZE, (2, 4, 8))?;
    segment::destroy(coloured.segment.handle()).map_err(why("the end of colours"))?;
    let refusals = [
        (memory::run_create(pool, 0, 0, 0).err(), Errno::EINVAL),
        (memory::run_create(pool, PAGE_SIZE, 3 * PAGE_SIZE, 0).err(), Errno::EINVAL),
        (memory::run_create(pool, PAGE_SIZE, 1 << 63, 0).err(), Errno::EINVAL),
        (memory::run_create(pool, PAGE_SIZE, 0, PAGE_SIZE).err(), Errno::ENOMEM),
        (memory::run_create(pool, u64::MAX, 0, 0).err(), Errno::ENOMEM),
        (memory::coloured_create(pool, PAGE_SIZE, 12, 0, 1).err(), Errno::EINVAL),
        (memory::coloured_create(pool, PAGE_SIZE, 16, 15, 2).err(), Errno::EINVAL),
        (memory::coloured_create(pool, 1 << 50, 16, 0, 1).err(), Errno::ENOMEM),
    ];
    for (number, (found, wanted)) in refusals.into_iter().enumerate() {
        check(found == Some(wanted), format!("refusal {number} is {found:?}"))?;
    }
    let data = memory::share(pool, POOL_DATA).map_err(why("a pool for data"))?.pool;
    let refused = (memory::run_create(data.handle(), PAGE_SIZE, 0, 0).err(), memory::coloured_create(data.handle(), PAGE_SIZE, 16, 0, 1).err());
    check(refused == (Some(Errno::EACCES), Some(Errno::EACCES)), format!("a pool for data answers {refused:?}"))?;
    let plain = memory::segment_create(pool, PAGE_SIZE, 0).map_err(why("a segment"))?;
    check(segment::locate(plain.segment.handle(), 0).err() == Some(Errno::EACCES), "a plain segment tells its address")?;
    Ok("runs and colours lie where they should")
}

/// A dataspace of a manager, attached and mapped.
struct Taken {
    dataspace: OwnedReference,
    mapped: Mapped,
    _attachment: OwnedReference,
    _region: OwnedReference,
}

fn make(name: &[u8], size: u64, flags: u64) -> Result<Taken, String> {
    let pool = pool(SERVICE_MEMORY)?;
    let dataspace = dataspace::create(pool.handle(), size, name).map_err(why("a dataspace"))?.dataspace;
    let attached = dataspace::attach(dataspace.handle(), flags).map_err(why("an attachment"))?;
    let rights = if flags & ATTACH_READ != 0 { Rights::READ } else { Rights::READ.union(Rights::WRITE) };
    let mapped = map(attached.region.handle(), size, rights)?;
    Ok(Taken { dataspace, mapped, _attachment: attached.attachment, _region: attached.region })
}

fn physical() -> Result<&'static str, String> {
    let (first, second) = (make(b"physical", SIZE, 0)?, make(b"physical", SIZE, 0)?);
    check(segment::locate(first.dataspace.handle(), 0).err() == Some(Errno::EAGAIN), "a page that nobody has touched lies somewhere")?;
    let mut starts = [0; 2];
    for (start, space) in starts.iter_mut().zip([&first, &second]) {
        space.mapped.fill(SIZE)?;
        let found = segment::locate(space.dataspace.handle(), 0).map_err(why("locate"))?;
        check(found.size == SIZE, format!("{} bytes lie in one run", found.size))?;
        *start = found.address;
    }
    check(starts[0].abs_diff(starts[1]) >= SIZE, "two dataspaces lie at the same addresses")?;
    let refused = dataspace::copy(first.dataspace.handle(), b"").err();
    check(refused == Some(Errno::EOPNOTSUPP), format!("a copy: {refused:?}"))?;
    let moved = dataspace::transfer(first.dataspace.handle(), b"anonymous");
    check(moved.is_ok() && first.mapped.place.window().read_word(PAGE_SIZE) == Some(PAGE_SIZE + 1), "a transfer loses what is written")?;
    Ok("each dataspace lies in one run")
}

fn coloured(text: &[u8]) -> Result<&'static str, String> {
    let mut words = text.split(|byte| [b'-', b'/'].contains(byte)).map(number);
    let colours = (words.next().flatten(), words.next().flatten(), words.next().flatten());
    let (Some(first), Some(last), Some(all)) = colours else { return Err("usage: located coloured FIRST-LAST/ALL".into()) };
    let space = make(b"coloured", SIZE, 0)?;
    space.mapped.fill(SIZE)?;
    check_colours(space.dataspace.handle(), SIZE, (first, last, all))?;
    Ok("all pages are of their colours")
}

fn device() -> Result<&'static str, String> {
    let window = make(b"device", PAGE_SIZE, ATTACH_READ)?;
    let (low, counter) = (window.mapped.place.window().read_word(0), 0xf0);
    // The capabilities of an HPET: its revision, and a period of at most 100 ns in femtoseconds.
    let capabilities = low.ok_or("the window cannot be read")?;
    check(capabilities & 0xff != 0 && (1..=100_000_000).contains(&(capabilities >> 32)), format!("the device answers {capabilities:#x}"))?;
    check(window.mapped.place.window().read_word(counter).is_some(), "the counter cannot be read")?;
    let pool = pool(SERVICE_MEMORY)?;
    check(dataspace::create(pool.handle(), PAGE_SIZE, b"device").err() == Some(Errno::ENOMEM), "the window is handed out twice")?;
    dataspace::delete(window.dataspace.handle()).map_err(why("the end of it"))?;
    drop(window);
    let again = make(b"device", PAGE_SIZE, ATTACH_READ)?;
    check(again.mapped.place.window().read_word(0) == Some(capabilities), "the window does not come back")?;
    Ok("the window is handed out, and taken back")
}

fn located(arguments: &Arguments) -> i32 {
    let words: alloc::vec::Vec<&[u8]> = arguments.iter().skip(1).collect();
    let done = match words[..] {
        [b"run"] => run(),
        [b"physical"] => physical(),
        [b"coloured", colours] => coloured(colours),
        [b"device"] => device(),
        _ => Err("usage: located run|physical|coloured FIRST-LAST/ALL|device".into()),
    };
    let (number, text, status) = match &done {
        Ok(text) => (stream::OUTPUT, format!("{text}\n"), 0),
        Err(text) => (stream::MESSAGES, format!("located: {text}\n"), 1),
    };
    if stream::write(number, text.as_bytes()).is_err() { 1 } else { status }
}
