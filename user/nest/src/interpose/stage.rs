//! Starts a child whose every message passes through a relay, and serves it until it ends.

use super::Interposer;
use super::worker_buffers::WorkerBuffers;
use super::relay::{Relay, Staff};
use crate::spawn::{Child, Ports};
use crate::supply::{Segment, ResourceSource};
pub use crate::ward::short_name;
use crate::object_view::{Halt, ObjectView};
use crate::{ChildPool, SpawnError, Services, Ward, attending, search};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_control::Facts;
use nacre_proto::flags::{OWN_POSITION, POOL_DATA};
use nacre_proto::{Errno, file, parent};
use nacre_rt::roomed::Room;
use nacre_rt::{Arguments, thread};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPortSet, OwnedReference, Reference, Space, Status, Thread, Window};

/// Number of the stream for messages.
const MESSAGES: u64 = 2;
/// Maximum size of a message in bytes.
const PIECE: usize = nacre_abi::message::MAX_BYTES as usize;

/// A relay, whatever its monitor.
trait Work: Sync {
    fn work(&self, number: usize) -> Status;
    fn leave(&self, status: u64);
    fn is_made(&self, child: (Space, Thread), keeper: Option<Reference>);
    fn is_begun(&self);
    fn parent_given(&self, space: Option<Space>);
    fn forget_child(&self);
    fn begin_again(&self, original: Reference) -> Result<Ports, Status>;
    fn facts(&self) -> Facts;
    fn random(&self) -> Option<[u8; 16]>;
    fn answers_others(&self) -> bool;
    fn adopt(&self, program: (&ObjectView, &Halt), pid: u64) -> Result<(), Errno>;
    fn release(&self, halt: &Halt);
}

impl<W: Interposer> Work for Relay<W> {
    fn work(&self, number: usize) -> Status {
        Relay::work(self, number)
    }

    fn leave(&self, status: u64) {
        Relay::leave(self, status)
    }

    fn is_made(&self, (space, thread): (Space, Thread), keeper: Option<Reference>) {
        self.watch().is_made(space, thread, keeper);
    }

    fn is_begun(&self) {
        self.watch().is_begun();
    }

    fn parent_given(&self, space: Option<Space>) {
        Relay::parent_given(self, space);
    }

    fn forget_child(&self) {
        Relay::forget_child(self);
    }

    fn begin_again(&self, original: Reference) -> Result<Ports, Status> {
        let parent = Relay::begin_again(self, original, W::Tag::default())?;
        Ok(Ports { parent, keeper: self.keeper() })
    }

    fn facts(&self) -> Facts {
        Relay::facts(self)
    }

    fn random(&self) -> Option<[u8; 16]> {
        self.watch().random()
    }

    fn answers_others(&self) -> bool {
        self.watch().answers_others()
    }

    fn adopt(&self, program: (&ObjectView, &Halt), pid: u64) -> Result<(), Errno> {
        Relay::adopt(self, program, &self.watch().tag_of(pid))
    }

    fn release(&self, halt: &Halt) {
        Relay::release(self, halt);
    }
}

/// Command that is run.
struct Command {
    words: Vec<Vec<u8>>,
    arguments: Arguments,
}

static RELAY: Lock<Option<&'static dyn Work>> = Lock::new(None);
static SERVICES: Lock<Option<Services>> = Lock::new(None);
/// The child, if it is a process beside us.
static WARD: Lock<Option<&'static Ward>> = Lock::new(None);
/// The child, if it is our own.
static CHILD: Lock<Option<Child<Services>>> = Lock::new(None);
static COMMAND: Lock<Option<Command>> = Lock::new(None);

/// Writes all of `bytes` to a stream, as far as that can be done.
pub fn write_all(stream: Reference, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match file::write(stream, OWN_POSITION, &bytes[..bytes.len().min(PIECE)]) {
            Ok(reply) if reply.count > 0 => bytes = &bytes[bytes.len().min(reply.count as usize)..],
            _ => return,
        }
    }
}

/// Our own standard error.
pub fn messages() -> Result<OwnedReference, String> {
    let stream = parent::stream(Reference::PARENT, MESSAGES);
    stream.map(|reply| reply.file).map_err(|errno| alloc::format!("cannot open the standard error: {errno}"))
}

/// Text for whoever reads our messages.
pub fn show(text: &str) {
    match messages() {
        Ok(stream) => write_all(stream.handle(), text.as_bytes()),
        Err(_) => nacre_rt::report!("{}", text.trim_end()),
    }
}

/// A kernel's refusal as a sentence.
fn kernel(making: &'static str) -> impl Fn(Status) -> String {
    move |status| SpawnError::Kernel(making, status).to_string()
}

fn hire(number: usize) -> bool {
    thread::spawn(worker, number).inspect(attending::count).is_ok()
}

