//! Tests of devices through their registers, as a driver uses them.

use super::*;
use crate::{Balloon, Block, Console, Disk, DiskError, Entropy, FileServer, Files, Network, Random, Reclaim, Terminal, Wire};
use alloc::vec::Vec;
use std::sync::{Arc, Mutex};
use nacre_machine_memory::VecMemory;

type Shared = Arc<Mutex<Vec<u8>>>;

const TABLE: u64 = 0x1000;
const BUFFERS: u64 = 0x8000;

struct Bytes(Shared, bool);

impl Disk for Bytes {
    fn size(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    fn is_read_only(&self) -> bool {
        self.1
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), DiskError> {
        into.copy_from_slice(&self.0.lock().unwrap()[at as usize..][..into.len()]);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.0.lock().unwrap()[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        Err(DiskError)
    }
}

struct Other(Shared);

impl Random for Other {
    fn fill(&mut self, into: &mut [u8]) -> usize {
        into.fill(7);
        into.len()
    }
}

impl Terminal for Other {
    fn write(&mut self, bytes: &[u8]) {
        self.0.lock().unwrap().extend(bytes);
    }

    fn read(&mut self, into: &mut [u8]) -> usize {
        let mut bytes = self.0.lock().unwrap();
        let count = bytes.len().min(into.len());
        into.iter_mut().zip(bytes.drain(..count)).for_each(|(place, byte)| *place = byte);
        count
    }
}

impl FileServer for Other {
    fn max_message(&self) -> usize {
        16
    }

    fn request(&mut self, message: &[u8], answer: &mut [u8]) -> usize {
        let count = message.len().min(answer.len());
        answer[..count].copy_from_slice(&message[..count]);
        count
    }
}

/// A driver with the memory that it shares with its device.
struct Driver {
    virtio: Virtio,
    memory: VecMemory,
    given: [u16; 3],
}

impl Driver {
    /// Starts a device. Each queue has four descriptors.
    fn start(device: Box<dyn Device>) -> Driver {
        let count = device.queue_sizes().len();
        let memory = VecMemory::new(0x2_0000);
        let mut driver = Driver { virtio: Virtio::new(device), memory, given: [0; 3] };
        for (offset, width, value) in [(20, 1, 0), (20, 1, 3), (8, 4, 1), (12, 4, 1), (20, 1, 11)] {
            driver.write(offset, width, value);
        }
        assert_eq!(driver.virtio.read(20, 1), 11, "version 1 is accepted");
        for queue in 0..count as u32 {
            let page = TABLE as u32 + queue * 0x1000;
            let parts = [(24, 2, 4), (32, 4, page), (40, 4, page + 0x100), (48, 4, page + 0x200)];
            driver.write(22, 2, queue);
            parts.into_iter().for_each(|(offset, width, value)| driver.write(offset, width, value));
            driver.write(28, 2, 1);
        }
        driver.write(20, 1, 15);
        driver
    }

    fn write(&mut self, offset: u32, width: u8, value: u32) {
        self.virtio.write(offset, width, value, &mut self.memory);
    }

    /// Makes a request of bytes and room for an answer. Returns the answer, as long as the device
    /// says.
    fn request(&mut self, queue: usize, bytes: &[u8], room: u32) -> Vec<u8> {
        let page = TABLE + queue as u64 * 0x1000;
        self.memory.write(BUFFERS, bytes).unwrap();
        let answer_at = BUFFERS + bytes.len() as u64;
        let parts = [(BUFFERS, bytes.len() as u32, 1u16, 1u16), (answer_at, room, 2, 0)];
        for (place, (at, length, flags, next)) in (0..).zip(parts) {
            let flags = if room == 0 { 0 } else { flags };
            let words = [&at.to_le_bytes()[..], &length.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
            self.memory.write(page + 16 * place, &words.concat()).unwrap();
        }
        let place = self.given[queue] % 4;
        self.given[queue] += 1;
        // An input's buffers have nothing that the device reads.
        let head = u16::from(bytes.is_empty());
        self.memory.write(page + 0x104 + 2 * u64::from(place), &head.to_le_bytes()).unwrap();
        self.memory.write(page + 0x102, &self.given[queue].to_le_bytes()).unwrap();
        self.write(NOTIFY, 2, queue as u32);
        let mut length = [0; 4];
        self.memory.read(page + 0x208 + 8 * u64::from(place), &mut length).unwrap();
        let mut answer = vec![0; u32::from_le_bytes(length) as usize];
        self.memory.read(answer_at, &mut answer).unwrap();
        answer
    }
}

fn header(kind: u32, sector: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat()
}

fn disk(is_read_only: bool) -> (Driver, Shared) {
    let contents = Arc::new(Mutex::new(vec![0; 0x1_0000]));
    let device = Block::new(Box::new(Bytes(contents.clone(), is_read_only)), "disk0");
    (Driver::start(Box::new(device)), contents)
}

#[test]
fn a_disk_is_read_and_written() {
    let (mut driver, contents) = disk(false);
    assert_eq!([0x40, 0x44, 0x54].map(|at| driver.virtio.read(at, 4)), [128, 0, 512]);
    let data = [header(1, 2), vec![5; 1024]].concat();
    assert_eq!(driver.request(0, &data, 1), [0]);
    assert_eq!(contents.lock().unwrap()[1023..1026], [0, 5, 5]);
    assert!(driver.virtio.interrupt());
    assert_eq!((driver.virtio.read(INTERRUPT, 1), driver.virtio.interrupt()), (1, false));
    let answer = driver.request(0, &header(0, 3), 513);
    assert_eq!((answer.len(), answer[0], answer[511], answer[512]), (513, 5, 5, 0));
    assert_eq!(driver.request(0, &header(8, 0), 21), *b"disk0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
}

#[test]
fn what_a_disk_cannot_do_fails() {
    let (mut driver, _) = disk(false);
    let status = |driver: &mut Driver, kind, sector, room: usize| {
        driver.request(0, &header(kind, sector), room as u32);
        driver.memory.0[BUFFERS as usize + 16 + room - 1]
    };
    assert_eq!(status(&mut driver, 0, 128, 513), 1, "beyond the end");
    assert_eq!(status(&mut driver, 0, u64::MAX, 513), 1);
    assert_eq!(status(&mut driver, 0, 0, 512), 1, "no whole sector");
    assert_eq!(status(&mut driver, 4, 0, 1), 1, "the flush fails");
    assert_eq!(status(&mut driver, 99, 0, 1), 2, "an unknown kind");
    let (mut driver, contents) = disk(true);
    driver.request(0, &[header(1, 0), vec![1; 512]].concat(), 1);
    assert_eq!(driver.memory.0[BUFFERS as usize + 528], 1, "read-only");
    assert_eq!(contents.lock().unwrap()[0], 0);
    driver.request(0, &header(0, 0)[..8], 1);
    assert!(driver.virtio.is_broken(), "no whole header");
}

#[test]
fn a_turn_of_a_disk_is_bounded_and_the_rest_comes_later() {
    let contents = Arc::new(Mutex::new(vec![7; 4 << 20]));
    let mut driver = Driver::start(Box::new(Block::new(Box::new(Bytes(contents, true)), "disk0")));
    driver.memory = VecMemory::new(16 << 20);
    driver.memory.write(BUFFERS, &header(0, 0)).unwrap();
    // Four requests of 768 KiB, in tables elsewhere.
    for number in 0..4u16 {
        let table = 0x10_0000 + 0x100 * u64::from(number);
        let data = 0x20_0000 + 0x10_0000 * u64::from(number);
        let parts = [(BUFFERS, 16, 1u16, 1u16), (data, (768 << 10) + 1, 2, 0)];
        let bytes = |(at, length, flags, next): (u64, u32, u16, u16)| {
            [&at.to_le_bytes()[..], &length.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()].concat()
        };
        driver.memory.write(table, &[bytes(parts[0]), bytes(parts[1])].concat()).unwrap();
        driver.memory.write(TABLE + 16 * u64::from(number), &bytes((table, 32, 4, 0))).unwrap();
        driver.memory.write(TABLE + 0x104 + 2 * u64::from(number), &number.to_le_bytes()).unwrap();
    }
    driver.memory.write(TABLE + 0x102, &4u16.to_le_bytes()).unwrap();
    driver.write(NOTIFY, 2, 0);
    let given = |driver: &Driver| u16::from_le_bytes([driver.memory.0[TABLE as usize + 0x202], driver.memory.0[TABLE as usize + 0x203]]);
    assert_eq!((given(&driver), driver.virtio.has_rest()), (2, true));
    let state = driver.virtio.state();
    driver.virtio.serve_rest(&mut driver.memory);
    assert_eq!((given(&driver), driver.virtio.has_rest()), (4, false));
    // A device that takes such a state over serves what was left.
    driver.virtio.set_state(&state).unwrap();
    driver.virtio.serve_rest(&mut driver.memory);
    assert_eq!((given(&driver), driver.virtio.has_rest(), driver.virtio.is_broken()), (4, false, false));
}

#[test]
fn a_broken_device_serves_nothing_until_reset() {
    let (mut driver, _) = disk(false);
    driver.memory.write(TABLE + 0x102, &99u16.to_le_bytes()).unwrap();
    driver.write(NOTIFY, 2, 0);
    assert_eq!((driver.virtio.read(20, 1), driver.virtio.read(INTERRUPT, 1)), (15 | 0x40, 2));
    driver.write(20, 1, 15);
    assert!(driver.virtio.is_broken());
    driver.write(20, 1, 0);
    assert_eq!((driver.virtio.read(20, 1), driver.virtio.read(28, 2)), (0, 0));
}

#[test]
fn other_devices_serve() {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let mut driver = Driver::start(Box::new(Entropy(Box::new(Other(bytes.clone())))));
    assert_eq!(driver.request(0, &[], 300), [7; 256]);
    let mut driver = Driver::start(Box::new(Console(Box::new(Other(bytes.clone())))));
    assert!(driver.request(1, b"hello", 0).is_empty());
    assert_eq!(driver.request(0, &[], 3), *b"hel");
    assert_eq!(driver.request(0, &[], 9), *b"lo");
    driver.request(0, &[], 9);
    bytes.lock().unwrap().extend(b"more");
    driver.virtio.serve(0, &mut driver.memory);
    assert_eq!(driver.memory.0[BUFFERS as usize..][..4], *b"more");
    let mut driver = Driver::start(Box::new(Files::new("share0", Box::new(Other(bytes)))));
    assert_eq!((driver.virtio.read(0x40, 2), driver.virtio.read(0x42, 4)), (6, 0x7261_6873));
    assert_eq!(driver.request(0, b"0123456789abcdefghi", 99), *b"0123456789abcdef");
}

#[test]
fn features_are_settled_before_the_device_runs() {
    let (driver, _) = disk(true);
    let mut virtio = driver.virtio;
    let mut memory = driver.memory;
    assert_eq!((virtio.read(4, 4) >> 5 & 1, virtio.read(12, 4)), (1, 1));
    virtio.write(20, 1, 0, &mut memory);
    virtio.write(12, 4, u32::MAX, &mut memory);
    virtio.write(20, 1, 11, &mut memory);
    assert_eq!(virtio.read(20, 1), 3, "not without version 1");
    virtio.write(8, 4, 7, &mut memory);
    virtio.write(12, 4, u32::MAX, &mut memory);
    assert_eq!(virtio.read(12, 4), 0);
}

#[test]
fn states_go_to_devices_of_the_same_kind() {
    let (mut driver, _) = disk(false);
    driver.request(0, &header(8, 0), 21);
    let state = driver.virtio.state();
    let (mut other, _) = disk(false);
    assert_eq!((other.virtio.set_state(&state), other.virtio.state()), (Ok(()), state.clone()));
    other.memory = driver.memory;
    other.given = driver.given;
    assert_eq!(other.request(0, &header(8, 0), 21).len(), 21);
    let wrong = [VirtioState { version: 0, ..state.clone() }, VirtioState { accepted: 2, ..state.clone() }];
    assert!(wrong.iter().all(|state| other.virtio.set_state(state).is_err()));
    let console = Console(Box::new(Other(Arc::default())));
    assert!(Virtio::new(Box::new(console)).set_state(&state).is_err());
}

#[test]
fn a_driver_finds_the_registers() {
    let (driver, _) = disk(false);
    let function = driver.virtio.function();
    let (mut at, mut kinds) = (function.read(0x34), Vec::new());
    while at != 0 {
        kinds.push((function.read(at + 3), function.read(at + 8), function.read(at + 12)));
        at = function.read(at + 1);
    }
    assert_eq!(kinds, [(1, 0, 0x38), (2, 0x38, 4), (3, 0x3c, 1), (4, 0x40, 0x40)]);
}

/// A wire: frames that the guest has sent, and one that has come.
struct Frames(Shared, Vec<Vec<u8>>, usize);

impl Wire for Frames {
    fn address(&self) -> [u8; 6] {
        [1, 2, 3, 4, 5, 6]
    }

    fn has_room(&mut self) -> bool {
        self.0.lock().unwrap().len() < self.2
    }

    fn send(&mut self, frame: Vec<u8>) {
        self.0.lock().unwrap().extend(frame);
    }

    fn has_frame(&mut self) -> bool {
        !self.1.is_empty()
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        self.1.pop()
    }
}

fn card(frames: Vec<Vec<u8>>, room: usize) -> (Driver, Shared) {
    let sent = Shared::default();
    (Driver::start(Box::new(Network(Box::new(Frames(sent.clone(), frames, room))))), sent)
}

#[test]
fn a_network_card_moves_frames() {
    let (mut driver, sent) = card(vec![vec![9; 60], vec![8; 1514]], 1 << 20);
    assert_eq!([0x40, 0x44].map(|at| driver.virtio.read(at, 4)), [0x0403_0201, 0x0001_0605]);
    let frame = [&[0; 12][..], &[7; 60]].concat();
    driver.request(1, &frame, 0);
    assert_eq!(*sent.lock().unwrap(), [7; 60]);
    let got = driver.request(0, &[], 2000);
    assert_eq!((got.len(), &got[..12], &got[12..14]), (1526, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0][..], &[8, 8][..]));
    assert_eq!(driver.request(0, &[], 71), [], "a frame that is longer than its buffer is lost");
    assert!(!driver.virtio.is_broken());
}

#[test]
fn frames_of_a_size_that_none_has_are_lost() {
    let (mut driver, sent) = card(vec![], 1 << 20);
    for size in [13, 1515, 4000] {
        driver.request(1, &vec![7; 12 + size], 0);
    }
    assert!(sent.lock().unwrap().is_empty() && !driver.virtio.is_broken());
    driver.request(1, &[7; 11], 0);
    assert!(driver.virtio.is_broken(), "a frame without its head");
}

#[test]
fn frames_wait_while_the_wire_has_no_room() {
    let (mut driver, sent) = card(vec![], 20);
    let frame = [7; 12 + 20];
    driver.request(1, &frame, 0);
    driver.request(1, &frame, 0);
    assert_eq!(sent.lock().unwrap().len(), 20);
    sent.lock().unwrap().clear();
    driver.virtio.serve(1, &mut driver.memory);
    assert_eq!(sent.lock().unwrap().len(), 20, "the second one");
}

/// Memory that was given up: the first page and the number of pages of each piece.
struct Pages(Arc<Mutex<Vec<(u64, u64)>>>);

impl Reclaim for Pages {
    fn reclaim(&mut self, at: u64, size: u64) {
        self.0.lock().unwrap().push((at / 4096, size / 4096));
    }
}

#[test]
fn a_balloon_takes_whole_pages_of_the_guest_alone() {
    let pages = Arc::new(Mutex::new(Vec::new()));
    let mut driver = Driver::start(Box::new(Balloon(Box::new(Pages(pages.clone())))));
    let numbers: Vec<u8> = [5u32, 0x1f, 0x20, u32::MAX].iter().flat_map(|number| number.to_le_bytes()).collect();
    driver.request(0, &numbers, 0);
    assert_eq!(*pages.lock().unwrap(), [(5, 1), (0x1f, 1)], "there are 0x20 pages");
    driver.request(1, &numbers, 0);
    // Free memory from 0x8000 on: two pages, and part of one.
    driver.request(2, &[], 0x2800);
    assert_eq!(pages.lock().unwrap()[2..], [(8, 2)]);
    driver.request(2, &[], 0x800);
    assert_eq!(pages.lock().unwrap().len(), 3);
    driver.request(2, &[], 0x10_0000);
    assert!(driver.virtio.is_broken(), "memory that is not the guest's");
}
