//! Gives a program sockets of the internet: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod card;
mod driver;
mod manifest;
mod options;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use card::{CONNECTIONS, Card, FRAMES_IN, FRAMES_OUT, wait_for_address};
use core::sync::atomic::Ordering;
use driver::Way;
use manifest::MANIFEST;
use nacre_abi::rights::REFERENCE_USE;
use nacre_channel::hub::outside::Interface;
use nacre_channel::service::Service;
use nacre_control::Facts;
use nacre_internet::Stack;
use nacre_nest::clock::Clock;
use nacre_nest::command::{FAILED, complain, explain};
use nacre_nest::host::{Exception, ExceptionAction, Handler};
use nacre_nest::interpose::{report_exception, report_killed, stage};
use nacre_nest::{ChildPool, Ports, Services, SpawnError, attend, attending, search};
use nacre_proto::flags::{SERVICE_CONTROL, SERVICE_MEMORY, SERVICE_NETWORK, SERVICE_NIC, SERVICE_OBJECTS, SERVICE_PROCESS};
use nacre_proto::{Errno, Given, parent};
use nacre_rt::{Arguments, exit, thread};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Space, Status, Thread};
use options::Options;

nacre_rt::entry!(network);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;
/// Bytes of memory for a connection, and for all that is not one.
const CONNECTION: u64 = 140 << 10;
const OTHER: u64 = 16 << 20;
/// Bytes of a frame's head, and of the largest frames that cards may have.
const HEAD: u64 = 14;
const MIN_FRAME: u64 = 600;
const MAX_FRAME: u64 = 9014;
/// Times that a driver is looked for at the start, and nanoseconds between two of them.
const MAX_LOOKS: u64 = 500;
const PAUSE: u64 = 10_000_000;

/// Nanoseconds for which the start waits for the address, at most. The protocols settle it earlier.
const LONGEST: u64 = 1_000_000_000;

/// The server of sockets, with the card, until its thread takes both.
static SERVER: Lock<Option<(Service, Card)>> = Lock::new(None);

fn serve(_: usize) {
    let Some((mut service, mut card)) = SERVER.lock().take() else { return };
    if let Err(status) = service.run_with(&mut card) {
        complain(NAME, &format!("cannot serve any more: {status:?}"));
        exit::exit(FAILED);
    }
}

/// Everything that the program asks is its grandparent's to answer, but for sockets and memory.
struct Forward {
    name: String,
    space: Space,
    /// The port that hears of its end.
    watcher: Reference,
    pool: Option<ChildPool>,
    network: OwnedReference,
}

impl Handler for Forward {
    fn pool(&self) -> Option<Reference> {
        self.pool.as_ref().map(|pool| pool.shared.handle())
    }

    fn find(&mut self, service: u64) -> Result<Given, Errno> {
        match (self.pool(), attending::service()) {
            (Some(pool), _) if [SERVICE_MEMORY, SERVICE_OBJECTS].contains(&service) => Ok(pool.into()),
            (_, Some(own)) if service == SERVICE_CONTROL => Ok(own.into()),
            _ if service == SERVICE_NETWORK => Ok(self.network.handle().into()),
            // One machine on the wire is enough for one card. The program is no process of our
            // manager's, if we have one: a manager within makes it one of its own.
            _ if [SERVICE_NIC, SERVICE_PROCESS].contains(&service) => Err(Errno::ENOENT),
            _ => parent::find(Reference::PARENT, service).map(|reply| reply.found.into()),
        }
    }

    fn processors(&mut self) -> Result<u64, Errno> {
        parent::processors(Reference::PARENT).map(|reply| reply.count)
    }

    fn keep(&mut self, keeper: Reference) -> Result<(), Errno> {
        Ok(nacre_nest::host::keep_and_watch(self.space, keeper, self.watcher)?)
    }

    fn exception(&mut self, exception: &Exception, _: Option<&nacre_abi::state::ThreadState>, _: Option<OwnedReference>) -> ExceptionAction {
        report_exception(&self.name, exception);
        ExceptionAction::End(exception.exit_status())
    }

    fn thread_ended(&mut self) -> Option<u64> {
        Some(report_killed(&self.name))
    }
}

fn kernel(what: &'static str) -> impl Fn(Status) -> SpawnError {
    move |status| SpawnError::Kernel(what, status)
}

