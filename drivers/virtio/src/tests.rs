//! Tests of the console, of the network card and of disks against devices that follow the rules,
//! and against some that do not.

use crate::fake::{Device, FakeMemory};
use crate::pci::Configuration;
use crate::{BLOCK, Block, CONSOLE, Console, ENTROPY, Entropy, Fault, NETWORK, Network, Refusal, VENDOR, find};
use alloc::{vec, vec::Vec};

fn start(names: &[&[u8]]) -> (Device, Console<FakeMemory>) {
    let mut device = Device::new(names);
    let function = find(&mut device, VENDOR, CONSOLE).expect("the function");
    let (other, source) = (device.clone(), device.clone());
    let mut console = Console::start(&mut device, function, |_| Some(other.registers()), &mut |size| source.take(size)).expect("the console");
    for _ in 0..3 {
        console.process().expect("no fault");
    }
    (device, console)
}

fn all(console: &mut Console<FakeMemory>, port: usize) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    let count = console.ports()[port].peek(&mut bytes);
    console.consume(port, count);
    bytes.truncate(count);
    bytes
}

#[test]
fn a_function_is_found_with_its_line_and_registers() {
    let mut device = Device::new(&[b"a"]);
    assert_eq!(find(&mut device, VENDOR, 0x1234), None);
    let function = find(&mut device, VENDOR, CONSOLE).unwrap();
    assert_eq!(function.line(&mut device), Some(23));
    let bar = function.bar(&mut device, 4).unwrap();
    assert_eq!((bar.start, bar.size), (0, 0x4000));
    assert_eq!(function.bar(&mut device, 6), None);
    assert_eq!(function.capabilities(&mut device).len(), 4);
}

#[test]
fn capabilities_in_a_circle_end() {
    struct Circle;
    impl Configuration for Circle {
        fn read(&mut self, _: u8, offset: u8) -> u32 {
            if offset == 4 { 1 << 20 } else { 0x4009 }
        }
        fn write(&mut self, _: u8, _: u8, _: u32) {}
    }
    assert!(crate::Function { slot: 1 }.capabilities(&mut Circle).len() <= 48);
}

#[test]
fn ports_get_their_names() {
    let names: Vec<Vec<u8>> = (0..16u8).map(|number| vec![b'a' + number]).collect();
    let names: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
    let (_, console) = start(&names);
    let told: Vec<&[u8]> = console.ports().iter().map(|port| port.name()).collect();
    assert_eq!(told, names);
    assert!(console.ports().iter().all(|port| port.has_room() && !port.has_ended()));
}

#[test]
fn names_that_no_file_can_have_are_none() {
    let (_, console) = start(&[b"a/b", b"..", b"", &[b'x'; 65], b"ok"]);
    let told: Vec<&[u8]> = console.ports().iter().map(|port| port.name()).collect();
    assert_eq!(told, [&b""[..], b"", b"", b"", b"ok"]);
}

#[test]
fn bytes_of_the_host_wait_until_they_are_read() {
    let (device, mut console) = start(&[b"a", b"b"]);
    let bytes: Vec<u8> = (0..300_000u32).map(|number| (number * 7 >> 3) as u8).collect();
    let (mut fed, mut read) = (0, Vec::<u8>::new());
    while read.len() < bytes.len() {
        fed += device.feed(1, &bytes[fed..]);
        console.process().unwrap();
        assert!(!console.ports()[0].is_readable());
        let mut part = [0; 5000];
        let count = console.ports()[1].peek(&mut part);
        console.consume(1, count);
        read.extend(&part[..count]);
    }
    assert!(read == bytes && fed == bytes.len());
    assert_eq!(device.feed(0, &[1; 1 << 20]), 32 * 4096);
}

#[test]
fn a_quiet_port_is_asked_for_its_buffers() {
    let (device, mut console) = start(&[b"a"]);
    // The port's second queue, behind two of port 0 and two of control.
    console.be_quiet(0, true);
    assert!(device.is_quiet(5));
    assert_eq!((console.write(0, b"hello"), console.ports()[0].given_count()), (5, 1));
    assert_eq!((console.collect_output(0), console.ports()[0].given_count()), (Ok(()), 0));
    console.be_quiet(0, false);
    assert!(!device.is_quiet(5));
    device.scribble_ring(5, 2, 9);
    assert!(console.collect_output(0).is_err(), "more than it had");
    assert_eq!(console.collect_output(7), Ok(()), "no such port");
}

