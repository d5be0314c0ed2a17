//! Freezing: an environment whose threads are stopped is written out as an image, and goes on.

use crate::life::Life;
use crate::output::Output;
use crate::outside::{Outside, What};
use crate::pages::Pages;
use crate::rounds::Rounds;
use crate::world::{ORIGINAL, World};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::{ObjectType, PAGE_SIZE};
use nacre_proto::flags::{CLOCK_MONOTONIC, CLOCK_REALTIME, SERVICE_CLOCK};
use nacre_proto::{Errno, clock, parent};
use nacre_snapshot::image::{DATA, Facts, Fault, PAGES_IN_CHUNK, Port, Waiting, Writer};
use nacre_snapshot::{Frame, Trouble};
use nacre_sys::Reference;

/// Says in words why a step failed.
pub fn said(what: &'static str) -> impl Fn(Trouble) -> String {
    move |trouble| match trouble {
        Trouble::Call(call, status) => format!("{what}: {call:?}: {status:?}"),
        Trouble::Unknown(offset) => format!("{what}: the object at {offset:#x} leads to something outside that is not known"),
        Trouble::Nonsense(offset) => format!("{what}: the object at {offset:#x} makes no sense"),
    }
}

/// The time: seconds since 1970, and nanoseconds of the monotonic clock.
pub fn time() -> Result<(u64, u64), String> {
    let failed = |errno: Errno| format!("cannot read the clock: {errno}");
    let service = parent::find(Reference::PARENT, SERVICE_CLOCK).map_err(failed)?.found;
    let read = |which| clock::read(service.handle(), which).map_err(failed);
    let (real, monotonic) = (read(CLOCK_REALTIME)?, read(CLOCK_MONOTONIC)?);
    Ok((real.seconds, monotonic.seconds.saturating_mul(1_000_000_000).saturating_add(monotonic.nanoseconds)))
}

/// The environment where it is, with all that it is linked to.
pub fn frame(outside: &Outside) -> Frame {
    let known = outside.entries.iter().flatten().flat_map(|entry| {
        let mut all = Vec::from([entry.port.handle().address()]);
        if let What::Segment(piece, conditions) = &entry.what {
            all.push(piece.region.handle().address());
            all.extend(conditions.values().map(|condition| condition.handle().address()));
        }
        all
    });
    let size = outside.pieces().filter(|piece| piece.data().is_none()).map(|piece| piece.offset + piece.size).max().unwrap_or(0);
    let arena = &outside.arena;
    Frame { start: arena.start(), size, outside: known.collect(), buffer: arena.buffer(), slots: arena.slots(), pool: arena.tables() }
}

/// Threads of each environment that were stopped, by its number.
pub type Stopped = BTreeMap<u64, Vec<u64>>;

/// Stops all threads of all environments, so that nobody asks us any more; those that ran are added
/// to `stopped`, whether all could be stopped or not. Who has asked is answered.
pub fn stop_all(world: &mut World, stopped: &mut Stopped) -> Result<(), String> {
    let is_template = world.template.is_some();
    for (number, life) in world.lives.iter_mut().filter(|(number, _)| !is_template || **number != ORIGINAL) {
        stop(life, stopped.entry(*number).or_default())?;
    }
    world.serve_all()
}

/// Lets all threads run that did.
pub fn go_on_all(world: &mut World, stopped: &Stopped) -> Result<(), String> {
    for (number, running) in stopped {
        if let Some(life) = world.lives.get_mut(number) {
            go_on(life, running)?;
        }
    }
    Ok(())
}

/// Stops all threads; those that ran are added to `running`, whether all could be stopped or not.
fn stop(life: &mut Life, running: &mut Vec<u64>) -> Result<(), String> {
    loop {
        let frame = frame(&life.outside);
        // A thread that was not stopped yet may have made others.
        let before = running.len();
        frame.stop(&mut life.outside.arena, running).map_err(said("stopping"))?;
        if running.len() == before {
            return Ok(());
        }
    }
}

/// Lets those threads run that did.
pub fn go_on(life: &mut Life, running: &[u64]) -> Result<(), String> {
    let frame = frame(&life.outside);
    let listed: BTreeSet<u64> = frame.list(&mut life.outside.arena).map_err(said("listing"))?.into_iter().filter(|(_, kind)| *kind == ObjectType::Thread).map(|(offset, _)| offset).collect();
    // Memory that was given back meanwhile took its threads along.
    let running: Vec<u64> = running.iter().copied().filter(|thread| listed.contains(thread)).collect();
    restart(life, &running)
}