/// Facts that we tell about ourselves.
fn facts() -> Facts {
    let told = [("connections", &CONNECTIONS), ("frames_in", &FRAMES_IN), ("frames_out", &FRAMES_OUT)];
    let figures = told.map(|(name, count)| (name.to_string(), count.load(Ordering::Relaxed))).into_iter().collect();
    Facts { name: NAME, memory: None, time: attending::time(), figures }
}

/// Finds the card's driver, which may be about to start. Returns what it says of the card, too.
fn find_driver(drivers: driver::Service) -> Result<(Way<driver::Service>, (u64, u64)), Errno> {
    let mut way = Way::new(drivers);
    for look in 1..=MAX_LOOKS {
        if way.look(look * PAUSE)? {
            let facts = way.facts()?;
            return Ok((way, facts));
        }
        Thread::sleep(PAUSE)?;
    }
    Err(Errno::ETIMEDOUT)
}

/// Starts the server over the card. Returns a reference to it, for the program within.
fn start_server(options: &Options<'_>, arguments: &Arguments) -> Result<OwnedReference, String> {
    let failed = |what: &'static str| move |errno: Errno| format!("cannot {what}: {errno}");
    let card = parent::find(Reference::PARENT, SERVICE_NIC).map_err(|_| "there is no network card; `nacre run --net user` gives the machine one".to_string())?.found;
    let mut service = Service::new().map_err(failed("make the server"))?;
    let (reference, called) = (service.reference().map_err(failed("make the server"))?, service.beside().map_err(failed("make the server"))?);
    let (way, (address, largest)) = find_driver(driver::Service::new(card, called)).map_err(failed("ask the network card"))?;
    let clock = Clock::find().map_err(failed("find the clock"))?;
    let [a, b, c, d, e, f, ..] = address.to_le_bytes();
    let largest = largest.clamp(MIN_FRAME, MAX_FRAME);
    let packet = largest - HEAD;
    let interface = Interface { address: options.address, prefix: options.prefix, gateway: options.gateway, card: [a, b, c, d, e, f], packet };
    let [a, b, c, d, e, f, g, h, ..] = search::random(arguments, 1);
    let stack = Stack::new(&interface, options.connections, u64::from_le_bytes([a, b, c, d, e, f, g, h]), clock.now());
    let stack = if options.is_fixed { stack } else { stack.asking(clock.now()) };
    let stack = if options.asks_6 { stack.asking_6(clock.now()) } else { stack };
    service.hub().set_interface(interface);
    service.hub().set_connections(options.connections);
    if let Ok(memory) = parent::find(Reference::PARENT, SERVICE_MEMORY) {
        service.set_memory(memory.found);
    }
    *SERVER.lock() = Some((service, Card::new(way, stack, clock, largest as usize)));
    let handle = thread::spawn(serve, 0).map_err(failed("make a thread"))?;
    attending::count(&handle);
    core::mem::forget(handle);
    // Whoever asks for the address keeps it.
    wait_for_address(clock, LONGEST);
    Ok(reference)
}

/// Starts the program and answers it until it ends. Returns its status.
fn run_program(options: &Options<'_>, arguments: &Arguments, network: OwnedReference) -> Result<u64, SpawnError> {
    let mut services = Services::find()?;
    attending::begin(facts);
    let port = OwnedPort::new(0, PortSet::NONE).map_err(kernel("the port of its parent"))?;
    let reference = port.new_reference(REFERENCE_USE).map_err(kernel("a reference to its parent"))?;
    let memory = OTHER + options.connections as u64 * CONNECTION;
    let pool = services.pool_for_child_beside(0, memory).or_else(|| services.pool_for_child(0));
    let child = search::spawn(&mut services, &options.command, 0, arguments, Ports { parent: reference.handle(), keeper: port.handle().as_keeper() })?;
    child.start()?;
    let mut forward = Forward { name: stage::name(&options.command), space: child.space(), watcher: port.handle().as_keeper(), pool, network };
    Ok(attend(port.handle(), &mut forward).unwrap_or(FAILED as u64))
}

fn network(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    let options = match options::parse(&words) {
        Err(stop) => return explain(&MANIFEST, &stop),
        Ok(options) => options,
    };
    let network = match start_server(&options, arguments) {
        Ok(network) => network,
        Err(text) => {
            complain(NAME, &text);
            return FAILED;
        }
    };
    match run_program(&options, arguments, network) {
        Ok(status) => exit::as_child(status),
        Err(refusal) => {
            complain(NAME, &format!("cannot run {}: {refusal}", stage::name(&options.command)));
            refusal.exit_status() as i32
        }
    }
}
