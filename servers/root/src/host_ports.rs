//! Ports to the host: channels of bytes with names, which programs open as `/dev/host/NAME`, and
//! one of which carries files out.

use crate::accounts::cost;
use crate::boot::BootFacts;
use crate::bus;
use crate::device_memory::DeviceMemory;
use crate::console::file_part;
use crate::files::Files;
use crate::hardware::monotonic;
use crate::messages::{Item, Messages};
use crate::objects::Objects;
use crate::table::Key;
use crate::tree::open;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_abi::environment::INTERRUPTS;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::Errno;
use nacre_proto::file::{read, write};
use nacre_proto::flags::{POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM};
use nacre_proto::server::{Output, refuse};
use nacre_sys::{OwnedReference, Port, Reference, Span, io};
use nacre_virtio::{Console, Fault};

const LINES: Reference = Reference(INTERRUPTS);
/// Bit of the device's interrupt in a notification, beside those of the serial lines.
pub const BIT: u64 = 1 << 16;
/// Names of ports that start so are root's own, and no program's.
const OWN: &[u8] = b"nacre.";
/// Name of the port that carries files out.
const RECORDS: &[u8] = b"nacre.records";
/// Name of the port that carries the program's output.
const OUTPUT: &[u8] = b"nacre.output";
/// Nanoseconds until the device must have named its ports.
const LIMIT: u64 = 5_000_000_000;
/// Maximum number of readers, of writers and of watchers of a port that wait.
const MAX_WAITING: usize = 64;

/// A request that waits, and the open file whose account pays for that.
struct Waiter<T> {
    reply: OwnedReference,
    file: Key,
    what: T,
}

/// Somebody who is told once of an event.
struct Watcher {
    events: u64,
    bits: u64,
    port: OwnedReference,
    access: u64,
    file: Key,
}

/// Requests that wait for a port, and watchers of it.
#[derive(Default)]
struct Waiting {
    readers: VecDeque<Waiter<usize>>,
    writers: VecDeque<Waiter<Vec<u8>>>,
    watchers: Vec<Watcher>,
    has_node: bool,
}

/// The ports. The head of this module describes them.
#[derive(Default)]
pub struct HostPorts {
    device: Option<Console<DeviceMemory>>,
    line: u64,
    fault: Option<Fault>,
    waiting: Vec<Waiting>,
    records: Option<usize>,
    output: Option<usize>,
    outgoing: Messages,
    /// Bytes of the first of `outgoing`, which the device has not taken yet.
    part: Vec<u8>,
}

impl HostPorts {
    /// Starts the device, if the machine was told of one. Its interrupts go to `port`.
    pub fn start(facts: &BootFacts, port: Port) -> HostPorts {
        let mut ports = HostPorts::default();
        if facts.ports == 0 {
            return ports;
        }
        match bus::console(&facts.own_ranges()) {
            Ok((device, line)) => {
                ports.waiting.resize_with(device.ports().len(), Waiting::default);
                (ports.device, ports.line) = (Some(device), line);
                ports.meet(facts.ports);
                if io::interrupt_bind(LINES, line, port, BIT).is_err() {
                    ports.give_up(Fault("its interrupt is taken"));
                }
            }
            Err(fault) => ports.fault = Some(fault),
        }
        ports
    }

    /// The interrupt line of the device, if it is used.
    pub fn line(&self) -> Option<u64> {
        self.device.as_ref().map(|_| self.line)
    }

    /// Waits until the device has named so many ports: a program may open them at its start.
    fn meet(&mut self, count: u64) {
        let until = monotonic() + LIMIT;
        loop {
            self.process();
            let Some(device) = &self.device else { return };
            let named = device.ports().iter().filter(|port| !port.name().is_empty()).count() as u64;
            if named >= count.min(device.ports().len() as u64) || monotonic() > until {
                break;
            }
        }
        self.records = self.find(RECORDS);
        self.output = self.find(OUTPUT);
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        self.device.as_ref()?.ports().iter().position(|port| port.name() == name)
    }

