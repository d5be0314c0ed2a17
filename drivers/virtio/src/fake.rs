//! A console, or a network card, that is not there: registers, memory and a host in a vector. It
//! follows the rules, until somebody scribbles over the memory that it shares.

use crate::memory::{Memory, Shared};
use crate::pci::Configuration;
use crate::{BLOCK, CONSOLE, ENTROPY, NETWORK, VENDOR};
use alloc::rc::Rc;
use alloc::vec::Vec;
use alloc::{collections::VecDeque, vec};
use core::cell::RefCell;

/// Slot of the function, and where its capabilities and registers are.
const SLOT: u8 = 3;
const CAPABILITIES: [(u8, u32, u32, u32); 4] = [(0x40, 1, 0, 0x38), (0x54, 2, 0x3000, 0x1000), (0x68, 3, 0x1000, 4), (0x78, 4, 0x2000, 0x10)];
/// Size of the registers.
const REGISTERS: u64 = 0x4000;
/// Bytes between notification registers.
const STRIDE: u64 = 4;
/// Numbers of the control queues.
const CONTROL_IN: usize = 2;
const CONTROL_OUT: usize = 3;
/// First address of the memory, as the device counts.
const BASE: u64 = 0x10_0000;

#[derive(Clone, Default)]
struct Ring {
    parts: [u64; 3],
    seen: u16,
    given: u16,
    size: u64,
    enabled: bool,
}

/// State of the device and its host.
pub struct State {
    memory: Vec<u8>,
    taken: usize,
    space: Vec<u8>,
    bar_is_asked: bool,
    rings: Vec<Ring>,
    selected: usize,
    status: u8,
    names: Vec<Vec<u8>>,
    /// Bytes that the guest wrote to each port.
    pub sent: Vec<Vec<u8>>,
    control: VecDeque<Vec<u8>>,
    is_card: bool,
    /// Contents, if it is a disk.
    pub disk: Option<Vec<u8>>,
    /// Status that the disk answers with, and bytes that it claims to have written more.
    pub answer: (u8, u32),
    /// The host takes no bytes for now.
    pub is_slow: bool,
    /// Number of notifications.
    pub notified: usize,
}

/// The device. Clones are the same device.
#[derive(Clone)]
pub struct Device(pub Rc<RefCell<State>>);

/// Registers of the device.
#[derive(Clone)]
pub enum FakeMemory {
    /// The registers.
    Registers(Device),
    /// Memory: first byte and size.
    Shared(Device, usize, usize),
}

impl Device {
    /// A device with ports of these names.
    pub fn new(names: &[&[u8]]) -> Device {
        let mut space = vec![0; 256];
        space[..4].copy_from_slice(&(u32::from(VENDOR) | u32::from(CONSOLE) << 16).to_le_bytes());
        (space[6], space[0x34], space[0x3d]) = (0x10, CAPABILITIES[0].0, 1);
        space[0x20] = 0xc;
        for (number, (at, kind, start, size)) in CAPABILITIES.into_iter().enumerate() {
            let at = usize::from(at);
            let next = CAPABILITIES.get(number + 1).map_or(0, |next| next.0);
            space[at..at + 5].copy_from_slice(&[9, next, 20, kind as u8, 4]);
            space[at + 8..at + 12].copy_from_slice(&start.to_le_bytes());
            space[at + 12..at + 16].copy_from_slice(&size.to_le_bytes());
            if kind == 2 {
                space[at + 16] = STRIDE as u8;
            }
        }
        let state = State {
            memory: vec![0; 8 << 20],
            taken: 0,
            space,
            bar_is_asked: false,
            rings: vec![Ring::default(); 4 + 2 * names.len()],
            selected: 0,
            status: 0,
            names: names.iter().map(|name| name.to_vec()).collect(),
            sent: vec![Vec::new(); names.len()],
            control: VecDeque::new(),
            is_card: false,
            disk: None,
            answer: (0, 0),
            is_slow: false,
            notified: 0,
        };
        Device(Rc::new(RefCell::new(state)))
    }