/// Lets these threads run, all of which are there.
fn restart(life: &mut Life, running: &[u64]) -> Result<(), String> {
    frame(&life.outside).start(&mut life.outside.arena, running).map_err(said("starting"))
}

/// Figures of a freeze, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Objects of the environment.
    pub objects: usize,
    /// Pages that were written.
    pub pages: u64,
    /// Files that were changed and are not in the image.
    pub missing: usize,
    /// Ticks for which it stood still.
    pub ticks: u64,
}

/// Freezes the environment with this number into an image, which `output` takes. All others go on
/// afterwards. So does this one, if the image could not be written or `holder` is `None`; otherwise
/// it stands still for that command until [`Life::release`]. With `round`, the image has the pages
/// alone that have changed since the round before; the round with a `holder` is the last one.
pub fn freeze(world: &mut World, number: u64, holder: Option<u64>, round: Option<u64>, output: &mut impl Output) -> Result<Figures, String> {
    let Some(round) = round else {
        end_rounds(world);
        return freeze_by(world, number, holder, None, output);
    };
    let mut rounds = next_round(world, number, round).ok_or("this round of a move does not follow")?;
    let frozen = freeze_by(world, number, holder, Some(&mut rounds), output);
    if frozen.is_ok() && holder.is_none() {
        world.rounds = Some(rounds);
    } else {
        untrack(world, number);
    }
    frozen
}

/// Begins the round with this number of an environment. `None`: it is not the next one. Rounds that
/// were not ended are over then.
fn next_round(world: &mut World, environment: u64, round: u64) -> Option<Rounds> {
    let known = world.rounds.take_if(|rounds| round > 0 && rounds.is_next(environment, round));
    if known.is_none() {
        end_rounds(world);
    }
    known.or_else(|| (round == 0).then(|| Rounds::new(environment)))
}

/// Forgets what was sent in rounds, if anything was: nothing is noted of writes any more.
pub fn end_rounds(world: &mut World) {
    if let Some(rounds) = world.rounds.take() {
        untrack(world, rounds.environment);
    }
}

/// Lets the data of an environment be written without being noted.
fn untrack(world: &mut World, environment: u64) {
    if let Some(life) = world.lives.get_mut(&environment) {
        life.outside.arena.data.end_tracking();
    }
}

fn freeze_by(world: &mut World, number: u64, holder: Option<u64>, mut rounds: Option<&mut Rounds>, output: &mut impl Output) -> Result<Figures, String> {
    let (started, mut stopped) = (nacre_sys::clock::ticks(), Stopped::new());
    let taken = stop_all(world, &mut stopped).and_then(|()| {
        let terminal = world.screen.attributes();
        let life = running(world, number)?;
        take(life, terminal, stopped.get(&number).map_or(&[], |threads| &threads[..]), holder.is_none(), rounds.as_deref_mut())
    });
    if let (Some(command), Ok(_), Some(life)) = (holder, &taken, world.lives.get_mut(&number)) {
        life.hold(command, stopped.remove(&number).unwrap_or_default());
    }
    let written = match taken {
        Ok(taken) if taken.pages.are_kept() && holder.is_none() => {
            // Nothing of it has gone since its threads were listed.
            stopped.remove(&number);
            go_on_all(world, &stopped)?;
            restart(self::running(world, number)?, &taken.facts.running)?;
            let ticks = nacre_sys::clock::ticks() - started;
            write(world, number, taken, rounds, output).map(|figures| Figures { ticks, ..figures })
        }
        // Its pages are where it would write to them. Others can go on if it stands still anyway.
        Ok(taken) => {
            if holder.is_some() {
                go_on_all(world, &core::mem::take(&mut stopped))?;
            }
            let written = write(world, number, taken, rounds, output);
            go_on_all(world, &stopped)?;
            written.map(|figures| Figures { ticks: nacre_sys::clock::ticks() - started, ..figures })
        }
        Err(why) => {
            go_on_all(world, &stopped)?;
            Err(why)
        }
    };
    if written.is_err() && holder.is_some() && let Some(life) = world.lives.get_mut(&number) {
        life.release()?;
    }
    let figures = written?;
    world.history.freezes += 1;
    world.history.note(figures.ticks, figures.objects, figures.pages);
    Ok(figures)
}

