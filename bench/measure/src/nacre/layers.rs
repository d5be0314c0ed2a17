//! Messages through layers that interpose, and over a reference that was handed through layers that
//! don't.
//!
//! A layer is a thread in a space of its own that does what `trace` does without its lines: it is
//! ready for all that a message can carry, sends on what it gets, and hands back the answer.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{ObjectType, message::MAX_REFERENCES};
use nacre_proto::Errno;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, OwnedThread, PortSet, Reference, SpanMut};

use super::fixture::{Domain, Fixture, rest, slot};
use super::messages::{serve_words, time_words, with_server};

const CAPACITY: usize = 4096;
const SLOTS: usize = MAX_REFERENCES as usize;

/// Objects of one layer.
struct Layer {
    port: OwnedPort,
    original: Reference,
    request: Vec<u8>,
    reply: Vec<u8>,
    request_slots: [Reference; SLOTS],
    reply_slots: [Reference; SLOTS],
}

/// A layer that runs. Dropped in this order: the thread first.
struct Running {
    _thread: OwnedThread,
    _domain: Domain,
    outer: OwnedReference,
    _layer: Box<Layer>,
}

fn take_slots() -> Result<[Reference; SLOTS], Errno> {
    let mut slots = [Reference::NONE; SLOTS];
    for one in &mut slots {
        *one = Reference(slot(ObjectType::Reference)?);
    }
    Ok(slots)
}

extern "C" fn forward(layer: u64) -> ! {
    // SAFETY: who started this thread destroys it before the layer goes, and leaves the layer to it
    // until then.
    let layer = unsafe { &mut *(layer as *mut Layer) };
    let port = layer.port.address();
    let mut next = ipc::receive(port, Buffers::new(&mut layer.request[..], &layer.request_slots), FOREVER);
    while let Ok(received) = next {
        let references = &layer.request_slots[..received.references()];
        let message = Message::new(received.label(), received.words).with_bytes(&layer.request[..received.bytes()]).with_references(references);
        let buffers = Buffers::new(&mut layer.reply[..], &layer.reply_slots);
        let Ok(reply) = ipc::call(layer.original, &message, buffers, FOREVER) else { break };
        let references = &layer.reply_slots[..reply.references()];
        let answer = Message::new(reply.label(), reply.words).with_bytes(&layer.reply[..reply.bytes()]).with_references(references);
        next = ipc::reply_receive(port, &answer, Buffers::new(&mut layer.request[..], &layer.request_slots), FOREVER);
    }
    rest()
}

fn run_layer(ground: &Fixture, original: Reference) -> Result<Running, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let outer = port.new_reference(REFERENCE_USE)?;
    let (request, reply) = (vec![0; CAPACITY], vec![0; CAPACITY]);
    let mut layer = Box::new(Layer { port, original, request, reply, request_slots: take_slots()?, reply_slots: take_slots()? });
    let domain = ground.domain()?;
    let thread = domain.start(forward, &raw mut *layer as u64)?;
    Ok(Running { _thread: thread, _domain: domain, outer, _layer: layer })
}

/// Runs `count` layers on top of `original`; the last one's reference is what a client calls.
fn run_layers(ground: &Fixture, original: Reference, count: usize) -> Result<Vec<Running>, Errno> {
    let mut layers: Vec<Running> = Vec::with_capacity(count);
    for _ in 0..count {
        let below = layers.last().map_or(original, |layer| layer.outer.handle());
        layers.push(run_layer(ground, below)?);
    }
    Ok(layers)
}

fn outermost(layers: &[Running]) -> Result<Reference, Errno> {
    layers.last().map(|layer| layer.outer.handle()).ok_or(Errno::EINVAL)
}

/// A round trip of six words through `N` layers.
pub fn interposed<const N: usize>(ground: &Fixture) -> Result<u64, Errno> {
    with_server(ground, serve_words, |server| {
        let layers = run_layers(ground, server, N)?;
        time_words(outermost(&layers)?)
    })
}

/// Answers with a reference to the port whose address is the word of the port that it serves.
extern "C" fn hand_out(port: u64) -> ! {
    let mut next = ipc::receive_words(port);
    while let Ok(received) = next {
        let reference = [Reference(received.word)];
        let answer = Message::new(0, [0; 6]).with_references(&reference);
        next = ipc::reply_receive(port, &answer, Buffers::NONE, FOREVER);
    }
    rest()
}

/// Asks `service` for the reference that it hands out.
fn obtain(service: Reference) -> Result<OwnedReference, Errno> {
    let place = OwnedReference::null()?;
    let slots = [place.handle()];
    let reply = ipc::call(service, &Message::new(1, [0; 6]), Buffers::new(SpanMut::EMPTY, &slots), FOREVER)?;
    if reply.references() == 1 { Ok(place) } else { Err(Errno::ENOENT) }
}

/// A round trip of six words over a reference that came through `N` layers as it was.
pub fn handed<const N: usize>(ground: &Fixture) -> Result<u64, Errno> {
    with_server(ground, serve_words, |server| {
        let service = OwnedPort::new(server.0, PortSet::NONE)?;
        let reference = service.new_reference(REFERENCE_USE)?;
        let domain = ground.domain()?;
        let _thread = domain.start(hand_out, service.address())?;
        let layers = run_layers(ground, reference.handle(), N)?;
        let handed = obtain(outermost(&layers)?)?;
        time_words(handed.handle())
    })
}
