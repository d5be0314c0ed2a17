//! Tests of queues: rings that a driver makes, and rings that no driver makes.

use super::*;
use nacre_machine_memory::VecMemory;

const SIZE: u16 = 8;
const TABLE: u64 = 0x100;
const REQUESTS: u64 = 0x200;
const COMPLETIONS: u64 = 0x300;
const INDIRECT_TABLE: u64 = 0x400;

fn queue() -> Queue {
    let mut queue = Queue::new(SIZE);
    let (descriptors, requests, completions) = (TABLE, REQUESTS, COMPLETIONS);
    queue.state = QueueState { descriptors, requests, completions, ..queue.state };
    queue.enable();
    queue
}

fn describe(memory: &mut VecMemory, table: u64, index: u16, [at, length, flags, next]: [u64; 4]) {
    let bytes = [&at.to_le_bytes()[..], &(length as u32).to_le_bytes(), &(flags as u16).to_le_bytes(), &(next as u16).to_le_bytes()];
    memory.write(table + DESCRIPTOR * u64::from(index), &bytes.concat()).unwrap();
}

/// Gives request number `number`, whose chain begins at `head`.
fn give(memory: &mut VecMemory, number: u16, head: u16) {
    let place = REQUESTS + 4 + 2 * u64::from(number % SIZE);
    memory.write(place, &head.to_le_bytes()).unwrap();
    memory.write(REQUESTS + 2, &number.wrapping_add(1).to_le_bytes()).unwrap();
}

fn taken(descriptors: &[[u64; 4]]) -> Result<Chain, Broken> {
    let mut memory = VecMemory::new(0x1000);
    for (index, descriptor) in (0..).zip(descriptors) {
        describe(&mut memory, TABLE, index, *descriptor);
    }
    give(&mut memory, 0, 0);
    queue().take(&memory)
}

#[test]
fn a_chain_is_followed_and_completed() {
    let mut memory = VecMemory::new(0x1000);
    memory.write(0x800, b"0123456789").unwrap();
    describe(&mut memory, TABLE, 3, [0x800, 4, 1, 5]);
    describe(&mut memory, TABLE, 5, [0x806, 4, 1, 1]);
    describe(&mut memory, TABLE, 1, [0x900, 8, 2, 0]);
    let mut queue = queue();
    assert_eq!(queue.waiting(&memory), Ok(0));
    give(&mut memory, 0, 3);
    assert_eq!(queue.waiting(&memory), Ok(1));
    let chain = queue.take(&memory).unwrap();
    let mut bytes = [0; 9];
    assert_eq!((chain.readable_len(), chain.writable_len()), (8, 8));
    assert_eq!((chain.read(&memory, 0, &mut bytes), &bytes), (Ok(8), b"01236789\0"));
    assert_eq!((chain.read(&memory, 3, &mut bytes[..3]), &bytes[..3]), (Ok(3), &b"367"[..]));
    assert_eq!(chain.read(&memory, 8, &mut bytes), Ok(0));
    assert_eq!(chain.write(&mut memory, 6, b"abc"), Ok(2));
    queue.complete(&mut memory, &chain, 8).unwrap();
    assert_eq!(memory.0[COMPLETIONS as usize..][..12], [0, 0, 1, 0, 3, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(memory.0[0x906..0x909], *b"ab\0");
    assert_eq!(queue.waiting(&memory), Ok(0));
}

#[test]
fn numbers_wrap() {
    let mut memory = VecMemory::new(0x1000);
    let mut queue = queue();
    (queue.state.next, queue.state.given) = (u16::MAX, u16::MAX);
    describe(&mut memory, TABLE, 0, [0x800, 4, 0, 0]);
    give(&mut memory, u16::MAX, 0);
    assert_eq!(queue.serve_each(&mut memory, |_, _| Ok(0)), Ok(Served { any: true, rest: false }));
    assert_eq!((queue.state.next, queue.state.given), (0, 0));
}

#[test]
fn a_table_elsewhere_is_followed_once() {
    let mut memory = VecMemory::new(0x1000);
    describe(&mut memory, TABLE, 0, [INDIRECT_TABLE, 32, 4, 0]);
    describe(&mut memory, INDIRECT_TABLE, 0, [0x800, 4, 1, 1]);
    describe(&mut memory, INDIRECT_TABLE, 1, [0x900, 8, 2, 0]);
    give(&mut memory, 0, 0);
    let chain = queue().take(&memory).unwrap();
    assert_eq!((chain.readable_len(), chain.writable_len()), (4, 8));
    describe(&mut memory, INDIRECT_TABLE, 0, [INDIRECT_TABLE, 32, 4, 1]);
    assert_eq!(queue().take(&memory), Err(Broken), "a table in a table");
    for (length, flags) in [(31, 4), (16 * (u64::from(SIZE) + 1), 4), (0, 4), (32, 5)] {
        describe(&mut memory, TABLE, 0, [INDIRECT_TABLE, length, flags, 0]);
        assert_eq!(queue().take(&memory), Err(Broken), "{length} bytes, flags {flags}");
    }
}

#[test]
fn chains_that_no_driver_makes_are_refused() {
    assert!(taken(&[[0x800, 4, 1, 1], [0x800, 4, 0, 0]]).is_ok());
    assert!(taken(&[[0x800, 4, 1, 0]]).is_err(), "a cycle");
    assert!(taken(&[[0x800, 4, 1, 1], [0x800, 4, 1, 0]]).is_err(), "a longer cycle");
    assert!(taken(&[[0x800, 4, 1, SIZE.into()]]).is_err(), "a number beyond the table");
    assert!(taken(&[[0xfff, 2, 0, 0]]).is_err(), "memory that is not there");
    assert!(taken(&[[u64::MAX, 2, 0, 0]]).is_err(), "an end that wraps");
    assert!(taken(&[[0x800, 4, 3, 1], [0x800, 4, 0, 0]]).is_err(), "read behind written");
}

#[test]
fn rings_that_no_driver_makes_are_refused() {
    let mut memory = VecMemory::new(0x1000);
    give(&mut memory, SIZE, 0);
    assert_eq!(queue().waiting(&memory), Err(Broken), "an index that jumps");
    give(&mut memory, 0, SIZE);
    assert_eq!(queue().take(&memory), Err(Broken), "a head beyond the table");
    for place in [0xfff, u64::MAX - 1, u64::MAX] {
        let mut queue = queue();
        queue.state.requests = place;
        assert_eq!(queue.waiting(&memory), Err(Broken));
        queue.state.completions = place;
        assert_eq!(queue.complete(&mut memory, &Chain::default(), 0), Err(Broken));
        queue.state = QueueState { requests: REQUESTS, descriptors: place, ..queue.state };
        assert_eq!(queue.take(&memory), Err(Broken));
    }
}

#[test]
fn a_queue_of_a_wrong_size_is_never_ready() {
    for size in [0, 3, SIZE * 2, u16::MAX] {
        let mut queue = queue();
        queue.state.size = size;
        queue.enable();
        assert!(!queue.state.is_enabled && queue.waiting(&VecMemory::new(0)) == Ok(0), "{size}");
        let state = QueueState { is_enabled: true, ..queue.state };
        assert!(queue.set_state(&state).is_err());
    }
}
