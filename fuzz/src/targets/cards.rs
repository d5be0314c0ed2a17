//! Devices of a guest machine's PCI bus: a guest that writes anything into registers, rings and
//! requests.

use crate::bytes::Bytes;
use nacre_machine_load::{GuestMemory, VecMemory};
use nacre_machine_virtio::{
    Balloon, Block, Cards, Console, Device, Disk, DiskError, Entropy, FileServer, Files, LINES, Network, Random,
    Reclaim, Terminal, Wire,
};

/// Memory of the guest, and where its driver keeps a queue's parts and requests.
const MEMORY: usize = 0x4000;
const TABLE: u64 = 0x1000;
const REQUESTS: u64 = 0x1800;
const COMPLETIONS: u64 = 0x2000;
const BUFFERS: u64 = 0x3000;
/// First port of the first device, and ports of each.
const FIRST_PORT: u16 = 0xc000;
const PORTS: u16 = 0x80;
const DISK: u64 = 0x2000;

/// Everything that may be behind a device.
struct Behind;

impl Disk for Behind {
    fn size(&self) -> u64 {
        DISK
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), DiskError> {
        assert!(at + into.len() as u64 <= DISK);
        into.fill(1);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), DiskError> {
        assert!(at + bytes.len() as u64 <= DISK);
        if at == 0 { Err(DiskError) } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        Ok(())
    }
}

impl Random for Behind {
    fn fill(&mut self, into: &mut [u8]) -> usize {
        into.len()
    }
}

impl Terminal for Behind {
    fn write(&mut self, _: &[u8]) {}

    fn read(&mut self, into: &mut [u8]) -> usize {
        into.len().min(3)
    }
}

impl FileServer for Behind {
    fn max_message(&self) -> usize {
        64
    }

    fn request(&mut self, message: &[u8], answer: &mut [u8]) -> usize {
        message.len().min(answer.len())
    }
}

impl Wire for Behind {
    fn address(&self) -> [u8; 6] {
        [2; 6]
    }

    fn has_room(&mut self) -> bool {
        true
    }

    fn send(&mut self, frame: Vec<u8>) {
        assert!((14..=1514).contains(&frame.len()));
    }

    fn has_frame(&mut self) -> bool {
        true
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        Some(vec![3; 60])
    }
}

impl Reclaim for Behind {
    fn reclaim(&mut self, at: u64, size: u64) {
        assert!(at.is_multiple_of(4096) && size.is_multiple_of(4096) && at + size <= MEMORY as u64);
    }
}

fn cards() -> Cards {
    let devices: [Box<dyn Device>; 6] = [
        Box::new(Block::new(Box::new(Behind), "disk")),
        Box::new(Entropy(Box::new(Behind))),
        Box::new(Console(Box::new(Behind))),
        Box::new(Files::new("share", Box::new(Behind))),
        Box::new(Network(Box::new(Behind))),
        Box::new(Balloon(Box::new(Behind))),
    ];
    Cards::new(devices)
}

/// Accepts version 1, makes two queues of eight descriptors ready in the same memory, and starts
/// the device.
fn start(cards: &mut Cards, first: u16, memory: &mut VecMemory) {
    let mut write = |offset, width, value| cards.write(first + offset, width, value, memory);
    [(8, 4, 1), (12, 4, 1), (20, 1, 11)].into_iter().for_each(|(at, width, value)| write(at, width, value));
    for queue in 0..2 {
        let parts = [TABLE as u32, REQUESTS as u32, COMPLETIONS as u32];
        write(22, 2, queue);
        write(24, 2, 8);
        parts.into_iter().zip([32, 40, 48]).for_each(|(part, at)| write(at, 4, part));
        write(28, 2, 1);
    }
    write(20, 1, 15);
}

/// A guest's accesses to ports and memory. Part of them begin with what a driver does.
pub fn cards_target(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let (mut cards, mut memory) = (cards(), VecMemory::new(MEMORY));
    while !bytes.is_over() {
        let first = FIRST_PORT + PORTS * u16::from(bytes.byte() % 6);
        let kind = bytes.below(12);
        match kind {
            0 => cards.write(0xcf8, 4, 0x8000_0000 | bytes.word() as u32, &mut memory),
            1 => cards.write(0xcfc, bytes.of(&[1, 2, 4]), bytes.word() as u32, &mut memory),
            2 => _ = cards.read(bytes.word() as u16, bytes.of(&[1, 2, 4])),
            3 => start(&mut cards, first, &mut memory),
            4 => _ = memory.write(TABLE + u64::from(bytes.byte()), bytes.some()),
            5 => _ = memory.write(BUFFERS + 16 * u64::from(bytes.byte()), bytes.some()),
            6 => _ = memory.write(REQUESTS + u64::from(bytes.byte() % 32), bytes.some()),
            7 => describe(&mut bytes, &mut memory),
            8 => cards.serve(bytes.below(7), bytes.below(3), &mut memory),
            9 if cards.has_rest() => cards.serve_rest(&mut memory),
            9 => cards = restored(&cards),
            10 => cards.write(first + 0x38, 2, u32::from(bytes.byte() % 3), &mut memory),
            _ => {
                let at = first + u16::from(bytes.byte() % 0x80);
                cards.write(at, bytes.of(&[1, 2, 4]), bytes.word() as u32, &mut memory);
            }
        }
        let _ = LINES.map(|line| cards.line(line));
    }
}

/// Writes a descriptor that is nearly right, and gives it.
fn describe(bytes: &mut Bytes, memory: &mut VecMemory) {
    let index = u64::from(bytes.byte() % 9);
    let at = BUFFERS + u64::from(bytes.byte());
    let (length, flags, next) = (u32::from(bytes.byte()), bytes.byte() % 8, bytes.byte() % 9);
    let tail = [flags, 0, next, 0];
    let descriptor = [&at.to_le_bytes()[..], &length.to_le_bytes(), &tail].concat();
    let _ = memory.write(TABLE + 16 * index, &descriptor);
    let [number, ..] = memory.0[REQUESTS as usize + 2..] else { return };
    let _ = memory.write(REQUESTS + 4 + 2 * u64::from(number % 8), &[index as u8, 0]);
    let _ = memory.write(REQUESTS + 2, &[number.wrapping_add(bytes.byte() % 3)]);
}

/// Carries devices over to others, which must not differ.
fn restored(cards: &Cards) -> Cards {
    let state = cards.state();
    let mut copy = self::cards();
    copy.set_state(&state).expect("a state that was just saved");
    assert_eq!(copy.state(), state);
    copy
}