    /// Returns why the device is not used, once.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Returns the names of ports for programs that have no node yet, with their numbers.
    pub fn take_new(&mut self) -> Vec<(u8, Vec<u8>)> {
        let Some(device) = &self.device else { return Vec::new() };
        let mut found = Vec::new();
        for (number, (port, waiting)) in device.ports().iter().zip(&mut self.waiting).enumerate() {
            let is_new = !waiting.has_node && !port.name().is_empty() && !port.name().starts_with(OWN);
            if is_new {
                waiting.has_node = true;
                found.push((number as u8, port.name().to_vec()));
            }
        }
        found
    }

    fn process(&mut self) {
        if let Some(Err(fault)) = self.device.as_mut().map(Console::process) {
            self.give_up(fault);
        }
    }

    /// Takes the device out of use. Whoever waits is told.
    fn give_up(&mut self, fault: Fault) {
        if let Some(mut device) = self.device.take() {
            device.stop();
        }
        self.fault = Some(fault);
    }

    /// Does what the device asks for after an interrupt.
    pub fn interrupted(&mut self) {
        self.process();
        if self.device.is_some() {
            // Afterwards, since the line stays up until the device was asked.
            let _ = io::interrupt_acknowledge(LINES, self.line);
        }
    }

    fn port(&self, port: u8) -> Result<&nacre_virtio::Port<DeviceMemory>, Errno> {
        self.device.as_ref().and_then(|device| device.ports().get(usize::from(port))).ok_or(Errno::EIO)
    }

    /// Returns bytes to read, none of them at the end; `None`: nothing yet. They are not consumed.
    fn look(&self, port: u8, limit: usize) -> Result<Option<Vec<u8>>, Errno> {
        let port = self.port(port)?;
        if !port.is_readable() {
            return Ok(port.has_ended().then(Vec::new));
        }
        let mut bytes = alloc::vec![0; limit.min(MAX_BYTES as usize)];
        let count = port.peek(&mut bytes);
        bytes.truncate(count);
        Ok(Some(bytes))
    }

    fn consume(&mut self, port: u8, count: usize) {
        if let Some(device) = &mut self.device {
            device.consume(port.into(), count);
        }
    }

    /// Reads for a program; `None`: it must wait.
    pub fn read(&mut self, port: u8, limit: usize) -> Result<Option<Vec<u8>>, Errno> {
        if limit == 0 {
            return Ok(Some(Vec::new()));
        }
        if self.waiting(port)?.readers.iter().any(|waiter| !is_gone(&waiter.reply)) {
            return Ok(None);
        }
        let bytes = self.look(port, limit)?;
        self.consume(port, bytes.as_ref().map_or(0, Vec::len));
        Ok(bytes)
    }

    /// Returns the number of bytes that a port takes now.
    pub fn room(&self, port: u8) -> usize {
        self.port(port).map_or(0, nacre_virtio::Port::room)
    }

    /// Writes for a program, all of `bytes`, so that who is cut off while it waits has written
    /// nothing. `None`: it must wait.
    pub fn write(&mut self, port: u8, bytes: &[u8]) -> Result<Option<usize>, Errno> {
        if bytes.is_empty() {
            return Ok(Some(0));
        }
        if self.waiting(port)?.writers.iter().any(|waiter| !is_gone(&waiter.reply)) {
            return Ok(None);
        }
        self.give(port, bytes)
    }

    fn give(&mut self, port: u8, bytes: &[u8]) -> Result<Option<usize>, Errno> {
        if self.port(port)?.has_ended() {
            return Err(Errno::EIO);
        }
        if self.port(port)?.room() < bytes.len() {
            return Ok(None);
        }
        Ok(self.device.as_mut().map(|device| device.write(port.into(), bytes)))
    }

    fn waiting(&mut self, port: u8) -> Result<&mut Waiting, Errno> {
        self.waiting.get_mut(usize::from(port)).ok_or(Errno::EIO)
    }

    /// Returns an error if no more requests may wait at a port.
    pub fn check_waiting(&mut self, port: u8) -> Result<(), Errno> {
        let waiting = self.waiting(port)?;
        waiting.readers.retain(|waiter| !is_gone(&waiter.reply));
        let is_full = waiting.readers.len() >= MAX_WAITING || waiting.writers.len() >= MAX_WAITING;
        if is_full { Err(Errno::EAGAIN) } else { Ok(()) }
    }

