//! A descriptor that is sent through a socket leads to this program, which answers as no file does,
//! and turns what the receiver hands over against it: the receiver's port becomes a keeper or a
//! scheduler, and is called.

use crate::outcome::{Outcome, Verdict};
use crate::tools::{MOMENT, Outpost, PATIENCE, find, moment, why};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::{MSG_DONTWAIT, O_RDWR, S_IFCHR, S_IFIFO, S_IFREG, S_IFSOCK, SERVICE_CHANNELS};
use nacre_proto::{Errno, channel, file, parent};
use nacre_raw::random::Random;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{EmptySlot, OwnedMapping, OwnedPort, OwnedReference, OwnedRegion, PortSet, Reference, Region, Thread};

/// Kinds of files that the receiver is told of.
const KINDS: [u64; 4] = [S_IFIFO, S_IFCHR, S_IFSOCK, S_IFREG];
/// Bytes of the record that says what a reference is: mode and flags.
const RECORD: u64 = 8;
/// Slots for what a request brings.
const SLOTS: usize = 8;
/// Largest number of bytes in a message.
const MOST: usize = 16384;
/// Address of a region in the space that exports it and in the space that maps it.
const WINDOW: u64 = 0x10_0000;
const SIZE: u64 = 0x10_0000;

/// Sends a reference to `port` through the socket, as a file of this kind.
fn send(socket: Reference, port: &OwnedPort, kind: u64) -> Result<(), String> {
    let reference = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY).map_err(why("a reference"))?;
    let mut bytes = Vec::from(((kind | 0o600) as u32).to_le_bytes());
    bytes.extend((O_RDWR as u32).to_le_bytes());
    bytes.push(b'x');
    let message = Message::new(channel::send::LABEL, [0, 0, RECORD, 1, 0, 0]).with_bytes(&bytes[..]);
    let sent = ipc::call(socket, &message.with_references(&[reference.handle()]), Buffers::NONE, PATIENCE).map_err(why("sending a file"))?;
    if sent.label() == 0 { Ok(()) } else { Err(format!("sending a file: error {}", sent.label())) }
}

/// Makes a port of the receiver's the keeper of a space, the keeper of a region and the scheduler
/// of a thread, each of which would bring it messages of the kernel. A port that may only be
/// notified must be none of these.
fn forge(port: Reference) -> Result<(), String> {
    if Outpost::with_keeper(port)?.is_some_and(|outpost| outpost.run_from(WINDOW).is_ok()) {
        moment();
        return Err("the port of a receiver became the keeper of a space".into());
    }
    let [source, outpost] = [Outpost::with_keeper(Reference::NONE)?, Outpost::with_keeper(Reference::NONE)?];
    let (Some(source), Some(outpost)) = (source, outpost) else { return Err("a space without keeper was refused".into()) };
    if let Ok(region) = OwnedRegion::new(source.space.handle(), WINDOW, SIZE, Rights::ALL, port) {
        let shown = OwnedMapping::new(outpost.space.handle(), WINDOW, SIZE, Region(region.handle().address()), 0, Rights::ALL).map_err(why("a mapping"))?;
        outpost.run_from(WINDOW)?;
        moment();
        drop(shown);
        return Err("the port of a receiver became the keeper of a region".into());
    }
    if outpost.thread.handle().set_scheduler(port, 1).is_ok() {
        return Err("the port of a receiver became a scheduler".into());
    }
    if ipc::send(port, &Message::new(file::poll::LABEL, [u64::MAX; 6]), MOMENT).is_ok() {
        return Err("the port of a receiver takes messages of others".into());
    }
    // Notifications are what it is for. It looks at its files then, for nothing.
    let _ = ipc::notify(port, u64::MAX);
    Ok(())
}

/// Answers a request: with no events, an error, or nonsense.
fn answer(random: &mut Random, bytes: &mut [u8], references: &[Reference]) {
    bytes.fill_with(|| random.next() as u8);
    let label = random.one_of(&[0, 0, 0, 11, 22, 4095, u64::MAX]) as u32;
    let first = random.one_of(&[0, 0, 0, 1, 5, 4096, u64::MAX, 1 << 63]);
    let words = [first, random.next(), random.below(2), random.next(), 0, u64::MAX];
    let count = random.one_of(&[0, 0, 1, 144, MOST as u64]) as usize;
    let message = Message::new(label, words).with_bytes(&bytes[..count]);
    // Whoever asked may have gone.
    let _ = ipc::reply(&if random.once_in(4) { message.with_references(references) } else { message });
}

/// Returns true if the receiver is done: it says so, or has closed its end.
fn is_over(socket: Reference) -> bool {
    let received = channel::receive(socket, MSG_DONTWAIT, 1, 0, 0, &mut [0; 64][..]);
    !matches!(received, Err(Errno::EAGAIN | Errno::EINTR))
}

/// Serves the file until the receiver is done.
fn serve(socket: Reference, port: &OwnedPort) -> Result<u64, String> {
    let mut random = Random::new(1);
    let (mut forged, mut bytes) = (0, alloc::vec![0; MOST]);
    while !is_over(socket) {
        let slots: Vec<EmptySlot<Reference>> = (0..SLOTS).map(|_| EmptySlot::new()).collect::<Result<_, _>>().map_err(why("slots"))?;
        let handles: Vec<Reference> = slots.iter().map(EmptySlot::handle).collect();
        let Ok(received) = ipc::receive(port.address(), Buffers::new(&mut bytes[..], &handles), MOMENT) else { continue };
        let brought: Vec<OwnedReference> = slots.into_iter().take(received.references()).map(EmptySlot::occupied).collect();
        for reference in &brought {
            forge(reference.handle()).map_err(|why| format!("{why}, by the request {:#x}", received.label()))?;
            forged += 1;
        }
        if received.needs_reply() {
            answer(&mut random, &mut bytes, &[socket]);
        }
    }
    Ok(forged)
}

/// Sends files of each kind to the receiver at standard input, and serves them. Without a receiver
/// there is nothing to attack.
pub fn attack(_: &[u8]) -> Outcome {
    if find(SERVICE_CHANNELS).is_err() {
        return Ok(Verdict::Absent("channels"));
    }
    let socket = parent::stream(Reference::PARENT, 0).map_err(why("the input"))?.file;
    let port = OwnedPort::new(1, PortSet::NONE).map_err(why("a port"))?;
    for kind in KINDS {
        send(socket.handle(), &port, kind)?;
    }
    let forged = serve(socket.handle(), &port)?;
    // What a forgery would bring takes effect while the receiver goes on.
    let _ = Thread::sleep(MOMENT);
    if forged > 0 { Ok(Verdict::Refused) } else { Err("the receiver handed no port over, so nothing was tried".into()) }
}
