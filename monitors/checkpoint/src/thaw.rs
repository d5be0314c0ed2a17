//! Thawing: an environment is made of an image, and goes on where it was frozen. Nothing runs
//! before the image was read to its end and found whole.

use crate::arena::{Arena, Piece, check_memory};
use crate::changes;
use crate::freeze::{frame, said, time};
use crate::life::Life;
use crate::origin::{reopen, source_of};
use crate::outside::{Attended, Entry, Outside, PoolEnd, What};
use crate::pools::Pools;
use crate::store_file::StoreFile;
use crate::waiting::{ALL, Waiter};
use crate::world::{ORIGINAL, World};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_abi::object::TargetType;
use nacre_abi::message::KERNEL_BITS;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::PAGE_SIZE;
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_proto::flags::{SERVICE_CHANNELS, SERVICE_CLOCK, SERVICE_CONTROL, SERVICE_FILES, SERVICE_MEMORY, SERVICE_NETWORK, SERVICE_NIC, SERVICE_OBJECTS, SERVICE_PROCESS, TERMINAL_WINDOW};
use nacre_proto::{Errno, parent};
use nacre_snapshot::check::{Places, check_facts};
use nacre_snapshot::image::{DATA, Facts, Fault, Origin, Port, Reader};
use nacre_snapshot::store::Stored;
use nacre_snapshot::{Access, Object, Place};
use nacre_sys::{Condition, OwnedCondition, OwnedReference, Reference};

/// Environment of an image that was made.
pub struct Thawed {
    /// The threads that ran.
    pub running: Vec<u64>,
    /// Things outside that could not be got again, in words.
    pub lost: Vec<String>,
    /// Number of its objects.
    pub objects: usize,
    /// Number of pages that the image had.
    pub pages: u64,
}

/// Makes the environment of an image, which `source` gives, the original of a world. It is stopped:
/// [`start`] lets the threads run that ran.
pub fn thaw(world: &mut World, source: impl FnMut(&mut [u8]) -> Result<(), Fault>, is_template: bool) -> Result<Thawed, String> {
    thaw_with(world, source, None, is_template)
}

/// Makes the environment of the newest image in the store, as [`thaw`] does. Its data is shown
/// where it lies.
pub fn thaw_store(world: &mut World, is_template: bool) -> Result<Thawed, String> {
    let refused = |fault: Fault| fault.to_string();
    let file = StoreFile::open(false).map_err(|errno| errno.to_string())?.map_err(refused)?;
    let stored = file.newest().map_err(refused)?;
    world.store = Some(file.clone());
    let source = file.source(&stored);
    thaw_with(world, source, Some((file, stored)), is_template)
}

fn thaw_with(world: &mut World, source: impl FnMut(&mut [u8]) -> Result<(), Fault>, stored: Option<(Rc<StoreFile>, Stored)>, is_template: bool) -> Result<Thawed, String> {
    let refused = |fault: Fault| fault.to_string();
    let mut reader = Reader::new(source).map_err(refused)?;
    let mut facts = reader.facts().clone();
    check_facts(&mut facts).map_err(said("the image makes no sense"))?;
    let objects = core::mem::take(&mut facts.objects);
    let places = Places::new(&facts, &objects);
    // One that never runs takes no more than it has.
    check_memory(if is_template { facts.size } else { facts.limit }).map_err(|errno| no_memory(facts.limit, errno))?;
    let mut arena = Arena::take(ORIGINAL, facts.limit, facts.size, nacre_snapshot::table_pages(&objects)).map_err(|errno| no_memory(facts.limit, errno))?;
    // Of an image in a store, data is not read.
    let end = if let Some((file, stored)) = stored {
        arena.data.show(file, stored).map_err(|_| refused(Fault::Nonsense))?;
        reader.read_raw();
        DATA
    } else {
        u64::MAX
    };
    arena.data.grow(places.data()).map_err(|errno| no_memory(facts.limit, errno))?;
    while let Some((distances, bytes)) = reader.pages().map_err(refused)? {
        for (page, contents) in distances.iter().zip(bytes.chunks_exact(PAGE_SIZE as usize)) {
            if !places.has(*page) || *page >= end {
                return Err(refused(Fault::Nonsense));
            }
            arena.window(*page, PAGE_SIZE).and_then(|window| window.write(0, contents)).ok_or_else(|| refused(Fault::Nonsense))?;
        }
    }
    let mut lost = Vec::new();
    let files = parent::find(Reference::PARENT, SERVICE_FILES).map_err(|errno| format!("no files: {errno}"))?.found;
    match changes::apply(files.handle(), &facts.changes) {
        0 => {}
        count => lost.push(format!("{count} of the files that it had changed could not be written")),
    }
    let mut life = build(world, ORIGINAL, &facts, &objects, arena, &mut lost)?;
    let now = time()?.1 + life.outside.clock_ahead;
    life.outside.move_counters(&facts, now).map_err(|errno| format!("cannot let its clocks go on: {errno}"))?;
    if !is_template {
        world.screen.set_attributes(&facts.terminal);
        life.outside.attend_again();
    }
    life.outside.changes.take_over(files.handle(), &facts.changes);
    world.lives.insert(ORIGINAL, life);
    Ok(Thawed { running: facts.running, lost, objects: objects.len(), pages: facts.pages })
}

