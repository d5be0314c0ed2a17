//! Environments that are started, and killed: a pool of memory for each of them, so that what comes
//! back can be counted.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_abi::ObjectType;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::ObjectEntry;
use nacre_nest::host::KILLED;
use nacre_nest::supply::Segment;
use nacre_nest::{Child, Handler, Ports, Program, Services, Sizes, attend, spawn};
use nacre_proto::flags::{O_RDWR, SERVICE_FILES, SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::{Event, ServerEndpoint};
use nacre_proto::{Errno, Given, directory, memory, parent};
use nacre_rt::thread;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Thread, Window};

/// Number of a service that takes what it is asked and never answers.
pub const SILENT: u64 = 77;

/// Limit of an environment's memory.
const LIMIT: u64 = 64 << 20;
/// Maximum of bytes of a message to the service that answers nothing.
const CAPACITY: usize = 4096;
/// The status by which a wait is ended that nobody else ended.
const NOT_TOLD: u64 = 255;
/// Nanoseconds between two looks, and how many looks there are before something is held to be
/// missing.
const LOOK: u64 = 10_000_000;
const LOOKS: u32 = 6_000;

/// Numbers that are the same for the same seed; it must not be 0.
pub struct Random(pub u64);

impl Random {
    /// Returns the numbers of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Nanoseconds: from one microsecond to 33 milliseconds, short ones as likely as long ones.
    fn delay(&mut self) -> u64 {
        let bound = 1 << (10 + self.next() % 16);
        bound / 2 + self.next() % bound
    }
}

/// Order to the thread that kills.
struct Order {
    window: Window,
    fate: Fate,
    /// The port at which the end is waited for.
    port: Reference,
}

/// Action on an environment.
#[derive(Clone, Copy)]
enum Fate {
    /// Does nothing, and no parent ends the environment.
    Alone,
    /// Does nothing, but the wait for the victim's end has a deadline.
    Watched,
    /// Destroys one of its threads after so many nanoseconds.
    Killed(u64, u64),
}

static ORDER: Lock<Option<Order>> = Lock::new(None);
static FAULT: Lock<Option<String>> = Lock::new(None);
static OVER: AtomicBool = AtomicBool::new(false);

/// Starter of environments, with memory of their own.
pub struct Stage {
    services: Services,
    pool: OwnedReference,
    outset: u64,
}

/// The parent of an environment: it gives what it has itself, but for memory.
struct Host {
    pool: Reference,
    /// A service whose requests are taken and never answered.
    silent: Reference,
}

/// Takes what is asked at a port, and answers nothing until the port is gone.
fn stay_silent(port: usize) {
    let Ok(mut endpoint) = ServerEndpoint::new(CAPACITY) else { return };
    let mut waiting = Vec::new();
    while let Ok(event) = endpoint.next(port as u64, nacre_sys::FOREVER) {
        if let Event::Request(mut request) = event {
            waiting.extend(request.detach());
        }
    }
}

impl Handler for Host {
    fn find(&mut self, service: u64) -> Result<Given, Errno> {
        match service {
            SERVICE_MEMORY | SERVICE_OBJECTS => Ok(self.pool.into()),
            SILENT => Ok(self.silent.into()),
            _ => parent::find(Reference::PARENT, service).map(|reply| reply.found.into()),
        }
    }

    /// Opens the null device, because nobody reads an environment's output.
    fn stream(&mut self, _: u64) -> Result<Given, Errno> {
        let files = parent::find(Reference::PARENT, SERVICE_FILES)?.found;
        directory::open(files.handle(), O_RDWR, 0, b"/dev/null").map(|reply| reply.file.into())
    }

    fn report(&mut self, _: u64, _: &[u8]) -> Result<(), Errno> {
        Ok(())
    }
}

fn said<T: Debug>(what: &str) -> impl Fn(T) -> String {
    move |why| format!("{what}: {why:?}")
}

/// Addresses of the threads whose pages lie in a window.
fn threads(window: Window) -> Result<Vec<u64>, String> {
    let (mut at, end, mut found) = (window.start(), window.start() + window.size(), Vec::new());
    while at != 0 {
        let mut entries = [ObjectEntry::default(); 64];
        let (count, next) = nacre_sys::memory::objects(at, end - at, &mut entries).map_err(said("its objects cannot be listed"))?;
        found.extend(entries[..count].iter().filter(|entry| entry.kind == ObjectType::Thread as u64).map(|entry| entry.address));
        at = next;
    }
    Ok(found)
}

fn carry_out(order: &Order) -> Result<(), String> {
    let Fate::Killed(delay, choice) = order.fate else { return Ok(()) };
    Thread::sleep(delay).map_err(said("no sleep"))?;
    let found = threads(order.window)?;
    let chosen = found.get(choice as usize % found.len().max(1)).ok_or("it has no thread")?;
    Thread(*chosen).destroy().map_err(said("its thread cannot be destroyed"))
}

