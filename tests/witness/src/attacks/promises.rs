//! Promised memory comes while it is touched, in the server's space and from the server's records.
//! A client makes as many promises as it gets, promises more than any machine has, tries objects
//! and the keeper of a promise, and touches the same pages on several processors.

use crate::outcome::{Outcome, Verdict};
use crate::tools::{find, why};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::state::RegionState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::flags::{SEGMENT_OBJECTS, SEGMENT_OVERCOMMIT, SEGMENT_PROMISED, SERVICE_MEMORY};
use nacre_proto::memory::segment_create::Reply;
use nacre_proto::{Errno, memory, segment};
use nacre_sys::{OwnedMapping, Port, PortSet, Reference, Region, Space, Window};

/// Promises that are made and go, one after the other, and that are tried at once.
const MANY: u64 = 10_000;
/// Size of a small promise.
const SMALL: u64 = 1 << 20;
/// More than any machine has.
const HUGE: u64 = 64 << 40;
/// Places in a small promise that are touched each by itself.
const PLACES: u64 = 64;
/// Pages that two threads touch at the same time, and how often.
const PAGES: u64 = 256;
const ROUNDS: u64 = 20;
/// Moments in which all memory comes back: 20 s.
const PATIENCE: u64 = 1000;
const DATA: Rights = Rights::READ.union(Rights::WRITE);

/// A promise that is shown here.
pub(super) struct Shown {
    pub(super) made: Reply,
    _mapping: OwnedMapping,
    place: Place,
}

impl Shown {
    /// Takes and shows a promise. `Err`: there is no memory for records, tables or addresses.
    pub(super) fn take(pool: Reference, size: u64) -> Result<Shown, Errno> {
        let made = memory::segment_create(pool, size, SEGMENT_PROMISED)?;
        let place = Place::take(size).ok_or(Errno::ENOMEM)?;
        let mapping = OwnedMapping::new(Space::OWN, place.window().start(), size, Region::through(made.region.handle()), 0, DATA)?;
        Ok(Shown { made, _mapping: mapping, place })
    }

    fn window(&self) -> Window {
        self.place.window()
    }

    /// Reads a word.
    pub(super) fn read(&self, offset: u64) -> Option<u64> {
        self.window().read_word(offset)
    }

    /// Writes a word that was zero, and reads it.
    pub(super) fn touch(&self, offset: u64) -> Result<(), String> {
        let before = self.window().read_word(offset);
        let after = self.window().write_word(offset, offset | 1).and_then(|()| self.window().read_word(offset));
        if (before, after) == (Some(0), Some(offset | 1)) { Ok(()) } else { Err(format!("a promise holds {before:?} and then {after:?}")) }
    }
}

/// Waits until the pool uses little more than `limit` bytes, and gives promises again. What went by
/// its last reference comes back a little later.
pub(super) fn returned(pool: Reference, limit: u64) -> Result<(), String> {
    let mut used = 0;
    for _ in 0..PATIENCE {
        used = memory::status(pool).map_err(why("the pool"))?.used;
        if used <= limit + SMALL && let Ok(shown) = Shown::take(pool, SMALL) {
            return shown.touch(0);
        }
        crate::tools::moment();
    }
    Err(format!("of {used} bytes, all but {limit} are memory of promises that did not come back"))
}

/// Makes promises one after the other, and then as many at once as there can be.
fn many(pool: Reference) -> Result<(), String> {
    for number in 0..MANY {
        let shown = Shown::take(pool, SMALL).map_err(why("a promise"))?;
        shown.touch(number % (SMALL / PAGE_SIZE) * PAGE_SIZE)?;
        segment::destroy(shown.made.segment.handle()).map_err(why("its end"))?;
    }
    let held: Vec<Reply> = (0..MANY).map_while(|_| memory::segment_create(pool, SMALL, SEGMENT_PROMISED).ok()).collect();
    drop(held);
    let all: Vec<Shown> = (0..MANY / 10).map_while(|_| Shown::take(pool, SMALL).ok()).collect();
    all.iter().try_for_each(|shown| shown.touch(0))?;
    drop(all);
    Ok(())
}

/// Promises more than there is: it is refused, or nothing is there before it is touched.
fn huge(pool: Reference) -> Result<(), String> {
    for size in [u64::MAX, u64::MAX - PAGE_SIZE, HUGE, HUGE / 8] {
        for flags in [SEGMENT_PROMISED, SEGMENT_PROMISED | SEGMENT_OVERCOMMIT] {
            if let Ok(made) = memory::segment_create(pool, size, flags) {
                // A part that is outside is refused, and one that nobody touched goes at once.
                if segment::clear(made.segment.handle(), made.size, PAGE_SIZE).is_ok() {
                    return Err("a part behind a promise was cleared".into());
                }
                segment::clear(made.segment.handle(), 0, made.size).map_err(why("clearing a large promise"))?;
                let part = segment::next(made.segment.handle(), 0).map_err(why("its first part"))?;
                if made.holds & SEGMENT_PROMISED != 0 && part.start != part.end {
                    return Err("a promise that nobody touched has memory".into());
                }
            }
        }
    }
    Ok(())
}

