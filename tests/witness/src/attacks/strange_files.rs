//! A guard asked a file server outside about its files and waited for ever. One that never answered
//! took the guard's threads, and kept all paths from being judged.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::{Ports, Program, Services, Sizes, Ward, spawn};
use nacre_proto::channel::{Outgoing, receive_with, send_with};
use nacre_proto::flags::{O_RDONLY, S_IFDIR, SERVICE_CHANNELS, SERVICE_FILES, SOCK_STREAM};
use nacre_proto::{Errno, channel, directory, file, parent, process, structures};
use nacre_rt::thread;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet, Reference, Span, SpanMut, Thread, EmptySlot};

const GUARD: [&[u8]; 14] = [
    b"/bin/guard", b"--allow", b"console", b"--allow", b"memory", b"--allow", b"process", b"--allow", b"channel", b"--allow", b"read /bin/**", b"/bin/witness", b"play", b"strange-files",
];
/// Nanoseconds that the guarded program has: 20 s.
const LIMIT: u64 = 20_000_000_000;
/// Nanoseconds in which a thread is at the server that does not answer: 50 ms.
const AWHILE: u64 = 50_000_000;

/// Ways in which the server is hostile; the word of its port says which.
const SILENT: u64 = 0;
const SHORT: u64 = 1;
const GREEDY: u64 = 2;
const SILENT_DIRECTORY: u64 = 3;
/// Files in the order in which they are handed out, so that the first to wait does not hide the
/// others.
const WAYS: [u64; 4] = [SILENT_DIRECTORY, SHORT, GREEDY, SILENT];

/// Address of the server's port.
static SERVER: AtomicU64 = AtomicU64::new(0);
/// Number of the ward, for the thread that ends it.
static WARD: AtomicU64 = AtomicU64::new(0);
/// The directory at which a thread of the guarded program waits.
static DIRECTORY: AtomicU64 = AtomicU64::new(0);

/// Answers one message, or does not.
fn answer(way: u64, label: u32, port: Reference) {
    let status = structures::Status { mode: S_IFDIR | 0o755, ..structures::Status::default() }.to_bytes();
    let long = [b'/'; 16 << 10];
    let bytes: &[u8] = match (way, label) {
        (SHORT, _) => &status[..3],
        (GREEDY, _) => &long,
        (SILENT_DIRECTORY, file::status::LABEL) => &status,
        (SILENT_DIRECTORY, directory::path::LABEL) => b"/bin",
        _ => return keep_waiting(),
    };
    let references = if way == GREEDY { &[port, port, port, port][..] } else { &[] };
    for _ in 0..2 {
        // The second answer finds nobody.
        let _ = ipc::reply(&Message { bytes: Span::from(bytes), references, ..Message::new(0, [u64::MAX; 6]) });
    }
}

/// Keeps the client waiting for ever: nobody answers, and nobody tells it so.
fn keep_waiting() {
    let Ok(slot) = EmptySlot::<Reference>::new() else { return };
    if ipc::detach(slot.address()).is_ok() {
        slot.occupied().leak();
    }
}

fn serve(_: usize) {
    let set = PortSet(SERVER.load(Ordering::Relaxed));
    let mut bytes = [0; 64];
    loop {
        let Ok(received) = ipc::receive(set.address(), Buffers::new(SpanMut::from(&mut bytes[..]), &[]), FOREVER) else { return };
        if received.notification().is_none() {
            answer(received.word, received.label(), Reference::PARENT);
        }
    }
}

/// Ends the guarded program when its time is over.
fn watch(_: usize) {
    let _ = Thread::sleep(LIMIT);
    // The attack ends here, if all is well.
    let _ = process::kill(Reference::PARENT, WARD.load(Ordering::Relaxed), 0, 9, 0, 0);
}

/// Starts the guarded program with one end of a socket as its input, and sends it files of the
/// hostile server.
pub fn attack(_: &[u8]) -> Outcome {
    let (Ok(channels), Ok(services)) = (find(SERVICE_CHANNELS), Services::find()) else { return Ok(Verdict::Absent("channels")) };
    let Ok(Some(ward)) = Ward::new() else { return Ok(Verdict::Absent("process manager")) };
    let pair = channel::pair(channels.handle(), SOCK_STREAM, 0, 0, 0, 0).map_err(why("two sockets"))?;
    let set = nacre_sys::OwnedPortSet::new().map_err(why("a set of ports"))?.leak();
    SERVER.store(set.address(), Ordering::Relaxed);
    for way in WAYS {
        let port = OwnedPort::new(way, set).map_err(why("a port"))?;
        let file = port.new_reference(REFERENCE_USE).map_err(why("a reference"))?;
        send_with(pair.first.handle(), Outgoing::default(), &b"x"[..], &[file.handle()]).map_err(why("sending a file"))?;
        port.leak();
    }
    core::mem::forget(thread::spawn(serve, 0).map_err(why("a thread"))?);
    process::stream_set(ward.port(), 0, pair.second.handle()).map_err(why("its input"))?;
    let program = Program { path: GUARD[0], arguments: &GUARD, environment: &[], directory: b"/", random: [7; 16], sizes: Sizes::default() };
    let child = spawn::spawn(&mut ward.maker(services.files()), &program, Ports { parent: ward.port(), keeper: Reference::NONE }).map_err(|refusal| format!("{refusal}"))?;
    ward.begin(&child, &[&b"guard"[..]], true).map_err(|refusal| format!("{refusal}"))?;
    WARD.store(ward.pid(), Ordering::Relaxed);
    core::mem::forget(thread::spawn(watch, 0).map_err(why("a thread"))?);
    match ward.wait() {
        Ok(0) => Ok(Verdict::Refused),
        Ok(265) => Err("the guard waits for a server that does not answer".into()),
        other => Err(format!("the guarded program ended with {other:?}")),
    }
}

fn receive(socket: Reference) -> Result<OwnedReference, Errno> {
    let slot = OwnedReference::null()?;
    receive_with(socket, 0, 1, &[slot.handle()], &mut [0; 64][..]).map(|_| slot)
}

/// Names a file at the server that does not answer.
fn wait_there(_: usize) {
    let directory = Reference(DIRECTORY.load(Ordering::Relaxed));
    let _ = directory::open(directory, O_RDONLY, 0, &b"sh"[..]);
    let _ = directory::open(directory, O_RDONLY, 0, &b"/bin/sh"[..]);
}

/// The guarded program: takes the files, waits at one of them, and must be able to open a file of
/// its own all the while.
pub fn play() -> Result<(), String> {
    let socket = parent::stream(Reference::PARENT, 0).map_err(why("its input"))?.file;
    let files = find(SERVICE_FILES).map_err(why("the files"))?;
    let directory = receive(socket.handle()).map_err(why("a directory"))?;
    DIRECTORY.store(directory.handle().0, Ordering::Relaxed);
    let waiting = thread::spawn(wait_there, 0).map_err(why("a thread"))?;
    let _ = Thread::sleep(AWHILE);
    directory::open(files.handle(), O_RDONLY, 0, &b"/bin/sh"[..]).map_err(why("opening a file"))?;
    for _ in 1..WAYS.len() {
        let strange = receive(socket.handle()).map_err(why("a file"))?;
        // Whatever it is, it is of no use.
        if file::read(strange.handle(), 0, 16, &mut [0; 16][..]).is_ok() {
            return Err("a file of a server that does not answer can be read".into());
        }
    }
    waiting.join();
    directory::open(files.handle(), O_RDONLY, 0, &b"/bin/sh"[..]).map(drop).map_err(why("opening a file afterwards"))
}
