//! Memory of the machine by its addresses: contiguous runs, colours, and where a segment lies.

use crate::chores::Chore;
use crate::coloured::{self, Coloured, Colouring};
use crate::memory::{Segment, whole_pages};
use crate::objects::Kind;
use crate::pools::RECORD_COST;
use crate::root::Root;
use crate::table::Key;
use nacre_proto::memory::{coloured_create, run_create};
use nacre_proto::segment::locate;
use nacre_proto::server::{self, Output};
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::{OwnedReference, Span};

/// Largest alignment of a run.
const MAX_ALIGNMENT: u64 = 1 << 40;
/// Runs of coloured memory that are shown, or given back, in one piece of work.
const AT_ONCE: usize = 128;

impl Root {
    /// The pool of a reference through which more than data comes.
    fn whole_pool(&self, request: &Request<'_>) -> Result<Key, Errno> {
        let (pool, is_data) = self.pool_and_kind(request)?;
        if is_data { Err(Errno::EACCES) } else { Ok(pool) }
    }

    pub(super) fn create_run(&mut self, request: &Request<'_>, size: u64, alignment: u64, below: u64) -> HandlerResult<run_create::Output> {
        let pool = self.whole_pool(request)?;
        if alignment != 0 && !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
            return Err(Errno::EINVAL);
        }
        let size = whole_pages(size)?;
        self.pools.charge(pool, size + RECORD_COST)?;
        let made = Segment::run(size, alignment, if below == 0 { u64::MAX } else { below });
        let address = made.as_ref().map_or(0, Segment::address);
        match made.and_then(|segment| self.give_segment(pool, segment, self.objects.account(request.word()))) {
            Ok((segment, region)) => run_create::Output { size, address, segment: segment.into(), region: region.into() }.now(),
            Err(errno) => {
                self.pools.refund(pool, size + RECORD_COST);
                Err(errno)
            }
        }
    }

    pub(super) fn create_coloured(&mut self, request: &mut Request<'_>, size: u64, colours: u64, first: u64, count: u64) -> HandlerResult<coloured_create::Output> {
        let pool = self.whole_pool(request)?;
        if !coloured::are_colours(colours, first, count) {
            return Err(Errno::EINVAL);
        }
        let size = whole_pages(size)?;
        let bytes = size + RECORD_COST + coloured::cost(size, count);
        self.pools.charge(pool, bytes)?;
        let account = self.objects.account(request.word());
        let made = Coloured::new(size, colours, first..first + count, self.objects.accounts.room(account));
        let counted = made.and_then(|memory| self.objects.accounts.charge(account, memory.cost_of_runs()).map(|()| memory));
        let memory = match counted {
            Ok(memory) => memory,
            Err(errno) => {
                self.pools.refund(pool, bytes);
                return Err(errno);
            }
        };
        let making = Colouring { paid: (pool, bytes), counted: (account, memory.cost_of_runs()), memory };
        match request.detach() {
            Ok(reply) => {
                self.chores.add(account, Chore::Colour(making, reply));
                Ok(Answer::Later)
            }
            Err(errno) => {
                self.chores.add(account, Chore::Uncolour(making, None));
                Err(errno)
            }
        }
    }

    fn refund_colouring(&mut self, paid: (Key, u64), counted: (Key, u64)) {
        self.pools.refund(paid.0, paid.1);
        self.objects.accounts.refund(counted.0, counted.1);
    }

    pub(super) fn colour_piece(&mut self, account: Key, mut making: Colouring, reply: OwnedReference) -> Option<Chore> {
        let (paid, counted, size) = (making.paid, making.counted, making.memory.size());
        match self.pools.check(paid.0).and_then(|()| making.memory.show_some(AT_ONCE)) {
            Ok(false) => return Some(Chore::Colour(making, reply)),
            Ok(true) => {}
            Err(errno) => {
                let _ = server::refuse(reply, errno);
                return Some(Chore::Uncolour(making, None));
            }
        }
        match self.give_coloured(making, account) {
            Ok((segment, region)) => drop(coloured_create::Output { size, segment: segment.into(), region: region.into() }.send(reply, Span::EMPTY)),
            Err(errno) => {
                self.refund_colouring(paid, counted);
                let _ = server::refuse(reply, errno);
            }
        }
        None
    }

    fn give_coloured(&mut self, making: Colouring, account: Key) -> Result<(OwnedReference, OwnedReference), Errno> {
        let (region, pool) = (making.memory.region_reference()?, making.paid.0);
        let key = self.objects.add(Kind::Coloured(making), false, account)?;
        let reference = self.objects.reference(key).inspect_err(|_| drop(self.objects.remove(key)))?;
        self.pools.adopt(pool, key.to_word());
        Ok((reference, region))
    }

    /// Gives back a piece of coloured memory. Returns what is left to do.
    pub(super) fn uncolour_piece(&mut self, Colouring { paid, counted, memory }: Colouring, reply: Option<OwnedReference>) -> Option<Chore> {
        if let Some(memory) = memory.dismantle(AT_ONCE) {
            return Some(Chore::Uncolour(Colouring { paid, counted, memory }, reply));
        }
        self.refund_colouring(paid, counted);
        super::chore::tell(reply, nacre_proto::segment::destroy::Output::default());
        None
    }

    pub(super) fn locate_byte(&self, request: &Request<'_>, offset: u64) -> HandlerResult<locate::Output> {
        let found = match self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            Some(Kind::Segment(_, segment)) => segment.locate(offset)?,
            Some(Kind::Coloured(making)) => making.memory.locate(offset),
            Some(Kind::View(_)) => return Err(Errno::EACCES),
            _ => return Err(Errno::ENOSYS),
        };
        let (address, size) = found.ok_or(Errno::EINVAL)?;
        locate::Output { address, size }.now()
    }
}
