//! The frame table: what the kernel knows of every 4 KiB of RAM, and how many frames of each 2 MiB
//! are special.

use super::direct_map::{BootAllocator, direct};
use crate::cell::BootCell;
use crate::memory_map::MemoryMap;
use core::sync::atomic::{AtomicU32, Ordering};
use nacre_abi::boot_info::MemoryRange;
use nacre_core::machine::{Frame, Physical};

/// `kind` of a frame that is no RAM: what `fill` makes of bytes 0xff.
const HOLE: u64 = u64::MAX;

struct Frames {
    frames: &'static [Frame],
    special: &'static [AtomicU32],
}

static FRAMES: BootCell<Frames> = BootCell::new();

/// Returns the number of frames that the tables for RAM up to `end` take.
pub const fn size_in_frames(end: u64) -> u64 {
    let (frames, large) = sizes(end);
    frames + large
}

const fn sizes(end: u64) -> (u64, u64) {
    let frames = (end >> 12) * size_of::<Frame>() as u64;
    let large = end.div_ceil(2 << 20) * size_of::<AtomicU32>() as u64;
    (frames.div_ceil(4096), large.div_ceil(4096))
}

/// Makes the tables. All RAM is plain at first.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn create(memory: &MemoryMap, carving: &mut BootAllocator) {
    let end = memory.end();
    let (frames_size, special_size) = sizes(end);
    let frames_at = direct(carving.take_raw(frames_size)) as *mut Frame;
    let special_at = direct(carving.take(special_size)) as *const AtomicU32;
    let mut hole = 0;
    for range in memory.ranges() {
        // SAFETY: inside the table, which nobody uses yet.
        unsafe { fill(frames_at, hole, range.start, 0xff) };
        hole = range.start + range.size;
        // SAFETY: as above.
        unsafe { fill(frames_at, range.start, hole, 0) };
    }
    // SAFETY: just filled with bytes that are valid for the type, the kernel's for ever.
    let frames = unsafe { core::slice::from_raw_parts(frames_at, (end >> 12) as usize) };
    // SAFETY: as above; filled with zeros.
    let special = unsafe { core::slice::from_raw_parts(special_at, end.div_ceil(2 << 20) as usize) };
    // SAFETY: the caller's promise.
    unsafe { FRAMES.set(Frames { frames, special }) };
}

/// Fills the entries of the frames from `start` to `end`.
///
/// # Safety
/// They lie in the table, and nobody has a reference to them.
unsafe fn fill(table: *mut Frame, start: u64, end: u64, byte: u8) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::write_bytes(table.add((start >> 12) as usize), byte, ((end - start) >> 12) as usize) };
}

/// Makes the RAM in this range the kernel's own.
pub fn mark_kernel(range: MemoryRange) {
    for at in (range.start..range.start + range.size).step_by(4096) {
        let Some(found) = frame(Physical(at)).filter(|found| found.kind.get() == Frame::PLAIN) else { continue };
        found.kind.set(Frame::KERNEL);
        if let Some(count) = special_count(Physical(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Implements `Machine::frame`.
#[inline(always)]
pub fn frame(at: Physical) -> Option<&'static Frame> {
    FRAMES.get().frames.get((at.0 >> 12) as usize).filter(|frame| frame.kind.get() != HOLE)
}

/// Implements `Machine::frames`.
#[inline(always)]
pub fn frames(at: Physical, count: usize) -> &'static [Frame] {
    let rest = FRAMES.get().frames.get((at.0 >> 12) as usize..).unwrap_or(&[]);
    rest.get(..count).unwrap_or(rest)
}

/// Implements `Machine::special_count`.
#[inline(always)]
pub fn special_count(at: Physical) -> Option<&'static AtomicU32> {
    frame(at)?;
    FRAMES.get().special.get((at.0 >> 21) as usize)
}
