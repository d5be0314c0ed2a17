//! Runs a program over a private layer of files: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod below;
mod directory;
mod file;
mod layer;
mod lock;
mod manifest;
mod objects;
mod options;
mod store;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use layer::{KNOWN, Layer, TAKEN};
use manifest::MANIFEST;
use nacre_abi::rights::REFERENCE_USE;
use nacre_control::Facts;
use nacre_nest::command::{FAILED, complain, explain};
use nacre_nest::host::{Exception, ExceptionAction, Handler};
use nacre_nest::interpose::{report_exception, report_killed, stage};
use nacre_nest::{ChildPool, Ports, Services, SpawnError, attend, attending, search};
use nacre_proto::flags::{SERVICE_CONTROL, SERVICE_FILES, SERVICE_MEMORY, SERVICE_OBJECTS, SERVICE_PROCESS};
use nacre_proto::{Errno, Given, memory, parent};
use nacre_rt::{Arguments, exit, thread};
use nacre_sys::lock::{Condition, Lock};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Space, Status};
use options::{LEAST, Options};

nacre_rt::entry!(files);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;
/// Bytes of memory for all that is not the layer.
const OTHER: u64 = 6 << 20;
/// Part of the memory that is left for a layer, if nobody says how much.
const PART: u64 = 4;

/// The layer's outermost directory, once its thread has made it, for whoever waits for it.
static MADE: Lock<Option<Result<OwnedReference, Errno>>> = Lock::new(None);
static IS_MADE: Condition = Condition::new();

/// Makes a layer of so many bytes, and serves it.
fn serve(size: usize) {
    let made = Layer::new(size as u64).and_then(|mut layer| layer.reference().map(|reference| (layer, reference)));
    let (layer, result) = match made {
        Ok((layer, reference)) => (Some(layer), Ok(reference)),
        Err(errno) => (None, Err(errno)),
    };
    let mut made = MADE.lock();
    *made = Some(result);
    IS_MADE.broadcast();
    drop(made);
    if let Some(Err(status)) = layer.map(|mut layer| layer.run()) {
        complain(NAME, &format!("cannot serve any more: {status:?}"));
        exit::exit(FAILED);
    }
}

/// Everything that the program asks is its grandparent's to answer, but for files and memory.
struct Forward {
    name: String,
    space: Space,
    /// The port that hears of its end.
    watcher: Reference,
    pool: Option<ChildPool>,
    files: OwnedReference,
}

impl Handler for Forward {
    fn pool(&self) -> Option<Reference> {
        self.pool.as_ref().map(|pool| pool.shared.handle())
    }

    fn find(&mut self, service: u64) -> Result<Given, Errno> {
        match (self.pool(), attending::service()) {
            (Some(pool), _) if [SERVICE_MEMORY, SERVICE_OBJECTS].contains(&service) => Ok(pool.into()),
            (_, Some(own)) if service == SERVICE_CONTROL => Ok(own.into()),
            _ if service == SERVICE_FILES => Ok(self.files.handle().into()),
            // What a process of our manager's made would have other files.
            _ if service == SERVICE_PROCESS => Err(Errno::ENOENT),
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
    let told = [("layer_bytes", &TAKEN), ("files_known", &KNOWN)];
    let figures = told.map(|(name, count)| (name.to_string(), count.load(Ordering::Relaxed))).into_iter().collect();
    Facts { name: NAME, memory: None, time: attending::time(), figures }
}

/// Starts the server of a layer of so many bytes. Returns a reference to its outermost directory.
fn start_layer(size: u64) -> Result<OwnedReference, String> {
    let handle = thread::spawn(serve, size as usize).map_err(|errno| format!("cannot make a thread: {errno}"))?;
    attending::count(&handle);
    core::mem::forget(handle);
    let mut made = MADE.lock();
    loop {
        match made.take() {
            Some(result) => return result.map_err(|errno| format!("cannot make the layer: {errno}")),
            None => made = IS_MADE.wait(made),
        }
    }
}

/// Bytes of memory of the layer.
fn layer_size(options: &Options<'_>, services: &Services) -> u64 {
    let left = memory::status(services.memory()).map_or(0, |reply| reply.limit.saturating_sub(reply.used));
    options.memory.unwrap_or(left / PART).max(LEAST)
}

/// Starts the program and answers it until it ends. Returns its status.
fn run_program(options: &Options<'_>, arguments: &Arguments, mut services: Services, (files, size): (OwnedReference, u64)) -> Result<u64, SpawnError> {
    attending::begin(facts);
    let port = OwnedPort::new(0, PortSet::NONE).map_err(kernel("the port of its parent"))?;
    let reference = port.new_reference(REFERENCE_USE).map_err(kernel("a reference to its parent"))?;
    let pool = services.pool_for_child_beside(0, OTHER + size).or_else(|| services.pool_for_child(0));
    let child = search::spawn(&mut services, &options.command, 0, arguments, Ports { parent: reference.handle(), keeper: port.handle().as_keeper() })?;
    child.start()?;
    let mut forward = Forward { name: stage::name(&options.command), space: child.space(), watcher: port.handle().as_keeper(), pool, files };
    Ok(attend(port.handle(), &mut forward).unwrap_or(FAILED as u64))
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let size = layer_size(options, &services);
    let files = start_layer(size)?;
    Ok(match run_program(options, arguments, services, (files, size)) {
        Ok(status) => exit::as_child(status),
        Err(refusal) => {
            complain(NAME, &format!("cannot run {}: {refusal}", stage::name(&options.command)));
            refusal.exit_status() as i32
        }
    })
}

fn files(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
