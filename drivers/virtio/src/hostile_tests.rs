//! Devices that scribble into the rings that they share, at random: whoever drives one gets an
//! answer that fits, or a fault, and reaches nothing outside of its memory.

use crate::fake::{Device, FakeMemory};
use crate::{Block, Entropy, Exchange, Fault, MAX_FRAME, Network, PORTION, Refusal, find};

/// Seeds of each test.
const SEEDS: u64 = 10_000;
/// Looks for an answer, with something scribbled before each.
const LOOKS: usize = 12;
/// Offset of what the device gives back, and the bytes there that matter.
const USED: usize = 2048;
const RING: u64 = 4 + 8 * 16;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % sides
    }
}

fn scribble(device: &Device, dice: &mut Dice) {
    let value = (if dice.throw(2) == 0 { dice.throw(4) } else { dice.throw(256) }) as u8;
    match dice.throw(4) {
        // The index of what was given back, the ring of it, or anything at all.
        0 => device.scribble(USED + 2, value),
        1 | 2 => device.scribble(USED + dice.throw(RING) as usize, value),
        _ => device.scribble(dice.throw(1 << 13) as usize, value),
    }
}

#[test]
fn a_hostile_device_of_files_answers_what_fits_or_is_out_of_use() {
    let (mut answers, mut faults) = (0, 0);
    for seed in 1..=SEEDS {
        let (mut device, mut dice) = (Device::disk(vec![0; 512]), Dice(seed));
        device.0.borrow_mut().is_slow = true;
        let (function, owner) = (find(&mut device, crate::VENDOR, crate::BLOCK).unwrap(), device.clone());
        let mut exchange = Exchange::start(&mut device, function, |_| Some(owner.registers()), |size| owner.take(size), (4096, 0)).unwrap();
        let mut ask = |size| -> Result<Option<u64>, Fault> {
            exchange.send_written(size)?;
            for _ in 0..LOOKS {
                scribble(&owner, &mut dice);
                if let Some(length) = exchange.take_answer()? {
                    return Ok(Some(length));
                }
            }
            Ok(None)
        };
        match ask(100).and_then(|answer| if answer.is_some() { ask(4096) } else { Ok(answer) }) {
            Ok(length) => answers += usize::from(length.inspect(|length| assert!(*length <= 4096, "seed {seed}")).is_some()),
            Err(_) => faults += 1,
        }
    }
    assert!(answers > 0 && faults > 0, "{answers} answers and {faults} faults");
}

#[test]
fn a_hostile_disk_harms_its_user_alone() {
    let (mut broken, mut others) = (0, 0);
    for seed in 1..=SEEDS {
        let (mut device, mut dice) = (Device::disk(vec![0; 16 * 512]), Dice(seed));
        let (function, owner) = (find(&mut device, crate::VENDOR, crate::BLOCK).unwrap(), device.clone());
        let mut disk: Block<FakeMemory> = Block::start(&mut device, function, |_| Some(owner.registers()), |size| owner.take(size)).unwrap();
        owner.0.borrow_mut().is_slow = true;
        let mut bytes = [0; 1024];
        for turn in 0..3 {
            let mut looks = 0;
            let goes_on = || {
                scribble(&owner, &mut dice);
                looks += 1;
                looks < LOOKS
            };
            let result = if turn == 1 { disk.write(3, &bytes, goes_on) } else { disk.read(3, &mut bytes, goes_on) };
            match result {
                Err(Refusal::Broken(fault)) => {
                    broken += 1;
                    assert_eq!(disk.flush(|| false), Err(Refusal::Broken(fault)), "seed {seed}: it is not asked again");
                    break;
                }
                _ => others += 1,
            }
        }
    }
    assert!(broken > 0 && others > 0, "{broken} broke the rules, {others} answers");
}

#[test]
fn a_hostile_card_gives_frames_that_fit_or_is_out_of_use() {
    let (mut came, mut went, mut faults) = (0, 0, 0);
    for seed in 1..=SEEDS {
        let (mut device, mut dice) = (Device::card(), Dice(seed));
        let (function, owner) = (find(&mut device, crate::VENDOR, crate::NETWORK).unwrap(), device.clone());
        let mut card: Network<FakeMemory> = Network::start(&mut device, function, |_| Some(owner.registers()), |size| owner.take(size)).unwrap();
        let mut frame = [0; MAX_FRAME];
        let mut turn = |dice: &mut Dice| -> Result<(), Fault> {
            owner.0.borrow_mut().is_slow = dice.throw(4) == 0;
            if dice.throw(2) == 0 {
                owner.arrive(&[7; 12 + 60]);
            }
            scribble_rings(&owner, dice);
            card.take_interrupt();
            if let Some(size) = card.next_size()? {
                assert!((14..=MAX_FRAME).contains(&size), "seed {seed}");
                card.take(&mut frame[..size]);
                came += 1;
            }
            scribble_rings(&owner, dice);
            went += usize::from(card.send(&frame[..60])?);
            card.flush();
            Ok(())
        };
        faults += usize::from((0..LOOKS).any(|_| turn(&mut dice).is_err()));
    }
    assert!(came > 0 && went > 0 && faults > 0 && (faults as u64) < SEEDS, "{came} frames came, {went} went, {faults} faults");
}

#[test]
fn a_hostile_source_gives_bytes_that_fit_or_is_out_of_use() {
    let (mut came, mut faults) = (0, 0);
    for seed in 1..=SEEDS {
        let (mut device, mut dice) = (Device::entropy(), Dice(seed));
        let (function, owner) = (find(&mut device, crate::VENDOR, crate::ENTROPY).unwrap(), device.clone());
        let mut source: Entropy<FakeMemory> = Entropy::start(&mut device, function, |_| Some(owner.registers()), |size| owner.take(size)).unwrap();
        let mut bytes = [0; PORTION];
        let mut turn = |dice: &mut Dice| -> Result<(), Fault> {
            source.ask();
            if dice.throw(2) == 0 {
                owner.arrive(&[7; PORTION][..dice.throw(1 + PORTION as u64) as usize]);
            }
            scribble_rings(&owner, dice);
            source.take_interrupt();
            if let Some(count) = source.take(&mut bytes)? {
                assert!(count <= PORTION, "seed {seed}");
                came += 1;
            }
            Ok(())
        };
        faults += usize::from((0..LOOKS).any(|_| turn(&mut dice).is_err()));
    }
    assert!(came > 0 && faults > 0 && (faults as u64) < SEEDS, "{came} portions came, {faults} faults");
}

/// Scribbles into the rings of both queues, mostly where the device writes.
fn scribble_rings(device: &Device, dice: &mut Dice) {
    let value = (if dice.throw(2) == 0 { dice.throw(4) } else { dice.throw(256) }) as u8;
    let queue = dice.throw(2) as usize;
    match dice.throw(4) {
        0 => device.scribble_ring(queue, 2, value),
        1 | 2 => device.scribble_ring(queue, dice.throw(RING) as usize, value),
        _ => device.scribble(dice.throw(1 << 20) as usize, value),
    }
}
