//! Where pages of a segment are, pages that stay, and advice about pages: operations of the
//! protocol `segment`.

use crate::keeper::{Keeper, errno};
use crate::words::READ;
use core::ops::Range;
use nacre_abi::PAGE_SIZE;
use nacre_dataspaces::bank::Whereabouts;
use nacre_proto::flags::{ADVICE_BRING, ADVICE_COOL, ADVICE_PUT_AWAY, PAGE_AWAY, PAGE_HERE, PAGE_PINNED, PIN_LATER};
use nacre_proto::segment::{MAX_PAGES, advise, pages, pin, unpin};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};

/// Bytes in a range of pages.
fn bytes(pages: &Range<u64>) -> u64 {
    (pages.end - pages.start) * PAGE_SIZE
}

/// The pages of a part of a segment that begins at page `start`, at most so many as are dealt with
/// at once.
fn part(segment: &Range<u64>, offset: u64, size: u64) -> Result<Range<u64>, Errno> {
    let end = offset.checked_add(size).filter(|end| *end <= bytes(segment)).ok_or(Errno::EINVAL)?;
    if !(offset | size).is_multiple_of(PAGE_SIZE) {
        return Err(Errno::EINVAL);
    }
    let first = segment.start + offset / PAGE_SIZE;
    Ok(first..(segment.start + end / PAGE_SIZE).min(first + MAX_PAGES))
}

impl Keeper {
    /// The dataspace that a request is about, and the pages of a part of it.
    fn part_of(&self, request: &Request<'_>, offset: u64, size: u64) -> Result<(u64, Range<u64>), Errno> {
        let dataspace = self.dataspace(request)?;
        Ok((dataspace.space, part(&self.pages_of(dataspace)?, offset, size)?))
    }

    /// Tells where pages are.
    pub(crate) fn tell_pages(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<pages::Output> {
        let (space, pages) = self.part_of(request, offset, size)?;
        let Keeper { spaces, .. } = self;
        let states = request.buffer((pages.end - pages.start) as usize);
        states.fill(0);
        spaces.each_whereabouts(space, pages.start - space..pages.end - space, |index, place, is_pinned| {
            let place = match place {
                Whereabouts::Nowhere => 0,
                Whereabouts::Here => PAGE_HERE,
                Whereabouts::Away => PAGE_AWAY,
            };
            states[index as usize] = (place | if is_pinned { PAGE_PINNED } else { 0 }) as u8;
        });
        pages::Output::default().now()
    }

    /// Lets pages stay.
    pub(crate) fn pin_pages(&mut self, request: &mut Request<'_>, offset: u64, size: u64, flags: u64) -> HandlerResult<pin::Output> {
        if flags & !PIN_LATER != 0 {
            return Err(Errno::EINVAL);
        }
        let (space, pages) = self.part_of(request, offset, size)?;
        let manager = self.spaces.manager(space).ok_or(Errno::EIO)?;
        let before = self.spaces.bank(manager).map_or(alloc::vec::Vec::new(), |bank| bank.pinned_in(pages.clone()));
        let is_later = flags & PIN_LATER != 0;
        if !is_later {
            self.check_due(space, pages.clone())?;
        }
        let pinned = self.spaces.pin(space, pages.clone(), is_later);
        self.recount(space);
        if let Err(trouble) = pinned {
            for page in pages.filter(|page| before.binary_search(page).is_err()) {
                self.spaces.unpin(space, page..page + 1);
            }
            return Err(errno(trouble));
        }
        pin::Output { done: bytes(&pages) }.now()
    }

    /// Lets pages go again.
    pub(crate) fn unpin_pages(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<unpin::Output> {
        let (space, pages) = self.part_of(request, offset, size)?;
        self.spaces.unpin(space, pages.clone());
        unpin::Output { done: bytes(&pages) }.now()
    }

    /// Brings pages or puts them away, as the client advises.
    pub(crate) fn follow_advice(&mut self, request: &mut Request<'_>, offset: u64, size: u64, advice: u64) -> HandlerResult<advise::Output> {
        if request.word() & READ != 0 {
            return Err(Errno::EACCES);
        }
        let (space, pages) = self.part_of(request, offset, size)?;
        let done = bytes(&pages);
        match advice {
            ADVICE_BRING => self.spaces.bring(space, pages),
            ADVICE_PUT_AWAY => self.spaces.put_away(space, pages),
            ADVICE_COOL => self.spaces.cool(space, pages),
            _ => return Err(Errno::EINVAL),
        }
        advise::Output { done }.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_lies_in_its_segment_and_is_short() {
        assert_eq!(part(&(10..20), 0x1000, 0x2000), Ok(11..13));
        assert_eq!(part(&(10..20), 0x1000, 0x9000), Ok(11..20));
        assert_eq!(part(&(10..20), 0x1000, 0xa000), Err(Errno::EINVAL));
        assert_eq!(part(&(10..20), u64::MAX - 0xfff, 0x1000), Err(Errno::EINVAL));
        assert_eq!(part(&(10..20), 1, 0x1000), Err(Errno::EINVAL));
        assert_eq!(part(&(0..1 << 20), 0, 1 << 32), Ok(0..MAX_PAGES));
    }
}