#[test]
fn bytes_of_the_guest_wait_for_the_host() {
    let (device, mut console) = start(&[b"a"]);
    assert_eq!(console.write(0, b"hello"), 5);
    console.process().unwrap();
    assert_eq!((&device.0.borrow().sent[0][..], console.ports()[0].given_count()), (&b"hello"[..], 0));
    device.0.borrow_mut().is_slow = true;
    let bytes = vec![7; 1 << 20];
    let count = console.write(0, &bytes);
    assert_eq!((count, console.write(0, &bytes)), (32 * 8192, 0));
    assert!(!console.ports()[0].has_room());
    device.catch_up();
    console.process().unwrap();
    assert!(console.ports()[0].has_room() && device.0.borrow().sent[0].len() == 5 + count);
}

#[test]
fn a_port_ends_when_all_was_read_and_can_begin_again() {
    let (device, mut console) = start(&[b"a"]);
    device.feed(0, b"last");
    device.open(0, false);
    console.process().unwrap();
    assert!(!console.ports()[0].has_ended() && !console.ports()[0].has_room());
    assert_eq!(all(&mut console, 0), b"last");
    assert!(console.ports()[0].has_ended());
    device.open(0, true);
    device.feed(0, b"again");
    console.process().unwrap();
    assert!(!console.ports()[0].has_ended());
    assert_eq!(all(&mut console, 0), b"again");
}

#[test]
fn messages_about_other_ports_and_of_other_kinds_are_passed_over() {
    let (device, mut console) = start(&[b"a"]);
    for (port, kind) in [(0, 1), (9, 1), (u32::MAX, 7), (1, 77), (1, 4)] {
        device.tell(port, kind, 1, b"x");
    }
    device.tell(1, 7, 1, b"another\0");
    // Added once more: it keeps its name and its buffers.
    device.tell(1, 1, 1, b"");
    for _ in 0..3 {
        console.process().unwrap();
    }
    assert_eq!(console.ports()[0].name(), b"a");
    device.feed(0, b"x");
    console.process().unwrap();
    assert_eq!(all(&mut console, 0), b"x");
}

/// Returns the fault after these bytes were written over the used ring of the first port's input.
fn broken(bytes: &[(usize, u8)]) -> Fault {
    let (device, mut console) = start(&[b"a"]);
    bytes.iter().for_each(|(at, byte)| device.scribble_ring(4, *at, *byte));
    console.process().expect_err("a fault")
}

#[test]
fn a_device_that_breaks_the_rules_is_found_out() {
    assert!(broken(&[(2, 33)]).0.contains("more buffers"));
    assert!(broken(&[(2, 0xff), (3, 0xff)]).0.contains("more buffers"));
    assert!(broken(&[(2, 1), (4, 32), (8, 1)]).0.contains("did not have"));
    assert!(broken(&[(2, 1), (7, 1), (8, 1)]).0.contains("did not have"));
    assert!(broken(&[(2, 2), (8, 1), (16, 1)]).0.contains("did not have"));
    assert!(broken(&[(2, 1), (9, 0x20)]).0.contains("more than a buffer"));
    assert!(broken(&[(2, 1)]).0.contains("empty"));
}

#[test]
fn a_device_that_scribbles_costs_no_more_than_itself() {
    let mut seed = 1u64;
    for _ in 0..200 {
        let mut choices = Vec::new();
        for _ in 0..300 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            choices.push((seed >> 33) as u8);
        }
        crate::fake::hostile(&choices);
    }
}

fn card() -> (Device, Network<FakeMemory>) {
    let mut device = Device::card();
    let function = find(&mut device, VENDOR, NETWORK).expect("the function");
    let (other, source) = (device.clone(), device.clone());
    let card = Network::start(&mut device, function, |_| Some(other.registers()), |size| source.take(size)).expect("the card");
    (device, card)
}

/// Takes the next frame.
fn receive(card: &mut Network<FakeMemory>) -> Result<Option<Vec<u8>>, Fault> {
    let Some(size) = card.next_size()? else { return Ok(None) };
    let mut frame = vec![0; size];
    card.take(&mut frame);
    Ok(Some(frame))
}

#[test]
fn a_card_that_looks_by_itself_is_not_notified() {
    let (device, mut card) = card();
    let count = |device: &Device| device.0.borrow().notified;
    let before = count(&device);
    device.scribble_ring(1, 0, 1);
    assert_eq!(card.send(&[7; 60]), Ok(true));
    card.flush();
    assert_eq!(count(&device), before);
    device.scribble_ring(1, 0, 0);
    assert_eq!(card.send(&[8; 60]), Ok(true));
    card.flush();
    assert_eq!((count(&device), device.0.borrow().sent[0].len()), (before + 1, 2 * 72));
}

