//! Messages that no library would send, to a guard that lets its child read one directory and use
//! console and memory: none of them may bring more.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::flags::{AT_EMPTY_PATH, O_RDONLY, SEGMENT_OBJECTS, SERVICE_CLOCK, SERVICE_FILES, SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::{Errno, PROTOCOLS, clock, directory, file, memory, parent, segment};
use nacre_rt::stream;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_abi::Rights;
use nacre_sys::{OwnedMapping, OwnedPort, OwnedReference, Port, PortSet, Reference, Region, Space, Span, SpanMut};

/// Number of random messages.
const FLOOD: u64 = 3000;

/// One attempt after the other; 0 if none brought anything. `path` is of a file that may be read.
pub fn run(path: &[u8]) -> i32 {
    let mut failed = 0;
    for (what, attempt) in ATTEMPTS {
        if let Err(why) = attempt(path) {
            failed = 1;
            let _ = stream::write(stream::OUTPUT, format!("{what}: {why}\n").as_bytes());
        }
    }
    let _ = stream::write(stream::OUTPUT, b"tried\n");
    failed
}

type Attempt = fn(&[u8]) -> Result<(), String>;

const ATTEMPTS: [(&str, Attempt); 7] = [
    ("a file that takes paths", paths_of_a_file),
    ("services that were not given", services),
    ("objects of its own in place of others", own_ports),
    ("references that nobody expects", strange_references),
    ("labels that there are not", labels),
    ("a page that the memory's server cannot touch", untouchable_pages),
    ("a flood", flood),
];

fn files() -> Result<OwnedReference, String> {
    parent::find(Reference::PARENT, SERVICE_FILES).map(|reply| reply.found).map_err(|errno| format!("no files: {errno}"))
}

fn open(path: &[u8]) -> Result<OwnedReference, String> {
    directory::open(files()?.handle(), O_RDONLY, 0, path).map(|reply| reply.file).map_err(|errno| format!("it cannot be opened: {errno}"))
}

fn refused<T: core::fmt::Debug>(what: &str, result: Result<T, Errno>) -> Result<(), String> {
    match result {
        Ok(brought) => Err(format!("{what} brought {brought:?}")),
        Err(_) => Ok(()),
    }
}

fn paths_of_a_file(path: &[u8]) -> Result<(), String> {
    let stream = parent::stream(Reference::PARENT, 1).map_err(|errno| format!("no stream: {errno}"))?.file;
    for place in [open(path)?, stream] {
        for other in [&b"/"[..], b"/etc/passwd", b"..", path] {
            refused("opening from it", directory::open(place.handle(), O_RDONLY, 0, other))?;
            refused("its status", directory::status_at(place.handle(), 0, other, &mut [0; 128][..]))?;
        }
    }
    let place = open(path)?;
    refused("a mode", directory::set_mode_at(place.handle(), 0o777, AT_EMPTY_PATH, b""))?;
    refused("another mode", file::set_mode(place.handle(), 0o777))?;
    refused("a size", file::set_size(place.handle(), 0))?;
    refused("bytes", file::write(place.handle(), 0, b"x"))
}

fn services(_: &[u8]) -> Result<(), String> {
    refused("the clock", parent::find(Reference::PARENT, SERVICE_CLOCK))?;
    refused("the process manager", parent::find(Reference::PARENT, 3))?;
    refused("nothing", parent::find(Reference::PARENT, u64::MAX))?;
    refused("the time", clock::read(Reference::PARENT, 0))?;
    refused("memory of the files", memory::segment_create(files()?.handle(), 4096, 0))
}

/// Puts a kernel object into memory whose words a server reads. A server that touched such a page
/// would end by an exception.
fn untouchable_pages(_: &[u8]) -> Result<(), String> {
    const PLACE: u64 = 0x3f00_0000_0000;
    for (service, flags, expected) in [(SERVICE_MEMORY, 0, Errno::EAGAIN), (SERVICE_OBJECTS, SEGMENT_OBJECTS, Errno::EINVAL)] {
        let pool = parent::find(Reference::PARENT, service).map_err(|errno| format!("no memory: {errno}"))?.found;
        let taken = memory::segment_create(pool.handle(), 8192, flags).map_err(|errno| format!("no segment: {errno}"))?;
        let region = Region::through(taken.region.handle());
        let map = |rights| OwnedMapping::new(Space::OWN, PLACE, 8192, region, 0, rights);
        // Without the right, all that is left is to try in memory for data.
        let _mapping = map(Rights::ALL).or_else(|_| map(Rights::READ.union(Rights::WRITE))).map_err(|status| format!("{status:?}"))?;
        let made = Port::create(PLACE, 0, PortSet(0)).is_ok();
        let may_hold = flags == SEGMENT_OBJECTS;
        let donated = !may_hold && Space::OWN.donate(PLACE + 4096, 1).is_ok();
        let segment = taken.segment.handle();
        let answers = [
            segment::wait(segment, 0, 1, u64::MAX).map(drop),
            segment::wake(segment, 0, 1, u64::MAX).map(drop),
            segment::requeue(segment, 0, 1, 1, 64).map(drop),
            segment::meet(segment, 0).map(drop),
        ];
        if made != may_hold || donated {
            return Err(format!("with flags {flags}: an object {made}, donated {donated}"));
        }
        if answers[0] != Err(expected) || answers[1..].iter().any(|answer| *answer != if may_hold { Err(expected) } else { Ok(()) }) {
            return Err(format!("with flags {flags}: {answers:?}"));
        }
        memory::status(pool.handle()).map_err(|errno| format!("the server is gone: {errno}"))?;
    }
    Ok(())
}