fn no_memory(size: u64, errno: Errno) -> String {
    format!("no memory for an environment of {} MiB ({errno}): give the machine more with --memory", size >> 20)
}

/// Makes an environment with this number, whose pages are in the arena, of facts that were checked.
/// It is stopped. What could not be got again is added to `lost`.
pub fn build(world: &World, place: u64, facts: &Facts, objects: &[Object], arena: Arena, lost: &mut Vec<String>) -> Result<Life, String> {
    let wrong = |errno: Errno| format!("cannot make the environment: {errno}");
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let mut outside = Outside::new(world.set(), place, arena, services, world.desk.clone(), world.clock).map_err(wrong)?;
    outside.pools = pools(facts).ok_or_else(|| Fault::Nonsense.to_string())?;
    outside.clock_ahead = facts.monotonic.saturating_sub(time()?.1);
    let entries = entries(facts, &outside, lost).map_err(wrong)?;
    outside.take_over(entries);
    let frame = frame(&outside);
    frame.restore_objects(&mut outside.arena, objects).map_err(said("making the environment anew"))?;
    connect(facts, &frame, &mut outside)?;
    outside.take_counters(&facts.counters, &frame).map_err(wrong)?;
    Ok(Life::new(outside, facts.command.clone()))
}

/// The pools of an image, with what its segments have taken of them.
fn pools(facts: &Facts) -> Option<Pools> {
    let mut pools = Pools::from_image(facts.limit, &facts.pools)?;
    for port in facts.ports.iter().flatten() {
        if let Port::Segment(_, size, _, pool, _) = port {
            pools.charge(*pool, *size).ok()?;
        }
    }
    Some(pools)
}

fn entries(facts: &Facts, outside: &Outside, lost: &mut Vec<String>) -> Result<Vec<Option<Entry>>, Errno> {
    let mut entries = Vec::new();
    for (number, port) in facts.ports.iter().enumerate() {
        entries.push(match port {
            None => None,
            Some(port) => {
                let own = outside.port(number)?;
                let what = what(port, number, outside, lost)?;
                Some(Entry { port: own, what })
            }
        });
    }
    Ok(entries)
}

fn what(port: &Port, number: usize, outside: &Outside, lost: &mut Vec<String>) -> Result<What, Errno> {
    Ok(match port {
        Port::Parent => What::Parent,
        Port::Pool(pool, is_shared, is_data) => What::Pool(PoolEnd { pool: *pool, is_shared: *is_shared, is_data: *is_data }),
        Port::Segment(offset, size, conditions, pool, holds_objects) => {
            let made = conditions.iter().map(|offset| Ok((*offset, OwnedCondition::make(Condition::create)?))).collect::<Result<_, Errno>>()?;
            let keeper = if *offset >= DATA { Some(outside.keeper(number)?) } else { None };
            What::Segment(Piece::again(&outside.arena, (*offset, *size), *pool, *holds_objects, keeper)?, made)
        }
        Port::Outside(origin) => {
            let got = reopen(outside.files(), origin);
            if let Err(errno) = &got {
                let what = format!("{}: {errno}", describe(origin));
                // A file may be open more than once.
                if !lost.contains(&what) {
                    lost.push(what);
                }
            }
            What::Outside(got.ok(), source_of(origin))
        }
        // The port is found when the objects are there.
        Port::Told(_) => What::Told(OwnedReference::null()?, None),
        Port::Attends(_, of, events) => What::Told(OwnedReference::null()?, Some(Attended { of: *of, events: *events })),
        Port::Control => What::Control,
        Port::Seat(..) => What::Seat,
    })
}