/// The environment with this number, if it has not ended and does not stand still for a command.
pub fn running(world: &mut World, number: u64) -> Result<&mut Life, String> {
    match world.lives.get_mut(&number).filter(|life| life.outside.ended.is_none()) {
        None => Err(String::from("the program has ended")),
        Some(life) if life.held.is_some() => Err(String::from("the environment stands still: it is being moved")),
        Some(life) => Ok(life),
    }
}

/// Reads out all but pages and files. The number of pages is zero.
pub fn facts(life: &mut Life, running: &[u64]) -> Result<Facts, String> {
    let frame = frame(&life.outside);
    let outside = &mut life.outside;
    let objects = frame.objects(&mut outside.arena).map_err(said("reading objects"))?;
    let threads: BTreeSet<u64> = objects.iter().filter(|object| object.kind == ObjectType::Thread).map(|object| object.offset).collect();
    let running: Vec<u64> = running.iter().copied().filter(|thread| threads.contains(thread)).collect();
    let (frozen_at, now) = time()?;
    Ok(Facts {
        command: life.command.clone(),
        size: frame.size,
        limit: outside.arena.size(),
        frozen_at,
        monotonic: now + outside.clock_ahead,
        ticks: nacre_sys::clock::ticks(),
        terminal: Vec::new(),
        pools: outside.pools.to_image(),
        ports: ports(&frame, outside)?,
        running,
        waiting: waiting(&frame, outside)?,
        counters: outside.counters_to_image(&frame).map_err(said("a port that is told"))?,
        changes: Vec::new(),
        pages: 0,
        objects,
    })
}

/// All that an image is made of.
struct Taken {
    facts: Facts,
    pages: Pages,
    /// Number of changed files that are not in it.
    missing: usize,
}

/// Reads out an environment that is stopped. If it is to go on before it is written, its pages are
/// copied, as far as there is memory for that.
fn take(life: &mut Life, terminal: Vec<u8>, running: &[u64], goes_on: bool, rounds: Option<&mut Rounds>) -> Result<Taken, String> {
    let mut facts = Facts { terminal, ..facts(life, running)? };
    let frame = frame(&life.outside);
    let outside = &mut life.outside;
    let mut pages = Pages::find(&frame, outside);
    let has_changes = rounds.is_none() || !goes_on;
    if let Some(rounds) = rounds {
        if rounds.next == 0 {
            outside.arena.data.begin_tracking();
        } else {
            pages.limit_data(&outside.arena.data.take_written());
        }
    }
    if goes_on {
        pages.keep(&mut outside.arena);
    }
    let mut missing = 0;
    if has_changes {
        (facts.changes, missing) = outside.changes.collect(outside.files());
    }
    Ok(Taken { facts, pages, missing })
}

/// Writes an image. What runs meanwhile is served between its parts.
fn write(world: &mut World, number: u64, taken: Taken, rounds: Option<&mut Rounds>, output: &mut impl Output) -> Result<Figures, String> {
    let written = write_pages(world, number, taken, rounds, output);
    if let Some(life) = world.lives.get_mut(&number) {
        life.outside.arena.data.end_saving();
    }
    written
}

fn write_pages(world: &mut World, number: u64, taken: Taken, mut rounds: Option<&mut Rounds>, output: &mut impl Output) -> Result<Figures, String> {
    let Taken { mut facts, mut pages, missing } = taken;
    let arena = &mut world.lives.get_mut(&number).ok_or_else(gone)?.outside.arena;
    let filled = match rounds.as_deref_mut() {
        Some(rounds) => pages.changed(arena, &mut rounds.sent),
        None => pages.filled(arena),
    };
    let filled = filled.map_err(unread)?;
    let (count, end) = (filled.len() as u64, arena.data.end());
    let (filled, is_raw) = match rounds {
        None => write_data((world, number), &pages, filled, end, output)?,
        Some(_) => (filled, false),
    };
    facts.pages = filled.len() as u64;
    let failed = |fault: Fault| format!("writing the image: {fault}");
    let sink = |bytes: &[u8]| output.bytes(bytes);
    let writer = match &rounds {
        Some(rounds) if rounds.next > 0 => Writer::round(sink, &facts, &rounds.before),
        _ => Writer::new(sink, &facts),
    };
    let mut writer = writer.map_err(failed)?;
    if is_raw {
        writer.write_raw();
    }
    let mut bytes = alloc::vec![0; PAGES_IN_CHUNK * PAGE_SIZE as usize];
    for some in filled.chunks(PAGES_IN_CHUNK) {
        let arena = &mut world.lives.get_mut(&number).ok_or_else(gone)?.outside.arena;
        for (page, into) in some.iter().zip(bytes.chunks_exact_mut(PAGE_SIZE as usize)) {
            pages.read(*page, arena, into).map_err(unread)?;
        }
        writer.pages(some, &bytes[..some.len() * PAGE_SIZE as usize]).map_err(failed)?;
        world.serve_all()?;
    }
    let hash = writer.end().map_err(failed)?;
    output.ends(hash).map_err(failed)?;
    if let Some(rounds) = rounds {
        (rounds.before, rounds.next) = (hash, rounds.next + 1);
    }
    Ok(Figures { objects: facts.objects.len(), pages: count, missing, ticks: 0 })
}

