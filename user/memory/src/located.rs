//! Memory by its addresses: runs and colours of the pool below, and where pages of dataspaces lie.

use crate::keeper::Keeper;
use crate::words::DATA;
use nacre_abi::PAGE_SIZE;
use nacre_proto::memory::{self, coloured_create, run_create};
use nacre_proto::segment::locate;
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::Reference;

impl Keeper {
    /// The pool below that of a request. `EACCES`: data alone comes through the request's port.
    fn whole_pool(&self, request: &Request<'_>) -> Result<Reference, Errno> {
        let pool = self.pool(request)?;
        if request.word() & DATA != 0 { Err(Errno::EACCES) } else { self.pools.real(pool) }
    }

    pub(crate) fn create_run(&mut self, request: &Request<'_>, size: u64, alignment: u64, below: u64) -> HandlerResult<run_create::Output> {
        let made = memory::run_create(self.whole_pool(request)?, size, alignment, below)?;
        run_create::Output { size: made.size, address: made.address, segment: made.segment.into(), region: made.region.into() }.now()
    }

    pub(crate) fn create_coloured(&mut self, request: &Request<'_>, size: u64, colours: u64, first: u64, count: u64) -> HandlerResult<coloured_create::Output> {
        let made = memory::coloured_create(self.whole_pool(request)?, size, colours, first, count)?;
        coloured_create::Output { size: made.size, segment: made.segment.into(), region: made.region.into() }.now()
    }

    /// Tells where a byte of a dataspace lies: the run ends where the next page lies elsewhere.
    pub(crate) fn locate_byte(&mut self, request: &Request<'_>, offset: u64) -> HandlerResult<locate::Output> {
        let dataspace = self.dataspace(request)?;
        let (pages, space) = (self.pages_of(dataspace)?, dataspace.space);
        let page = pages.start + offset / PAGE_SIZE;
        if page >= pages.end {
            return Err(Errno::EINVAL);
        }
        let bank = self.spaces.manager(space).and_then(|manager| self.spaces.bank(manager)).ok_or(Errno::EIO)?;
        let frame = bank.frame_of(page).ok_or(Errno::EAGAIN)?;
        let (address, size) = bank.machine().locate(frame)?;
        let most = (size / PAGE_SIZE).min(pages.end - page).max(1);
        let follows = |next: &u64| bank.frame_of(page + next) == Some(frame + *next as usize);
        let count = 1 + (1..most).take_while(follows).count() as u64;
        let within = offset % PAGE_SIZE;
        locate::Output { address: address + within, size: count * PAGE_SIZE - within }.now()
    }
}