    /// A network card. What it sends is in `sent`, one after the other, with its heads.
    pub fn card() -> Device {
        let device = Device::new(&[b""]);
        {
            let mut state = device.0.borrow_mut();
            state.space[2..4].copy_from_slice(&NETWORK.to_le_bytes());
            state.rings.truncate(2);
            state.is_card = true;
        }
        device
    }

    /// A source of random bytes, which come by [`Device::arrive`].
    pub fn entropy() -> Device {
        let device = Device::card();
        {
            let mut state = device.0.borrow_mut();
            state.space[2..4].copy_from_slice(&ENTROPY.to_le_bytes());
            state.rings.truncate(1);
        }
        device
    }

    /// A disk with these contents.
    pub fn disk(contents: Vec<u8>) -> Device {
        let device = Device::new(&[b""]);
        {
            let mut state = device.0.borrow_mut();
            state.space[2..4].copy_from_slice(&BLOCK.to_le_bytes());
            state.rings.truncate(1);
            state.disk = Some(contents);
        }
        device
    }

    /// A frame comes to the card, with its head, or bytes from the source. Returns false if there
    /// is no buffer for them.
    pub fn arrive(&self, frame: &[u8]) -> bool {
        self.0.borrow_mut().put(0, frame).is_some()
    }

    /// Returns true if the guest wants no interrupts of a queue.
    pub fn is_quiet(&self, queue: usize) -> bool {
        let state = self.0.borrow();
        state.number(state.rings[queue].parts[1], 2) & 1 != 0
    }

    /// The registers, and their size.
    pub fn registers(&self) -> (FakeMemory, u64) {
        (FakeMemory::Registers(self.clone()), REGISTERS)
    }

    /// Memory for the device.
    pub fn take(&self, size: u64) -> Option<Shared<FakeMemory>> {
        let mut state = self.0.borrow_mut();
        let start = state.taken;
        state.taken += size as usize;
        (state.taken <= state.memory.len()).then(|| Shared { memory: FakeMemory::Shared(self.clone(), start, size as usize), address: BASE + start as u64 })
    }

    /// The host writes to a port; how many bytes the guest had room for.
    pub fn feed(&self, port: usize, bytes: &[u8]) -> usize {
        let mut state = self.0.borrow_mut();
        let queue = 4 + 2 * port;
        let mut count = 0;
        while count < bytes.len() {
            let Some(put) = state.put(queue, &bytes[count..]) else { break };
            count += put;
        }
        count
    }

    /// The host opens or closes a port.
    pub fn open(&self, port: usize, is_open: bool) {
        let mut state = self.0.borrow_mut();
        state.tell(port as u32 + 1, 6, u16::from(is_open), &[]);
    }

    /// Tells the guest something of a port.
    pub fn tell(&self, port: u32, kind: u16, value: u16, name: &[u8]) {
        self.0.borrow_mut().tell(port, kind, value, name);
    }

    /// The host takes what the guest has given.
    pub fn catch_up(&self) {
        let mut state = self.0.borrow_mut();
        state.is_slow = false;
        (0..state.names.len()).for_each(|port| state.serve(4 + 2 * port + 1));
    }

    /// The disk carries out what the guest has given.
    #[cfg(test)]
    pub fn catch_up_disk(&self) {
        let mut state = self.0.borrow_mut();
        state.is_slow = false;
        state.serve_disk();
    }

    /// Changes a byte of the memory that was taken.
    pub fn scribble(&self, at: usize, byte: u8) {
        let mut state = self.0.borrow_mut();
        let taken = state.taken.max(1);
        state.memory[at % taken] = byte;
    }

