//! Starts the first process, and serves all.

use crate::manager::{EVENTS, Manager, Shared};
use crate::manifest::MANIFEST;
use crate::options::{self, Options};
use crate::world::{FIRST, World};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_channel::service::Service;
use nacre_nest::command::{FAILED, complain, explain};
use nacre_nest::interpose::stage;
use nacre_nest::{ChildPool, Ports, ProcessPools, SpawnError, Services, search};
use nacre_proto::channel::{CONSOLE, terminal_number};
use nacre_proto::flags::{BEGIN_PROGRAM, SERVICE_CLOCK, SERVICE_FILES};
use nacre_proto::structures::{Attributes, Status};
use nacre_proto::{Errno, file, memory, parent, terminal};
use nacre_rt::{Arguments, exit, thread};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference, ipc};

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;
/// The standard input.
const INPUT: usize = 0;

fn find(service: u64) -> Result<OwnedReference, Errno> {
    parent::find(Reference::PARENT, service).map(|reply| reply.found)
}

fn copy(reference: &OwnedReference) -> Result<OwnedReference, Errno> {
    Ok(OwnedReference::copy_of(reference.handle(), nacre_abi::rights::REFERENCE_USE)?)
}

/// Returns the references that processes get.
fn shared(pool: &ChildPool) -> Result<Shared, Errno> {
    let memory = copy(&pool.shared)?;
    let stream = |number| parent::stream(Reference::PARENT, number).ok().map(|reply| reply.file);
    let channels = channels(copy(&memory)?)?;
    Ok(Shared { files: find(SERVICE_FILES)?, memory, clock: find(SERVICE_CLOCK).ok(), channels, network: None, streams: [0, 1, 2].map(stream) })
}

/// The server of pipes and sockets, until its thread takes it.
static CHANNELS: Lock<Option<Service>> = Lock::new(None);

/// Port that tells the channel server to end, and the server's thread.
static SERVING: Lock<Option<(OwnedReference, thread::Handle)>> = Lock::new(None);

/// Starts a thread that serves pipes and sockets, in memory of processes where they share it.
fn channels(memory: OwnedReference) -> Result<OwnedReference, Errno> {
    let mut service = Service::new()?;
    service.set_memory(memory);
    find(SERVICE_CLOCK).ok().into_iter().for_each(|clock| service.set_clock(clock));
    let (reference, end) = (service.reference()?, service.end()?);
    *CHANNELS.lock() = Some(service);
    *SERVING.lock() = Some((end, thread::spawn(serve_channels, 0)?));
    Ok(reference)
}

/// Ends that thread: it looks into memory of processes.
fn end_channels() {
    if let Some((end, thread)) = SERVING.lock().take()
        && ipc::notify(end.handle(), 1).is_ok()
    {
        thread.join();
    }
}

fn serve_channels(_: usize) {
    let Some(mut service) = CHANNELS.lock().take() else { return };
    let ended = service.run();
    // Clients that still wait for an answer have to end without seeing that none comes.
    core::mem::forget(service);
    if let Err(status) = ended {
        complain(NAME, &format!("pipes and sockets cannot go on: {status:?}"));
        exit::exit(FAILED);
    }
}

/// Our input, if it is a terminal.
fn own_terminal(shared: &Shared) -> Option<OwnedReference> {
    let input = shared.streams[INPUT].as_ref()?;
    terminal::get_attributes(input.handle(), &mut [0; Attributes::SIZE]).ok()?;
    copy(input).ok()
}

/// The device that a terminal is: a pseudo-terminal, or the console.
fn device(terminal: &OwnedReference) -> u64 {
    let mut status = [0; Status::SIZE];
    let known = file::status(terminal.handle(), &mut status).ok().and_then(|_| Status::from_bytes(&status));
    known.map(|status| status.rdevice).filter(|device| terminal_number(*device).is_some()).unwrap_or(CONSOLE)
}

fn manager(options: &Options<'_>, pools: &ProcessPools, arguments: &Arguments) -> Result<Manager, Errno> {
    let shared = shared(&pools.data)?;
    let own = own_terminal(&shared);
    let mut manager = Manager::new(World::new(options.limits, own.as_ref().map(device)), shared, copy(&pools.objects)?, *arguments)?;
    if let Some(terminal) = own {
        let port = manager.add_terminal(FIRST)?;
        // A terminal that cannot tell of keys does with them what it did before.
        let _ = terminal::attend(terminal.handle(), EVENTS, port.handle());
    }
    Ok(manager)
}

/// Returns the program's name, the last part of its path. Behind a zero follow the words of the
/// command, each with a final zero.
fn names(command: &[&[u8]]) -> Vec<u8> {
    [stage::short_name(command)].iter().chain(command).flat_map(|word| word.iter().copied().chain([0])).collect()
}

/// Begins a process that has been reserved, with a program of the search path.
pub(crate) fn begin(manager: &mut Manager, pid: u64, command: &[&[u8]]) -> Result<(), SpawnError> {
    let own = |doing| move |errno| SpawnError::Service(doing, errno);
    let files = copy(&manager.shared.files).map_err(own("finding the files"))?;
    let pool = copy(&manager.pool).map_err(own("finding memory"))?;
    let port = manager.port(pid).map_err(own("making its port"))?;
    let ports = Ports { parent: port.handle(), keeper: Reference::NONE };
    let mut services = Services::new(files, pool);
    services.set_data_pool(copy(&manager.shared.memory).map_err(own("finding memory for data"))?);
    let arguments = manager.arguments;
    let child = search::spawn(&mut services, command, pid, &arguments, ports)?;
    manager.begin_program(pid, child, BEGIN_PROGRAM, &names(command)).map_err(own("starting it"))
}

/// Memory for all processes, out of ours: what they take of it, we still have what we need
/// ourselves.
fn pools() -> Result<ProcessPools, SpawnError> {
    Services::find()?.pools_for_processes().ok_or(SpawnError::Service("making a pool", Errno::ENOMEM))
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<u64, (String, i32)> {
    let pools = pools().map_err(|refusal| (format!("cannot start: {refusal}"), FAILED))?;
    let mut manager = manager(options, &pools, arguments).map_err(|errno| (format!("cannot start: {errno}"), FAILED))?;
    begin(&mut manager, FIRST, &options.command)
        .map_err(|refusal| (format!("cannot run {}: {refusal}", stage::name(&options.command)), refusal.exit_status() as i32))?;
    let status = manager.run().map_err(|status| (format!("cannot receive: {status:?}"), FAILED))?;
    end_channels();
    // Whatever processes have made for themselves goes too.
    for pool in [&pools.objects, &pools.data.own] {
        let _ = memory::pool_destroy(pool.handle());
    }
    Ok(status)
}

/// The program.
pub fn process(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    let options = match options::parse(&words) {
        Err(stop) => return explain(&MANIFEST, &stop),
        Ok(options) => options,
    };
    match run(&options, arguments) {
        Ok(status) => exit::as_child(status),
        Err((text, status)) => {
            complain(NAME, &text);
            status
        }
    }
}
