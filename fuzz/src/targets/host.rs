//! Input of the host's command: the guest's records, and program files.

use crate::bytes::Bytes;
use std::collections::BTreeMap;

#[path = "../../../host/src/boot/elf.rs"]
#[allow(dead_code)]
mod boot_elf;
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

pub fn elf(bytes: &[u8]) {
    if boot_elf::check_program(bytes).is_ok() {
        let _ = boot_elf::stripped(bytes);
    }
    if let Ok((_, segments)) = boot_elf::segments(bytes) {
        assert!(segments.windows(2).all(|two| two[0].address + two[0].bytes.len() as u64 <= two[1].address), "segments overlap");
    }
}