    /// Changes a byte of the rings of a queue.
    pub fn scribble_ring(&self, queue: usize, at: usize, byte: u8) {
        let mut state = self.0.borrow_mut();
        let count = state.rings.len();
        let start = state.rings[queue % count].parts[2].saturating_sub(BASE) as usize;
        if let Some(place) = state.memory.get_mut(start + at % 300) {
            *place = byte;
        }
    }
}

impl State {
    fn number(&self, at: u64, width: usize) -> u64 {
        let start = at.wrapping_sub(BASE) as usize;
        let bytes = start.checked_add(width).and_then(|end| self.memory.get(start..end)).unwrap_or(&[]);
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn store(&mut self, at: u64, bytes: &[u8]) {
        let start = at.wrapping_sub(BASE) as usize;
        if let Some(place) = start.checked_add(bytes.len()).and_then(|end| self.memory.get_mut(start..end)) {
            place.copy_from_slice(bytes);
        }
    }

    /// The next buffer of a queue: descriptor, address, length.
    fn next(&mut self, queue: usize) -> Option<(u16, u64, usize)> {
        let ring = self.rings.get(queue).filter(|ring| ring.enabled && ring.size > 0)?.clone();
        if self.number(ring.parts[1] + 2, 2) as u16 == ring.seen {
            return None;
        }
        let index = self.number(ring.parts[1] + 4 + 2 * (u64::from(ring.seen) % ring.size), 2) as u16;
        self.rings[queue].seen = ring.seen.wrapping_add(1);
        let at = ring.parts[0] + 16 * u64::from(index);
        Some((index, self.number(at, 8), self.number(at + 8, 4) as usize))
    }

    fn give_back(&mut self, queue: usize, index: u16, length: usize) {
        let ring = self.rings[queue].clone();
        let at = ring.parts[2] + 4 + 8 * (u64::from(ring.given) % ring.size);
        self.store(at, &u32::from(index).to_le_bytes());
        self.store(at + 4, &(length as u32).to_le_bytes());
        self.rings[queue].given = ring.given.wrapping_add(1);
        self.store(ring.parts[2] + 2, &self.rings[queue].given.to_le_bytes());
    }

    fn put(&mut self, queue: usize, bytes: &[u8]) -> Option<usize> {
        let (index, at, room) = self.next(queue)?;
        let count = room.min(bytes.len());
        self.store(at, &bytes[..count]);
        self.give_back(queue, index, count);
        Some(count)
    }

    fn tell(&mut self, port: u32, kind: u16, value: u16, name: &[u8]) {
        let message = [&port.to_le_bytes()[..], &kind.to_le_bytes(), &value.to_le_bytes(), name].concat();
        self.control.push_back(message);
        self.tell_more();
    }

    fn tell_more(&mut self) {
        while let Some(message) = self.control.front().cloned()
            && self.put(CONTROL_IN, &message).is_some()
        {
            self.control.pop_front();
        }
    }

    /// Takes the frames that the guest sends.
    fn serve_card(&mut self, queue: usize) {
        while queue == 1
            && !self.is_slow
            && let Some((index, at, length)) = self.next(queue)
        {
            let bytes: Vec<u8> = (0..length.min(1 << 16) as u64).map(|offset| self.number(at.wrapping_add(offset), 1) as u8).collect();
            self.give_back(queue, index, 0);
            self.sent[0].extend(bytes);
        }
    }

    /// Carries out the requests that the guest has given: head, bytes, place for the status.
    fn serve_disk(&mut self) {
        while let Some((index, head, _)) = self.next(0) {
            let mut disk = self.disk.take().unwrap_or_default();
            let descriptor = |state: &Self, index: u64| {
                let at = state.rings[0].parts[0] + 16 * index;
                (state.number(at, 8), state.number(at + 8, 4) as usize, state.number(at + 14, 2))
            };
            let (kind, at) = (self.number(head, 4), self.number(head + 8, 8) as usize * 512);
            let (mut buffer, mut size, next) = descriptor(self, descriptor(self, index.into()).2);
            if kind <= 1 {
                let place = disk.get_mut(at..at + size).unwrap_or(&mut []);
                for (offset, byte) in place.iter_mut().enumerate() {
                    match kind {
                        0 => self.store(buffer + offset as u64, &[*byte]),
                        _ => *byte = self.number(buffer + offset as u64, 1) as u8,
                    }
                }
                size = if kind == 0 { size + 1 } else { 1 };
                buffer = descriptor(self, next).0;
            }
            self.store(buffer, &[self.answer.0]);
            self.give_back(0, index, size + self.answer.1 as usize);
            self.disk = Some(disk);
        }
    }

    fn serve(&mut self, queue: usize) {
        if self.disk.is_some() {
            if !self.is_slow {
                self.serve_disk();
            }
            return;
        }
        if self.is_card {
            return self.serve_card(queue);
        }
        let port = (queue / 2).saturating_sub(2);
        if queue >= 4 && (self.is_slow || queue % 2 == 0) {
            return;
        }
        while queue != CONTROL_IN
            && let Some((index, at, length)) = self.next(queue)
        {
            let bytes: Vec<u8> = (0..length.min(1 << 16) as u64).map(|offset| self.number(at.wrapping_add(offset), 1) as u8).collect();
            self.give_back(queue, index, 0);
            match queue {
                CONTROL_OUT => self.hear(&bytes),
                _ => self.sent[port].extend(&bytes),
            }
        }
        self.tell_more();
    }

    fn hear(&mut self, message: &[u8]) {
        let Some(&[port, _, _, _, kind, _, value, _]) = message.first_chunk::<8>() else { return };
        match (kind, value) {
            (0, 1) => (1..=self.names.len() as u32).for_each(|port| self.tell(port, 1, 1, &[])),
            (3, 1) => {
                let name = self.names.get(usize::from(port).wrapping_sub(1)).cloned().unwrap_or_default();
                self.tell(port.into(), 7, 1, &[&name[..], &[0]].concat());
                self.tell(port.into(), 6, 1, &[]);
            }
            _ => {}
        }
    }

    fn read_register(&self, at: u64) -> u64 {
        match at {
            4 => u64::from(u32::MAX),
            18 => self.rings.len() as u64,
            20 => self.status.into(),
            24 => 128,
            30 => self.selected as u64,
            // Each interrupt is its own.
            0x1000 => 1,
            0x2000 if let Some(disk) = &self.disk => disk.len() as u64 / 512,
            0x2004 if self.disk.is_some() => 0,
            0x2004 => self.names.len() as u64 + 1,
            _ => 0,
        }
    }

    fn write_register(&mut self, at: u64, value: u64) {
        let count = self.rings.len();
        match at {
            20 => self.status = value as u8,
            22 => self.selected = value as usize % count,
            24 => self.rings[self.selected].size = value.clamp(1, 128),
            28 => self.rings[self.selected].enabled = true,
            32..56 => {
                let part = &mut self.rings[self.selected].parts[(at as usize - 32) / 8];
                *part = if at % 8 == 0 { *part & !0xffff_ffff | value } else { *part & 0xffff_ffff | value << 32 };
            }
            0x3000.. => {
                self.notified += 1;
                self.serve(((at - 0x3000) / STRIDE) as usize % count);
            }
            _ => {}
        }
    }
}

impl Configuration for Device {
    fn read(&mut self, slot: u8, offset: u8) -> u32 {
        let state = self.0.borrow();
        let at = usize::from(offset & !3);
        match (slot, at) {
            (SLOT, 0x20) if state.bar_is_asked => !(REGISTERS as u32 - 1) | 0xc,
            (SLOT, 0x24) if state.bar_is_asked => u32::MAX,
            (SLOT, at) => state.space[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)),
            _ => u32::MAX,
        }
    }

