//! Memory: mappings made and destroyed, and page faults that a thread of the program resolves.

use core::sync::atomic::{AtomicU32, Ordering};

use nacre_proto::Errno;

use super::call;
use super::context::Context;
use crate::figure::{sample, sample_batches};

const PAGE: u64 = 4096;
const STACK: u64 = 64 << 10;
/// Address at which a mapping has no neighbours to be merged with.
const ALONE: u64 = 0x5000_0000_0000;
/// Pages that are touched in a batch.
const ROUNDS: u32 = 32;

/// Version of the interface, and the requests of `userfaultfd`.
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_COPY: u64 = 0xc028_aa03;
const UFFDIO_REGISTER_MODE_MISSING: u64 = 1;

/// A page that nobody touches.
pub fn map_and_unmap(_: &Context) -> Result<u64, Errno> {
    Ok(sample(200, || {
        if let Ok(page) = call::memory_near(ALONE, PAGE, false) {
            // SAFETY: nobody used it.
            unsafe { call::unmap(page, PAGE) };
        }
    }))
}

/// A page that is touched.
pub fn map_touch_and_unmap(_: &Context) -> Result<u64, Errno> {
    Ok(sample(200, || {
        if let Ok(page) = call::memory_near(ALONE, PAGE, false) {
            touch(page);
            // SAFETY: nobody uses it any more.
            unsafe { call::unmap(page, PAGE) };
        }
    }))
}

fn touch(page: u64) {
    // SAFETY: mapped, and no Rust object lies there.
    unsafe { (page as *mut u64).write_volatile(1) };
}

/// State of the thread that resolves faults.
struct Pager {
    file: u64,
    source: u64,
    started: AtomicU32,
}

/// A page fault that another thread of the program resolves with a page that it brings.
pub fn user_fault(_: &Context) -> Result<u64, Errno> {
    let area = call::memory(u64::from(ROUNDS) * PAGE, false)?;
    let file = call::fault_file()?;
    // SAFETY: the request reads and writes three words.
    unsafe { call::control(file, UFFDIO_API, &mut [UFFD_API, 0, 0]) }?;
    let mut range = [area, u64::from(ROUNDS) * PAGE, UFFDIO_REGISTER_MODE_MISSING, 0];
    // SAFETY: the request reads and writes four words.
    unsafe { call::control(file, UFFDIO_REGISTER, &mut range) }?;
    let source = call::memory(PAGE, false)?;
    touch(source);
    let pager = Pager { file, source, started: AtomicU32::new(0) };
    let running = AtomicU32::new(1);
    // SAFETY: fresh memory; the thread never ends, and neither do its stack and this process before
    // it does.
    unsafe { call::thread(call::memory(STACK, false)? + STACK, &running, resolve, &raw const pager as u64) }?;
    while pager.started.load(Ordering::Acquire) == 0 {
        call::sched_yield();
    }
    let figure = sample_batches(
        ROUNDS,
        // SAFETY: nothing but `touch` uses the area.
        |_| unsafe { call::drop_pages(area, u64::from(ROUNDS) * PAGE) },
        |round| touch(area + u64::from(round) * PAGE),
    );
    // Closing ends the thread's read with an error: it leaves its loop.
    pager.started.store(2, Ordering::Release);
    touch_unregistered(file, area);
    while running.load(Ordering::Acquire) != 0 {
        call::sched_yield();
    }
    Ok(figure)
}

/// Causes one more fault, so that the thread sees that it is to end.
fn touch_unregistered(file: u64, area: u64) {
    // SAFETY: as above.
    unsafe { call::drop_pages(area, u64::from(ROUNDS) * PAGE) };
    touch(area);
    call::close(file);
}

extern "C" fn resolve(pager: u64) {
    // SAFETY: who started the thread waits until it has ended.
    let pager = unsafe { &*(pager as *const Pager) };
    pager.started.store(1, Ordering::Release);
    let mut event = [0u8; 32];
    loop {
        call::read(pager.file, &mut event);
        let address = u64::from_le_bytes([event[16], event[17], event[18], event[19], event[20], event[21], event[22], event[23]]);
        let mut copy = [address & !(PAGE - 1), pager.source, PAGE, 0, 0];
        // SAFETY: the request reads and writes five words, and fills a page that is missing.
        let _ = unsafe { call::control(pager.file, UFFDIO_COPY, &mut copy) };
        if pager.started.load(Ordering::Acquire) == 2 {
            return;
        }
    }
}
