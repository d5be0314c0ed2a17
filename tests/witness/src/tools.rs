//! Parts of attacks: services, raw messages, object memory, and threads in spaces of their own.

use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::state::ThreadState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::flags::{O_RDWR, SERVICE_CHANNELS, SERVICE_CLOCK, SERVICE_CONTROL, SERVICE_FILES, SERVICE_MEMORY, SERVICE_OBJECTS, SERVICE_PROCESS};
use nacre_proto::{Errno, channel, control, dataspace, directory, memory, parent};
use nacre_rt::memory::{Segment, addresses};
use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, OwnedSpace, OwnedThread, Reference, Space, Status, Thread};

/// Time that a raw message waits for its answer: 2 s.
pub const PATIENCE: u64 = 2_000_000_000;
/// Time in which a forged kernel message takes effect: 20 ms.
pub const MOMENT: u64 = 20_000_000;
/// Pages that a space gets for its tables.
pub const TABLE_PAGES: u64 = 16;
/// Flags of a fresh thread: interrupts on, and the bit that is always set.
const FLAGS: u64 = 0x202;

/// Returns a function that puts `what` before the reason of a failure.
pub fn why<T: Debug>(what: &str) -> impl Fn(T) -> String {
    move |reason| format!("{what}: {reason:?}")
}

/// Finds a service of the parent.
pub fn find(service: u64) -> Result<OwnedReference, Errno> {
    parent::find(Reference::PARENT, service).map(|reply| reply.found)
}

/// Calls with words alone, and waits for at most [`PATIENCE`].
pub fn call(target: Reference, label: u32, words: [u64; 6]) -> Result<Received, Status> {
    ipc::call(target, &Message::new(label, words), Buffers::NONE, PATIENCE)
}

/// Waits for [`MOMENT`].
pub fn moment() {
    // An interrupted sleep is long enough for what it is used for.
    let _ = Thread::sleep(MOMENT);
}

/// Takes `pages` pages in which kernel objects may be made and which may be donated.
pub fn object_memory(pages: u64) -> Result<Segment, String> {
    let size = pages * PAGE_SIZE;
    let start = addresses(size).ok_or("no addresses are left")?;
    Segment::map(start, size, Rights::OBJECTS).map_err(why("object memory"))
}

/// References to a port of each kind that the environment serves, with their names. The parent's
/// own port is not among them.
pub fn ports() -> Vec<(&'static str, OwnedReference)> {
    let mut all = Vec::new();
    let mut add = |name, made: Result<OwnedReference, Errno>| all.extend(made.ok().map(|port| (name, port)));
    for (name, service) in [
        ("files", SERVICE_FILES),
        ("memory", SERVICE_MEMORY),
        ("objects", SERVICE_OBJECTS),
        ("process", SERVICE_PROCESS),
        ("clock", SERVICE_CLOCK),
        ("channels", SERVICE_CHANNELS),
        ("control", SERVICE_CONTROL),
    ] {
        add(name, find(service));
    }
    for (name, number) in [("input", 0), ("output", 1), ("messages", 2)] {
        add(name, parent::stream(Reference::PARENT, number).map(|reply| reply.file));
    }
    add("segment", find(SERVICE_MEMORY).and_then(|pool| memory::segment_create(pool.handle(), PAGE_SIZE, 0)).map(|reply| reply.segment));
    add("pool", find(SERVICE_MEMORY).and_then(|pool| memory::pool_create(pool.handle(), PAGE_SIZE)).map(|reply| reply.pool));
    add("device", find(SERVICE_FILES).and_then(|files| directory::open(files.handle(), O_RDWR, 0, b"/dev/null")).map(|reply| reply.file));
    if let Ok(ends) = find(SERVICE_CHANNELS).and_then(|channels| channel::pipe(channels.handle(), 0)) {
        add("reader", Ok(ends.reader));
        add("writer", Ok(ends.writer));
    }
    add("seat", seat());
    for manager in [&b"anonymous"[..], b"persistent:witness-x", b"pinned", b"compressed", b"coloured"] {
        if let Ok(made) = find(SERVICE_MEMORY).and_then(|pool| dataspace::create(pool.handle(), 4 * PAGE_SIZE, manager)) {
            add("attachment", dataspace::attach(made.dataspace.handle(), 0).map(|reply| reply.attachment));
            add("dataspace", Ok(made.dataspace));
        }
    }
    all
}

/// A seat at which commands wait. Its port stays for as long as the program runs.
fn seat() -> Result<OwnedReference, Errno> {
    let service = find(SERVICE_CONTROL)?;
    let port = OwnedPort::new(1, OwnedPortSet::new()?.leak())?;
    let told = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY)?;
    core::mem::forget(port);
    control::attend(service.handle(), 1, told.handle()).map(|reply| reply.seat)
}

/// Attacks each port that the environment serves.
pub fn at_each_port(attack: impl Fn(Reference) -> Result<(), String>) -> Outcome {
    let ports = ports();
    if ports.is_empty() {
        return Ok(Verdict::Absent("service"));
    }
    ports.iter().try_for_each(|(_, port)| attack(port.handle()))?;
    Ok(Verdict::Refused)
}

/// State of a stopped thread that begins at `address`.
pub fn program_state(address: u64) -> ThreadState {
    ThreadState { flags: ThreadState::STOPPED, rip: address, rsp: address, rflags: FLAGS, ..ThreadState::default() }
}

/// A thread in a space of its own. The drop order is that of the fields: thread, space, then the
/// memory of both.
pub struct Outpost {
    /// The thread, stopped at `start`.
    pub thread: OwnedThread,
    /// Empty space of the thread.
    pub space: OwnedSpace,
    _tables: Segment,
}

impl Outpost {
    /// Makes the space, with `keeper`. `None`: the kernel refuses that keeper.
    pub fn with_keeper(keeper: Reference) -> Result<Option<Outpost>, String> {
        let tables = object_memory(TABLE_PAGES)?;
        let Ok(space) = OwnedSpace::make(|slot| Space::create(slot, tables.start(), TABLE_PAGES, keeper)) else { return Ok(None) };
        let thread = OwnedThread::make(|slot| Thread::create(slot, space.handle())).map_err(why("a thread"))?;
        Ok(Some(Outpost { thread, space, _tables: tables }))
    }

    /// Runs the thread from `address`, which is a page fault if nothing is mapped there.
    pub fn run_from(&self, address: u64) -> Result<(), String> {
        self.thread.handle().set_state(&program_state(address)).map_err(why("its registers"))?;
        self.thread.handle().start().map_err(why("its start"))
    }
}
