//! Messages between threads of this program.

use super::checks::{equal, fails, must, text};
use crate::fixture::{FREE_UNIT, NULL, PORT, PORT_SET, strong};
use alloc::string::{String, ToString};
use alloc::vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Call, Code, ObjectType};
use nacre_rt::thread::{self, Handle};
use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_sys::{FOREVER, Reference, Status, Thread};

/// Label that ends a server.
const END: u32 = 1000;
/// A millisecond.
const MILLISECOND: u64 = 1_000_000;

fn target() -> Reference {
    Reference(strong(ObjectType::Port))
}

fn spawn(function: fn(usize)) -> Result<Handle, String> {
    thread::spawn(function, 0).map_err(|errno| alloc::format!("no thread: {errno:?}"))
}

/// Answers each message with its own words, label and bytes, until told to end.
fn echo(_: usize) {
    let mut bytes = vec![0u8; MAX_BYTES as usize];
    let mut received = ipc::receive(PORT, Buffers::new(&mut bytes[..], &[]), FOREVER);
    while let Ok(message) = received {
        let copy = bytes[..message.bytes()].to_vec();
        let answer = Message::new(message.label(), message.words).with_bytes(&copy[..]);
        if message.label() == END {
            let _ = ipc::reply(&answer);
            return;
        }
        received = ipc::reply_receive(PORT, &answer, Buffers::new(&mut bytes[..], &[]), FOREVER);
    }
}

fn end(server: Handle) -> Result<(), String> {
    ipc::call_words(target(), END, [0; 6]).map_err(text("ending the server"))?;
    server.join();
    Ok(())
}

pub fn words() -> Result<(), String> {
    let server = spawn(echo)?;
    for round in 0..100u64 {
        let words = core::array::from_fn(|index| round << 8 | index as u64 | 1 << 63);
        let answer = ipc::call_words(target(), round as u32, words).map_err(text("call"))?;
        equal("words", answer.words, words)?;
        equal("label", answer.label(), round as u32)?;
    }
    end(server)
}

pub fn bytes() -> Result<(), String> {
    let server = spawn(echo)?;
    for size in [0usize, 1, 4095, 4096, MAX_BYTES as usize] {
        let sent: vec::Vec<u8> = (0..size).map(|index| (index * 7 + size) as u8).collect();
        let mut back = vec![0u8; MAX_BYTES as usize];
        let message = Message::new(1, [size as u64; 6]).with_bytes(&sent[..]);
        let answer = ipc::call(target(), &message, Buffers::new(&mut back[..], &[]), FOREVER).map_err(text("call"))?;
        equal("size", answer.bytes(), size)?;
        if back[..size] != sent[..] {
            return Err("the bytes that came back are others".to_string());
        }
    }
    end(server)
}

/// Takes eight references and calls the port itself through the last.
fn take_references(_: usize) {
    let slots: [Reference; 8] = core::array::from_fn(|index| Reference(FREE_UNIT + 64 * index as u64));
    let Ok(received) = ipc::receive(PORT, Buffers::new(&mut [][..], &slots), FOREVER) else { return };
    let revealed = slots[7].reveal(crate::fixture::ARENA, crate::fixture::ARENA_SIZE).ok().flatten();
    let address = revealed.map_or(0, |found| found.address);
    let _ = ipc::reply(&Message::new(0, [received.references() as u64, address, 0, 0, 0, 0]));
}

pub fn references() -> Result<(), String> {
    let server = spawn(take_references)?;
    let sent = [Reference(NULL), target(), target(), target(), target(), target(), target(), Reference(strong(ObjectType::Mutex))];
    let message = Message::new(0, [0; 6]).with_references(&sent);
    let answer = ipc::call(target(), &message, Buffers::NONE, FOREVER).map_err(text("call"))?;
    server.join();
    equal("references", answer.words[0], 8)?;
    equal("what the last leads to", answer.words[1], crate::fixture::MUTEX)
}

/// Takes at most 16 bytes, twice.
fn take_few(_: usize) {
    let mut bytes = [0u8; 16];
    if let Ok(received) = ipc::receive(PORT, Buffers::new(&mut bytes[..], &[]), FOREVER) {
        let _ = ipc::reply(&Message::new(received.label(), received.words));
    }
}

pub fn too_long() -> Result<(), String> {
    let server = spawn(take_few)?;
    let _ = Thread::sleep(MILLISECOND);
    let sent = [1u8; 17];
    let message = Message::new(0, [0; 6]).with_bytes(&sent[..]);
    fails("17 bytes", ipc::call(target(), &message, Buffers::NONE, FOREVER), Code::MessageTooLong)?;
    let message = Message::new(5, [0; 6]).with_bytes(&sent[..16]);
    let answer = ipc::call(target(), &message, Buffers::NONE, FOREVER).map_err(text("16 bytes"))?;
    server.join();
    equal("label", answer.label(), 5)
}

