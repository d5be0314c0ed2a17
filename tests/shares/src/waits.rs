//! Longest time that a client waits for a small answer while another one has the file server do
//! large work.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_proto::flags::{O_CREAT, O_RDWR, SEGMENT_PROMISED, SERVICE_FILES, SERVICE_MEMORY};
use nacre_proto::{Errno, directory, file, memory, parent, segment};
use nacre_rt::thread;
use nacre_sys::clock::ticks;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Thread};

/// Minimum number of small requests that are made.
const REQUESTS: u64 = 400;
/// Nanoseconds between two of them.
const PAUSE: u64 = 20_000;
/// Rounds of large work that are made before the first small request, and before the last one.
const ROUNDS: core::ops::Range<u64> = 1..2;
/// Bytes of a unit of memory.
const UNIT: u64 = 1 << 20;
/// Bytes of a page.
const PAGE: u64 = 4096;

/// The large work ends.
static ENDS: AtomicBool = AtomicBool::new(false);
/// The large work could not be done.
static FAILED: AtomicBool = AtomicBool::new(false);
/// Rounds of large work that have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// One round of some work.
type Round = Box<dyn FnMut() -> Result<(), Errno> + Send>;

/// The work, until the thread that does it has taken it.
static WORK: Lock<Option<Round>> = Lock::new(None);

fn find(service: u64) -> Result<OwnedReference, Errno> {
    parent::find(Reference::PARENT, service).map(|reply| reply.found)
}

/// A client's own directory, which is counted apart.
fn files() -> Result<OwnedReference, Errno> {
    directory::share(find(SERVICE_FILES)?.handle()).map(|reply| reply.directory)
}

fn open(files: &OwnedReference, path: &[u8]) -> Result<OwnedReference, Errno> {
    directory::open(files.handle(), O_CREAT | O_RDWR, 0o600, path).map(|reply| reply.file)
}

/// Memory is made, and destroyed.
fn make(count: u64) -> Result<Round, Errno> {
    let pool = find(SERVICE_MEMORY)?;
    Ok(Box::new(move || segment::destroy(memory::segment_create(pool.handle(), count * UNIT, 0)?.segment.handle()).map(drop)))
}

/// Memory is cleared again and again.
fn clear(count: u64) -> Result<Round, Errno> {
    let taken = memory::segment_create(find(SERVICE_MEMORY)?.handle(), count * UNIT, 0)?;
    Ok(Box::new(move || segment::clear(taken.segment.handle(), 0, count * UNIT).map(drop)))
}

/// A file of many parts is written, and cut off, or loses its name.
fn parts(count: u64, unlinks: bool) -> Result<Round, Errno> {
    let files = files()?;
    Ok(Box::new(move || {
        let file = open(&files, b"/tmp/parts")?;
        (0..count).try_for_each(|number| file::write(file.handle(), 2 * number * PAGE, b"x").map(drop))?;
        if unlinks {
            return directory::remove(files.handle(), 0, b"/tmp/parts").map(drop);
        }
        file::set_size(file.handle(), 0).map(drop)
    }))
}

/// A directory of many names is listed.
fn list(count: u64) -> Result<Round, Errno> {
    let files = files()?;
    directory::make_directory(files.handle(), 0o755, b"/tmp/names")?;
    for number in 0..count {
        open(&files, alloc::format!("/tmp/names/a-name-of-some-length-{number}").as_bytes())?;
    }
    let names = directory::open(files.handle(), 0, 0, b"/tmp/names")?.file;
    let mut batch = alloc::vec![0; 16 << 10];
    Ok(Box::new(move || {
        let mut cookie = 0;
        loop {
            cookie = directory::list(names.handle(), cookie, batch.len() as u64, &mut batch[..])?.next;
            if cookie == 0 {
                return Ok(());
            }
        }
    }))
}