    fn write(&mut self, slot: u8, offset: u8, value: u32) {
        if slot == SLOT && (0x20..0x28).contains(&offset) {
            self.0.borrow_mut().bar_is_asked = value == u32::MAX;
        }
    }
}

impl Memory for FakeMemory {
    fn read(&self, at: u64, width: u64) -> u64 {
        match self {
            FakeMemory::Registers(device) => device.0.borrow().read_register(at),
            FakeMemory::Shared(device, start, size) => {
                assert!(at.is_multiple_of(width) && at + width <= *size as u64, "{width} bytes at {at} of {size}");
                device.0.borrow().number(BASE + *start as u64 + at, width as usize)
            }
        }
    }

    fn write(&self, at: u64, width: u64, value: u64) {
        match self {
            FakeMemory::Registers(device) => device.0.borrow_mut().write_register(at, value),
            FakeMemory::Shared(device, start, size) => {
                assert!(at.is_multiple_of(width) && at + width <= *size as u64, "{width} bytes at {at} of {size}");
                device.0.borrow_mut().store(BASE + *start as u64 + at, &value.to_le_bytes()[..width as usize]);
            }
        }
    }

    fn copy_out(&self, at: u64, to: &mut [u8]) {
        let FakeMemory::Shared(device, start, size) = self else { return };
        assert!(at as usize + to.len() <= *size);
        to.copy_from_slice(&device.0.borrow().memory[start + at as usize..][..to.len()]);
    }

