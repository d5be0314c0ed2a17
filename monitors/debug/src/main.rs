//! The debugger's other end: runs a program so that gdb, outside the machine, can attach to it and
//! to all processes that it makes. See the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod breakpoints;
mod copier;
mod debugger;
mod events;
mod files;
mod gates;
mod inferior;
mod library;
mod line;
mod manifest;
mod options;
mod processes;
mod stops;
mod target;
mod threads;
mod view;
mod watcher;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use manifest::MANIFEST;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::Services;
use nacre_nest::command::{FAILED, complain, explain};
use nacre_nest::interpose::stage;
use nacre_proto::Errno;
use nacre_rt::{Arguments, thread};
use nacre_sys::OwnedReference;
use options::Options;
use watcher::Watcher;

nacre_rt::entry!(debug);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;

/// Starts the threads that debug. `ENOENT`: there is no line to gdb.
/// `EBUSY`: somebody has it.
fn begin(services: &Services, waits: bool) -> Result<(), Errno> {
    let line = line::open(services)?;
    let reader = OwnedReference::copy_of(line.0.handle(), REFERENCE_USE)?.leak();
    let files = OwnedReference::copy_of(services.files(), REFERENCE_USE)?;
    let set = debugger::start(line, files, waits)?;
    // Both serve for as long as this program runs.
    drop(thread::spawn(stops::receive, set.0 as usize)?);
    drop(thread::spawn(line::read, reader.0 as usize)?);
    Ok(())
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    match begin(&services, !options.runs) {
        Ok(()) => {}
        Err(Errno::ENOENT) if options.is_quiet => {}
        Err(Errno::EBUSY) => complain(NAME, "another debugger has the line to gdb; this one lets its program run"),
        Err(Errno::ENOENT) => complain(NAME, "this machine has no line for gdb: give nacre run the option --gdb PORT"),
        Err(errno) => return Err(format!("cannot use the line to gdb: {errno}")),
    }
    stage::run(Watcher::new(stage::name(options.command)), 0, services, options.command, arguments)
}

fn debug(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
