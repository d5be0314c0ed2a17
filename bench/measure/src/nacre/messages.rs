//! Messages between two spaces, and notifications.

use nacre_abi::ObjectType;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::Errno;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet, Reference};

use super::fixture::{self, Fixture, rest, slot};
use crate::figure::sample_results;

const PAGE: usize = 4096;
const WORDS: [u64; 6] = [1, 2, 3, 4, 5, 6];

/// A server in a space of its own, while `measure` calls it.
pub fn with_server(
    ground: &Fixture,
    server: extern "C" fn(u64) -> !,
    measure: impl FnOnce(Reference) -> Result<u64, Errno>,
) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let reference = port.new_reference(REFERENCE_USE)?;
    let domain = ground.domain()?;
    let _thread = domain.start(server, port.address())?;
    measure(reference.handle())
}

/// Answers words with words.
pub extern "C" fn serve_words(port: u64) -> ! {
    let mut next = ipc::receive_words(port);
    while let Ok(received) = next {
        next = ipc::reply_receive_words(port, 0, received.words);
    }
    rest()
}

/// Takes up to `page.len()` bytes and as many references as there are `slots`, and answers with
/// nothing.
fn serve_into(port: u64, page: &mut [u8], slots: &[Reference]) -> ! {
    let mut next = ipc::receive(port, Buffers::new(&mut *page, slots), FOREVER);
    while next.is_ok() {
        next = ipc::reply_receive(port, &Message::new(0, [0; 6]), Buffers::new(&mut *page, slots), FOREVER);
    }
    rest()
}

extern "C" fn serve_page(port: u64) -> ! {
    serve_into(port, &mut [0; PAGE], &[])
}

extern "C" fn serve_reference(port: u64) -> ! {
    match slot(ObjectType::Reference) {
        Ok(slot) => serve_into(port, &mut [], &[Reference(slot)]),
        Err(_) => rest(),
    }
}

/// Instructions of one message, answered.
fn calls(reference: Reference, message: &Message<'_>) -> Result<u64, Errno> {
    sample_results(500, || ipc::call(reference, message, Buffers::NONE, FOREVER))
}

/// Instructions of a round trip with six words either way.
pub fn time_words(reference: Reference) -> Result<u64, Errno> {
    sample_results(500, || ipc::call_words(reference, 1, WORDS))
}

/// Six words there, six words back.
pub fn round_trip_words(ground: &Fixture) -> Result<u64, Errno> {
    with_server(ground, serve_words, time_words)
}

/// 4 KiB there, nothing back.
pub fn round_trip_page(ground: &Fixture) -> Result<u64, Errno> {
    let page = [7u8; PAGE];
    with_server(ground, serve_page, |reference| calls(reference, &Message::new(1, WORDS).with_bytes(&page)))
}

/// A reference there, nothing back.
pub fn round_trip_reference(ground: &Fixture) -> Result<u64, Errno> {
    let handed = OwnedReference::copy_of(ground.pool, REFERENCE_USE)?;
    let references = [handed.handle()];
    with_server(ground, serve_reference, |reference| calls(reference, &Message::new(1, WORDS).with_references(&references)))
}

/// A notification that nobody waits for.
pub fn notification(_: &Fixture) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let reference = port.new_reference(REFERENCE_NOTIFY)?;
    sample_results(1000, || ipc::notify(reference.handle(), 1))
}

/// State that two threads share that notify each other.
struct Pair {
    there: OwnedPort,
    back: OwnedReference,
}

extern "C" fn pass_back(pair: u64) -> ! {
    // SAFETY: who started this thread destroys it before the pair goes.
    let pair = unsafe { &*(pair as *const Pair) };
    while ipc::receive_words(pair.there.address()).is_ok() && ipc::notify(pair.back.handle(), 1).is_ok() {}
    rest()
}

/// A notification to a thread of another space that waits for it: half of one there and another
/// back.
pub fn notification_to_waiter(ground: &Fixture) -> Result<u64, Errno> {
    let here = OwnedPort::new(0, PortSet::NONE)?;
    let there = OwnedPort::new(0, PortSet::NONE)?;
    let to_there = there.new_reference(REFERENCE_NOTIFY)?;
    // In memory that the other space sees, which the first thread's stack is not.
    let pair = alloc::boxed::Box::new(Pair { back: here.new_reference(REFERENCE_NOTIFY)?, there });
    let domain = ground.domain()?;
    let thread = fixture::start(domain.space.handle(), pass_back, &raw const *pair as u64)?;
    let figure = sample_results(500, || {
        ipc::notify(to_there.handle(), 1)?;
        ipc::receive_words(here.address())
    });
    drop(thread);
    Ok(figure? / 2)
}
