//! The child: all that it can observe, as lines of text.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use nacre_abi::environment::{PARENT, SPACE, THREAD};
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::state::{ObjectEntry, ThreadState};
use nacre_abi::{Call, PAGE_SIZE, Rights, USER_END};
use nacre_proto::flags::{O_RDONLY, SERVICE_CLOCK, SERVICE_FILES, SERVICE_MEMORY};
use nacre_proto::structures::{Entries, Status};
use nacre_proto::{Errno, PROTOCOLS, clock, directory, file, memory, parent, segment};
use nacre_rt::memory::Segment;
use nacre_rt::{Arguments, stream};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Region, Space, Thread};

/// Memory for calls that need some.
const ARENA: u64 = 0x3000_0000_0000;
const ARENA_SIZE: u64 = 0x10_0000;

/// Calls that would wait for ever, end the program, or change what it stands on.
const LEFT_OUT: [Call; 16] = [
    Call::IpcCall,
    Call::IpcReceiveReply,
    Call::IpcSend,
    Call::IpcReceive,
    Call::IpcReply,
    Call::IpcReplyReceive,
    Call::IpcDetach,
    Call::SpaceDestroy,
    Call::SpaceMove,
    Call::ThreadDestroy,
    Call::ThreadMove,
    Call::ThreadStop,
    Call::ThreadSleep,
    Call::ThreadSetForeign,
    Call::ThreadSetBase,
    Call::ReferenceDestroy,
];

struct Book(String);

impl Book {
    /// Adds a line: a name and an observation.
    fn note(&mut self, name: &str, seen: &dyn core::fmt::Debug) {
        writeln!(self.0, "{name}: {seen:x?}").unwrap_or(());
    }
}

/// Writes all of it down; nothing of it is judged here.
pub fn run(arguments: &Arguments) -> i32 {
    let mut book = Book(String::new());
    start(&mut book, arguments);
    own_objects(&mut book);
    if Segment::map(ARENA, ARENA_SIZE, Rights::OBJECTS).map(Segment::leak).is_err() {
        return 125;
    }
    new_objects(&mut book);
    calls(&mut book);
    messages(&mut book);
    services(&mut book);
    own_memory(&mut book);
    files(&mut book);
    time(&mut book);
    i32::from(stream::write(stream::OUTPUT, book.0.as_bytes()).is_err())
}

fn start(book: &mut Book, arguments: &Arguments) {
    book.note("arguments", &arguments.iter().map(String::from_utf8_lossy).collect::<Vec<_>>());
    book.note("environment", &arguments.environment().map(String::from_utf8_lossy).collect::<Vec<_>>());
    book.note("auxiliary vector", &arguments.auxiliary_all().collect::<Vec<_>>());
    let local = 0u64;
    book.note("stack", &(&raw const local as u64 & !0xffff));
}

fn own_objects(book: &mut Book) {
    for address in [PARENT, SPACE, THREAD] {
        book.note("reference", &Reference(address).get_state());
        book.note("revealed", &Reference(address).reveal(0, USER_END));
    }
    book.note("space", &Space(SPACE).get_state());
    // Processor time is time of the machine's.
    book.note("thread", &Thread(THREAD).get_state().map(|state| ThreadState { time: 0, ..state }));
    book.note("objects", &all_objects());
}

/// All objects of this program. How many one call tells of depends on interrupts.
fn all_objects() -> Result<Vec<ObjectEntry>, nacre_abi::Status> {
    let (mut entries, mut all, mut at) = ([ObjectEntry::default(); 64], Vec::new(), 0);
    loop {
        let (count, next) = nacre_sys::memory::objects(at, USER_END - at, &mut entries)?;
        all.extend_from_slice(&entries[..count]);
        if next == 0 {
            return Ok(all);
        }
        at = next;
    }
}

fn new_objects(book: &mut Book) {
    let at = |number: u64| ARENA + number * 256;
    let states = [
        (Call::PortCreate, [at(0), 7, 0], Call::PortGetState, at(0)),
        (Call::PortSetCreate, [at(1), 0, 0], Call::PortSetGetState, at(1)),
        (Call::MutexCreate, [at(2), 0, 0], Call::MutexGetState, at(2)),
        (Call::ConditionCreate, [at(3), 0, 0], Call::ConditionGetState, at(3)),
        (Call::ReferenceCreate, [at(4), 0, 0], Call::ReferenceGetState, at(4)),
        (Call::SpaceCreate, [at(5), ARENA + 0x1_0000, 8], Call::SpaceGetState, at(5)),
        (Call::ThreadCreate, [ARENA + 0x2_0000, at(5), 0], Call::ThreadGetState, ARENA + 0x2_0000),
    ];
    for (create, [first, second, third], get, object) in states {
        let made = nacre_raw::call(create, [first, second, third, 0, 0, 0, 0, 0]);
        let read = nacre_raw::call(get, [object, ARENA + 0x3_0000, PAGE_SIZE, 0, 0, 0, 0, 0]);
        let words: Vec<u64> = (0..40).map(|word| nacre_raw::read(ARENA + 0x3_0000 + 8 * word)).collect();
        book.note(create.name(), &(made.0, read.0, words));
    }
    let region = Region::create(at(6), Space(0), ARENA + 0x4_0000, 0x4000, Rights::READ, Reference::NONE);
    book.note("region", &region.map(|region| region.get_state()));
    let mapping = nacre_sys::Mapping::create(at(7), Space(0), ARENA + 0x200_0000, 0x1000, Region(at(6)), 0, Rights::READ);
    book.note("mapping", &mapping.map(|mapping| mapping.get_state()));
}

