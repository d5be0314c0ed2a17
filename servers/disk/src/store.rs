//! Memory of the program, all of it taken at the start: while a request is carried out, root waits
//! for the answer, and gives nothing.

use core::sync::atomic::{AtomicUsize, Ordering};
use nacre_proto::Errno;
use nacre_rt::{heap, memory};
use nacre_abi::Rights;

/// Bytes of the heap, and of it for files that root knows: some 100,000, or where there is not as
/// much memory, some 30,000.
const SIZES: [(u64, usize); 2] = [(48 << 20, 30 << 20), (26 << 20, 8 << 20)];
/// Bytes of it for blocks of the disk.
pub const CACHE: usize = 8 << 20;
/// Smallest part that the heap gets at a time: a part stays one piece.
const PART: usize = 1 << 20;

static NEXT: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Takes the memory, once, and has the heap grow into it alone. Returns how many bytes of it are
/// for files.
pub fn take() -> Result<usize, Errno> {
    SIZES.iter().find_map(|(size, files)| map(*size).ok().map(|()| *files)).ok_or(Errno::ENOMEM)
}

fn map(size: u64) -> Result<(), Errno> {
    let start = memory::addresses(size).ok_or(Errno::ENOMEM)?;
    let (start, size) = memory::Segment::map(start, size, Rights::NONE)?.leak();
    NEXT.store(start as usize, Ordering::Relaxed);
    END.store((start + size) as usize, Ordering::Relaxed);
    heap::set_source(more);
    Ok(())
}

fn more(size: usize) -> Option<(usize, usize)> {
    let (start, size) = (NEXT.load(Ordering::Relaxed), size.max(PART).checked_next_multiple_of(4096)?);
    let end = start.checked_add(size).filter(|end| *end <= END.load(Ordering::Relaxed))?;
    NEXT.store(end, Ordering::Relaxed);
    Some((start, size))
}
