//! Memory that shows files, from the manager of files, where the program's pool has one.

use crate::services::segment::{Paging, Segment};
use alloc::rc::Rc;
use core::sync::atomic::{AtomicU8, Ordering};
use nacre_proto::flags::ATTACH_READ;
use nacre_proto::{dataspace, file};
use nacre_rt::memory::pool;
use nacre_sys::{OwnedReference, Reference};

/// Name of the manager.
const MANAGER: &[u8] = b"file";

const UNKNOWN: u8 = 0;
const ABSENT: u8 = 1;
const PRESENT: u8 = 2;
/// State of the question if the pool has a manager of files. The answer never changes.
static MANAGES: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The program's pool, if it has a manager of files.
fn managed_pool() -> Option<Reference> {
    let pool = pool().ok()?;
    if MANAGES.load(Ordering::Relaxed) == UNKNOWN {
        let found = dataspace::interrogate(pool, MANAGER, &mut [0; dataspace::NAME_SIZE][..]).is_ok();
        MANAGES.store(if found { PRESENT } else { ABSENT }, Ordering::Relaxed);
    }
    (MANAGES.load(Ordering::Relaxed) == PRESENT).then_some(pool)
}

/// The dataspace of an open file, of `size` bytes at least (0: all that there are). Its pages hold
/// what others wrote to the file before. `None`: the file's server is to be asked.
fn dataspace_of(file: Reference, size: u64) -> Option<OwnedReference> {
    dataspace::create_of_file(managed_pool()?, size, MANAGER, file).ok().map(|made| made.dataspace)
}

/// Memory that changes with an open file. `None`: the file's server is to be asked for it.
pub fn of_file(file: Reference, size: u64, is_written: bool) -> Option<Rc<Segment>> {
    let flags = if is_written { 0 } else { ATTACH_READ };
    let open = dataspace::attach(dataspace_of(file, size)?.handle(), flags).ok()?;
    Some(Segment::common(Some(open.attachment), open.region, open.size, is_written, Paging::Goes))
}

/// Brings changes to a file's memory into the file, for whoever reads the file then.
pub fn write_back(file: Reference) {
    drop(dataspace_of(file, 0));
}

/// Brings changes to the memory of a mapped file into the file, and what others wrote there into
/// the memory.
pub fn settle(segment: &Segment) {
    if MANAGES.load(Ordering::Relaxed) == PRESENT
        && let Some(port) = segment.port()
    {
        // Whoever wants to know whether all was written asks by `msync`.
        let _ = file::sync(port);
    }
}