/// Kills, and then sees to it that the wait for the end has one.
fn killer(_: usize) {
    let Some(order) = ORDER.lock().take() else { return };
    if let Err(why) = carry_out(&order) {
        *FAULT.lock() = Some(why);
    }
    for _ in 0..LOOKS {
        if OVER.load(Ordering::Acquire) {
            return;
        }
        // However the wait ends, there is another look.
        let _ = Thread::sleep(LOOK);
    }
    // This message ends the wait. The waiter reports the fault, and does not answer.
    let end = Message::new(parent::exit::LABEL, [NOT_TOLD, 0, 0, 0, 0, 0]);
    while !OVER.load(Ordering::Acquire) && ipc::call(order.port, &end, Buffers::NONE, LOOK).is_err() {}
}

impl Stage {
    /// A pool from ours; programs come from `services`.
    pub fn new(services: Services) -> Result<Stage, String> {
        let pool = memory::pool_create(services.memory(), LIMIT).map_err(said("no pool"))?.pool;
        let files = OwnedReference::copy_of(services.files(), REFERENCE_USE).map_err(said("no copy of the files"))?;
        let memory = OwnedReference::copy_of(pool.handle(), REFERENCE_USE);
        let services = Services::new(files, memory.map_err(said("no copy of the pool"))?);
        let outset = memory::status(pool.handle()).map_err(said("the pool says nothing"))?.used;
        Ok(Stage { services, pool, outset })
    }

    fn spawn(&mut self, command: &[&[u8]], port: &OwnedPort, parent: &OwnedReference) -> Result<Child<Services>, String> {
        let ports = Ports { parent: parent.handle(), keeper: port.handle().as_keeper() };
        let program = Program { path: command[0], arguments: command, environment: &[], directory: b"", random: [7; 16], sizes: Sizes::default() };
        spawn(&mut self.services, &program, ports).map_err(|refusal| format!("{refusal}"))
    }

    /// Starts an environment that meets its fate: the status of its end.
    fn live(&mut self, command: &[&[u8]], fate: Fate) -> Result<u64, String> {
        let port = OwnedPort::new(0, PortSet(0)).map_err(said("no port"))?;
        let reference = port.new_reference(REFERENCE_USE).map_err(said("no reference"))?;
        let child = self.spawn(command, &port, &reference)?;
        let silent = OwnedPort::new(0, PortSet(0)).map_err(said("no port"))?;
        let asked = silent.new_reference(REFERENCE_USE).map_err(said("no reference"))?;
        let keeper_of_silence = thread::spawn(stay_silent, silent.handle().address() as usize).map_err(said("no thread to be silent"))?;
        child.start().map_err(|refusal| format!("{refusal}"))?;
        let killer = match fate {
            Fate::Alone => None,
            _ => {
                OVER.store(false, Ordering::Release);
                *ORDER.lock() = Some(Order { window: child.segment().window(), fate, port: reference.handle() });
                Some(thread::spawn(killer, 0).map_err(said("no thread to kill"))?)
            }
        };
        let status = attend(port.handle(), &mut Host { pool: self.pool.handle(), silent: asked.handle() }).map_err(said("cannot receive"));
        drop(silent);
        keeper_of_silence.join();
        if let Some(killer) = killer {
            OVER.store(true, Ordering::Release);
            drop(port);
            killer.join();
        }
        child.destroy();
        status
    }

    /// Checks that all memory comes back, as soon as its holders have heard.
    fn all_back(&self) -> Result<(), String> {
        let mut used = 0;
        for _ in 0..LOOKS {
            used = memory::status(self.pool.handle()).map_err(said("the pool says nothing"))?.used;
            if used == self.outset {
                return Ok(());
            }
            Thread::sleep(LOOK).map_err(said("no sleep"))?;
        }
        Err(format!("{used} bytes are in use, and not {}", self.outset))
    }

    /// Starts an environment and destroys one of its threads at some moment.
    pub fn kill(&mut self, command: &[&[u8]], random: &mut Random) -> Result<(), String> {
        let how = (random.delay(), random.next());
        let status = self.live(command, Fate::Killed(how.0, how.1))?;
        let place = || format!("after {} ns", how.0);
        if let Some(fault) = FAULT.lock().take() {
            return Err(format!("{}: {fault}", place()));
        }
        if status != KILLED {
            return Err(format!("{}: it ended with {status}", place()));
        }
        self.all_back().map_err(|why| format!("{}: {why}", place()))
    }

    /// Runs an environment to its own end, which must be with `status`. A watched environment's
    /// wait has a deadline.
    pub fn run(&mut self, command: &[&[u8]], status: u64, is_watched: bool) -> Result<(), String> {
        match self.live(command, if is_watched { Fate::Watched } else { Fate::Alone })? {
            ended if ended == status => self.all_back(),
            ended => Err(format!("it ended with {ended}, and not with {status}")),
        }
    }
}
