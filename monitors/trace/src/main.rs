//! The tracer: runs a program and shows every message that crosses into or out of it.
//!
//! It stands between the program and everything else, by the nesting library's interposition layer,
//! and passes on what it gets. Reading on: `tracer`.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod attached;
mod beside;
mod clock;
mod counts;
mod events;
mod filter;
mod json;
mod linux_names;
mod manifest;
mod options;
mod record;
mod sender;
mod tracer;
mod tracks;

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use counts::Counts;
use events::Events;
use filter::Filter;
use nacre_nest::Services;
use nacre_nest::command::{FAILED, complain, explain, lossy};
use nacre_nest::interpose::stage::{self, messages};
use nacre_rt::Arguments;
use nacre_sys::lock::Lock;
use manifest::MANIFEST;
use options::{DATA_LIMIT, Options, Show};
use record::{Lines, Record, Sink};
use tracer::Tracer;

nacre_rt::entry!(trace);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;

fn sink(options: &Options<'_>, services: &Services, arguments: &Arguments) -> Result<Sink, String> {
    let times = (options.stamp, options.tells_duration);
    Ok(match options.show {
        Show::Lines => Sink::Lines(Lines::new(messages()?, None, times)),
        Show::LinesIn(path) => {
            let path = arguments.absolute(path);
            let opened = events::open(services, &path, options.appends, "")?;
            Sink::Lines(Lines::new(opened.file, Some(path), times))
        }
        Show::Counts => Sink::Counts(Box::new(Lock::new(Counts::new())), messages()?),
        Show::Nothing => Sink::Nothing,
        Show::Events(path) => {
            let program = options.command.iter().map(|word| lossy(word)).collect::<Vec<_>>().join(" ");
            let path = arguments.absolute(path);
            let opened = events::open(services, &path, options.appends, json::END)?;
            Sink::Events(Lock::new(Events::new(opened, &path, &program)))
        }
    })
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let record = Record::new(sink(options, &services, arguments)?, options.data_limit, options.filter.clone());
    let tracer = Tracer { record, name: stage::name(options.command), is_beside: false };
    stage::run(tracer, 0, services, options.command, arguments)
}

fn run_beside() -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let record = Record::new(Sink::Nothing, DATA_LIMIT, Filter::default());
    stage::run_beside(Tracer { record, name: String::new(), is_beside: true }, services)
}

fn trace(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    let result = match options::parse(&words) {
        _ if words == [beside::ATTACH] => run_beside(),
        Err(stop) => return explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments),
    };
    result.unwrap_or_else(|text| {
        complain(NAME, &text);
        FAILED
    })
}
