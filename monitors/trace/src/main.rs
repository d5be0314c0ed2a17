//! The tracer: runs a program and shows every message that crosses into or out of it.
//!
//! It stands between the program and everything else: the program's parent port is a proxy, and so is every port that the program learns of
//! through it, in either direction. A proxy passes on what it gets. Reading on: `relay`, then `crossing`.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod counts;
mod crossing;
mod desk;
mod json;
mod objects;
mod options;
mod proxies;
mod quote;
mod record;
mod relay;
mod text;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use counts::Counts;
use desk::Desk;
use nacre_nest::supply::{Segment, Supplier};
use nacre_nest::{Child, Ports, Program, Refusal, Services, Sizes, search, spawn};
use nacre_proto::flags::{O_CREAT, O_TRUNC, O_WRONLY};
use nacre_proto::{directory, parent};
use nacre_rt::{Arguments, thread};
use nacre_sys::abi::rights::REFERENCE_USE;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPortSet, OwnedReference, Reference, Status, Window, clock};
use options::{HELP, Options, Show, Stop};
use record::{Events, Record, Sink, write_all};
use relay::{Relay, Staff};

nacre_rt::entry!(trace);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Number of the stream for messages.
const MESSAGES: u64 = 2;
/// Exit status when the tracer itself cannot go on.
const FAILED: i32 = 125;
/// Key of sixteen random bytes in the auxiliary vector.
const AT_RANDOM: u64 = 25;

static RELAY: Lock<Option<&'static Relay>> = Lock::new(None);
static SERVICES: Lock<Option<Services>> = Lock::new(None);

/// One line to whoever reads our messages.
fn complain(text: &str) {
    let line = format!("trace: {text}\n");
    match parent::stream(Reference::PARENT, MESSAGES) {
        Ok(stream) => write_all(stream.file.handle(), line.as_bytes()),
        Err(_) => nacre_rt::report!("trace: {text}"),
    }
}

fn show_text(text: &str) {
    if let Ok(stream) = parent::stream(Reference::PARENT, MESSAGES) {
        write_all(stream.file.handle(), text.as_bytes());
    }
}

fn explain(stop: &Stop<'_>) -> i32 {
    let option = |option: &[u8]| String::from_utf8_lossy(option).into_owned();
    match stop {
        Stop::Help => {
            show_text(HELP);
            return 0;
        }
        Stop::NoProgram => complain("name a program to run; -h shows how"),
        Stop::Unknown(name) => complain(&format!("there is no option {}; -h shows those that there are", option(name))),
        Stop::Value(name) => complain(&format!("option {} needs a value: a file for -o, a number for -s", option(name))),
    }
    FAILED
}

fn messages() -> Result<OwnedReference, String> {
    let stream = parent::stream(Reference::PARENT, MESSAGES);
    stream.map(|reply| reply.file).map_err(|errno| format!("cannot open the standard error: {errno}"))
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

fn kernel(making: &'static str) -> impl Fn(Status) -> String {
    move |status| Refusal::Kernel(making, status).to_string()
}

fn make_relay(record: Record, name: String) -> Result<&'static Relay, String> {
    let set = OwnedPortSet::new().map_err(kernel("a set of ports"))?.leak();
    let relay: &'static Relay = Box::leak(Box::new(Relay::new(set, record, name, Staff { hire, desk, objects })));
    *RELAY.lock() = Some(relay);
    Ok(relay)
}

fn hire(number: usize) -> bool {
    thread::spawn(worker, number).is_ok()
}

/// Memory that stays as long as this program.
fn memory(size: u64) -> Option<Window> {
    let segment = SERVICES.lock().as_mut()?.segment(size).ok()?;
    let window = segment.window();
    core::mem::forget(segment);
    Some(window)
}

fn desk() -> Option<Window> {
    memory(Desk::SIZE)
}

fn objects() -> Option<Window> {
    memory(objects::WINDOW_SIZE)
}

fn worker(_number: usize) {
    let relay = *RELAY.lock();
    if let Some(relay) = relay {
        // A worker that cannot work leaves the work to the others.
        let _ = relay.work();
    }
}

/// Sixteen bytes for the child, made of our own and of the time.
fn random(arguments: &Arguments) -> [u8; 16] {
    let seed = arguments.auxiliary(AT_RANDOM).unwrap_or(0) ^ clock::ticks().rotate_left(32);
    let mut state = seed | 1;
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
    bytes
}

/// Makes the child of the first file of the search path that there is.
fn start(options: &Options<'_>, arguments: &Arguments, ports: Ports) -> Result<Child<Services>, Refusal> {
    let environment: Vec<&[u8]> = arguments.environment().collect();
    let mut refusal = Refusal::NotFound;
    for path in search::candidates(options.command[0], &environment) {
        let program = Program {
            path: &path,
            arguments: options.command,
            environment: &environment,
            random: random(arguments),
            sizes: Sizes::default(),
        };
        let mut services = SERVICES.lock();
        let services = services.as_mut().ok_or(Refusal::NotFound)?;
        match spawn(services, &program, ports) {
            Err(Refusal::NotFound) => {}
            Err(other) => refusal = other,
            child => return child,
        }
    }
    Err(refusal)
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let record = Record::new(sink(options, &services)?, options.data_limit);
    *SERVICES.lock() = Some(services);
    let relay = make_relay(record, String::from_utf8_lossy(options.command[0]).into_owned())?;
    let original = OwnedReference::copy_of(Reference::PARENT, REFERENCE_USE).map_err(kernel("a copy of its parent"))?;
    let parent = relay.parent(original.leak()).map_err(kernel("its first proxy"))?;
    let child = start(options, arguments, Ports { parent, keeper: parent });
    let child = match child.and_then(|child| child.start().map(|()| child)) {
        Ok(child) => child,
        Err(refusal) => {
            complain(&format!("cannot run {}: {refusal}", String::from_utf8_lossy(options.command[0])));
            return Ok(refusal.exit_status() as i32);
        }
    };
    relay.parent_given();
    let status = relay.work();
    child.destroy();
    Err(format!("cannot receive: {status:?}"))
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