/// Gives a promise back that came in many places. Nothing is left of what it held, and what is
/// written afterwards stays.
fn cleared(pool: Reference) -> Result<(), String> {
    let shown = Shown::take(pool, SMALL).map_err(why("a promise"))?;
    // No place follows the one before, so none is brought with another.
    let places: Vec<u64> = (0..PLACES).map(|place| place * 7 % PLACES * (SMALL / PLACES)).collect();
    for round in 0..2 {
        places.iter().try_for_each(|offset| shown.touch(*offset)).map_err(|why| format!("{why} in round {round}"))?;
        segment::clear(shown.made.segment.handle(), 0, SMALL).map_err(why("clearing a promise"))?;
    }
    places.iter().try_for_each(|offset| shown.touch(*offset))?;
    crate::tools::moment();
    memory::status(pool).map_err(why("the pool"))?;
    let lost = places.iter().find(|offset| shown.window().read_word(**offset) != Some(**offset | 1));
    lost.map_or(Ok(()), |offset| Err(format!("what was written at {offset} is lost")))
}

/// Tries all that would put kernel objects or another keeper where promised memory is.
fn change(pool: Reference) -> Result<(), String> {
    let shown = Shown::take(pool, SMALL).map_err(why("a promise"))?;
    shown.touch(0)?;
    let region = Region::through(shown.made.region.handle());
    let place = Place::take(SMALL).ok_or("no addresses are left")?;
    if OwnedMapping::new(Space::OWN, place.window().start(), SMALL, region, 0, Rights::ALL).is_ok() {
        return Err("a promise may hold objects".into());
    }
    // A page that is there, and one that is not.
    for page in [shown.window().start(), shown.window().start() + SMALL / 2] {
        if Port::create(page, 0, PortSet::NONE).is_ok() || Space::OWN.donate(page, 1).is_ok() {
            return Err("a promise took an object".into());
        }
    }
    let state = RegionState { size: SMALL, ..RegionState::default() };
    if region.set_state(&state).is_ok() || region.set_state_and_links(&state, &[Reference::NONE, Reference::NONE]).is_ok() {
        return Err("a client changed the region of a promise".into());
    }
    match memory::segment_create(pool, SMALL, SEGMENT_PROMISED | SEGMENT_OBJECTS) {
        Ok(made) if made.holds & SEGMENT_PROMISED != 0 => Err("memory for objects was promised".into()),
        _ => shown.touch(PAGE_SIZE),
    }
}

/// Address of the pages that two threads touch.
static COMMON: AtomicU64 = AtomicU64::new(0);
/// Threads that have come to the start of a round.
static READY: AtomicU64 = AtomicU64::new(0);

/// Adds to a word of each page, of its own.
fn touch_all(number: usize) {
    READY.fetch_add(1, Ordering::AcqRel);
    while READY.load(Ordering::Acquire) < 2 {
        nacre_sys::Thread::yield_now();
    }
    let Some(window) = Window::new(COMMON.load(Ordering::Acquire), PAGES * PAGE_SIZE) else { return };
    for page in 0..PAGES {
        let at = page * PAGE_SIZE + 8 * number as u64;
        let before = window.read_word(at).unwrap_or(u64::MAX);
        let _ = window.write_word(at, before.wrapping_add(1));
    }
}

/// Lets two threads touch the same pages at once: each page comes once, and nothing is lost.
fn together(pool: Reference) -> Result<(), String> {
    for _ in 0..ROUNDS {
        let shown = Shown::take(pool, PAGES * PAGE_SIZE).map_err(why("a promise"))?;
        COMMON.store(shown.window().start(), Ordering::Release);
        READY.store(0, Ordering::Release);
        let other = nacre_rt::thread::spawn(touch_all, 1).map_err(why("a thread"))?;
        touch_all(0);
        other.join();
        for page in 0..PAGES {
            let words = [0, 8, 16].map(|word| shown.window().read_word(page * PAGE_SIZE + word));
            if words != [Some(1), Some(1), Some(0)] {
                return Err(format!("page {page} that two threads touched holds {words:?}"));
            }
        }
    }
    Ok(())
}

/// Tries all of this; where memory is not promised, it is there at once and must hold the same.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    change(pool.handle())?;
    cleared(pool.handle())?;
    together(pool.handle())?;
    huge(pool.handle())?;
    many(pool.handle())?;
    // The program's own records of so many references came from the pool, too, and stay. They are
    // there now, so the rest must not grow.
    let before = memory::status(pool.handle()).map_err(why("the pool"))?.used;
    returned(pool.handle(), before)?;
    many(pool.handle())?;
    returned(pool.handle(), before)?;
    Ok(Verdict::Refused)
}
