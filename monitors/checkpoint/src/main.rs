//! The checkpointer: runs a program so that all of it can be frozen into a file, and goes on with
//! what was frozen. See the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod arena;
mod changes;
mod commands;
mod files;
mod freeze;
mod life;
mod manifest;
mod options;
mod origin;
mod outside;
mod pools;
mod thaw;
mod waiting;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use arena::Arena;
use files::Images;
use freeze::Figures;
use life::Life;
use manifest::MANIFEST;
use nacre_abi::PAGE_SIZE;
use nacre_control::{Command, attendance};
use nacre_nest::Services;
use nacre_nest::command::{FAILED, complain, explain, lossy};
use nacre_nest::interpose::stage::name;
use nacre_proto::flags::{COMMAND_END, COMMAND_FREEZE, COMMAND_LIST};
use nacre_proto::{Errno, memory};
use nacre_rt::Arguments;
use nacre_sys::OwnedPortSet;
use options::Options;
use outside::Outside;

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

/// A life with a program that is just starting; or the status of a program that could not be
/// started.
fn begin(options: &Options<'_>, arguments: &Arguments) -> Result<Result<Life, i32>, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let size = options.memory.unwrap_or_else(|| usual_size(&services)).max(LEAST).next_multiple_of(PAGE_SIZE);
    let arena = Arena::take(size, 0).map_err(|errno| format!("no memory for an environment of {} KiB ({errno}); give it less with -m", size >> 10))?;
    let set = OwnedPortSet::new().map_err(|status| format!("cannot make a set of ports: {status:?}"))?;
    let wrong = |errno: Errno| format!("cannot make the environment: {errno}");
    let outside = Outside::new(set.handle(), arena, services).map_err(wrong)?;
    let command = options.command.iter().map(|word| word.to_vec()).collect();
    let mut life = Life::new(set, outside, command).map_err(wrong)?;
    match life.start(options.command, arguments) {
        Ok(()) => Ok(Ok(life)),
        Err(refusal) => {
            complain(NAME, &format!("cannot run {}: {refusal}", name(options.command)));
            Ok(Err(refusal.exit_status() as i32))
        }
    }
}

/// A life that goes on where an image was made.
fn go_on(path: &[u8], arguments: &Arguments) -> Result<Life, String> {
    let shown = lossy(path);
    let source = files::source(&arguments.absolute(path)).map_err(|errno| format!("cannot read {shown}: {errno}"))?;
    let (mut life, running, lost) = thaw::thaw(source).map_err(|why| format!("cannot thaw {shown}: {why}"))?;
    for what in lost {
        complain(NAME, &format!("{shown}: not there any more: {what}"));
    }
    thaw::start(&mut life, &running)?;
    Ok(life)
}

/// Tells of a freeze: what is not in the image, and figures if they are wanted.
fn tell(life: &Life, figures: &Figures, has_figures: bool) {
    if figures.missing > 0 {
        complain(NAME, &format!("{} files that the program has changed are not in the image: too large, special, or not to be read", figures.missing));
    }
    if life.outside.changes.is_incomplete() {
        complain(NAME, "the program has changed more files than are remembered; not all are in the image");
    }
    if has_figures {
        complain(NAME, &format!("frozen: {} objects, {} pages, {} ticks", figures.objects, figures.pages, figures.ticks));
    }
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let images = options.output.map(|path| Images::new(&arguments.absolute(path), path)).transpose()?;
    let mut life = match options.thaw {
        Some(path) => go_on(path, arguments)?,
        None => match begin(options, arguments)? {
            Ok(life) => life,
            Err(status) => return Ok(status),
        },
    };
    let mut next = options.after.or(options.every).map(|pause| nacre_sys::clock::ticks() + pause);
    loop {
        life.serve_until(next)?;
        if let Some(status) = life.outside.ended {
            return Ok(status as i32);
        }
        if core::mem::take(&mut life.is_commanded) {
            if obey(&mut life, options.stats) {
                return Ok(0);
            }
            continue;
        }
        if let Some(images) = &images {
            match images.write(&mut life) {
                Ok(figures) => tell(&life, &figures, options.stats),
                Err(why) => complain(NAME, &why),
            }
            if options.ends {
                return Ok(0);
            }
        }
        next = options.every.map(|pause| nacre_sys::clock::ticks() + pause);
    }
}

/// Carries out the commands that have come. True: the environment is not to go on.
fn obey(life: &mut Life, has_figures: bool) -> bool {
    while let Some(command) = life.outside.commands.take() {
        match command.operation {
            COMMAND_LIST => life.outside.send_list(command),
            COMMAND_FREEZE => {
                let result = freeze_now(life, &command, has_figures);
                let is_done = result.is_ok();
                life.outside.commands.end(command.number, result.err().unwrap_or(Errno(0)));
                if is_done && command.flags & COMMAND_END != 0 {
                    return true;
                }
            }
            _ => life.outside.commands.pass(command),
        }
    }
    false
}

/// Freezes the environment for a command, which gets the image.
fn freeze_now(life: &mut Life, command: &Command, has_figures: bool) -> Result<(), Errno> {
    let (file, figures) = files::write_unnamed(life).map_err(|why| {
        complain(NAME, &why);
        Errno::EIO
    })?;
    tell(life, &figures, has_figures);
    attendance::answer_file(command, file.handle())
}

fn checkpoint(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
