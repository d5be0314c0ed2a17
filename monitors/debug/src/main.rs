//! The debugger's other end: runs a program so that gdb, outside the machine, can attach to it and
//! to all processes that it makes. See the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod breakpoints;
mod conductor;
mod copier;
mod cues;
mod counter;
mod debugger;
mod events;
mod files;
mod fronts;
mod gates;
mod halt;
mod halts;
mod history;
mod holds;
mod inferior;
mod journey;
mod library;
mod lineup;
mod live;
mod live_watches;
mod live_writes;
mod manifest;
mod offspring;
mod options;
mod pauses;
mod player;
mod processes;
mod recorder;
mod rewinder;
mod score;
mod signalled;
mod signals;
mod stops;
mod tape;
mod target;
mod threads;
mod turn;
mod view;
mod watcher;
mod watches;
mod writes;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use manifest::MANIFEST;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::{Services, gdb_line, search};
use nacre_recording::Start;
use nacre_nest::command::{FAILED, complain, explain, lossy};
use nacre_nest::interpose::stage;
use nacre_proto::Errno;
use nacre_rt::{Arguments, thread};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference};
use options::Options;
use player::Player;
use recorder::Recorder;
use tape::Tape;
use watcher::Watcher;

nacre_rt::entry!(debug);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;

/// Starts the threads that debug; with a recording also without a line to gdb, since the program's
/// exceptions come here. `ENOENT`: there is no line. `EBUSY`: somebody has it.
fn begin(services: &Services, waits: bool, tape: Option<&'static Lock<Tape>>) -> Result<(), Errno> {
    let is_replay = tape.is_some_and(|tape| tape.lock().is_replay());
    // A program that gdb changes is recorded as another.
    let line = if tape.is_some() && !is_replay { Err(Errno::ENOENT) } else { gdb_line::open(services) };
    let has_line = line.as_ref().map(drop).map_err(|errno| *errno);
    if has_line.is_err() && tape.is_none() {
        return has_line;
    }
    let reader = line.as_ref().ok().map(|line| OwnedReference::copy_of(line.handle(), REFERENCE_USE)).transpose()?;
    let files = OwnedReference::copy_of(services.files(), REFERENCE_USE)?;
    if let Some(tape) = tape {
        conductor::start(tape)?;
    }
    let set = debugger::start(line.ok(), files, waits && has_line.is_ok(), tape)?;
    // Both serve for as long as this program runs.
    drop(thread::spawn(stops::receive, set.0 as usize)?);
    if let Some(reader) = reader {
        drop(thread::spawn(read, reader.leak().0 as usize)?);
        if is_replay {
            drop(thread::spawn(rewinder::serve, 0)?);
        }
    }
    has_line
}

/// Begins to write a recording, or reads one; returns the words of the command, too.
fn tape(options: &Options<'_>, services: &Services, arguments: &Arguments) -> Result<(Option<Tape>, Vec<Vec<u8>>), String> {
    let command: Vec<Vec<u8>> = options.command.iter().map(|word| word.to_vec()).collect();
    let environment = tape::of_environment(arguments);
    match (options.record, options.replay) {
        (Some(path), _) => {
            let start = Start { command: command.clone(), environment, random: search::random(arguments, 0) };
            Ok((Some(Tape::Record(Recorder::new(services, &arguments.absolute(path), &start)?)), command))
        }
        (_, Some(path)) => {
            let player = Player::new(services, &arguments.absolute(path))?;
            if player.environment() != environment {
                return Err(format!("{} was recorded in another environment or directory", lossy(path)));
            }
            let command = player.command().to_vec();
            Ok((Some(Tape::Replay(player)), command))
        }
        _ => Ok((None, command)),
    }
}

/// Reads the line at this address of a reference.
fn read(line: usize) {
    gdb_line::read(Reference(line as u64), |bytes| {
        let _ = debugger::with(|state| state.feed(bytes));
    });
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let (tape, command) = tape(options, &services, arguments)?;
    let tape: Option<&'static Lock<Tape>> = tape.map(|tape| &*Box::leak(Box::new(Lock::new(tape))));
    match begin(&services, !options.runs, tape) {
        Ok(()) => {}
        Err(Errno::ENOENT) if options.is_quiet || tape.is_some() => {}
        Err(Errno::EBUSY) => complain(NAME, "another debugger has the line to gdb; this one lets its program run"),
        Err(Errno::ENOENT) => complain(NAME, &gdb_line::refusal(Errno::ENOENT)),
        Err(errno) => return Err(gdb_line::refusal(errno)),
    }
    let words: Vec<&[u8]> = command.iter().map(|word| &word[..]).collect();
    stage::run(Watcher::new(stage::name(&words), tape), 0, services, &words, arguments)
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
