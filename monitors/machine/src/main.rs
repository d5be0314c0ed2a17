//! The machine monitor: runs an unmodified operating system as one more nested program. See the
//! README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod access;
mod balloon;
mod board;
mod buttons;
mod cards;
mod clock;
mod console;
mod control;
mod debugged;
mod debugger;
mod disk;
mod elsewhere;
mod entropy;
mod exits;
mod files;
mod guest;
mod manifest;
mod model;
mod network;
mod options;
mod output;
mod paging;
mod processor;
mod records;
mod reset;
mod seat;
mod share;
mod shortage;
mod shadow;
mod signals;
mod sockets;
mod system;
mod translation;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use board::BOARD;
use manifest::MANIFEST;
use nacre_machine_devices::Outcome;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_control::Facts;
use nacre_control::record::figures;
use nacre_nest::{Services, attending};
use nacre_nest::command::{FAILED, complain, explain};
use nacre_rt::Arguments;
use options::Options;

nacre_rt::entry!(machine);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Status with which the first program of this tree ends its machine, whatever its own program's
/// is, which it tells of before.
const ENDED: u8 = 0x10;
/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;

/// Bytes of the guest's memory.
static MEMORY: AtomicU64 = AtomicU64::new(0);
/// Number of the guest's processors.
static PROCESSORS: AtomicU64 = AtomicU64::new(0);

/// Facts that we tell about ourselves.
fn facts() -> Facts {
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let figures = figures([
        ("processors", read(&PROCESSORS)),
        ("exits", BOARD.exits()),
        ("paging_changes", read(&translation::CHANGES)),
        ("connections", read(&network::CONNECTIONS)),
        ("frames_in", read(&network::FRAMES_IN)),
        ("frames_out", read(&network::FRAMES_OUT)),
    ]);
    Facts { name: NAME, memory: Some(MEMORY.load(Ordering::Relaxed)), time: attending::time(), figures }
}

fn run(options: &Options<'_>) -> Result<i32, String> {
    let mut services = Services::find().map_err(|refusal| refusal.to_string())?;
    let mut system = system::load(&mut services, options)?;
    system.begin(&services, options)?;
    MEMORY.store(options.memory, Ordering::Relaxed);
    PROCESSORS.store(options.processors as u64, Ordering::Relaxed);
    attending::begin_with(facts, Some(&buttons::Buttons));
    signals::begin();
    let terminal = console::begin()?;
    let end = system.run_to_end(&services, options);
    drop(terminal);
    if options.tells {
        BOARD.tell();
        if options.has_balloon {
            balloon::tell();
        }
    }
    match end? {
        Some(Outcome::Exit(ENDED)) => Ok(i32::from(BOARD.told_status().unwrap_or(ENDED))),
        Some(Outcome::Exit(status)) => Ok(i32::from(status)),
        Some(Outcome::PowerOff) | None => Ok(0),
        Some(Outcome::Reset) => Err(String::from("the guest has reset its machine")),
    }
}

fn machine(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(mut options) => {
            // Services look for paths from the root directory.
            let absolute: Vec<Vec<u8>> = options.paths().map(|path| arguments.absolute(path)).collect();
            options.paths().zip(&absolute).for_each(|(path, absolute)| *path = absolute);
            run(&options).unwrap_or_else(|text| {
                complain(NAME, &text);
                FAILED
            })
        }
    }
}
