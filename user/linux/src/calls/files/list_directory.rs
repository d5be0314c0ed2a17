//! Listing a directory: a server gives entries in batches, `getdents64` takes as many as fit.
//!
//! The offset that the program sees of an entry is the number of entries before the next one.

use crate::abi::errno::{Answer, ENOTDIR, Errno};
use crate::abi::registers::Frame;
use crate::operations::proc;
use crate::process::Process;
use crate::services::find;
use crate::state::files::directory_cursor::Listing;
use crate::state::files::open_file::OpenFile;

/// Nanoseconds after which a thread looks again whether it may use a listing.
const PAUSE: u64 = 20_000;

/// `getdents64(descriptor, buffer, size)`.
pub fn getdents64(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, size, ..] = frame.arguments();
    let file = process.descriptors.get(descriptor)?;
    if file.pipe().is_some() || file.node().is_some_and(|node| !node.is_folder()) {
        return Err(ENOTDIR);
    }
    process.memory.writable(buffer, size & 0xffff_ffff)?;
    with_listing(process, &file, |process, listing| {
        if !refill(process, &file, listing)? {
            return Ok(0);
        }
        // Another thread may have changed the program's memory meanwhile.
        Ok(listing.copy(process.memory.writable(buffer, size & 0xffff_ffff)?)? as u64)
    })
}

/// Works with a directory's listing. Of several threads that use one, one after the other does,
/// because each may wait for the server without the lock.
fn with_listing<T>(process: &mut Process, file: &OpenFile, work: impl FnOnce(&mut Process, &mut Listing) -> T) -> T {
    if process.threads.is_first_alone() {
        // A thread that the process forked without may have been at it.
        file.is_listed.set(false);
        return work(process, &mut file.listing.borrow_mut());
    }
    while file.is_listed.replace(true) {
        // Woken early it looks again.
        let _ = process.unlocked(|| nacre_sys::Thread::sleep(PAUSE));
    }
    let mut listing = file.listing.take();
    let result = work(process, &mut listing);
    file.listing.replace(listing);
    file.is_listed.set(false);
    result
}

/// Asks for the next entries.
fn fetch(process: &mut Process, file: &OpenFile, cookie: u64, batch: &mut [u8]) -> Result<(u64, usize), Errno> {
    if let Some(node) = file.node() {
        return proc::open::list_shown(process, node, cookie, batch);
    }
    let directory = file.reference()?;
    process.while_asking([directory], |[directory]| find::list(directory, cookie, batch))
}

fn refill(process: &mut Process, file: &OpenFile, listing: &mut Listing) -> Result<bool, Errno> {
    listing.refill(|cookie, batch| fetch(process, file, cookie, batch))
}

/// The position of a directory's listing.
pub fn position(process: &mut Process, file: &OpenFile) -> u64 {
    with_listing(process, file, |_, listing| listing.position())
}

/// Moves the position of a directory's listing, as `lseek` does: to the start, or to an offset that
/// the program has seen.
pub fn seek(process: &mut Process, file: &OpenFile, position: u64) -> Answer {
    with_listing(process, file, |process, listing| {
        if position < listing.position() || position == 0 {
            listing.rewind();
        }
        while listing.position() < position && listing.skip(|cookie, batch| fetch(process, file, cookie, batch))? {}
        Ok(position)
    })
}
