//! Root's console and its accounts of memory.

use crate::bytes::Bytes;
use nacre_root::input::{ControlLines, Input};
use nacre_root::pools::Pools;
use nacre_root::table::Key;
use nacre_root::terminal::{ATTRIBUTES_SIZE, Attributes, Terminal};
use std::collections::VecDeque;

pub fn terminal(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut terminal = Terminal::new(bytes.word() as u16, bytes.word() as u16);
    let mut screen = VecDeque::new();
    while !bytes.is_over() {
        match bytes.below(8) {
            0..3 => bytes.some().iter().for_each(|byte| _ = terminal.feed(*byte, &mut screen)),
            3 => terminal.write(bytes.some(), &mut screen),
            4 => set_attributes(&mut terminal, &mut bytes),
            5 => {
                let limit = bytes.word() as usize;
                assert!(terminal.read(limit).len() <= limit);
            }
            6 => terminal.end_input(),
            _ => terminal.flush_input(),
        }
        assert!(terminal.available() <= terminal.waiting() && (terminal.patience(), terminal.is_readable()).0 != Some(0));
        assert!(screen.len() < 1 << 20, "the screen is flooded");
    }
}

/// Sets attributes that differ from those of now in a few bits.
fn set_attributes(terminal: &mut Terminal, bytes: &mut Bytes<'_>) {
    let mut all = terminal.attributes.to_bytes();
    for _ in 0..=bytes.below(4) {
        all[bytes.below(ATTRIBUTES_SIZE)] ^= bytes.byte();
    }
    terminal.set_attributes(Attributes::from_bytes(&all), bytes.below(2) == 0);
}

pub fn input(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut input = Input::from_facts(bytes.some());
    let (mut echo, mut lines) = (VecDeque::new(), ControlLines::default());
    while !bytes.is_over() {
        match bytes.below(5) {
            0 => bytes.some().iter().for_each(|byte| _ = input.feed(*byte, &mut echo)),
            1 => bytes.some().iter().for_each(|byte| _ = lines.feed(*byte)),
            2 => input.end(if bytes.below(2) == 0 { None } else { Some(bytes.word()) }),
            3 => input.write(bytes.some(), &mut echo),
            _ => {
                let limit = bytes.word() as usize;
                assert!(input.read(limit).len() <= limit);
            }
        }
        let _ = (input.has_room(), input.is_readable(), input.is_ended(), input.patience(), input.waiting());
    }
}

/// Charges by pool.
type Charges = Vec<(Key, u64)>;

pub fn pools(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let (mut pools, outermost) = Pools::new(1 << 40);
    let mut made = vec![outermost];
    let mut charges: Charges = Vec::new();
    while !bytes.is_over() {
        let pool = bytes.of(&made);
        match bytes.below(6) {
            0 | 1 if made.len() < 100 => made.extend(pools.create(pool, bytes.word(), bytes.word() % 2 == 0)),
            2 => {
                let size = bytes.word();
                if pools.charge(pool, size).is_ok() {
                    pools.adopt(pool, charges.len() as u64);
                    charges.push((pool, size));
                }
            }
            3 => {
                if let Some((pool, size)) = charges.pop().filter(|(pool, _)| pools.status(*pool).is_ok()) {
                    pools.disown(pool, charges.len() as u64);
                    pools.refund(pool, size);
                }
            }
            4 => drop(pools.destroy(pool)),
            _ => assert!(pools.status(pool).is_ok_and(|(limit, used)| used <= limit) || pool != outermost),
        }
        let (limit, used) = pools.status(outermost).expect("the outermost pool stays");
        assert!(used <= limit, "{used} bytes of {limit}");
    }
}