pub fn timeout() -> Result<(), String> {
    fails("receive", ipc::receive(PORT, Buffers::NONE, MILLISECOND), Code::TimedOut)?;
    fails("receive from a set", ipc::receive(PORT_SET, Buffers::NONE, 1), Code::TimedOut)?;
    fails("call", ipc::call(target(), &Message::new(0, [0; 6]), Buffers::NONE, MILLISECOND), Code::TimedOut)
}

pub fn notification() -> Result<(), String> {
    ipc::notify(target(), 5).map_err(text("notify"))?;
    ipc::notify(target(), 1 << 63 | 8).map_err(text("notify"))?;
    let received = ipc::receive(PORT, Buffers::NONE, FOREVER).map_err(text("receive"))?;
    equal("bits", received.notification(), Some(13))?;
    equal("word", received.word, 77)?;
    fails("receive again", ipc::receive(PORT, Buffers::NONE, 1), Code::TimedOut)
}

pub fn rights() -> Result<(), String> {
    let reference = Reference(FREE_UNIT);
    must(Call::PortReference, &[PORT, reference.0, REFERENCE_USE])?;
    fails("notify with USE", ipc::notify(reference, 1), Code::Denied)?;
    fails("receive", ipc::receive(PORT, Buffers::NONE, 1), Code::TimedOut)?;
    must(Call::PortReference, &[PORT, reference.0, REFERENCE_NOTIFY])?;
    fails("call with NOTIFY", ipc::call(reference, &Message::new(0, [0; 6]), Buffers::NONE, MILLISECOND), Code::Denied)?;
    fails("send with NOTIFY", ipc::send(reference, &Message::new(0, [0; 6]), MILLISECOND), Code::Denied)?;
    ipc::notify(reference, 1).map_err(text("notify"))?;
    let received = ipc::receive(PORT, Buffers::NONE, FOREVER).map_err(text("receive"))?;
    equal("bits", received.notification(), Some(1))
}

pub fn no_references() -> Result<(), String> {
    let other = FREE_UNIT;
    must(Call::PortCreate, &[other, 3, 0])?;
    let reference = Reference(FREE_UNIT + 128);
    must(Call::ReferenceCreate, &[reference.0])?;
    must(Call::PortReference, &[other, reference.0, REFERENCE_USE])?;
    must(Call::ReferenceReference, &[reference.0, NULL, REFERENCE_USE])?;
    must(Call::ReferenceDestroy, &[reference.0])?;
    fails("receive", ipc::receive(other, Buffers::NONE, 1), Code::TimedOut)?;
    must(Call::ReferenceDestroy, &[NULL])?;
    let received = ipc::receive(other, Buffers::NONE, FOREVER).map_err(text("receive"))?;
    equal("bits", received.notification(), Some(nacre_abi::message::NO_REFERENCES))
}

/// Detaches its client, then answers it through the reply reference, twice.
fn answer_later(_: usize) {
    let Ok(received) = ipc::receive(PORT, Buffers::NONE, FOREVER) else { return };
    let Ok(reply) = ipc::detach(FREE_UNIT) else { return };
    let _ = Thread::sleep(MILLISECOND);
    let again = ipc::reply(&Message::new(0, [0; 6]));
    let first = ipc::send(reply, &Message::new(0, [received.words[0] + 1, 0, 0, 0, 0, 0]), FOREVER);
    let second = ipc::send(reply, &Message::new(0, [0; 6]), FOREVER);
    let expected = first.is_ok()
        && again.err().and_then(Status::code) == Some(Code::NotConnected)
        && second.err().and_then(Status::code) == Some(Code::NullReference);
    let _ = ipc::notify(target(), if expected { 1 } else { 2 });
}

pub fn detach() -> Result<(), String> {
    let server = spawn(answer_later)?;
    let answer = ipc::call_words(target(), 0, [41, 0, 0, 0, 0, 0]).map_err(text("call"))?;
    equal("word", answer.words[0], 42)?;
    server.join();
    let told = ipc::receive(PORT, Buffers::NONE, FOREVER).map_err(text("receive"))?;
    equal("what the server saw", told.notification(), Some(1))
}

/// Destroys the fixture's port a little later.
fn destroy_port(_: usize) {
    let _ = Thread::sleep(MILLISECOND);
    let _ = must(Call::PortDestroy, &[PORT]);
}

pub fn gone() -> Result<(), String> {
    let helper = spawn(destroy_port)?;
    fails("call", ipc::call_words(target(), 0, [0; 6]), Code::Gone)?;
    helper.join();
    fails("call again", ipc::call_words(target(), 0, [0; 6]), Code::NullReference)
}

/// Waits for ever; tells by a notification how that ended.
fn wait_for_ever(_: usize) {
    let ended = ipc::receive(PORT_SET, Buffers::NONE, FOREVER);
    let interrupted = ended.err().and_then(Status::code) == Some(Code::Interrupted);
    let _ = ipc::notify(target(), if interrupted { 1 } else { 2 });
}