    fn copy_in(&self, at: u64, from: &[u8]) {
        let FakeMemory::Shared(device, start, size) = self else { return };
        assert!(at as usize + from.len() <= *size);
        device.0.borrow_mut().memory[start + at as usize..][..from.len()].copy_from_slice(from);
    }
}

/// Drives a console while the device does what the bytes say: it scribbles over rings and buffers
/// between any two steps of the driver.
pub fn hostile(bytes: &[u8]) {
    let mut device = Device::new(&[b"a", b"b"]);
    let (other, source, memory) = (device.clone(), device.clone(), &mut device);
    let Some(function) = crate::find(memory, VENDOR, CONSOLE) else { return };
    let Ok(mut console) = crate::Console::start(memory, function, |_| Some(other.registers()), &mut |size| source.take(size)) else { return };
    for choice in bytes.chunks_exact(4) {
        let [kind, a, b, c] = [choice[0], choice[1], choice[2], choice[3]];
        let port = usize::from(a % 3);
        match kind % 8 {
            0 => other.scribble_ring(a.into(), b.into(), c),
            1 => other.scribble(usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c), kind),
            2 => other.tell(u32::from(a % 4), u16::from(b % 9), u16::from(c % 2), choice),
            3 => drop(other.feed(port.min(1), &vec![c; usize::from(b) * 64])),
            4 => drop(console.write(port, &vec![c; usize::from(b) * 64])),
            5 => {
                let count = console.ports().get(port).map_or(0, |port| port.peek(&mut vec![0; usize::from(b) * 64]));
                console.consume(port, count);
            }
            6 => other.catch_up(),
            _ => {}
        }
        if kind & 0x80 != 0 && console.process().is_err() {
            console.stop();
            return;
        }
    }
}

/// Starts a console whose configuration space has these bytes written over it: triples of place,
/// value, and whatever decides what the registers say.
pub fn broken_space(bytes: &[u8]) {
    let mut device = Device::new(&[b"a"]);
    for triple in bytes.chunks_exact(3) {
        device.0.borrow_mut().space[usize::from(triple[0])] = triple[1];
    }
    let Some(function) = crate::find(&mut device, VENDOR, CONSOLE) else { return };
    let _ = (function.line(&mut device), (0..8).map(|number| function.bar(&mut device, number)).collect::<Vec<_>>());
    let (other, source) = (device.clone(), device.clone());
    let started = crate::Console::start(&mut device, function, |_| Some(other.registers()), &mut |size| source.take(size));
    if let Ok(mut console) = started {
        let _ = console.process();
    }
}