/// Observes answers to calls with senseless arguments.
fn calls(book: &mut Book) {
    let strange = [0, 1, 63, ARENA, ARENA + 64, PARENT, SPACE, ARENA + 0x5_0000, USER_END, u64::MAX];
    let known = Call::ALL.iter().filter(|call| **call as u8 <= Call::ClockRead as u8 && !LEFT_OUT.contains(call));
    for call in known {
        let statuses: Vec<u64> = strange
            .iter()
            // Making the references that it was born with lead elsewhere would end the rest.
            .filter(|first| !matches!(call, Call::ReferenceMove | Call::ReferenceSetState | Call::ThreadSetState | Call::SpaceSetState) || **first < PARENT)
            .map(|first| nacre_raw::call(*call, [*first, 3, 5, 7, 11, 13, 17, 19]).0.0)
            .collect();
        book.note(call.name(), &statuses);
    }
}

fn messages(book: &mut Book) {
    let Ok(port) = OwnedPort::new(0x1234, PortSet(0)) else { return };
    let Ok(own) = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY) else { return };
    book.note("notified", &ipc::notify(own.handle(), 0x5a));
    book.note("received", &ipc::receive_words(port.handle().address()));
    book.note("nobody there", &ipc::send(own.handle(), &Message::new(5, [1; 6]), 1_000_000));
    book.note("nothing there", &ipc::receive(port.handle().address(), Buffers::NONE, 1_000_000).map(|received| received.words));
    for protocol in 0..10u32 {
        for operation in [0, 30] {
            let label = protocol << 16 | operation;
            book.note("parent, asked strangely", &ipc::call_words(Reference::PARENT, label, [0; 6]).map(|reply| (reply.label(), reply.words)));
        }
    }
    book.note("protocols", &PROTOCOLS.len());
}

fn services(book: &mut Book) {
    for service in 0..8 {
        let found = parent::find(Reference::PARENT, service);
        book.note("service", &found.map(|reply| reply.found.handle().get_state()));
    }
    for number in 0..5 {
        let found = parent::stream(Reference::PARENT, number);
        book.note("stream", &found.map(|reply| reply.file.handle().get_state()));
    }
    book.note("report", &parent::report(Reference::PARENT, 99, b"?").map(drop));
}

fn find(service: u64) -> Result<OwnedReference, Errno> {
    parent::find(Reference::PARENT, service).map(|reply| reply.found)
}

fn own_memory(book: &mut Book) {
    let Ok(pool) = find(SERVICE_MEMORY) else { return };
    let status = || memory::status(pool.handle()).map(|reply| (reply.limit, reply.used));
    book.note("pool", &status());
    let taken = memory::segment_create(pool.handle(), 0x5001, 0);
    if let Ok(taken) = &taken {
        book.note("segment", &(taken.size, taken.region.handle().get_state(), taken.segment.handle().get_state()));
        book.note("cleared", &[(0x1000, 0x2000), (0x5000, 0x2000), (8, 0x1000)].map(|(offset, size)| segment::clear(taken.segment.handle(), offset, size).map(drop)));
        book.note("smaller", &segment::resize(taken.segment.handle(), 0x1000).map(|reply| reply.size));
    }
    book.note("used", &status());
    if let Ok(taken) = taken {
        // Said aloud: that the last reference has gone is told to the server by each layer when it
        // comes to it.
        book.note("destroyed", &segment::destroy(taken.segment.handle()).map(drop));
    }
    book.note("too much", &memory::segment_create(pool.handle(), 1 << 40, 0).map(|reply| reply.size));
    book.note("back", &status());
}

fn files(book: &mut Book) {
    let Ok(files) = find(SERVICE_FILES) else { return };
    for path in [&b"/etc/passwd"[..], b"/bin", b"/nonexistent", b"/bin/relative"] {
        let opened = directory::open(files.handle(), O_RDONLY, 0, path);
        book.note("opened", &(String::from_utf8_lossy(path), opened.as_ref().map(|reply| reply.mode)));
        let Ok(opened) = opened else { continue };
        let mut bytes = [0; Status::SIZE];
        book.note("status", &file::status(opened.file.handle(), &mut bytes[..]).map(drop));
        let facts = Status::from_bytes(&bytes).map(|status| (status.mode, status.links, status.size, status.blocks, status.rdevice));
        book.note("facts", &facts);
        let mut text = [0; 256];
        book.note("text", &file::read(opened.file.handle(), 0, 256, &mut text[..]).map(|reply| text[..reply.data].to_vec()));
        book.note("region", &file::map(opened.file.handle(), 0, 4096).map(|reply| (reply.size, reply.region.handle().get_state())));
    }
    let mut list = [0; 4096];
    let listed = directory::list(files.handle(), 0, 4096, &mut list[..]);
    let names = listed.map(|reply| Entries(&list[..reply.entries]).map(|entry| String::from_utf8_lossy(entry.name).into_owned()).collect::<Vec<_>>());
    book.note("list", &names);
}

fn time(book: &mut Book) {
    let Ok(service) = find(SERVICE_CLOCK) else { return };
    for which in [0, 1, 2, 0] {
        book.note("time", &clock::read(service.handle(), which).map(|reply| (reply.seconds, reply.nanoseconds)));
    }
    book.note("clock", &format!("{:?}", nacre_raw::call(Call::ClockRead, [PARENT, 0, 0, 0, 0, 0, 0, 0]).0));
}
