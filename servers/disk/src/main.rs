//! Drives a disk and serves the volume on it: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod device;
mod hands;
mod store;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use device::Device;
use hands::Hands;
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_ext4::{MountError, Options, Volume};
use nacre_machine_9p::{Server, Time};
use nacre_machine_virtio::FileServer;
use nacre_nest::clock::Clock;
use nacre_proto::flags::REPORT_MESSAGE;
use nacre_proto::{Errno, Event, ServerEndpoint, driver, parent};
use nacre_rt::Arguments;
use nacre_sys::{Code, OwnedPort, PortSet, Reference};
use nacre_virtio::Block;

nacre_rt::entry!(disk);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a driver of Nacre: build it for a target without an operating system.");
}

/// Nanoseconds without a request after which what was written is brought to the disk.
const IDLE: u64 = 5_000_000_000;
/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;
/// Exit status of a driver that could not begin, or had to give up.
const FAILED: i32 = 1;
/// Word of the command that forbids writing.
const READ_ONLY: &[u8] = b"ro";

/// Makes the volume on the disk usable.
fn mount(hands: &mut Hands, is_read_only: bool, clock: Clock) -> Result<Volume<Device>, String> {
    let block = Block::start(&mut hands.space, hands.function, hands::registers, |size| hands.shared.take().filter(|shared| size <= shared.memory.size()));
    let block = block.map_err(|fault| fault.0.to_string())?;
    let time = move || {
        let now = clock.start_of_machine().wrapping_add(clock.now());
        Time { seconds: now / SECOND, nanoseconds: now % SECOND }
    };
    let options = Options { read_only: is_read_only, cache: store::CACHE, clock: Box::new(time) };
    Volume::mount(Device { block, clock }, options).map_err(|error| match error {
        MountError::NotExt4 => format!("{error}; make one there with mkfs.ext4"),
        _ => error.to_string(),
    })
}

/// Server with its part of the memory.
struct Carrier {
    hands: Hands,
    /// The server; none once the machine ends.
    server: Option<Server<Volume<Device>>>,
    message: Vec<u8>,
    answer: Vec<u8>,
    /// Number of the last request, and its result.
    last: (u64, Result<u64, Errno>),
}

impl Carrier {
    /// Carries out the request with this number, once however often it is asked for.
    fn carry_out_once(&mut self, size: u64, number: u64) -> Result<u64, Errno> {
        if self.last.0 != number {
            self.last = (number, self.carry_out(size));
        }
        self.last.1
    }

    /// Carries out the request of so many bytes. Returns the size of the answer.
    fn carry_out(&mut self, size: u64) -> Result<u64, Errno> {
        if size == 0 {
            return self.close().map(|()| 0);
        }
        let bytes = self.message.get_mut(..size as usize).ok_or(Errno::EPROTO)?;
        self.hands.request.read(0, bytes).ok_or(Errno::EPROTO)?;
        let length = self.server.as_mut().ok_or(Errno::EIO)?.request(bytes, &mut self.answer);
        self.hands.answer.write(0, &self.answer[..length]).ok_or(Errno::EIO)?;
        Ok(length as u64)
    }

    /// Brings everything to the disk, and marks the volume as whole.
    fn close(&mut self) -> Result<(), Errno> {
        let volume = self.server.take().map(Server::into_tree);
        volume.map_or(Ok(()), |volume| volume.close().map(drop).map_err(|error| Errno(error.0)))
    }

    /// Carries out requests as they come. Returns why there will be no more.
    fn serve(&mut self, port: &OwnedPort, clock: Clock) -> Result<(), Errno> {
        let (mut endpoint, mut last) = (ServerEndpoint::new(0)?, clock.now());
        loop {
            match endpoint.next(port.address(), IDLE) {
                Ok(Event::Request(mut request)) if request.label() == driver::carry_out::LABEL => match self.carry_out_once(request.words()[0], request.words()[1]) {
                    Ok(length) => request.answer(0, [length, 0, 0, 0, 0, 0]),
                    Err(errno) => request.refuse(errno),
                },
                Ok(Event::Notification { bits, .. }) if bits & NO_REFERENCES != 0 => return Ok(()),
                Ok(_) => {}
                Err(status) if status.code() == Some(Code::TimedOut) => {}
                Err(status) => return Err(status.into()),
            }
            if clock.now().wrapping_sub(last) >= IDLE {
                // What cannot be written now is tried again.
                let _ = self.server.as_mut().map(|server| server.tree_mut().tick());
                last = clock.now();
            }
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let is_read_only = arguments.get(1) == Some(READ_ONLY);
    let budget = store::take().map_err(|errno| format!("has no memory: {errno}"))?;
    let clock = Clock::find().map_err(|errno| format!("cannot find the clock: {errno}"))?;
    let mut hands = Hands::take()?;
    let volume = mount(&mut hands, is_read_only, clock).map_err(|why| format!("cannot be used: {why}"))?;
    if let (Some(why), false) = (volume.read_only(), is_read_only) {
        say(arguments, &format!("is only read: {why}"));
    }
    if !volume.journalled() && volume.read_only().is_none() {
        say(arguments, "has no journal: what is written may be lost or half done if the machine ends suddenly");
    }
    let [message, answer] = [hands.request.size(), hands.answer.size()].map(|size| vec![0; size as usize]);
    let mut carrier = Carrier { hands, server: Some(Server::with_budget(volume, budget)), message, answer, last: (0, Ok(0)) };
    let port = OwnedPort::new(0, PortSet::NONE).map_err(|status| format!("has no port: {status:?}"))?;
    let wire = port.new_reference(REFERENCE_USE).map_err(|status| format!("has no wire: {status:?}"))?;
    driver::ready(Reference::PARENT, wire.handle()).map_err(|errno| format!("cannot begin: {errno}"))?;
    drop(wire);
    let served = carrier.serve(&port, clock);
    let closed = carrier.close();
    served.map_err(|errno| format!("gets no more requests: {errno}"))?;
    closed.map_err(|errno| format!("cannot be written any more: {errno}"))
}

/// Tells the person who runs the machine, of the disk by its name.
fn say(arguments: &Arguments, text: &str) {
    let name = String::from_utf8_lossy(arguments.get(2).unwrap_or(b"the disk"));
    let _ = parent::report(Reference::PARENT, REPORT_MESSAGE, format!("{name} {text}").as_bytes());
}

fn disk(arguments: &Arguments) -> i32 {
    match run(arguments) {
        Ok(()) => 0,
        Err(why) => {
            say(arguments, &why);
            FAILED
        }
    }
}
