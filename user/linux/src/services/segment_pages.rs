//! Pages of a segment that its server may put away: where they are, which stay, and advice.

use crate::abi::errno::{ENOMEM, Errno};
use crate::services::segment::{Paging, Segment};
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_proto::flags::PIN_LATER;
use nacre_proto::segment::{self, MAX_PAGES};
use nacre_sys::Reference;

/// Cuts a part of a segment into pieces of as many bytes as a message is about.
fn pieces(offset: u64, size: u64) -> impl Iterator<Item = (u64, u64)> {
    const MOST: u64 = MAX_PAGES * PAGE_SIZE;
    (0..size.div_ceil(MOST)).map(move |index| (offset + index * MOST, (size - index * MOST).min(MOST)))
}

/// The port at which to ask about pages that may go.
fn pages_port(segment: &Segment) -> Option<Reference> {
    segment.port().filter(|_| segment.paging() == Paging::Goes)
}

/// Returns the state of each page of a part, as `segment.pages` tells it; `None` if no page ever
/// goes.
pub fn page_states(of: &Segment, offset: u64, size: u64) -> Option<Vec<u8>> {
    let port = pages_port(of)?;
    let mut all = Vec::new();
    for (offset, size) in pieces(offset, size) {
        let mut states = [0; MAX_PAGES as usize];
        let told = segment::pages(port, offset, size, &mut states[..]).ok()?.states;
        all.try_reserve(told).ok()?;
        all.extend_from_slice(states.get(..told)?);
    }
    Some(all)
}

/// Keeps the pages of a part in memory; with `later` those that somebody touches from now on,
/// too. On failure some may be kept.
pub fn pin_pages(of: &Segment, offset: u64, size: u64, later: bool) -> Result<(), Errno> {
    let Some(port) = pages_port(of) else { return Ok(()) };
    let flags = if later { PIN_LATER } else { 0 };
    for (offset, size) in pieces(offset, size) {
        match segment::pin(port, offset, size, flags) {
            Ok(_) => {}
            Err(nacre_proto::Errno::ENOSYS) => return Ok(()),
            Err(_) => return Err(ENOMEM),
        }
    }
    Ok(())
}

/// Lets the pages of a part go again. A server that has gone keeps nothing.
pub fn unpin_pages(of: &Segment, offset: u64, size: u64) {
    let Some(port) = pages_port(of) else { return };
    for (offset, size) in pieces(offset, size) {
        let _ = segment::unpin(port, offset, size);
    }
}

/// Passes advice about the pages of a part on, as far as anybody follows it.
pub fn advise_pages(of: &Segment, offset: u64, size: u64, advice: u64) {
    let Some(port) = pages_port(of) else { return };
    for (offset, size) in pieces(offset, size) {
        if segment::advise(port, offset, size, advice).is_err() {
            return;
        }
    }
}
