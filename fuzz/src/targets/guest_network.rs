//! Frames of a guest machine that says what it likes, to the network behind its card.

use crate::bytes::Bytes;
use crate::targets::internet::fill_sums;
use nacre_machine_network::{Address, Gateway, Gone, MAX_PORTS, MAX_STREAMS, Outside, Received, Stage};
use std::collections::BTreeMap;

/// An outside that does what the input says, next to each socket how much it is still asked.
#[derive(Default)]
struct World {
    sockets: BTreeMap<u32, bool>,
    next: u32,
    /// Choices for what comes next.
    mood: u32,
}

impl World {
    fn add(&mut self, is_stream: bool) -> Result<u32, Gone> {
        self.next += 1;
        self.sockets.insert(self.next, is_stream);
        Ok(self.next)
    }

    /// A number below `most` that follows from the input.
    fn choose(&mut self, most: u32) -> u32 {
        self.mood = self.mood.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.mood >> 16) % most
    }

    fn check(&self, socket: u32, is_stream: bool) {
        assert_eq!(self.sockets.get(&socket), Some(&is_stream), "a socket that is there");
    }
}

impl Outside for World {
    fn connect(&mut self, to: Address) -> Result<u32, Gone> {
        assert!(to.0[0] != 127 && to.0 != [0; 4], "nobody reaches the environment itself");
        if self.choose(8) == 0 { Err(Gone) } else { self.add(true) }
    }

    fn stage(&mut self, socket: u32) -> Stage {
        self.check(socket, true);
        [Stage::Asking, Stage::Standing, Stage::Standing, Stage::Refused][self.choose(4) as usize]
    }

    fn send(&mut self, socket: u32, bytes: &[u8]) -> Result<usize, Gone> {
        self.check(socket, true);
        match self.choose(8) {
            0 => Err(Gone),
            1 => Ok(0),
            2 => Ok(bytes.len() / 2),
            _ => Ok(bytes.len()),
        }
    }

    fn receive(&mut self, socket: u32, into: &mut [u8]) -> Result<Received, Gone> {
        self.check(socket, true);
        Ok(match self.choose(8) {
            0 => return Err(Gone),
            1 => Received::End,
            2 => Received::Bytes(into.len()),
            _ => Received::Nothing,
        })
    }

    fn finish(&mut self, socket: u32) {
        self.check(socket, true);
    }

    fn open(&mut self) -> Result<u32, Gone> {
        if self.choose(8) == 0 { Err(Gone) } else { self.add(false) }
    }

    fn send_to(&mut self, socket: u32, to: Address, _: &[u8]) {
        self.check(socket, false);
        assert!(to.0[0] != 127, "nobody reaches the environment itself");
    }

    fn receive_from(&mut self, socket: u32, _: &mut [u8]) -> Option<(Address, usize)> {
        self.check(socket, false);
        let size = self.choose(3000) as usize;
        (self.choose(4) == 0).then_some((([10, 0, 2, 3], 53), size))
    }

    fn close(&mut self, socket: u32) {
        assert!(self.sockets.remove(&socket).is_some(), "a socket is closed once");
    }
}

/// The heads of a frame of the guest's, with choices of the input where a liar would try some.
fn frame(choices: &mut Bytes<'_>) -> Vec<u8> {
    let mut frame = choices.of(&[[0x52, 0x55, 10, 0, 2, 2], [0xff; 6]]).to_vec();
    frame.extend([0x52, 0x54, 0, 0x12, 0x34, 0x56]);
    if choices.byte() % 8 == 0 {
        frame.extend(choices.of(&[[8, 6], [8, 0], [0x86, 0xdd]]));
        frame.extend(choices.some());
        return frame;
    }
    let protocol = choices.of(&[6u8, 6, 6, 17, 17, 1]);
    let body = choices.some();
    let size = 20 + 20 * u16::from(protocol == 6) + 8 * u16::from(protocol == 17) + body.len() as u16;
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(size.to_be_bytes());
    frame.extend([0, 0, choices.of(&[0x40, 0x40, 0x20, 0]), 0, 64, protocol, 0, 0]);
    frame.extend(choices.of(&[[10, 0, 2, 15], [10, 0, 2, 15], [10, 0, 2, 15], [0; 4], [127, 0, 0, 1]]));
    frame.extend(choices.of(&[[10, 0, 2, 2], [10, 0, 2, 2], [10, 0, 2, 3], [9, 9, 9, 9], [255; 4], [127, 0, 0, 1]]));
    let ports = [40_000 + u16::from(choices.byte() % 4), choices.of(&[80, 53, 67, 0])];
    ports.iter().for_each(|port| frame.extend(port.to_be_bytes()));
    match protocol {
        6 => {
            frame.extend((choices.word() as u32).to_be_bytes());
            frame.extend((choices.word() as u32).to_be_bytes());
            frame.extend([0x50, choices.of(&[2, 2, 16, 18, 24, 17, 4, 0xff]), 0x20, 0, 0, 0, 0, 0]);
        }
        17 => frame.extend([(8 + body.len() as u16).to_be_bytes(), [0; 2]].concat()),
        _ => {}
    }
    frame.extend(body);
    fill_sums(&mut frame, protocol);
    frame
}

/// A guest's frames, while time passes and the outside changes its mind.
pub fn guest_network(bytes: &[u8]) {
    let mut choices = Bytes(bytes);
    let (mut gateway, mut world, mut now) = (Gateway::new(1, 0), World::default(), 0u64);
    while !choices.is_over() {
        match choices.below(8) {
            0 => now += choices.of(&[1_000_000, 1_000_000_000, 61_000_000_000, 181_000_000_000]),
            1 => world.mood = choices.word() as u32,
            _ => gateway.arrive(&frame(&mut choices), &mut world, now),
        }
        now += 1_000_000;
        let called = world.sockets.keys().copied().collect();
        gateway.turn(&mut world, &called, now);
        assert!(gateway.connections() <= MAX_STREAMS && gateway.ports() <= MAX_PORTS);
        assert!(world.sockets.len() <= MAX_STREAMS + MAX_PORTS && gateway.leaving().len() <= 512);
        gateway.leaving().clear();
        let _ = gateway.patience(now);
    }
}