/// Memory that stays as long as this program.
fn memory(size: u64) -> Option<Window> {
    let segment = SERVICES.lock().as_mut()?.segment(size).ok()?;
    let window = segment.window();
    core::mem::forget(segment);
    Some(window)
}

fn desk() -> Option<Window> {
    memory(WorkerBuffers::SIZE)
}

fn room(pool: Option<Reference>) -> Option<Room> {
    let of_child = pool.map_or(Err(Errno::EACCES), |pool| Room::take(pool, WorkerBuffers::SIZE));
    match of_child {
        Err(Errno::ENOMEM) => None,
        // The child's pool is one for data.
        Err(_) => Room::take(nacre_rt::memory::object_pool().ok()?, WorkerBuffers::SIZE).ok(),
        Ok(room) => Some(room),
    }
}

fn worker(number: usize) {
    let relay = *RELAY.lock();
    if let Some(relay) = relay {
        // A worker that cannot work leaves the work to the others.
        let _ = relay.work(number);
    }
}

fn tell(what: impl FnOnce(&dyn Work)) {
    let relay = *RELAY.lock();
    if let Some(relay) = relay {
        what(relay);
    }
}

/// Facts that this monitor tells about itself.
fn facts() -> Facts {
    let relay = *RELAY.lock();
    relay.map_or(Facts::default(), |relay| relay.facts())
}

/// Starts the child.
fn start(command: &[&[u8]], arguments: &Arguments, ports: Ports) -> Result<(), SpawnError> {
    let mut services = SERVICES.lock();
    let services = services.as_mut().ok_or(SpawnError::NotFound)?;
    let (ward, relay) = (*WARD.lock(), *RELAY.lock());
    let random = relay.and_then(Work::random).unwrap_or_else(|| search::random(arguments, 0));
    if let Some(ward) = ward {
        let data = services.pageable_pool();
        let child = search::spawn_with(&mut ward.maker(services.files()).with_data_pool(data), command, random, arguments, Ports { keeper: Reference::NONE, ..ports })?;
        tell(|relay| relay.parent_given(None));
        tell(|relay| relay.is_made((child.space(), child.thread()), None));
        ward.begin(&child, command, relay.is_none_or(Work::answers_others))?;
        tell(|relay| relay.is_begun());
        return Ok(());
    }
    let child = search::spawn_with(services, command, random, arguments, ports)?;
    tell(|relay| relay.parent_given(Some(child.space())));
    tell(|relay| relay.is_made((child.space(), child.thread()), Some(ports.keeper)));
    let mut place = CHILD.lock();
    place.insert(child).start()
}

/// Ends the child and begins it anew: the numbers that people see begin anew, too. The child is no
/// manager's process ([`Interposer::keeps_child`]), and no worker of the relay calls this. `None`:
/// there is no child.
pub fn restart() -> Option<Result<(), String>> {
    let relay = (*RELAY.lock())?;
    // Its port goes first, so that nobody hears of its end.
    relay.forget_child();
    drop(CHILD.lock().take()?);
    let command = COMMAND.lock();
    let Command { words, arguments } = command.as_ref()?;
    let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
    let made = OwnedReference::copy_of(Reference::PARENT, REFERENCE_USE).and_then(|original| relay.begin_again(original.leak()));
    let ports = match made {
        Ok(ports) => ports,
        Err(status) => return Some(Err(kernel("its first proxy")(status))),
    };
    Some(start(&words, arguments, ports).map_err(|refusal| alloc::format!("cannot run {}: {refusal}", name(&words))))
}

/// Returns the original of the child's parent. Below a manager, makes the child a process first, if
/// it is to be one.
fn original(is_process: bool) -> Result<OwnedReference, String> {
    let ward = if is_process { Ward::new().map_err(|refusal| refusal.to_string())? } else { None };
    let parent = ward.as_ref().map_or(Reference::PARENT, Ward::port);
    let original = OwnedReference::copy_of(parent, REFERENCE_USE).map_err(kernel("a copy of its parent"))?;
    *WARD.lock() = ward.map(|ward| &*Box::leak(Box::new(ward)));
    Ok(original)
}

/// Ends this program when the manager says that the child has ended.
fn await_end(_: usize) {
    let (ward, relay) = (*WARD.lock(), *RELAY.lock());
    if let (Some(ward), Some(relay)) = (ward, relay) {
        // Without an answer there is no manager any more, nor a child.
        relay.leave(ward.wait().unwrap_or(crate::host::KILLED));
    }
}

fn end_child() {
    if let Some(ward) = *WARD.lock() {
        ward.kill();
    }
}

/// The name of a command, for messages.
pub fn name(command: &[&[u8]]) -> String {
    command.first().map_or(String::new(), |word| String::from_utf8_lossy(word).into_owned())
}