    /// Answers a reader when there is something to read.
    pub fn read_later(&mut self, port: u8, reply: OwnedReference, file: Key, limit: usize) {
        if let Ok(waiting) = self.waiting(port) {
            waiting.readers.push_back(Waiter { reply, file, what: limit });
        }
    }

    /// Answers a writer when there was room for its bytes.
    pub fn write_later(&mut self, port: u8, reply: OwnedReference, file: Key, bytes: &[u8]) {
        if let Ok(waiting) = self.waiting(port) {
            waiting.writers.push_back(Waiter { reply, file, what: bytes.to_vec() });
        }
    }

    /// Returns the events of an open port.
    pub fn events(&self, port: u8, access: u64) -> u64 {
        let Ok(port) = self.port(port) else { return POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLHUP };
        let ended = if port.has_ended() { POLLHUP } else { 0 };
        let readable = if port.is_readable() || port.has_ended() { POLLIN | POLLRDNORM } else { 0 };
        let writable = if port.has_room() || port.has_ended() { POLLOUT | POLLWRNORM } else { 0 };
        ended | match access {
            0 => readable,
            open::WRITE_ONLY => writable,
            _ => readable | writable,
        }
    }

    /// Notifies a port of the kernel's, once, when one of the events is there.
    pub fn watch(&mut self, port: u8, events: u64, bits: u64, to: OwnedReference, access: u64, file: Key) -> Option<Key> {
        let waiting = self.waiting(port).ok()?;
        waiting.watchers.push(Watcher { events, bits, port: to, access, file });
        if waiting.watchers.len() <= MAX_WAITING {
            return None;
        }
        let oldest = waiting.watchers.remove(0);
        let _ = nacre_sys::ipc::notify(oldest.port.handle(), oldest.bits);
        Some(oldest.file)
    }

    /// Answers everybody who has waited long enough.
    pub fn settle(&mut self, objects: &mut Objects) {
        for port in 0..self.waiting.len() as u8 {
            while self.settle_reader(port, objects) {}
            while self.settle_writer(port, objects) {}
            self.settle_watchers(port, objects);
        }
    }

    /// Answers the first reader; false if it must wait on.
    fn settle_reader(&mut self, port: u8, objects: &mut Objects) -> bool {
        let Some((is_gone, limit)) = self.waiting(port).ok().and_then(|waiting| waiting.readers.front().map(|first| (is_gone(&first.reply), first.what))) else { return false };
        let found = if is_gone { Ok(Some(Vec::new())) } else { self.look(port, limit) };
        if matches!(found, Ok(None)) {
            return false;
        }
        let Some(first) = self.waiting(port).ok().and_then(|waiting| waiting.readers.pop_front()) else { return false };
        objects.refund(first.file, cost::WAIT);
        match found {
            Ok(bytes) if !is_gone => {
                let bytes = bytes.unwrap_or_default();
                // What does not arrive is there for the next reader.
                if (read::Output { count: bytes.len() as u64 }).send(first.reply, Span::from(&bytes[..])).is_ok() {
                    self.consume(port, bytes.len());
                }
            }
            Err(errno) => drop(refuse(first.reply, errno)),
            Ok(_) => {}
        }
        true
    }

    /// Answers the first writer; false if it must wait on.
    fn settle_writer(&mut self, port: u8, objects: &mut Objects) -> bool {
        let Some(first) = self.waiting(port).ok().and_then(|waiting| waiting.writers.pop_front()) else { return false };
        let given = if is_gone(&first.reply) { Ok(Some(0)) } else { self.give(port, &first.what) };
        if matches!(given, Ok(None)) {
            let _ = self.waiting(port).map(|waiting| waiting.writers.push_front(first));
            return false;
        }
        objects.refund(first.file, cost::WAIT + first.what.len() as u64);
        let _ = match given {
            Ok(count) => write::Output { count: count.unwrap_or(0) as u64 }.send(first.reply, Span::EMPTY),
            Err(errno) => refuse(first.reply, errno),
        };
        true
    }