fn own_ports(path: &[u8]) -> Result<(), String> {
    let port = OwnedPort::new(1, PortSet(0)).map_err(|status| format!("{status:?}"))?;
    let own = port.new_reference(REFERENCE_USE).map_err(|status| format!("{status:?}"))?;
    let files = files()?;
    let paths = [path, b"/tmp/x"].concat();
    refused("a link into it", directory::link(files.handle(), 0, path.len() as u64, &paths[..], own.handle()))?;
    refused("a name in it", directory::rename(files.handle(), 0, path.len() as u64, &paths[..], own.handle()))?;
    refused("a name nowhere", directory::rename(files.handle(), 0, u64::MAX, &paths[..], files.handle()))
}

/// Sends a message with one of its own references where none is expected.
fn send_with(target: Reference, label: u32, reference: Reference) -> Result<u32, String> {
    let message = Message { bytes: Span::from(&b"/"[..]), references: &[reference], ..Message::new(label, [1; 6]) };
    let mut buffer = [0; 64];
    let slot = OwnedReference::null().map_err(|status| format!("{status:?}"))?;
    let slots = [slot.handle()];
    let result = ipc::call(target, &message, Buffers { bytes: SpanMut::from(&mut buffer[..]), slots: &slots }, 1_000_000_000);
    Ok(result.map_or(u32::MAX, |received| received.label()))
}

fn strange_references(_: &[u8]) -> Result<(), String> {
    let port = OwnedPort::new(1, PortSet(0)).map_err(|status| format!("{status:?}"))?;
    let own = port.new_reference(REFERENCE_USE).map_err(|status| format!("{status:?}"))?;
    let (space, thread) = (Reference(nacre_abi::environment::SPACE), Reference(nacre_abi::environment::THREAD));
    for target in [Reference::PARENT, files()?.handle()] {
        for label in [parent::find::LABEL, directory::open::LABEL, file::read::LABEL] {
            for reference in [own.handle(), space, thread, Reference::PARENT] {
                if send_with(target, label, reference)? == 0 {
                    return Err(format!("label {label:#x} was answered"));
                }
            }
        }
    }
    Ok(())
}

fn labels(_: &[u8]) -> Result<(), String> {
    let files = files()?;
    for protocol in 0..64u32 {
        for operation in 0..32u32 {
            let label = protocol << 16 | operation;
            let is_known = PROTOCOLS.iter().flat_map(|one| one.operations).any(|one| one.label == label);
            if is_known {
                continue;
            }
            for target in [Reference::PARENT, files.handle()] {
                if ipc::call_words(target, label, [0; 6]).is_ok_and(|reply| reply.label() == 0) {
                    return Err(format!("label {label:#x} was answered"));
                }
            }
        }
    }
    Ok(())
}

/// Messages at random; whoever stands above must still answer afterwards.
fn flood(path: &[u8]) -> Result<(), String> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (files, place) = (files()?, open(path)?);
    let pool = parent::find(Reference::PARENT, SERVICE_MEMORY).map_err(|errno| format!("no memory: {errno}"))?.found;
    let labels: Vec<u32> = PROTOCOLS.iter().flat_map(|one| one.operations).map(|one| one.label).filter(|label| *label != parent::exit::LABEL).collect();
    for _ in 0..FLOOD {
        let target = [Reference::PARENT, files.handle(), place.handle(), pool.handle()][random() as usize % 4];
        let label = if random() % 8 == 0 { random() as u32 & 0x1f_001f } else { labels[random() as usize % labels.len()] };
        // Streams wait to be read, and the program must not end.
        if label == file::read::LABEL || label == parent::exit::LABEL {
            continue;
        }
        let words = core::array::from_fn(|_| if random() % 2 == 0 { random() % 4 } else { random() });
        let bytes: Vec<u8> = (0..random() % 300).map(|_| [b'/', b'.', b'a', random() as u8][random() as usize % 4]).collect();
        let message = Message { bytes: Span::from(&bytes[..]), ..Message::new(label, words) };
        let mut buffer = [0; 512];
        let (first, second) = (OwnedReference::null(), OwnedReference::null());
        let (Ok(first), Ok(second)) = (first, second) else { return Err(String::from("no slots")) };
        let slots = [first.handle(), second.handle()];
        // Whatever the answer is: what matters is that there is one.
        let _ = ipc::call(target, &message, Buffers { bytes: SpanMut::from(&mut buffer[..]), slots: &slots }, 1_000_000_000);
        let _ = ipc::notify(target, random());
    }
    open(path).map(drop)
}
