//! The tracer: runs a program and shows every message that crosses into or out of it.
//!
//! It stands between the program and everything else, by the nesting library's interposition layer, and passes on what it gets. Reading on: `tracer`.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod counts;
mod json;
mod options;
mod record;
mod tracer;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use counts::Counts;
use nacre_nest::Services;
use nacre_nest::interpose::stage::{self, FAILED, messages};
use nacre_proto::directory;
use nacre_proto::flags::{O_CREAT, O_TRUNC, O_WRONLY};
use nacre_rt::Arguments;
use nacre_sys::lock::Lock;
use options::{HELP, Options, Show, Stop};
use record::{Events, Record, Sink};
use tracer::Tracer;

nacre_rt::entry!(trace);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// One line to whoever reads our messages.
fn complain(text: &str) {
    stage::show(&format!("trace: {text}\n"));
}

fn explain(stop: &Stop<'_>) -> i32 {
    let option = |option: &[u8]| String::from_utf8_lossy(option).into_owned();
    match stop {
        Stop::Help => {
            stage::show(HELP);
            return 0;
        }
        Stop::NoProgram => complain("name a program to run; -h shows how"),
        Stop::Unknown(name) => complain(&format!("there is no option {}; -h shows those that there are", option(name))),
        Stop::Value(name) => complain(&format!("option {} needs a value: a file for -o, a number for -s", option(name))),
    }
    FAILED
}

fn sink(options: &Options<'_>, services: &Services) -> Result<Sink, String> {
    Ok(match options.show {
        Show::Lines => Sink::Lines(messages()?),
        Show::Counts => Sink::Counts(Box::new(Lock::new(Counts::new())), messages()?),
        Show::Nothing => Sink::Nothing,
        Show::Events(path) => {
            let opened = directory::open(services.files(), O_WRONLY | O_CREAT | O_TRUNC, 0o644, path);
            let file = opened.map_err(|errno| format!("cannot write {}: {errno}", String::from_utf8_lossy(path)))?.file;
            let program = options.command.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ");
            Sink::Events(Lock::new(Events::new(file, path, &program)))
        }
    })
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let record = Record::new(sink(options, &services)?, options.data_limit);
    let tracer = Tracer { record, name: stage::name(options.command) };
    stage::run(tracer, (), services, options.command, arguments)
}

fn trace(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(&text);
            FAILED
        }),
    }
}
