//! The checkpointer: runs a program so that all of it can be frozen into a file, and goes on with
//! what was frozen. See the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod arena;
mod changes;
mod commands;
mod counters;
mod data;
mod files;
mod follow;
mod fork;
mod freeze;
mod input;
mod key;
mod life;
mod logs;
mod manifest;
mod obey;
mod options;
mod origin;
mod output;
mod outside;
mod pages;
mod pools;
mod rounds;
mod screen;
mod store_file;
mod stored;
mod thaw;
mod waiting;
mod world;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use arena::{Arena, check_memory};
use files::Images;
use fork::Forked;
use freeze::Figures;
use key::Key;
use life::Life;
use manifest::MANIFEST;
use nacre_abi::PAGE_SIZE;
use nacre_nest::Services;
use nacre_nest::command::{FAILED, complain, explain, lossy};
use nacre_nest::interpose::stage::name;
use nacre_proto::{Errno, memory};
use nacre_rt::{Arguments, exit};
use options::Options;
use thaw::Thawed;
use outside::Outside;
use world::{ORIGINAL, World};

nacre_rt::entry!(checkpoint);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;
/// Minimum of bytes of memory of an environment.
const LEAST: u64 = 1 << 20;

/// Bytes of memory for an environment, if the command line does not say: a quarter of what is left.
fn usual_size(services: &Services) -> u64 {
    let left = memory::status(services.memory()).map_or(0, |reply| reply.limit.saturating_sub(reply.used));
    (left / 4).max(LEAST) & !(PAGE_SIZE - 1)
}

/// Adds an environment with a program that is just starting; or the status of a program that could
/// not be started.
fn begin(world: &mut World, options: &Options<'_>, arguments: &Arguments) -> Result<Result<(), u64>, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let size = options.memory.unwrap_or_else(|| usual_size(&services)).max(LEAST).next_multiple_of(PAGE_SIZE);
    let arena = check_memory(size).and_then(|()| Arena::take(ORIGINAL, size, 0, 0)).map_err(|errno| format!("no memory for an environment of {} KiB ({errno}); give it less with -m", size >> 10))?;
    let wrong = |errno: Errno| format!("cannot make the environment: {errno}");
    let outside = Outside::new(world.set(), ORIGINAL, arena, services, world.desk.clone(), world.clock).map_err(wrong)?;
    let command = options.command.iter().map(|word| word.to_vec()).collect();
    let mut life = Life::new(outside, command);
    match life.start(options.command, arguments) {
        Ok(()) => {
            world.lives.insert(ORIGINAL, life);
            Ok(Ok(()))
        }
        Err(refusal) => {
            complain(NAME, &format!("cannot run {}: {refusal}", name(options.command)));
            Ok(Err(refusal.exit_status().into()))
        }
    }
}

/// Adds the environment that goes on where an image was made.
fn go_on(world: &mut World, path: &[u8], options: &Options<'_>, arguments: &Arguments) -> Result<(), String> {
    let started = nacre_sys::clock::ticks();
    let shown = lossy(path);
    let (absolute, is_template) = (arguments.absolute(path), !options.warm.is_empty());
    let thawed = if store_file::is_store(&absolute) {
        thaw::thaw_store(world, is_template)
    } else {
        let source = files::source(&absolute).map_err(|errno| format!("cannot read {shown}: {errno}"))?;
        thaw::thaw(world, source, is_template)
    };
    let Thawed { running, lost, objects, pages } = thawed.map_err(|why| format!("cannot thaw {shown}: {why}"))?;
    for what in &lost {
        complain(NAME, &format!("{shown}: not there any more: {what}"));
    }
    if !lost.is_empty() {
        complain(NAME, "calls that need them fail: end it, and name what it had again, by --file, --root-overlay, -v or --disk");
    }
    if !options.warm.is_empty() {
        world.template = Some(running);
        return Ok(());
    }
    let life = freeze::running(world, ORIGINAL)?;
    if options.holds {
        life.hold(0, running);
        return Ok(());
    }
    thaw::start(life, &running)?;
    let ticks = nacre_sys::clock::ticks() - started;
    if options.stats {
        complain(NAME, &format!("thawed: {objects} objects, {pages} pages, {ticks} ticks"));
    }
    Ok(())
}