/// Makes a promise of so many pages, all of which are touched, and gives every second page back.
fn tear(pool: Reference, pages: u64) -> Result<OwnedReference, Errno> {
    let size = pages * PAGE;
    let made = memory::segment_create(pool, size, SEGMENT_PROMISED)?;
    let place = Place::take(size).ok_or(Errno::ENOMEM)?;
    let (start, region) = (place.window().start(), Region::through(made.region.handle()));
    let shown = OwnedMapping::new(Space::OWN, start, size, region, 0, Rights::READ.union(Rights::WRITE))?;
    (0..pages).try_for_each(|page| place.window().write_word(page * PAGE, 1)).ok_or(Errno::EFAULT)?;
    BEGUN.fetch_add(1, Ordering::Relaxed);
    for page in (0..pages).step_by(2) {
        segment::clear(made.segment.handle(), page * PAGE, PAGE)?;
    }
    drop((shown, place));
    Ok(made.segment)
}

/// Promised memory is torn, loses half of the rest at once, and ends.
fn torn(pages: u64) -> Result<Round, Errno> {
    let pool = find(SERVICE_MEMORY)?;
    Ok(Box::new(move || {
        let torn = tear(pool.handle(), pages)?;
        segment::clear(torn.handle(), 0, pages / 2 * PAGE)?;
        segment::destroy(torn.handle()).map(drop)
    }))
}

/// The segment that [`end_it`] destroys.
static ENDING: Lock<Option<OwnedReference>> = Lock::new(None);

/// Destroys a segment, and waits for that.
fn end_it(_: usize) {
    if let Some(ending) = ENDING.lock().take() {
        let _ = segment::destroy(ending.handle());
    }
}

/// Memory is asked for while the memory that it must come from is on its way back.
fn lack(pages: u64) -> Result<Round, Errno> {
    let pool = memory::pool_create(find(SERVICE_MEMORY)?.handle(), (pages + pages / 8) * PAGE)?.pool;
    Ok(Box::new(move || {
        *ENDING.lock() = Some(tear(pool.handle(), pages)?);
        let other = thread::spawn(end_it, 0).map_err(|_| Errno::ENOMEM)?;
        // Until it begins to end, there is not enough.
        let made = (0..REQUESTS).find_map(|_| {
            let _ = Thread::sleep(PAUSE);
            memory::segment_create(pool.handle(), pages * PAGE, 0).ok()
        });
        other.join();
        segment::destroy(made.ok_or(Errno::ENOMEM)?.segment.handle()).map(drop)
    }))
}

/// Makes a small request.
fn ask(files: &OwnedReference) -> Result<(), Errno> {
    let mut status = [0; nacre_proto::structures::Status::SIZE];
    directory::status_at(files.handle(), 0, b"/bin", &mut status[..]).map(drop)
}

/// Takes some work and does it until it is to end.
fn work(_: usize) {
    let taken = WORK.lock().take();
    let Some(mut round) = taken else { return };
    while !ENDS.load(Ordering::Relaxed) {
        match round() {
            Ok(()) => BEGUN.fetch_add(1, Ordering::Relaxed),
            Err(_) => return FAILED.store(true, Ordering::Relaxed),
        };
    }
}

/// The work of this name.
fn named(name: &[u8], count: u64) -> Option<Round> {
    match name {
        b"make" => make(count).ok(),
        b"clear" => clear(count).ok(),
        b"cut" => parts(count, false).ok(),
        b"unlink" => parts(count, true).ok(),
        b"list" => list(count).ok(),
        b"torn" => torn(count).ok(),
        b"lack" => lack(count).ok(),
        _ => None,
    }
}

/// Ticks that the longest small request took beside this work. None: the work could not be done.
pub fn longest(name: &[u8], count: u64) -> Option<u64> {
    let own = files().ok()?;
    *WORK.lock() = Some(named(name, count)?);
    let worker = thread::spawn(work, 0).ok()?;
    while BEGUN.load(Ordering::Relaxed) < ROUNDS.start && !FAILED.load(Ordering::Relaxed) {
        // Woken early it looks again.
        let _ = Thread::sleep(PAUSE);
    }
    let (mut longest, mut made) = (0, 0);
    while !FAILED.load(Ordering::Relaxed) && (made < REQUESTS || BEGUN.load(Ordering::Relaxed) < ROUNDS.end) {
        let _ = Thread::sleep(PAUSE);
        let started = ticks();
        ask(&own).ok()?;
        longest = longest.max(ticks() - started);
        made += 1;
    }
    ENDS.store(true, Ordering::Relaxed);
    worker.join();
    (!FAILED.load(Ordering::Relaxed)).then_some(longest)
}
