//! Memory that shows files, from the manager of files, where the program's pool has one.

use crate::services::segment::{Paging, Segment};
use alloc::rc::Rc;
use core::sync::atomic::{AtomicU8, Ordering};
use nacre_proto::flags::ATTACH_READ;
use nacre_proto::{Errno, dataspace, file};
use nacre_rt::memory::pool;
use nacre_sys::{OwnedReference, Reference};

/// Name of the manager.
const MANAGER: &[u8] = b"file";
/// Name of the manager of a device's window.
const DEVICES: &[u8] = b"device";

const UNKNOWN: u8 = 0;
const ABSENT: u8 = 1;
const PRESENT: u8 = 2;
/// State of the question if the pool has a manager of files. The answer never changes.
static MANAGES: AtomicU8 = AtomicU8::new(UNKNOWN);
/// State of the question if the pool has a manager of a device's window.
static HAS_WINDOW: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The program's pool, if it has a manager of this name; `state` is what is known of that.
fn managed_pool(name: &[u8], state: &AtomicU8) -> Option<Reference> {
    let pool = pool().ok()?;
    if state.load(Ordering::Relaxed) == UNKNOWN {
        let found = dataspace::interrogate(pool, name, &mut [0; dataspace::NAME_SIZE][..]).is_ok();
        state.store(if found { PRESENT } else { ABSENT }, Ordering::Relaxed);
    }
    (state.load(Ordering::Relaxed) == PRESENT).then_some(pool)
}

/// The dataspace of an open file, of `size` bytes at least (0: all that there are). Its pages hold
/// what others wrote to the file before. `None`: the file's server is to be asked.
fn dataspace_of(file: Reference, size: u64) -> Option<OwnedReference> {
    dataspace::create_of_file(managed_pool(MANAGER, &MANAGES)?, size, MANAGER, file).ok().map(|made| made.dataspace)
}

/// Memory that changes with an open file. `None`: the file's server is to be asked for it.
pub fn of_file(file: Reference, size: u64, is_written: bool) -> Option<Rc<Segment>> {
    let flags = if is_written { 0 } else { ATTACH_READ };
    let open = dataspace::attach(dataspace_of(file, size)?.handle(), flags).ok()?;
    Some(Segment::common(Some(open.attachment), open.region, open.size, is_written, Paging::Goes))
}

/// The window of a device that a file shows, if the program's pool has a manager that hands it out.
/// `None`: the file's server is to be asked for it. `EBUSY`: somebody else has it.
pub fn of_window(file: Reference, is_written: bool) -> Result<Option<Rc<Segment>>, Errno> {
    let Some(pool) = managed_pool(DEVICES, &HAS_WINDOW) else { return Ok(None) };
    let made = match dataspace::create_of_file(pool, 0, DEVICES, file) {
        Ok(made) => made,
        Err(Errno::EBUSY) => return Err(Errno::EBUSY),
        Err(_) => return Ok(None),
    };
    let open = dataspace::attach(made.dataspace.handle(), if is_written { 0 } else { ATTACH_READ })?;
    Ok(Some(Segment::common(Some(open.attachment), open.region, open.size, is_written, Paging::Goes)))
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