/// Tells of a freeze: what is not in the image, and figures if they are wanted.
fn tell(world: &World, number: u64, figures: &Figures, has_figures: bool) {
    if figures.missing > 0 {
        complain(NAME, &format!("{} files that the program has changed are not in the image: too large, special, or not to be read", figures.missing));
    }
    if world.lives.get(&number).is_some_and(|life| life.outside.changes.is_incomplete()) {
        complain(NAME, "the program has changed more files than are remembered; not all are in the image");
    }
    if has_figures {
        complain(NAME, &format!("frozen: {} objects, {} pages, {} ticks", figures.objects, figures.pages, figures.ticks));
    }
}

/// Tells of a fork: what could not be got again, and figures if they are wanted.
fn tell_fork(forked: &Forked, has_figures: bool) {
    for what in &forked.lost {
        complain(NAME, &format!("the copies do not have: {what}"));
    }
    if has_figures {
        complain(NAME, &format!("forked: {} copies, {} objects, {} pages each, {} ticks", forked.copies.len(), forked.objects, forked.pages, forked.ticks));
    }
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<u64, String> {
    let images = options.output.map(|path| Images::new(&arguments.absolute(path), path, options.kept)).transpose()?;
    let mut world = World::new().map_err(|errno| format!("cannot start: {errno}"))?;
    if options.has_key {
        let terminal = world.screen.terminal().ok_or("there is no terminal for --key")?;
        world.key = Some(Key::attend(world.set(), terminal)?);
    }
    match options.thaw {
        Some(path) => go_on(&mut world, path, options, arguments)?,
        None => match begin(&mut world, options, arguments)? {
            Ok(()) => {}
            Err(status) => return Ok(status),
        },
    }
    let status = if options.warm.is_empty() { serve(&mut world, options, images.as_ref()) } else { serve_warm(&mut world, options) };
    // All memory goes with this program.
    core::mem::forget(world);
    status
}

/// Lets a copy run for each text, one after the other. The first status that is not 0.
fn serve_warm(world: &mut World, options: &Options<'_>) -> Result<u64, String> {
    let mut status = 0;
    for text in &options.warm {
        let input = [text, &b"\n"[..]].concat();
        let mut forked = fork::fork(world, ORIGINAL, 1, Some(&input))?;
        // The thaw has told of it.
        forked.lost.clear();
        tell_fork(&forked, options.stats);
        loop {
            world.serve_until(None)?;
            if world.is_over() {
                break;
            }
            if core::mem::take(&mut world.is_commanded) && obey::obey(world, options.stats) {
                return Ok(0);
            }
        }
        status = if status == 0 { world.status } else { status };
    }
    Ok(status)
}

/// Serves until the end; freezes and forks on the way.
fn serve(world: &mut World, options: &Options<'_>, images: Option<&Images>) -> Result<u64, String> {
    let mut next = options.after.or(options.every).map(|pause| world.clock.now() + pause);
    loop {
        world.serve_until(next)?;
        if world.is_over() {
            if options.ends && options.output.is_some() {
                complain(NAME, "the program has ended before it was frozen: no image of it was written");
            }
            return Ok(world.status);
        }
        if core::mem::take(&mut world.is_commanded) {
            if obey::obey(world, options.stats) {
                return Ok(0);
            }
            continue;
        }
        world.is_keyed = false;
        if let Some(count) = options.copies {
            match fork::fork(world, ORIGINAL, count, None) {
                Ok(forked) => tell_fork(&forked, options.stats),
                Err(why) => complain(NAME, &why),
            }
        }
        if let Some(images) = images {
            match images.write(world, options.ends) {
                Ok(figures) => {
                    tell(world, ORIGINAL, &figures, options.stats);
                    if options.ends {
                        return Ok(0);
                    }
                }
                Err(why) => complain(NAME, &why),
            }
        }
        // A key does not move the time of others.
        if next.is_none_or(|next| next <= world.clock.now()) {
            next = options.every.map(|pause| world.clock.now() + pause);
        }
    }
}

fn checkpoint(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).map(exit::as_child).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