#[test]
fn interrupts_come_again_when_all_frames_were_taken() {
    let (device, mut card) = card();
    assert!(device.arrive(&[0; 72]) && !device.is_quiet(0));
    card.take_interrupt();
    assert!(device.is_quiet(0) && receive(&mut card).unwrap().is_some() && device.is_quiet(0));
    // One that comes before the card is asked for interrupts again is found.
    assert!(device.arrive(&[0; 72]) && receive(&mut card).unwrap().is_some());
    assert_eq!(receive(&mut card), Ok(None));
    assert!(!device.is_quiet(0));
}

#[test]
fn frames_come_and_go_whole() {
    let (device, mut card) = card();
    assert_eq!(receive(&mut card), Ok(None));
    for number in 0..100u8 {
        assert!(device.arrive(&[&[0; 12][..], &[number; 60]].concat()));
        assert_eq!(receive(&mut card), Ok(Some(vec![number; 60])));
        card.flush();
    }
    assert_eq!(card.send(&[7; 1514]), Ok(true));
    card.flush();
    assert_eq!(device.0.borrow().sent[0], [&[0; 12][..], &[7; 1514]].concat());
    for size in [0, 13, 1515, 4000] {
        assert_eq!(card.send(&vec![7; size]), Ok(true), "{size} bytes go nowhere");
    }
    card.flush();
    assert_eq!(device.0.borrow().sent[0].len(), 12 + 1514);
}

#[test]
fn a_frame_that_is_too_large_is_cut_off() {
    let (device, mut card) = card();
    for size in [1514, 1515, 2036] {
        assert!(device.arrive(&[&[0; 12][..], &vec![7; size]].concat()));
        assert_eq!(receive(&mut card), Ok(Some(vec![7; crate::MAX_FRAME])), "{size} bytes");
        card.flush();
    }
}

#[test]
fn a_wire_that_takes_nothing_holds_frames_back() {
    let (device, mut card) = card();
    device.0.borrow_mut().is_slow = true;
    let taken = (0..200).take_while(|_| card.send(&[7; 60]) == Ok(true)).count();
    card.flush();
    assert_eq!((taken, device.0.borrow().sent[0].len()), (128, 0));
    device.0.borrow_mut().is_slow = false;
    card.flush();
    assert_eq!(card.send(&[7; 60]), Ok(false));
}

#[test]
fn a_card_that_breaks_the_rules_is_found_out() {
    let (device, mut card) = card();
    assert!(device.arrive(&[0; 20]));
    assert!(receive(&mut card).unwrap_err().0.contains("without addresses"));
    for (at, byte) in [(2, 129), (3, 0xff)] {
        let (device, mut card) = self::card();
        device.scribble_ring(0, at, byte);
        assert!(receive(&mut card).unwrap_err().0.contains("more buffers"));
        device.scribble_ring(1, at, byte);
        assert!(card.send(&[7; 60]).unwrap_err().0.contains("more buffers"));
    }
}

fn disk() -> (Device, Block<FakeMemory>) {
    let device = Device::disk((0..16 * 512u32).map(|at| (at / 512) as u8).collect());
    let function = find(&mut device.clone(), VENDOR, BLOCK).unwrap();
    let block = Block::start(&mut device.clone(), function, |_| Some(device.registers()), |size| device.take(size)).unwrap();
    (device, block)
}

/// Sectors of a disk that is larger than all slots.
const LARGE: u64 = 4096;

fn large_disk() -> (Device, Block<FakeMemory>) {
    let device = Device::disk((0..LARGE as u32 * 512).map(|at| (at / 512) as u8).collect());
    let function = find(&mut device.clone(), VENDOR, BLOCK).unwrap();
    let block = Block::start(&mut device.clone(), function, |_| Some(device.registers()), |size| device.take(size)).unwrap();
    (device, block)
}

#[test]
fn sectors_come_and_go_whole() {
    let (device, mut disk) = disk();
    assert_eq!(disk.size(), 16 * 512);
    let mut bytes = [0; 1024];
    for _ in 0..20 {
        disk.read(3, &mut bytes, || false).unwrap();
        assert!(bytes[..512].iter().all(|byte| *byte == 3) && bytes[512..].iter().all(|byte| *byte == 4));
    }
    disk.write(15, &[7; 512], || false).unwrap();
    disk.flush(|| false).unwrap();
    assert_eq!(device.0.borrow().disk.as_ref().unwrap()[15 * 512..], [7; 512]);
    // Beyond the end, and no whole sectors.
    assert_eq!(disk.read(15, &mut bytes, || false), Err(Refusal::Failed));
    assert_eq!(disk.write(0, &[0; 5], || false), Err(Refusal::Failed));
    assert_eq!(disk.read(u64::MAX, &mut bytes, || false), Err(Refusal::Failed));
}

