//! Forking: copies of an environment that is stopped, made in the same machine.

use crate::arena::{Arena, check_memory, taken_at_once};
use crate::freeze::{end_rounds, Stopped, facts, frame, go_on_all, running, said, stop_all};
use crate::input::Input;
use crate::pages::Pages;
use crate::thaw::{build, start};
use crate::world::World;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_snapshot::check::check_facts;
use nacre_snapshot::image::Facts;

/// Maximum number of copies that are made at a time.
pub const MAX_COPIES: u64 = 1000;

/// Figures of a fork, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forked {
    /// Numbers of the copies.
    pub copies: Vec<u64>,
    /// Objects of the environment.
    pub objects: usize,
    /// Pages that were copied for each.
    pub pages: usize,
    /// Ticks for which all stood still.
    pub ticks: u64,
    /// Things outside that could not be got again, in words.
    pub lost: Vec<String>,
}

/// Makes `count` copies of the environment `of`, which read `input` if they are given any, and lets
/// them run. The original goes on, whether they could be made or not: all are, or none is.
pub fn fork(world: &mut World, of: u64, count: u64, input: Option<&[u8]>) -> Result<Forked, String> {
    if !(1..=MAX_COPIES).contains(&count) {
        return Err(format!("cannot make {count} copies: from 1 to {MAX_COPIES} are made at a time"));
    }
    // A page that is open for a round could not be shared.
    end_rounds(world);
    let (started, mut stopped) = (nacre_sys::clock::ticks(), Stopped::new());
    let made = stop_all(world, &mut stopped).and_then(|()| {
        let threads = stopped.get(&of).or(world.template.as_ref()).cloned().unwrap_or_default();
        copies(world, of, &threads, count, input)
    });
    let started_again = go_on_all(world, &stopped);
    let (mut forked, threads) = made?;
    forked.ticks = nacre_sys::clock::ticks() - started;
    let run = started_again.and_then(|()| run(world, &forked.copies, &threads));
    if let Err(why) = run {
        destroy(world, &forked.copies);
        return Err(why);
    }
    world.history.copies += count;
    world.history.note(forked.ticks, forked.objects, forked.pages as u64);
    Ok(forked)
}

/// Lets copies run.
fn run(world: &mut World, copies: &[u64], threads: &[u64]) -> Result<(), String> {
    for copy in copies {
        if let Some(life) = world.lives.get_mut(copy) {
            start(life, threads)?;
        }
    }
    Ok(())
}

fn destroy(world: &mut World, copies: &[u64]) {
    for copy in copies {
        if let Some(life) = world.lives.remove(copy) {
            life.destroy();
        }
    }
}

/// Makes copies, and finds the threads that are to run in each.
fn copies(world: &mut World, of: u64, threads: &[u64], count: u64, input: Option<&[u8]>) -> Result<(Forked, Vec<u64>), String> {
    let life = running(world, of)?;
    let mut facts = facts(life, threads)?;
    check_facts(&mut facts).map_err(said("the environment makes no sense"))?;
    // Copies that will not be made take no memory from others meanwhile.
    let needed = taken_at_once(facts.size, nacre_snapshot::table_pages(&facts.objects)).saturating_mul(count);
    check_memory(needed).map_err(|errno| format!("cannot make {count} copies: no memory for {} KiB ({errno})", needed >> 10))?;
    let pages = Pages::find(&frame(&life.outside), &life.outside);
    let mut forked = Forked { copies: Vec::new(), objects: facts.objects.len(), pages: pages.count(), ticks: 0, lost: Vec::new() };
    for _ in 0..count {
        let mut lost = Vec::new();
        match copy(world, of, &facts, &pages, input, &mut lost) {
            Ok(copy) => forked.copies.push(copy),
            Err(why) => {
                destroy(world, &forked.copies);
                return Err(format!("cannot make copy {} of {count}: {why}", forked.copies.len() + 1));
            }
        }
        forked.lost = lost;
    }
    Ok((forked, facts.running))
}

/// Makes one copy, which is stopped: its number.
fn copy(world: &mut World, of: u64, facts: &Facts, pages: &Pages, input: Option<&[u8]>, lost: &mut Vec<String>) -> Result<u64, String> {
    let place = (0..).find(|place| !world.is_taken(*place)).unwrap_or(0);
    let mut arena = Arena::take(place, facts.limit, facts.size, nacre_snapshot::table_pages(&facts.objects)).map_err(|errno| format!("no memory for {} KiB ({errno})", facts.size >> 10))?;
    let original = &mut running(world, of)?.outside;
    pages.copy_to(&original.arena, &arena).ok_or_else(|| "a page is not there".to_string())?;
    original.arena.share_data(&mut arena).map_err(|errno| format!("no memory for its data ({errno})"))?;
    let changes = original.changes.clone();
    let mut life = build(world, place, facts, &facts.objects, arena, lost)?;
    life.outside.changes = changes;
    life.outside.input = Some(Input::new(input));
    world.ended.forget(place);
    world.lives.insert(place, life);
    Ok(place)
}
