//! More object memory, when the program's slots are used up.
//!
//! Getting it needs slots and words for the allocator: both are set aside while there are some.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_sys::lock::Lock;
use nacre_sys::{Thread, slots};

use crate::memory::{self, Reserve, Segment};

/// Start of further object areas, behind the first, which never grows so far.
const AREAS_START: u64 = 0x7f80_0000_0000;
/// Pages of the first further area; each is twice as large as the one before.
const FIRST_PAGES: u64 = 16;
/// Pages of the largest.
const MAX_PAGES: u64 = 1024;

/// Memory that the next growth takes.
struct Growth {
    start: u64,
    pages: u64,
    reserve: Option<Reserve>,
    /// Words for `pages` pages, if the allocator has not enough of its own.
    words: Option<&'static [AtomicU64]>,
}

static GROWTH: Lock<Growth> = Lock::new(Growth { start: AREAS_START, pages: FIRST_PAGES, reserve: None, words: None });
/// Set while a thread adds an area. It is no lock, since a thread that waits for a lock may need a
/// slot.
static GROWING: AtomicBool = AtomicBool::new(false);
/// Number of areas that were added.
static GROWN: AtomicU64 = AtomicU64::new(0);

/// Sets slots aside for the first growth, and hangs [`grow`] on the allocator's hook.
pub(crate) fn prepare() {
    GROWTH.lock().set_aside();
    slots::set_grow(grow);
}

/// Adds an area; false if the parent has no memory for it.
fn grow() -> bool {
    let before = GROWN.load(Ordering::Acquire);
    while GROWING.swap(true, Ordering::Acquire) {
        Thread::yield_now();
    }
    // Who got here is the one thread that grows, so it does not have to wait for the lock.
    let grown = GROWN.load(Ordering::Acquire) != before || GROWTH.lock().add_area().is_ok();
    GROWING.store(false, Ordering::Release);
    grown
}

impl Growth {
    fn add_area(&mut self) -> Result<(), Errno> {
        let reserve = self.reserve.ok_or(Errno::ENOMEM)?;
        let size = memory::obtain_with(reserve, self.start, self.pages * PAGE_SIZE)?;
        self.reserve = None;
        match self.words.take() {
            Some(words) => slots::add_area_with(self.start, words)?,
            None => slots::add_area(self.start, self.pages as usize)?,
        }
        GROWN.fetch_add(1, Ordering::Release);
        self.start += size;
        self.pages = (2 * self.pages).min(MAX_PAGES);
        self.set_aside();
        Ok(())
    }

    /// Sets aside what the next growth takes. What cannot be had makes that growth fail.
    fn set_aside(&mut self) {
        self.reserve = Reserve::take();
        if slots::pages_left() < self.pages as usize {
            self.words = words(self.pages);
        }
    }
}

/// Words for `pages` pages, in plain memory.
fn words(pages: u64) -> Option<&'static [AtomicU64]> {
    let at = memory::addresses(8 * pages)?;
    let (start, _) = Segment::map(at, 8 * pages, Rights::NONE).ok()?.leak();
    // SAFETY: fresh memory, filled with zeros, mapped for ever, that nobody else knows of.
    Some(unsafe { core::slice::from_raw_parts(start as *const AtomicU64, pages as usize) })
}