/// Random requests, beside what the disk must have then.
#[test]
fn what_is_read_is_what_was_written_last() {
    let (device, mut disk) = large_disk();
    let mut model = device.0.borrow().disk.clone().unwrap();
    let mut seed = 7u64;
    let mut random = |limit: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % limit
    };
    for step in 0..2000u32 {
        let sector = random(LARGE);
        let size = (1 + random(1200)).min(LARGE - sector) as usize * 512;
        let at = sector as usize * 512;
        let is_slow = random(2) == 0;
        device.0.borrow_mut().is_slow = is_slow;
        // A disk that is slow answers after some looks.
        let mut looks = 0;
        let goes_on = || {
            looks += 1;
            if looks == 3 {
                device.catch_up_disk();
            }
            looks < 9
        };
        match random(4) {
            0 => disk.prefetch(sector, size as u64),
            1 => disk.flush(goes_on).unwrap(),
            2 => {
                let bytes = vec![step as u8; size];
                model[at..at + size].copy_from_slice(&bytes);
                disk.write(sector, &bytes, goes_on).unwrap();
            }
            _ => {
                let mut bytes = vec![0; size];
                disk.read(sector, &mut bytes, goes_on).unwrap();
                assert!(bytes == model[at..at + size], "step {step}");
            }
        }
    }
    device.catch_up_disk();
    disk.flush(|| true).unwrap();
    assert!(*device.0.borrow().disk.as_ref().unwrap() == model);
}

#[test]
fn a_write_that_fails_behind_the_back_is_told_by_the_flush() {
    let (device, mut disk) = disk();
    device.0.borrow_mut().answer = (1, 0);
    disk.write(3, &[7; 512], || false).unwrap();
    assert_eq!(disk.flush(|| false), Err(Refusal::Failed));
    device.0.borrow_mut().answer = (0, 0);
    assert_eq!(disk.flush(|| false), Ok(()));
}

#[test]
fn an_answer_to_what_was_not_asked_ends_the_use_of_a_disk() {
    for (at, value) in [(2, 3), (4, 1), (4, 200)] {
        let (device, mut disk) = disk();
        device.0.borrow_mut().is_slow = true;
        disk.write(3, &[7; 512], || false).unwrap();
        device.catch_up_disk();
        device.scribble_ring(0, at, value);
        assert!(matches!(disk.flush(|| false), Err(Refusal::Broken(_))), "{at}");
    }
}

#[test]
fn a_disk_that_fails_is_asked_again_and_one_that_lies_is_not() {
    let (device, mut disk) = disk();
    let mut bytes = [0; 512];
    device.0.borrow_mut().answer = (1, 0);
    assert_eq!(disk.read(0, &mut bytes, || false), Err(Refusal::Failed));
    device.0.borrow_mut().answer = (0, 0);
    assert_eq!(disk.read(1, &mut bytes, || false), Ok(()));
    device.0.borrow_mut().answer = (0, 9);
    assert!(matches!(disk.read(1, &mut bytes, || false), Err(Refusal::Broken(_))));
    device.0.borrow_mut().answer = (0, 0);
    assert!(matches!(disk.read(1, &mut bytes, || false), Err(Refusal::Broken(_))));
}

#[test]
fn a_disk_that_does_not_answer_is_given_up() {
    let (device, mut disk) = disk();
    device.0.borrow_mut().is_slow = true;
    let mut looks = 0;
    let fault = disk.flush(|| {
        looks += 1;
        looks < 5
    });
    assert_eq!((fault, looks), (Err(Refusal::Broken(Fault("the disk does not answer"))), 5));
}

#[test]
fn a_source_gives_what_it_was_asked_for_and_no_more() {
    let mut device = Device::entropy();
    let (function, owner) = (find(&mut device, VENDOR, ENTROPY).expect("the source"), device.clone());
    let mut source: Entropy<FakeMemory> = Entropy::start(&mut device, function, |_| Some(owner.registers()), |size| owner.take(size)).expect("the source");
    let mut bytes = [0; 64];
    assert!(!owner.arrive(&[9; 64]), "nobody asked");
    (0..3).for_each(|_| source.ask());
    assert_eq!(source.take(&mut bytes), Ok(None));
    assert!(owner.arrive(&[9; 40]) && !owner.arrive(&[8; 64]), "one portion is on its way");
    assert_eq!((source.take(&mut bytes), &bytes[38..42]), (Ok(Some(40)), &[9, 9, 0, 0][..]));
    source.ask();
    assert!(owner.arrive(&[7; 64]));
    assert_eq!((source.take(&mut bytes), bytes), (Ok(Some(64)), [7; 64]));
}