/// Writes pages of data that lie apart from the image, in a store. Returns the pages that belong
/// into it, and true if there is such a store.
fn write_data((world, number): (&mut World, u64), pages: &Pages, mut filled: Vec<u64>, end: u64, output: &mut impl Output) -> Result<(Vec<u64>, bool), String> {
    let failed = |fault: Fault| format!("writing the image: {fault}");
    let data: Vec<u64> = filled[filled.partition_point(|page| *page < DATA)..].iter().map(|page| page - DATA).collect();
    if !output.begins(end, &data).map_err(failed)? {
        return Ok((filled, false));
    }
    let mut bytes = alloc::vec![0; PAGE_SIZE as usize];
    for some in data.chunks(PAGES_IN_CHUNK) {
        let arena = &mut world.lives.get_mut(&number).ok_or_else(gone)?.outside.arena;
        for offset in some {
            pages.read(DATA + offset, arena, &mut bytes).map_err(unread)?;
            output.page(*offset, &bytes).map_err(failed)?;
        }
        world.serve_all()?;
    }
    filled.truncate(filled.len() - data.len());
    Ok((filled, true))
}

fn gone() -> String {
    String::from("the program has ended")
}

fn unread(errno: Errno) -> String {
    format!("keeping a page that the program writes to: {errno}")
}

fn ports(frame: &Frame, outside: &mut Outside) -> Result<Vec<Option<Port>>, String> {
    let mut ports = Vec::new();
    for number in 0..outside.entries.len() {
        let Some(entry) = &outside.entries[number] else {
            ports.push(None);
            continue;
        };
        ports.push(Some(match &entry.what {
            What::Parent => Port::Parent,
            What::Pool(end) => Port::Pool(end.pool, end.is_shared, end.is_data),
            What::Segment(piece, conditions) => Port::Segment(piece.offset, piece.size, conditions.keys().copied().collect(), piece.pool, piece.holds_objects),
            What::Outside(original, source) => Port::Outside(source.record(original.as_ref().map(|original| original.handle()))),
            What::Told(port, attended) => {
                let (port, attended) = (port.handle().0, attended.as_ref().map(|attended| (attended.of, attended.events)));
                let place = frame.target_of(&mut outside.arena, port).map_err(said("a port that is told"))?;
                attended.map_or(Port::Told(place), |(of, events)| Port::Attends(place, of, events))
            }
            What::Control => Port::Control,
            What::Seat => match outside.commands.told(number as u64) {
                Some((port, bits)) => Port::Seat(frame.target_of(&mut outside.arena, port.0).map_err(said("a port that is told"))?, bits),
                // Whoever sat there has just left.
                None => Port::Control,
            },
        }));
    }
    Ok(ports)
}

fn waiting(frame: &Frame, outside: &mut Outside) -> Result<Vec<Waiting>, String> {
    let mut all = Vec::new();
    for number in 0..outside.waiters.all.len() {
        let waiter = &outside.waiters.all[number];
        let (port, label, words, bytes, reply) = (waiter.port, waiter.label, waiter.words, waiter.bytes.clone(), waiter.reply.handle().0);
        let given = waiter.given.clone();
        if waiter.reply.is_null().unwrap_or(true) {
            continue;
        }
        let client = frame.client_of(&mut outside.arena, reply).map_err(said("a client that waits"))?;
        all.push(Waiting { port, client, label, words, bytes, given });
    }
    Ok(all)
}