/// Runs `command`, all of whose messages `watch` sees; `tag` is that of its parent. Ends this
/// program as the child ends, and returns only if there is none: the exit status, or what went
/// wrong. There is one such child in a program.
pub fn run<W: Interposer>(watch: W, tag: W::Tag, services: Services, command: &[&[u8]], arguments: &Arguments) -> Result<i32, String> {
    run_with(watch, tag, services, Services::pool_for_child, command, arguments)
}

/// A relay without a child, for programs that run already: serves what [`adopt`] puts through it.
/// Returns only if that is impossible.
pub fn run_beside<W: Interposer>(watch: W, services: Services) -> Result<i32, String> {
    let own = OwnedReference::copy_of(Reference::PARENT, REFERENCE_USE).map_err(kernel("a copy of its parent"))?;
    *SERVICES.lock() = Some(services);
    let relay = start_relay(watch, None)?;
    // The first proxy is nobody's.
    relay.parent(own.leak(), W::Tag::default()).map_err(kernel("its first proxy"))?;
    relay.parent_given(None);
    attending::begin_with(facts, relay.watch().follower());
    relay.hire(|_| true);
    Err(alloc::format!("cannot receive: {:?}", relay.work(0)))
}

fn start_relay<W: Interposer>(watch: W, pool: Option<ChildPool>) -> Result<&'static Relay<W>, String> {
    let set = OwnedPortSet::new().map_err(kernel("a set of ports"))?.leak();
    let relay: &'static Relay<W> = Box::leak(Box::new(Relay::new(set, watch, Staff { hire, desk, room, worker, objects: memory, end_child }, pool)));
    *RELAY.lock() = Some(relay);
    Ok(relay)
}

/// Lets the relay stand between a program that runs, of process `pid`, and all else. `thread` is
/// its first thread. Its ports that others know stay as they are.
pub fn adopt(space: Reference, thread: Reference, pid: u64) -> Result<(), Errno> {
    look(space, thread, |relay, program| relay.adopt(program, pid))
}

/// Lets a program go on without the relay. What others have of it stays.
pub fn release(space: Reference, thread: Reference) -> Result<(), Errno> {
    look(space, thread, |relay, (_, halt)| {
        relay.release(halt);
        Ok(())
    })
}

fn look(space: Reference, thread: Reference, act: impl FnOnce(&dyn Work, (&ObjectView, &Halt)) -> Result<(), Errno>) -> Result<(), Errno> {
    let relay = (*RELAY.lock()).ok_or(Errno::ENOENT)?;
    let view = ObjectView::new(Space::through(space))?;
    let halt = view.halt(Thread::through(thread));
    act(relay, (&view, &halt))
}

/// Function that makes the pool for a monitor's child, with flags as in
/// [`Services::pool_for_child`]. `None`: the child uses the monitor's pool.
pub type MakePool = fn(&Services, u64) -> Option<ChildPool>;

/// Runs a command as `run` does, with another memory pool for the child.
pub fn run_with<W: Interposer>(watch: W, tag: W::Tag, mut services: Services, pool: MakePool, command: &[&[u8]], arguments: &Arguments) -> Result<i32, String> {
    let original = original(!watch.keeps_child())?;
    let ward = *WARD.lock();
    if let Some(ward) = ward {
        watch.is_process(ward.port(), ward.pid());
    }
    let pool = pool(&services, if ward.is_some() { POOL_DATA } else { 0 });
    if let Some(copy) = pool.as_ref().and_then(|pool| OwnedReference::copy_of(pool.shared.handle(), REFERENCE_USE).ok()) {
        services.set_data_pool(copy);
    }
    if let (Some(ward), Some(pool)) = (ward, &pool) {
        ward.set_memory(pool.shared.handle());
    }
    *SERVICES.lock() = Some(services);
    let relay = start_relay(watch, pool)?;
    attending::begin_with(facts, relay.watch().follower());
    let parent = relay.parent(original.leak(), tag).map_err(kernel("its first proxy"))?;
    *COMMAND.lock() = Some(Command { words: command.iter().map(|word| word.to_vec()).collect(), arguments: *arguments });
    if let Err(refusal) = start(command, arguments, Ports { parent, keeper: relay.keeper() }) {
        let program = nacre_rt::Arguments::iter(arguments).next().map_or(String::new(), |word| String::from_utf8_lossy(word).into_owned());
        show(&alloc::format!("{program}: cannot run {}: {refusal}\n", name(command)));
        return Ok(refusal.exit_status() as i32);
    }
    if ward.is_some() {
        let waiting = thread::spawn(await_end, 0).map_err(|errno| alloc::format!("cannot make a thread: {errno}"))?;
        core::mem::forget(waiting);
    }
    // This thread is the first worker.
    relay.hire(|_| true);
    let status = relay.work(0);
    Err(alloc::format!("cannot receive: {status:?}"))
}