    fn settle_watchers(&mut self, port: u8, objects: &mut Objects) {
        let Ok(waiting) = self.waiting(port) else { return };
        if waiting.watchers.is_empty() {
            return;
        }
        let mut watchers = core::mem::take(&mut waiting.watchers);
        watchers.retain(|watcher| {
            let is_due = self.events(port, watcher.access) & (watcher.events | POLLHUP) != 0;
            if is_due {
                // One that has gone need not hear of it.
                let _ = nacre_sys::ipc::notify(watcher.port.handle(), watcher.bits);
            }
            let stays = !is_due && !is_gone(&watcher.port);
            if !stays {
                objects.refund(watcher.file, cost::WAIT);
            }
            stays
        });
        let _ = self.waiting(port).map(|waiting| waiting.watchers = watchers);
    }

    /// The queue of files for the host; `None`: they go over the serial line.
    pub fn outgoing(&mut self) -> Option<&mut Messages> {
        self.records.filter(|_| self.device.is_some())?;
        Some(&mut self.outgoing)
    }

    /// Gives the device as much of the files as it takes.
    pub fn push(&mut self, files: &mut Files) {
        let (Some(device), Some(port)) = (&mut self.device, self.records) else { return };
        while device.ports().get(port).is_some_and(|port| port.has_room()) {
            if self.part.is_empty() {
                self.part = next_part(&mut self.outgoing, files);
            }
            if self.part.is_empty() {
                return;
            }
            let count = device.write(port, &self.part);
            self.part.drain(..count);
        }
    }

    /// Returns true if the program's output goes over a port.
    pub fn carries_output(&self) -> bool {
        self.device.is_some() && self.output.is_some()
    }

    /// Gives the device as much of the program's output as it takes. The device interrupts only for
    /// those who wait: for room, or with `is_over` until the host has all. Nobody gets what a host
    /// that has gone leaves.
    pub fn push_output(&mut self, queue: &mut VecDeque<u8>, is_over: bool) {
        let Some(number) = self.output else { return };
        let mut is_first = true;
        while let Some(device) = &mut self.device {
            if let Err(fault) = device.collect_output(number) {
                return self.give_up(fault);
            }
            let Some(port) = device.ports().get(number) else { return };
            if port.has_ended() {
                queue.clear();
            }
            let waits = !queue.is_empty() || is_over && port.given_count() > 0;
            let count = device.write(number, queue.as_slices().0);
            queue.drain(..count);
            if count == 0 {
                device.be_quiet(number, !waits);
                // Once more, since what the host took just before caused no interrupt.
                if !waits || !core::mem::take(&mut is_first) {
                    return;
                }
            }
        }
    }

    /// Returns the number of buffers and files that the host has not taken; 0 at the end.
    pub fn pending(&self) -> usize {
        let Some(device) = &self.device else { return 0 };
        let given: usize = device.ports().iter().map(nacre_virtio::Port::given_count).sum();
        let left = |item: &Item| match item {
            Item::Bytes(bytes) => bytes.len(),
            Item::File { size, done, .. } => (size - done) as usize,
        };
        given + self.part.len() + self.outgoing.items.iter().map(left).sum::<usize>()
    }
}

/// Takes the next bytes of what goes out; none at the end.
fn next_part(outgoing: &mut Messages, files: &mut Files) -> Vec<u8> {
    let Some(item) = outgoing.items.front_mut() else { return Vec::new() };
    let (bytes, node) = match item {
        Item::Bytes(bytes) => (core::mem::take(bytes), None),
        Item::File { node, size, done } => {
            let bytes = file_part(files, *node, *done, *size);
            *done += bytes.len() as u64;
            if *done < *size {
                return bytes;
            }
            (bytes, Some(*node))
        }
    };
    outgoing.items.pop_front();
    node.into_iter().for_each(|node| files.tree.closed(node));
    // A file without bytes is over already.
    if bytes.is_empty() { next_part(outgoing, files) } else { bytes }
}

/// Returns true if nobody waits for the reply any more.
fn is_gone(reply: &OwnedReference) -> bool {
    reply.is_null().unwrap_or(true)
}
