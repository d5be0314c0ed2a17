//! Drives a disk and serves the volume on it: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod device;
mod store;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use device::Device;
use nacre_driver::{Carrier, Hands, registers, say, serve};
use nacre_ext4::{MountError, Options, Volume};
use nacre_machine_9p::{Server, Time};
use nacre_nest::clock::Clock;
use nacre_proto::Errno;
use nacre_rt::Arguments;
use nacre_virtio::Block;

nacre_rt::entry!(disk);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a driver of Nacre: build it for a target without an operating system.");
}

/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;
/// Exit status of a driver that could not begin, or had to give up.
const FAILED: i32 = 1;
/// Word of the command that forbids writing.
const READ_ONLY: &[u8] = b"ro";

/// Makes the volume on the disk usable.
fn mount(hands: &mut Hands, is_read_only: bool, clock: Clock) -> Result<Volume<Device>, String> {
    let memory = hands.for_device();
    let block = Block::start(&mut hands.space, hands.function, registers, |size| Some(memory).filter(|memory| size <= memory.memory.size()));
    let block = block.map_err(|fault| fault.0.to_string())?;
    let time = move || {
        let now = clock.start_of_machine().wrapping_add(clock.now());
        Time { seconds: now / SECOND, nanoseconds: now % SECOND }
    };
    let options = Options { read_only: is_read_only, cache: store::CACHE, clock: Box::new(time) };
    Volume::mount(Device { block, clock }, options).map_err(|error| match error {
        MountError::NotExt4 => format!("{error}; mkfs.ext4 makes one, in place of whatever is there"),
        _ => error.to_string(),
    })
}

/// Server with its part of the memory.
struct Served {
    hands: Hands,
    /// The server; none once the machine ends.
    server: Option<Server<Volume<Device>>>,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl Carrier for Served {
    fn carry_out(&mut self, size: u64) -> Result<u64, Errno> {
        let bytes = self.message.get_mut(..size as usize).ok_or(Errno::EPROTO)?;
        self.hands.request().read(0, bytes).ok_or(Errno::EPROTO)?;
        let length = self.server.as_mut().ok_or(Errno::EIO)?.requests(bytes, &mut self.answer);
        self.hands.answer().write(0, &self.answer[..length]).ok_or(Errno::EIO)?;
        Ok(length as u64)
    }

    /// Marks the volume as whole, too.
    fn close(&mut self) -> Result<(), Errno> {
        let volume = self.server.take().map(Server::into_tree);
        volume.map_or(Ok(()), |volume| volume.close().map(drop).map_err(|error| Errno(error.0)))
    }

    fn tick(&mut self) {
        // What cannot be written now is tried again.
        let _ = self.server.as_mut().map(|server| server.tree_mut().tick());
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let is_read_only = arguments.get(1) == Some(READ_ONLY);
    let budget = store::take().map_err(|errno| format!("has no memory: {errno}"))?;
    let clock = Clock::find().map_err(|errno| format!("cannot find the clock: {errno}"))?;
    let mut hands = Hands::take()?;
    let volume = mount(&mut hands, is_read_only, clock).map_err(|why| format!("cannot be used: {why}"))?;
    if let (Some(why), false) = (volume.read_only(), is_read_only) {
        say(name(arguments), &format!("is only read: {why}"));
    }
    if !volume.journalled() && volume.read_only().is_none() {
        say(name(arguments), "has no journal: what is written may be lost or half done if the machine ends suddenly");
    }
    let [message, answer] = [hands.request().size(), hands.answer().size()].map(|size| vec![0; size as usize]);
    let messages = u32::try_from(message.len().min(answer.len())).unwrap_or(u32::MAX);
    serve(&mut Served { hands, server: Some(Server::with_budget(volume, budget).with_messages(messages)), message, answer }, clock)
}

/// Name of the disk, for people.
fn name(arguments: &Arguments) -> &[u8] {
    arguments.get(2).unwrap_or(b"the disk")
}

fn disk(arguments: &Arguments) -> i32 {
    match run(arguments) {
        Ok(()) => 0,
        Err(why) => {
            say(name(arguments), &why);
            FAILED
        }
    }
}
