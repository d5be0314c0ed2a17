//! A server died of the first allocation that failed. The client holds all memory and then makes
//! servers allocate.

use crate::tools::{PATIENCE, find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::vec::Vec;
use nacre_proto::flags::{O_CREAT, O_RDWR, SERVICE_CHANNELS, SERVICE_FILES, SERVICE_MEMORY};
use nacre_proto::{Errno, channel, directory, file, memory, process};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{OwnedReference, Reference, Span};

/// Maximum of segments that are held.
const SEGMENTS: usize = 512;
/// Maximum of pipes, children that do not begin, and files that are made.
const PIPES: usize = 400;
const CHILDREN: usize = 200;
const FILES: u32 = 400;
/// Size of the first segment that is tried.
const LARGEST: u64 = 32 << 20;

/// Takes memory in ever smaller pieces until not even a page is left.
pub fn hold(pool: Reference, held: &mut Vec<OwnedReference>) {
    let mut size = LARGEST;
    while size >= 4096 && held.len() < held.capacity() {
        match memory::segment_create(pool, size, 0) {
            Ok(taken) => held.push(taken.segment),
            Err(_) => size /= 2,
        }
    }
}

/// Fills pipes that nobody reads.
fn fill_pipes(data: &[u8], held: &mut Vec<OwnedReference>) {
    let Ok(channels) = find(SERVICE_CHANNELS) else { return };
    for _ in 0..PIPES {
        let Ok(ends) = channel::pipe(channels.handle(), 0) else { continue };
        for _ in 0..4 {
            let message = Message { bytes: Span::from(data), ..Message::new(file::write::LABEL, [u64::MAX, 0, 0, 0, 0, 0]) };
            // Any answer will do.
            let _ = ipc::call(ends.writer.handle(), &message, Buffers::NONE, PATIENCE / 100);
        }
        held.extend([ends.reader, ends.writer]);
    }
}

fn make_children(held: &mut Vec<OwnedReference>) {
    for _ in 0..CHILDREN {
        let Ok(child) = process::create(Reference::PARENT, 0) else { continue };
        let _ = process::prepare(child.port.handle(), 4096);
        held.push(child.port);
    }
}

fn make_files(data: &[u8], held: &mut Vec<OwnedReference>) {
    let Ok(files) = find(SERVICE_FILES) else { return };
    for number in 0..FILES {
        let path = [b'/', b't', b'm', b'p', b'/', b'a' + (number / 26 % 26) as u8, b'a' + (number % 26) as u8];
        let Ok(opened) = directory::open(files.handle(), O_CREAT | O_RDWR, 0o600, &path[..]) else { continue };
        let _ = file::write(opened.file.handle(), 0, data);
        held.push(opened.file);
    }
}

/// Holds all memory, and asks each service for more.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    let before = memory::status(pool.handle()).map_err(why("the pool"))?.used;
    let data = alloc::vec![7u8; 16 << 10];
    let (mut segments, mut others) = (Vec::with_capacity(SEGMENTS), Vec::with_capacity(2 * PIPES + CHILDREN + FILES as usize));
    // The slots that references take are there before the memory goes.
    let slots: Vec<_> = (0..2 * PIPES + CHILDREN + 2 * FILES as usize).map_while(|_| OwnedReference::null().ok()).collect();
    drop(slots);
    hold(pool.handle(), &mut segments);
    make_children(&mut others);
    fill_pipes(&data, &mut others);
    make_files(&data, &mut others);
    match memory::status(pool.handle()) {
        Ok(now) if now.used <= before => return Err(alloc::format!("held {} bytes, {before} before", now.used)),
        // A relay that has no memory left refuses what frees nothing, which is an answer, too.
        Ok(_) | Err(Errno::ENOMEM) => {}
        Err(errno) => return Err(alloc::format!("the pool without memory: {errno}")),
    }
    drop(others);
    drop(segments);
    Ok(Verdict::Refused)
}