/// Interrupts a thread until it tells that its wait has ended. On a busy machine the first
/// interruption can come before the wait.
fn interrupt_until_told(thread: Thread) -> Result<Received, String> {
    loop {
        thread.interrupt().map_err(text("interrupt"))?;
        thread.start().map_err(text("start"))?;
        match ipc::receive(PORT, Buffers::NONE, 20 * MILLISECOND) {
            Err(status) if status.code() == Some(Code::TimedOut) => {}
            told => return told.map_err(text("receive")),
        }
    }
}

pub fn interrupted() -> Result<(), String> {
    let helper = spawn(wait_for_ever)?;
    let _ = Thread::sleep(MILLISECOND);
    let thread = helper.thread().ok_or("the thread has gone")?;
    thread.stop().map_err(text("stop"))?;
    thread.start().map_err(text("start"))?;
    let _ = Thread::sleep(MILLISECOND);
    fails("a plain stop", ipc::receive(PORT, Buffers::NONE, 1), Code::TimedOut)?;
    let told = interrupt_until_told(thread)?;
    helper.join();
    equal("how the wait ended", told.notification(), Some(1))
}

/// Target of calls that are made for clients.
const BEYOND: u64 = FREE_UNIT;
const TO_BEYOND: Reference = Reference(FREE_UNIT + 1024);
/// Bit that is set when the call of the relay was cut off.
const RELAY_ENDED: u64 = 1;
const CLIENT_ENDED: u64 = 2;

fn tell_if_interrupted<T>(result: Result<T, Status>, bit: u64) {
    let interrupted = result.err().and_then(Status::code) == Some(Code::Interrupted);
    let _ = ipc::notify(TO_BEYOND, if interrupted { bit } else { bit << 8 });
}

fn relay(_: usize) {
    if let Ok(received) = ipc::receive_words(PORT) {
        tell_if_interrupted(ipc::call_words_for_client(TO_BEYOND, received.label(), received.words), RELAY_ENDED);
        // Nobody is there any more for whom it could call.
        tell_if_interrupted(ipc::call_words_for_client(TO_BEYOND, 0, [0; 6]), RELAY_ENDED << 2);
    }
}

fn client(_: usize) {
    tell_if_interrupted(ipc::call_words(target(), 7, [0; 6]), CLIENT_ENDED);
}

/// The bits that come, until there are so many.
fn bits(count: u32) -> Result<u64, String> {
    let mut bits = 0u64;
    while bits.count_ones() < count {
        bits |= ipc::receive_words(BEYOND).map_err(text("receive"))?.notification().unwrap_or(0);
    }
    Ok(bits)
}

pub fn for_client() -> Result<(), String> {
    must(Call::PortCreate, &[BEYOND, 1, 0])?;
    must(Call::ReferenceCreate, &[TO_BEYOND.0])?;
    must(Call::PortReference, &[BEYOND, TO_BEYOND.0, REFERENCE_ALL])?;
    let (relay, client) = (spawn(relay)?, spawn(client)?);
    equal("label", ipc::receive_words(BEYOND).map_err(text("receive"))?.label(), 7)?;
    let thread = client.thread().ok_or("the thread has gone")?;
    fails("while somebody is at work", thread.interrupt_unserved(), Code::Busy)?;
    let slot = FREE_UNIT + 1088;
    must(Call::ReferenceCreate, &[slot])?;
    let reply = ipc::detach(slot).map_err(text("detach"))?;
    thread.interrupt_unserved().map_err(text("interrupt"))?;
    equal("the reply reference leads nowhere", reply.is_null().map_err(text("is_null"))?, true)?;
    fails("the reply", ipc::send(reply, &Message::new(0, [0; 6]), FOREVER), Code::NullReference)?;
    thread.start().map_err(text("start"))?;
    equal("how the waits ended", bits(3)?, RELAY_ENDED | CLIENT_ENDED | RELAY_ENDED << 2)?;
    relay.join();
    client.join();
    Ok(())
}

pub fn sets() -> Result<(), String> {
    for number in 0..4u64 {
        let (port, reference) = (FREE_UNIT + 128 * number, FREE_UNIT + 1024 + 64 * number);
        must(Call::PortCreate, &[port, number + 10, PORT_SET])?;
        must(Call::ReferenceCreate, &[reference])?;
        must(Call::PortReference, &[port, reference, REFERENCE_ALL])?;
        ipc::notify(Reference(reference), 1).map_err(text("notify"))?;
    }
    let mut seen = 0u64;
    for _ in 0..4 {
        seen |= 1 << ipc::receive(PORT_SET, Buffers::NONE, FOREVER).map_err(text("receive"))?.word;
    }
    equal("ports that were received from", seen, 0b1111 << 10)
}