/// Something outside, in words.
pub fn describe(origin: &Origin) -> String {
    match origin {
        Origin::Service(number) => service(*number),
        Origin::Stream(number) => format!("stream {number}"),
        Origin::File(path, ..) | Origin::Program(path) => lossy(path),
        Origin::Unnamed(..) => String::from("a file without a name"),
        Origin::Lost(what) => lossy(what),
    }
}

/// A service by its number, in words.
fn service(number: u64) -> String {
    String::from(match number {
        SERVICE_FILES => "the files",
        SERVICE_MEMORY | SERVICE_OBJECTS => "a memory pool",
        SERVICE_PROCESS => "the process manager",
        SERVICE_CLOCK => "the clock",
        SERVICE_CHANNELS => "pipes and local sockets of the world around it",
        SERVICE_CONTROL => "commands from outside",
        SERVICE_NETWORK => "sockets of the internet, which a machine with --net has",
        SERVICE_NIC => "the network card, which a machine with --net has",
        other => return format!("service {other}"),
    })
}

/// Connects what leads from us into the environment: ports that are told, and clients that wait.
fn connect(facts: &Facts, frame: &nacre_snapshot::Frame, outside: &mut Outside) -> Result<(), String> {
    let wrong = |errno: Errno| format!("cannot make the environment: {errno}");
    for (number, port) in facts.ports.iter().enumerate() {
        let (place, reference, news) = match (port, outside.entries.get(number)) {
            // Whoever it watched may have changed: it is told to look.
            (Some(Port::Told(place)), Some(Some(Entry { what: What::Told(reference, _), .. }))) => (place, reference.handle(), !KERNEL_BITS),
            (Some(Port::Attends(place, ..)), Some(Some(Entry { what: What::Told(reference, _), .. }))) => (place, reference.handle(), TERMINAL_WINDOW),
            (Some(Port::Seat(place, bits)), _) => {
                seat(frame, outside, number as u64, *place, *bits).map_err(wrong)?;
                continue;
            }
            _ => continue,
        };
        let Place::Inside(_) = place else { continue };
        let arguments = [frame.address(*place), reference.0, REFERENCE_USE | REFERENCE_NOTIFY, 0, 0, 0, 0, 0];
        let _ = outside.arena.call(nacre_abi::Call::PortReference, arguments);
        if reference.get_state().is_ok_and(|state| state.target == TargetType::Port as u64) {
            let _ = nacre_sys::ipc::notify(reference, news);
        }
    }
    for waiting in &facts.waiting {
        let reply = OwnedReference::null().map_err(|status| wrong(status.into()))?;
        frame.answer_by(&mut outside.arena, reply.handle().0, waiting.client).map_err(said("a client that waits"))?;
        outside.waiters.all.push(Waiter { port: waiting.port, reply, label: waiting.label, words: waiting.words, bytes: waiting.bytes.clone(), given: waiting.given.clone(), told: None });
    }
    Ok(())
}

/// Somebody who attends in the environment sits where he sat. One whose port is not there any more
/// is told of nothing.
fn seat(frame: &nacre_snapshot::Frame, outside: &mut Outside, number: u64, place: Place, bits: u64) -> Result<(), Errno> {
    let told = OwnedReference::null()?;
    if let Place::Inside(_) = place {
        let arguments = [frame.address(place), told.handle().0, REFERENCE_USE | REFERENCE_NOTIFY, 0, 0, 0, 0, 0];
        let _ = outside.arena.call(nacre_abi::Call::PortReference, arguments);
    }
    outside.commands.sit(number, told, bits)
}

/// Lets the threads run that ran when it was frozen.
pub fn start(life: &mut Life, running: &[u64]) -> Result<(), String> {
    let frame = frame(&life.outside);
    frame.start(&mut life.outside.arena, running).map_err(said("starting"))?;
    life.outside.go_on(ALL);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_is_missing_is_named() {
        assert_eq!(describe(&Origin::Service(SERVICE_NETWORK)), "sockets of the internet, which a machine with --net has");
        assert_eq!(describe(&Origin::Service(77)), "service 77");
    }
}
