//! Starts a child whose every message passes through a relay, and serves it until it ends.

use super::desk::Desk;
use super::objects::WINDOW_SIZE;
use super::relay::{Relay, Staff};
use super::Watch;
use crate::spawn::{Child, Ports};
use crate::supply::{Segment, Supplier};
use crate::{Refusal, Services, search};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::flags::OWN_POSITION;
use nacre_proto::{file, parent};
use nacre_rt::{Arguments, thread};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPortSet, OwnedReference, Reference, Status, Window};

/// Number of the stream for messages.
const MESSAGES: u64 = 2;
/// Most bytes of one message.
const PIECE: usize = nacre_abi::message::MAX_BYTES as usize;

/// A relay, whatever its monitor.
trait Work: Sync {
    fn work(&self, number: usize) -> Status;
}

impl<W: Watch> Work for Relay<W> {
    fn work(&self, number: usize) -> Status {
        Relay::work(self, number)
    }
}

static RELAY: Lock<Option<&'static dyn Work>> = Lock::new(None);
static SERVICES: Lock<Option<Services>> = Lock::new(None);

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
    move |status| Refusal::Kernel(making, status).to_string()
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
    memory(WINDOW_SIZE)
}

fn worker(number: usize) {
    let relay = *RELAY.lock();
    if let Some(relay) = relay {
        // A worker that cannot work leaves the work to the others.
        let _ = relay.work(number);
    }
}

/// Makes the child.
fn start(command: &[&[u8]], arguments: &Arguments, ports: Ports) -> Result<Child<Services>, Refusal> {
    search::spawn(SERVICES.lock().as_mut().ok_or(Refusal::NotFound)?, command, 0, arguments, ports)
}

/// The name of a command, for messages.
pub fn name(command: &[&[u8]]) -> String {
    command.first().map_or(String::new(), |word| String::from_utf8_lossy(word).into_owned())
}

/// Runs `command`, all of whose messages `watch` sees; `tag` is that of its parent. Ends this program as the child ends, and returns only if there is
/// none: the exit status, or what went wrong. There is one such child in a program.
pub fn run<W: Watch>(watch: W, tag: W::Tag, services: Services, command: &[&[u8]], arguments: &Arguments) -> Result<i32, String> {
    let pool = services.pool_for_child();
    *SERVICES.lock() = Some(services);
    let set = OwnedPortSet::new().map_err(kernel("a set of ports"))?.leak();
    let relay: &'static Relay<W> = Box::leak(Box::new(Relay::new(set, watch, Staff { hire, desk, objects }, pool)));
    *RELAY.lock() = Some(relay);
    let original = OwnedReference::copy_of(Reference::PARENT, REFERENCE_USE).map_err(kernel("a copy of its parent"))?;
    let parent = relay.parent(original.leak(), tag).map_err(kernel("its first proxy"))?;
    let child = start(command, arguments, Ports { parent, keeper: parent });
    let child = match child.and_then(|child| child.start().map(|()| child)) {
        Ok(child) => child,
        Err(refusal) => {
            let program = nacre_rt::Arguments::iter(arguments).next().map_or(String::new(), |word| String::from_utf8_lossy(word).into_owned());
            show(&alloc::format!("{program}: cannot run {}: {refusal}\n", name(command)));
            return Ok(refusal.exit_status() as i32);
        }
    };
    relay.parent_given(child.space());
    // This thread is the first worker.
    relay.hire(|_| true);
    let status = relay.work(0);
    child.destroy();
    Err(alloc::format!("cannot receive: {status:?}"))
}
