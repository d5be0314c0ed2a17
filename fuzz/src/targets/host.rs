//! Input of the host's command: the guest's records, program files, and what a sender says.

use crate::bytes::Bytes;
use std::collections::BTreeMap;

#[path = "../../../host/src/boot/elf.rs"]
#[allow(dead_code)]
mod boot_elf;
#[path = "../../../host/src/moving/wire.rs"]
#[allow(dead_code)]
mod moving_wire;
#[path = "../../../host/src/session/records.rs"]
#[allow(dead_code)]
mod session_records;

pub fn records(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut splitter = session_records::Splitter::new(BTreeMap::new(), ());
    let mut shown = 0;
    let all = bytes.0.len();
    while !bytes.is_over() {
        shown += splitter.split(bytes.some()).0.len();
    }
    shown += splitter.finish().0.len();
    assert!(shown <= all, "more is shown than came");
}

pub fn moves(bytes: &[u8]) {
    const LIMIT: u64 = 100;
    let (mut from, mut total) = (bytes, 0);
    let taken = moving_wire::take_round(&mut from, LIMIT, |part| {
        total += part.len() as u64;
        Ok(())
    });
    assert!(total <= LIMIT, "more is taken than is allowed");
    assert!(taken.map_or(true, |(size, _)| size == total), "the size is that of what was taken");
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(message) = moving_wire::Message::parse(line) {
            let again = message.line();
            assert_eq!(again.matches('\n').count(), 1, "a line is one");
            assert_eq!(moving_wire::Message::parse(again.trim_end_matches('\n').as_bytes()), Some(message), "a line is read as it was written");
        }
    }
}

pub fn elf(bytes: &[u8]) {
    if boot_elf::check_program(bytes).is_ok() {
        let _ = boot_elf::stripped(bytes);
    }
    if let Ok((_, segments)) = boot_elf::segments(bytes) {
        assert!(segments.windows(2).all(|two| two[0].address + two[0].bytes.len() as u64 <= two[1].address), "segments overlap");
    }
}
