//! Devices of the PCI bus, made of the command line and of what the environment has.

use crate::balloon::GuestSegment;
use crate::disk::FileDisk;
use crate::entropy::FileRandom;
use crate::exits::PortAccess;
use crate::guest::{Guest, Memory};
use crate::network;
use crate::options::Options;
use crate::share::Share;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_machine_9p::Server;
use nacre_machine_devices::Platform;
use nacre_machine_virtio::{BadState, Balloon, Block, Cards, CardsState, Device, Entropy, Files, LINES, Network, is_configuration_port};
use nacre_nest::Services;

/// Port of the trigger modes of lines 8 to 15.
const TRIGGER_PORT: u16 = 0x4d1;

/// Makes the bus with all devices: random bytes, disks, directories, a balloon, a network card.
pub fn cards(services: &Services, guest: &Guest, options: &Options<'_>) -> Result<Cards, String> {
    let mut devices: Vec<Box<dyn Device>> = Vec::new();
    if let Some(source) = FileRandom::open(services) {
        devices.push(Box::new(Entropy(Box::new(source))));
    }
    for (number, disk) in options.disks.iter().enumerate() {
        let file = FileDisk::open(services, disk.path, disk.is_read_only)?;
        devices.push(Box::new(Block::new(Box::new(file), &format!("disk{number}"))));
    }
    for (number, path) in options.shares.iter().enumerate() {
        let server = Server::new(Share::open(services, path)?);
        devices.push(Box::new(Files::new(&format!("share{number}"), Box::new(server))));
    }
    if options.has_balloon {
        devices.push(Box::new(Balloon(Box::new(GuestSegment(guest.segment())))));
    }
    if options.has_network {
        devices.push(Box::new(Network(Box::new(network::begin(services, devices.len())?))));
    }
    let count = devices.len();
    let cards = Cards::new(devices);
    if cards.count() == count { Ok(cards) } else { Err(format!("a machine has no room for {count} devices")) }
}

/// Makes the interrupt lines of the bus level-triggered, as firmware does.
pub fn wire(platform: &mut Platform) {
    let modes = LINES.iter().fold(0, |modes, line| modes | 1u32 << (line - 8));
    platform.write(TRIGGER_PORT, 1, modes, 0);
}

/// The bus with the guest's memory, which its devices reach.
pub struct Extension {
    /// Bus and devices.
    pub cards: Cards,
    /// Memory of the guest.
    pub memory: Memory,
    /// State of all before the first instruction.
    first: CardsState,
}

impl Extension {
    /// A bus as it is before the first instruction.
    pub fn new(cards: Cards, memory: Memory) -> Extension {
        let first = cards.state();
        Extension { cards, memory, first }
    }

    /// Brings bus and devices to their first state.
    pub fn reset(&mut self) -> Result<(), BadState> {
        self.cards.set_state(&self.first)
    }

    /// Returns true if an access is for the bus. Devices that do not move come before those that
    /// the guest may put anywhere.
    fn has(&self, access: PortAccess, platform: &Platform) -> bool {
        is_configuration_port(access.port, access.width)
            || !platform.has_port(access.port) && self.cards.has_port(access.port, access.width)
    }

    /// Reads a port, if it is one of the bus.
    pub fn read(&mut self, access: PortAccess, platform: &mut Platform) -> Option<u32> {
        let value = self.has(access, platform).then(|| self.cards.read(access.port, access.width))?;
        self.follow_lines(platform);
        Some(value)
    }

    /// Writes a port. Returns false if it is none of the bus.
    pub fn write(&mut self, access: PortAccess, value: u32, platform: &mut Platform) -> bool {
        let is_here = self.has(access, platform);
        if is_here {
            self.cards.write(access.port, access.width, value, &mut self.memory);
            self.follow_lines(platform);
        }
        is_here
    }

    /// Returns true if requests were left for the next turn.
    pub fn has_rest(&self) -> bool {
        self.cards.has_rest()
    }

    /// Serves a queue of a device, for whose other end something has come.
    pub fn serve(&mut self, device: usize, queue: usize, platform: &mut Platform) {
        self.cards.serve(device, queue, &mut self.memory);
        self.follow_lines(platform);
    }

    /// Gives a turn to each device with requests that were left.
    pub fn serve_rest(&mut self, platform: &mut Platform) {
        self.cards.serve_rest(&mut self.memory);
        self.follow_lines(platform);
    }

    /// Passes the levels of the bus's interrupt lines on.
    fn follow_lines(&self, platform: &mut Platform) {
        LINES.iter().for_each(|line| platform.set_line(*line, self.cards.line(*line)));
    }
}
